"""Programs that run beside each other, each in a session of its own.

There are no threads and no pipes: output goes to files that nobody else sees, so a process that
outlives its program and still holds the output open is not waited for.
"""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import suppress
from typing import IO, Any

from infold.evaluation.outcome import Outcome, checked, failure
from infold.evaluation.program import Command, values_of
from infold.evaluation.sessions import Watcher, end_session

_TAIL = 65536  # bytes at the end of the output among which the last line is
_FIRST_LOOK, _LAST_LOOK = 0.001, 0.05  # seconds between looks, short for short programs
# The shell says whom to watch over before the program begins: no moment is left unwatched.
_LAUNCH = 'echo "+$$" >&0; exec "$@" </dev/null'


class Programs:
    """A number of runs of a program at once.

    When a program ends, is late, or is no longer wanted, whatever it has left in its session ends
    too.
    """

    def __init__(
        self, command: Command, capacity: int, *, catch: bool = True, n_objectives: int = 1
    ) -> None:
        """
        Args:
            command: the program.
            capacity: number of runs at once.
            catch: whether errors become failed evaluations; otherwise `wait` raises them.
            n_objectives: how many of the numbers that it prints are values; the others are
                constraints.
        """
        self._n_objectives = n_objectives
        self.capacity = capacity
        self._command = command
        self._catch = catch
        self._watcher = Watcher()
        self._running: dict[Future[Outcome], _Run] = {}

    def submit(self, x: Any) -> Future[Outcome]:
        """Begin the evaluation of one point."""
        future: Future[Outcome] = Future()
        begun = time.perf_counter()
        try:
            self._running[future] = _Run(self._command.words(x), self._watcher)
        except Exception as error:  # what no look beforehand can find, such as no memory
            if not self._catch:
                raise
            future.set_result(failure(error, time.perf_counter() - begun))
        return future

    def wait(self, waiting: Iterable[Future[Outcome]]) -> list[Future[Outcome]]:
        """Return the futures that are done, at least one, in the order of submission."""
        order = list(waiting)
        pause = _FIRST_LOOK
        while True:
            done = [future for future in order if future.done() or self._settle(future)]
            if done:
                return done
            time.sleep(pause)
            pause = min(2 * pause, _LAST_LOOK)

    def close(self) -> None:
        """End all programs at once."""
        for run in self._running.values():
            run.end()
            run.forget()
        self._running.clear()
        self._watcher.close()

    def _settle(self, future: Future[Outcome]) -> bool:
        """Set the result of a run that is over; return whether it is."""
        run = self._running[future]
        timeout = self._command.timeout
        late = timeout is not None and run.seconds > timeout
        status = run.process.poll()
        if status is None and not late:
            return False
        seconds = run.seconds
        run.end()
        del self._running[future]
        if status == -signal.SIGINT and run.may_begin_again:
            # Ctrl-C reached the program before it had its own session, and so before it began.
            run.forget()
            self._running[future] = _Run(run.words, self._watcher, may_begin_again=False)
            return False
        try:
            if status is None:
                raise TimeoutError(f"{run.words[0]} timed out after {timeout:g} s")
            printed = values_of(run.words[0], status, _end_of(run.output), _end_of(run.errors))
            m = self._n_objectives
            values: Any = printed[:m] if m > 1 else printed[0]
            outcome = checked(Outcome(values, constraints=printed[m:]), m)
        except Exception as error:
            if not self._catch:
                raise
            future.set_result(failure(error, seconds)._replace(trace=None))
            return True
        finally:
            run.forget()
        future.set_result(outcome._replace(seconds=seconds))
        return True


class _Run:
    """One run of a program."""

    def __init__(self, words: list[str], watcher: Watcher, may_begin_again: bool = True) -> None:
        self.words = words
        self.may_begin_again = may_begin_again
        self.output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (`forget` closes both)
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._watcher = watcher
        self._start = time.perf_counter()
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", _LAUNCH, "sh", *words],
            stdin=watcher.pipe,
            stdout=self.output,
            stderr=self.errors,
            start_new_session=True,  # where Ctrl-C in the terminal does not reach it
        )
        watcher.add(self.process.pid)

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.perf_counter() - self._start

    def end(self) -> None:
        """End the program, if it has not ended, and what it has left in its session."""
        end_session(self.process.pid)
        with suppress(subprocess.TimeoutExpired):  # where the system does not let it go
            self.process.wait(1.0)
        self._watcher.remove(self.process.pid)

    def forget(self) -> None:
        """Close the files."""
        self.output.close()
        self.errors.close()


def _end_of(file: IO[bytes]) -> str:
    """Return the end of a file as text, whatever bytes it holds."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL))
    return file.read().decode(errors="replace")
