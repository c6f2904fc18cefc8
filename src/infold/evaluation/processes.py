"""Worker processes of our own, each at the other end of its own pipe.

Workers share no queue and no lock, so one that dies cannot harm another, and no thread is needed
to watch over them. `docs/notes.md` compares this with executors and with pebble. Each worker leads
a session of its own, which ends as a whole: with the worker, or when the optimizer dies.
"""

import math
import pickle
import signal
import sys
import time
import traceback
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from multiprocessing import connection, get_context
from types import FrameType
from typing import Any, NamedTuple

from infold.evaluation.outcome import Guarded, Outcome
from infold.evaluation.sessions import Watcher, end_session, lead_session

_POLL = 1.0  # seconds between looks at workers whose death the pipe may not show
_GRACE = 2.0  # seconds that an evaluation has to end the programs it has started


class Processes:
    """A number of worker processes, each started when it is first needed.

    When a process dies, its point is tried once more in a fresh one: the point may not be to
    blame, for example when the system ran out of memory. The second death is a failure.
    """

    def __init__(self, fun: Guarded, capacity: int, timeout: float | None = None) -> None:
        """
        Args:
            fun: the objective.
            capacity: number of processes.
            timeout: seconds after which an evaluation is ended, with its process, and has failed.
        """
        self.capacity = capacity
        self._fun = fun
        self._timeout = timeout
        self._pickled = pickle.dumps(fun)
        self._watcher = Watcher()
        self._workers: set[_Worker] = set()
        self._idle: list[_Worker] = []
        self._busy: dict[Future[Outcome], _Task] = {}

    def probe(self) -> None:
        """Raise ValueError when the objective cannot be loaded in a worker process."""
        worker = self._start_worker()
        self._idle.append(worker)
        try:
            problem = worker.link.recv().problem
            worker.ready = True
        except (EOFError, OSError):
            problem = f"exit code {worker.end()}"
        if problem is not None:
            raise ValueError(
                f"fun = {self._fun.fun!r} does not arrive in other processes ({problem}): "
                + advice_on_functions()
            )

    def submit(self, x: Any) -> Future[Outcome]:
        """Begin the evaluation of one point."""
        future: Future[Outcome] = Future()
        self._begin(future, x, attempt=1)
        return future

    def wait(self, waiting: Iterable[Future[Outcome]]) -> list[Future[Outcome]]:
        """Return the futures that are done, at least one, in the order of submission."""
        order = list(waiting)
        while True:
            links = [self._busy[future].worker.link for future in order]
            connection.wait(links, timeout=self._patience())
            done = [future for future in order if self._settle(future)]
            if done:
                return done

    def close(self) -> None:
        """End all processes, also those whose evaluations are still under way."""
        for worker in self._workers:
            worker.process.terminate()
        deadline = time.perf_counter() + _GRACE
        for worker in self._workers:
            worker.end(grace=max(0.0, deadline - time.perf_counter()))
        self._watcher.close()

    def _patience(self) -> float:
        """Return for how many seconds to wait before the next look at the workers."""
        if self._timeout is None:
            return _POLL
        starts = (task.start for task in self._busy.values() if task.worker.ready)
        first = min(starts, default=math.inf)
        return min(_POLL, max(0.0, first + self._timeout - time.perf_counter()))

    def _start_worker(self) -> "_Worker":
        worker = _Worker(self._pickled)
        self._watcher.add(worker.pid)
        self._workers.add(worker)
        return worker

    def _begin(self, future: Future[Outcome], x: Any, *, attempt: int) -> None:
        worker = self._idle.pop() if self._idle else self._start_worker()
        if not worker.send(x):  # it died while it was idle
            self._bury(worker)
            worker = self._start_worker()
            worker.send(x)  # should this one be dead as well, `wait` will notice
        self._busy[future] = _Task(worker, x, attempt, time.perf_counter())

    def _settle(self, future: Future[Outcome]) -> bool:
        """Set the result of an evaluation that is over; return whether it is."""
        task = self._busy[future]
        try:
            message = task.worker.link.recv() if task.worker.has_news() else None
        except (EOFError, OSError):
            return self._settle_death(future, task)
        if message is None:
            return self._settle_late(future, task)
        if isinstance(message, _Greeting):
            # What it took to load the objective is not part of the evaluation.
            task.worker.ready = True
            self._busy[future] = replace(task, start=time.perf_counter())
            return False
        del self._busy[future]
        self._idle.append(task.worker)
        if isinstance(message, BaseException):
            raise message
        future.set_result(message)
        return True

    def _settle_late(self, future: Future[Outcome], task: "_Task") -> bool:
        """End an evaluation that has had its time; return whether it had."""
        seconds = time.perf_counter() - task.start
        if self._timeout is None or seconds < self._timeout or not task.worker.ready:
            return False
        self._bury(task.worker, grace=0.0)
        del self._busy[future]
        error = f"TimeoutError: timed out after {self._timeout:g} s"
        if not self._fun.catch:
            raise TimeoutError(f"evaluation timed out after {self._timeout:g} s")
        future.set_result(Outcome(None, error, seconds))
        return True

    def _settle_death(self, future: Future[Outcome], task: "_Task") -> bool:
        code = self._bury(task.worker)
        del self._busy[future]
        if task.attempt == 1:
            self._begin(future, task.x, attempt=2)
            return False
        error = f"two processes ended during this evaluation, exit code {code}"
        if not self._fun.catch:
            raise RuntimeError(error)
        seconds = time.perf_counter() - task.start
        future.set_result(Outcome(None, f"WorkerDied: {error}", seconds))
        return True

    def _bury(self, worker: "_Worker", grace: float = _GRACE) -> int | None:
        """Forget a worker that has died or must die, and return its exit code."""
        self._workers.discard(worker)
        code = worker.end(grace)
        self._watcher.remove(worker.pid)
        return code


class _Worker:
    """A worker process, and our end of its pipe."""

    def __init__(self, pickled: bytes) -> None:
        # A fresh interpreter, since forking a process that has run JAX can deadlock.
        context = get_context("spawn")
        self.link, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, pickled))
        self.process.start()
        self.pid = self.process.pid or 0
        self.ready = False  # whether it has loaded the objective
        theirs.close()  # from now on the pipe breaks when the process dies

    def send(self, x: Any) -> bool:
        """Send a point to be evaluated; return False when the process has died."""
        try:
            self.link.send(x)
        except OSError:
            return False
        return True

    def has_news(self) -> bool:
        """Return whether there is a message; raise EOFError when none can come any more.

        The pipe alone would not do: it stays open when the objective has forked processes that
        outlive the worker.
        """
        if self.link.poll():
            return True
        if self.process.is_alive():
            return False
        if self.link.poll():  # its last message came between the two looks
            return True
        raise EOFError

    def end(self, grace: float = _GRACE) -> int | None:
        """Let the process end by itself for `grace` seconds, then kill it and its session.

        Return its exit code.
        """
        self.link.close()
        self.process.join(grace)
        self.process.kill()
        end_session(self.pid)  # also what the objective has started and left running
        self.process.join()
        return self.process.exitcode


@dataclass(frozen=True)
class _Task:
    """An evaluation under way."""

    worker: _Worker
    x: Any
    attempt: int
    start: float


class _Greeting(NamedTuple):
    """First message of a worker."""

    problem: str | None
    """Why it could not load the objective; None when it could."""


class _Terminated(SystemExit):
    """SIGTERM as an exception, so that an evaluation can end the programs it has started."""


def _terminate(number: int, frame: FrameType | None) -> None:
    raise _Terminated(128 + number)  # the exit code as a shell would report it


def _serve(link: connection.Connection, pickled: bytes) -> None:
    """Evaluate points until the pipe is closed: the main function of a worker process."""
    lead_session()  # where Ctrl-C in the terminal reaches neither this process nor its children
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _terminate)
    try:
        fun = pickle.loads(pickled)
    except Exception as error:
        link.send(_Greeting(f"{type(error).__name__}: {error}"))
        return
    try:
        link.send(_Greeting(None))
        while True:
            x = link.recv()
            _answer(link, _evaluate(fun, x))
    except (EOFError, OSError):
        return  # nobody wants outcomes any more


def _evaluate(fun: Guarded, x: Any) -> Outcome | BaseException:
    """Return the outcome, or an exception that means "stop" to the optimizer's process."""
    try:
        return fun(x)
    except _Terminated:
        raise
    except BaseException as error:
        error.add_note("".join(["In the worker process:\n", *traceback.format_exception(error)]))
        return error


def _answer(link: connection.Connection, message: Outcome | BaseException) -> None:
    """Send an outcome, or an exception of the user's own as it is where it survives the way."""
    if isinstance(message, BaseException):
        try:
            pickle.loads(pickle.dumps(message))
        except Exception:
            message = RuntimeError("\n".join([repr(message), *message.__notes__]))
    link.send(message)


def advice_on_functions() -> str:
    """Return what to do about a function that other processes cannot load."""
    if hasattr(sys.modules.get("__main__"), "__file__"):
        return (
            "put it in a module that can be imported, and begin the script's main part with "
            "'if __name__ == \"__main__\":'; or use threads, with "
            "workers=concurrent.futures.ThreadPoolExecutor(4)"
        )
    return (
        "in a notebook or at the prompt use threads, with "
        "workers=concurrent.futures.ThreadPoolExecutor(4), or put the function in a module that "
        "can be imported"
    )
