"""Sessions of processes, which end as a whole: with their evaluation, or when this process dies.

Workers and programs lead sessions of their own. What they start belongs to the same session unless
it leaves with setsid, so all of it can be found, also after the process in between has gone.

This file is a program too. A `Watcher` runs it beside the optimizer, and imports nothing else for
that, to be there within milliseconds.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterable

_GRACE = 2.0  # seconds between SIGTERM and SIGKILL when the optimizer has died
_LOOK = 0.5  # seconds between looks at the optimizer, whose pipe a forked process may hold open
_ROUNDS = 50  # of SIGKILL, for processes that start others meanwhile


def members(session: int) -> list[int]:
    """Return the living processes of a session."""
    if sys.platform == "linux":
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        return [pid for pid in pids if _session_in_proc(pid) == session]
    listing = subprocess.run(["ps", "-A", "-o", "pid=,stat="], capture_output=True, check=False)
    pairs = [line.split()[:2] for line in listing.stdout.decode(errors="replace").splitlines()]
    living = [int(pid) for pid, state in pairs if not state.startswith("Z")]
    return [pid for pid in living if _session_of(pid) == session]


def _session_in_proc(pid: int) -> int | None:
    """Return the session of a process; None where it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, _, _, session = file.read().rpartition(b")")[2].split()[:4]
    except OSError:
        return None
    return None if state in b"ZX" else int(session)


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def send(number: int, pids: Iterable[int]) -> None:
    """Send a signal to processes; those that have ended do not mind."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def end_session(session: int) -> None:
    """Kill all processes of a session at once. It is harmless where none is left."""
    if os.name != "posix" or session == os.getsid(0):
        return
    for _ in range(_ROUNDS):
        found = members(session)
        if not found:
            return
        send(signal.SIGKILL, found)
        time.sleep(0.002)


def lead_session() -> None:
    """Make this process the leader of a new session, where the system has sessions."""
    if os.name == "posix":
        with contextlib.suppress(PermissionError):  # it leads one already
            os.setsid()


class Watcher:
    """A small process that ends sessions when this process dies, however that happens.

    It notices by a pipe that closes and by the number of its parent, so it works on every POSIX
    system. Elsewhere it does nothing.
    """

    def __init__(self) -> None:
        self._watched: set[int] = set()
        self._process = self._start()

    @property
    def pipe(self) -> int | None:
        """File descriptor to which a process may write `+number` to be watched, once it runs."""
        if self._process is None or self._process.stdin is None:
            return None
        if self._process.poll() is not None:
            self._restart()
        return self._process.stdin.fileno()

    def add(self, pid: int) -> None:
        """Watch over a process, and over the session that it leads or will lead."""
        self._watched.add(pid)
        self._tell(f"+{pid}\n")

    def remove(self, pid: int) -> None:
        """Forget a process that has ended."""
        self._watched.discard(pid)
        self._tell(f"-{pid}\n")

    def close(self) -> None:
        """Let the watcher go."""
        if self._process is None or self._process.stdin is None:
            return
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait()

    def _start(self) -> "subprocess.Popen[bytes] | None":
        if os.name != "posix":
            return None
        # In a session of its own, so that what ends the optimizer's group does not end it too.
        return subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(os.getsid(0))],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
            cwd="/",
        )

    def _restart(self) -> None:
        self.close()
        self._process = self._start()
        for pid in self._watched:
            self._tell(f"+{pid}\n")

    def _tell(self, line: str) -> None:
        if self._process is None or self._process.stdin is None:
            return
        try:
            self._process.stdin.write(line.encode())
        except OSError:  # somebody killed the watcher
            self._restart()


def _watch(parent: int, parents_session: int) -> None:
    """Read whom to watch over until the parent is gone, then end them: the watcher's program."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    watched: set[int] = set()
    unread = b""
    while os.getppid() == parent:
        if not select.select([0], [], [], _LOOK)[0]:
            continue
        news = os.read(0, 65536)
        if not news:
            break
        *lines, unread = (unread + news).split(b"\n")
        _note(lines, watched)
    with contextlib.suppress(OSError):  # what came in the last moment
        os.set_blocking(0, False)
        _note((unread + os.read(0, 65536)).split(b"\n"), watched)

    def left() -> list[int]:
        # A process that has only just started is still in the session of its parent.
        starting = [pid for pid in watched if _session_of(pid) == parents_session]
        return [pid for session in watched for pid in members(session)] + starting

    deadline = time.monotonic() + _GRACE
    send(signal.SIGTERM, left())
    while left() and time.monotonic() < deadline:
        time.sleep(0.05)
    for _ in range(_ROUNDS):
        send(signal.SIGKILL, left())
        if not left():
            return
        time.sleep(0.02)


def _note(lines: Iterable[bytes], watched: set[int]) -> None:
    for line in lines:
        if line[1:].isdigit():
            (watched.add if line.startswith(b"+") else watched.discard)(int(line[1:]))


if __name__ == "__main__":
    _watch(int(sys.argv[1]), int(sys.argv[2]))
