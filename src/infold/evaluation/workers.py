"""Where the objective is evaluated: here, in processes, or wherever a map-like callable takes it.

All of them look alike to the loop: `submit` a point, `wait` for some outcomes.
"""

import os
import pickle
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, NamedTuple, Protocol

from infold import _checks

_BROKEN = (
    "the executor given as workers is broken: one of its processes died, perhaps for want of memory"
)
_UNKNOWN = 4  # evaluations at once where a callable does not say how many it can take


class Outcome(NamedTuple):
    """What an evaluation came to: a value, or what went wrong."""

    value: float | None
    error: str | None


@dataclass(frozen=True)
class Guarded:
    """The objective with its exceptions turned into outcomes. Those that mean "stop" (KeyboardInterrupt) pass."""

    fun: Callable[[Any], Any]

    def __call__(self, x: Any) -> Outcome:
        try:
            value = float(self.fun(x))
        except Exception as error:
            return Outcome(None, f"{type(error).__name__}: {error}")
        return (
            Outcome(value, None) if value - value == 0.0 else Outcome(None, f"the value is {value}")
        )


class Workers(Protocol):
    """A place to evaluate."""

    capacity: int
    """Evaluations under way at once."""

    def submit(self, x: Any) -> "Future[Outcome]": ...

    def wait(self, waiting: Iterable["Future[Outcome]"]) -> "list[Future[Outcome]]":
        """Those that are done, in the order of submission; at least one."""
        ...


class Serial:
    """Here, one after the other."""

    capacity = 1

    def __init__(self, fun: Guarded) -> None:
        self._fun = fun

    def submit(self, x: Any) -> Future:
        future: Future = Future()
        future.set_result(self._fun(x))
        return future

    def wait(self, waiting: Iterable[Future]) -> list[Future]:
        return list(waiting)


class Pool:
    """Somebody's executor; outcomes come back as they are ready. One that breaks cannot be replaced: the run ends there."""

    def __init__(self, fun: Guarded, capacity: int, executor: Executor) -> None:
        self._fun, self.capacity, self._executor = fun, capacity, executor
        self._inner: dict[Future, Future] = {}  # ours -> theirs

    def submit(self, x: Any) -> Future:
        ours: Future = Future()
        try:
            self._inner[ours] = self._executor.submit(self._fun, x)
        except futures.BrokenExecutor as error:
            raise RuntimeError(_BROKEN) from error
        return ours

    def wait(self, waiting: Iterable[Future]) -> list[Future]:
        order = list(waiting)
        while True:
            futures.wait([self._inner[ours] for ours in order], return_when=futures.FIRST_COMPLETED)
            done = [ours for ours in order if self._inner[ours].done() and self._settle(ours)]
            if done:
                return done

    def _settle(self, ours: Future) -> bool:
        """Pass a finished outcome on; False where its evaluation has been begun again."""
        inner = self._inner[ours]
        error = inner.exception()
        if isinstance(error, futures.BrokenExecutor) and self._begin_again(ours, error):
            return False
        if error is not None and not isinstance(error, Exception):
            raise error  # it means "stop"
        ours.set_result(
            inner.result() if error is None else Outcome(None, f"{type(error).__name__}: {error}")
        )
        del self._inner[ours]
        return True

    def _begin_again(self, ours: Future, error: futures.BrokenExecutor) -> bool:
        raise RuntimeError(_BROKEN) from error


class Processes(Pool):
    """Processes of our own, each an executor by itself: one that dies takes no other evaluation with it.

    Its own is tried once more in a fresh process, since the point may not be to blame (the system was out of memory).
    """

    def __init__(self, fun: Guarded, capacity: int) -> None:
        super().__init__(fun, capacity, _process())
        self._idle = [self._executor]
        self._busy: dict[
            Future, tuple[Executor, Any, bool]
        ] = {}  # ours -> its process, point, tried again?

    def probe(self) -> None:
        """Raise when a worker process cannot find the objective, before any evaluation is lost to it."""
        try:
            self._executor.submit(callable, self._fun).result()
        except Exception as error:
            raise ValueError(
                f"fun = {self._fun.fun!r} does not arrive in other processes ({type(error).__name__}: {error}): put it in a "
                "module that can be imported, and begin the script's main part with 'if __name__ == \"__main__\":'"
            ) from error

    def submit(self, x: Any) -> Future:
        ours: Future = Future()
        self._send(ours, x, again=False)
        return ours

    def _send(self, ours: Future, x: Any, *, again: bool) -> None:
        process = self._idle.pop() if self._idle else _process()
        try:
            inner = process.submit(self._fun, x)
        except (futures.BrokenExecutor, OSError):  # it is dead
            process = _process()
            inner = process.submit(self._fun, x)
        self._inner[ours], self._busy[ours] = inner, (process, x, again)

    def _settle(self, ours: Future) -> bool:
        settled = super()._settle(ours)
        if settled:
            self._idle.append(self._busy.pop(ours)[0])
        return settled

    def _begin_again(self, ours: Future, error: futures.BrokenExecutor) -> bool:
        _, x, again = self._busy[ours]
        if not again:
            self._send(ours, x, again=True)
        return not again

    def close(self) -> None:
        """Do not wait for evaluations that nobody wants any more."""
        for executor in (*self._idle, *(process for process, _, _ in self._busy.values())):
            processes = dict(getattr(executor, "_processes", None) or {})
            executor.shutdown(wait=False, cancel_futures=True)
            for process in processes.values():
                process.terminate()


def _process() -> Executor:
    """A fresh interpreter: forking a process that has run JAX can deadlock.

    A Ctrl-C in the terminal reaches it too; what becomes of its evaluation is decided here.
    """
    return ProcessPoolExecutor(
        1,
        mp_context=get_context("spawn"),
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN),
    )


class Mapped:
    """A plain map-like callable: evaluations are collected and go out together."""

    def __init__(self, fun: Guarded, mapping: Callable[..., Iterable], capacity: int) -> None:
        self._fun, self._map, self.capacity = fun, mapping, capacity
        self._queue: list[tuple[Future, Any]] = []

    def submit(self, x: Any) -> Future:
        future: Future = Future()
        self._queue.append((future, x))
        return future

    def wait(self, waiting: Iterable[Future]) -> list[Future]:
        queue, self._queue = self._queue, []
        outcomes = self._map(self._fun, [x for _, x in queue])
        for (future, _), outcome in zip(queue, outcomes, strict=True):
            future.set_result(outcome)
        return [future for future, _ in queue]


class _AsyncPool(Executor):
    """A multiprocessing pool as an executor."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    def submit(self, fn: Callable, /, *args: Any, **kwargs: Any) -> Future:
        future: Future = Future()
        self._pool.apply_async(
            fn, args, kwargs, callback=future.set_result, error_callback=future.set_exception
        )
        return future


@contextmanager
def open_workers(
    fun: Callable, workers: int | Callable, n_parallel: int | None
) -> Iterator[Workers]:
    """`workers` as SciPy means it: a number of processes (-1: one per core), or a map-like callable.

    The map of an executor, of a multiprocessing pool or of a Dask client is used through its owner, so that each result is
    used as soon as it is there. Any other callable gets `n_parallel` points at a time (default 4).
    """
    guarded = Guarded(fun)
    if n_parallel is not None:
        _checks.at_least("n_parallel", n_parallel, 1)
    if callable(workers):
        owner: Any = getattr(workers, "__self__", None)
        if hasattr(owner, "get_executor"):  # a Dask client
            capacity = max(1, sum(owner.nthreads().values()))
            yield Pool(guarded, n_parallel or capacity, owner.get_executor())
        elif isinstance(owner, Executor):
            yield Pool(guarded, n_parallel or int(getattr(owner, "_max_workers", _UNKNOWN)), owner)
        elif hasattr(owner, "apply_async"):
            yield Pool(
                guarded,
                n_parallel or int(getattr(owner, "_processes", _UNKNOWN)),
                _AsyncPool(owner),
            )
        else:
            yield Mapped(guarded, workers, n_parallel or _UNKNOWN)
        return
    if n_parallel is not None:
        raise ValueError(
            f"n_parallel = {n_parallel} goes with a map-like callable: workers = {workers!r} says how many"
        )
    if isinstance(workers, bool) or not isinstance(workers, int) or (workers < 1 and workers != -1):
        raise ValueError(
            f"workers = {workers!r}: expected a number of at least 1, -1 for one per core, or a map-like callable"
        )
    count = (os.cpu_count() or 1) if workers == -1 else workers
    if count == 1:
        yield Serial(guarded)
        return
    try:
        pickle.dumps(fun)
    except Exception as error:
        raise ValueError(
            f"fun = {fun!r} cannot be sent to other processes ({error}): define it at the top level of a module, or pass the "
            "map of a concurrent.futures.ThreadPoolExecutor as workers"
        ) from error
    pool = Processes(guarded, count)
    try:
        pool.probe()
        yield pool
    finally:
        pool.close()
