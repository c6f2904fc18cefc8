"""Places where the objective is evaluated: this process, worker processes, or a user's executor.

All of them look alike to the loop, which submits points and waits for some of their outcomes.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from concurrent.futures import Executor, Future
from contextlib import closing, contextmanager
from typing import Any, Protocol

from infold import _checks
from infold.evaluation.outcome import Guarded, Outcome, failure
from infold.evaluation.processes import Processes

__all__ = ["Outcome", "Workers", "open_workers"]

_UNKNOWN_CAPACITY = 4  # evaluations at once where a callable does not say how many it can take


class Workers(Protocol):
    """A place where the objective is evaluated."""

    capacity: int
    """Number of evaluations that can be under way at once."""

    def submit(self, x: Any) -> Future[Outcome]:
        """Begin the evaluation of one point."""
        ...

    def wait(self, waiting: Iterable[Future[Outcome]]) -> list[Future[Outcome]]:
        """Return the futures that are done, at least one, in the order of submission."""
        ...


class Serial:
    """This process, one evaluation after the other."""

    capacity = 1

    def __init__(self, fun: Guarded) -> None:
        self._fun = fun

    def submit(self, x: Any) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        future.set_result(self._fun(x))
        return future

    def wait(self, waiting: Iterable[Future[Outcome]]) -> list[Future[Outcome]]:
        return list(waiting)


class Pool:
    """A user's executor. It cannot be replaced when it breaks, so the run ends there."""

    def __init__(self, fun: Guarded, capacity: int, executor: Executor) -> None:
        self.capacity = capacity
        self._fun = fun
        self._executor = executor
        self._theirs: dict[Future[Outcome], Future[Outcome]] = {}
        self._start: dict[Future[Outcome], float] = {}

    def submit(self, x: Any) -> Future[Outcome]:
        ours: Future[Outcome] = Future()
        self._start[ours] = time.perf_counter()
        try:
            self._theirs[ours] = self._executor.submit(self._fun, x)
        except futures.BrokenExecutor as error:
            raise _broken() from error
        return ours

    def wait(self, waiting: Iterable[Future[Outcome]]) -> list[Future[Outcome]]:
        order = list(waiting)
        theirs = [self._theirs[ours] for ours in order]
        futures.wait(theirs, return_when=futures.FIRST_COMPLETED)
        done = [ours for ours in order if self._theirs[ours].done()]
        for ours in done:
            ours.set_result(self._outcome(ours))
        return done

    def _outcome(self, ours: Future[Outcome]) -> Outcome:
        theirs = self._theirs.pop(ours)
        start = self._start.pop(ours)
        error = theirs.exception()
        if error is None:
            return theirs.result()
        if isinstance(error, futures.BrokenExecutor):
            raise _broken() from error
        if not isinstance(error, Exception):
            raise error  # it means "stop"
        return failure(error, time.perf_counter() - start)


def _broken() -> RuntimeError:
    return RuntimeError(
        "the executor given as workers is broken: one of its processes died, perhaps for want of "
        "memory"
    )


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


class Mapped:
    """A plain map-like callable, which gets the points that were submitted all at once."""

    def __init__(self, fun: Guarded, mapping: Callable[..., Iterable], capacity: int) -> None:
        self.capacity = capacity
        self._fun = fun
        self._map = mapping
        self._queue: dict[Future[Outcome], Any] = {}

    def submit(self, x: Any) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        self._queue[future] = x
        return future

    def wait(self, waiting: Iterable[Future[Outcome]]) -> list[Future[Outcome]]:
        outcomes = self._map(self._fun, list(self._queue.values()))
        done = list(self._queue)
        for future, outcome in zip(done, outcomes, strict=True):
            future.set_result(outcome)
        self._queue.clear()
        return done


@contextmanager
def open_workers(
    fun: Callable, workers: int | Callable, n_parallel: int | None
) -> Iterator[Workers]:
    """Provide a place to evaluate `fun`, and clean up afterwards.

    The map of an executor, of a multiprocessing pool or of a Dask client is used through its
    owner, so that each outcome can be used as soon as it is there.

    Args:
        fun: the objective, a function of one point.
        workers: as in SciPy, a number of processes (-1 for one per core) or a map-like callable.
        n_parallel: number of evaluations under way at once, for a map-like callable; when None,
            as many as its owner has workers, or 4 when that is not known.
    """
    guarded = Guarded(fun)
    if n_parallel is not None:
        _checks.at_least("n_parallel", n_parallel, 1)
    if callable(workers):
        yield _through_callable(guarded, workers, n_parallel)
        return
    if n_parallel is not None:
        raise ValueError(
            f"n_parallel = {n_parallel} goes with a map-like callable: workers = {workers!r} "
            "says how many"
        )
    count = _process_count(workers)
    if count == 1:
        yield Serial(guarded)
        return
    with closing(_processes(guarded, count)) as processes:
        processes.probe()
        yield processes


def _through_callable(fun: Guarded, mapping: Callable, n_parallel: int | None) -> Workers:
    """Find the owner of a map-like callable, and use that if it can run single evaluations."""
    owner: Any = getattr(mapping, "__self__", None)
    if hasattr(owner, "get_executor"):  # a Dask client
        n_threads = sum(owner.nthreads().values())
        return Pool(fun, n_parallel or max(1, n_threads), owner.get_executor())
    if isinstance(owner, Executor):
        n_workers = getattr(owner, "_max_workers", _UNKNOWN_CAPACITY)
        return Pool(fun, n_parallel or int(n_workers), owner)
    if hasattr(owner, "apply_async"):
        n_workers = getattr(owner, "_processes", _UNKNOWN_CAPACITY)
        return Pool(fun, n_parallel or int(n_workers), _AsyncPool(owner))
    return Mapped(fun, mapping, n_parallel or _UNKNOWN_CAPACITY)


def _process_count(workers: int) -> int:
    """Return the number of processes that the argument `workers` asks for."""
    is_number = isinstance(workers, int) and not isinstance(workers, bool)
    if not is_number or (workers < 1 and workers != -1):
        raise ValueError(
            f"workers = {workers!r}: expected a number of at least 1, -1 for one per core, or a "
            "map-like callable"
        )
    return (os.cpu_count() or 1) if workers == -1 else workers


def _processes(fun: Guarded, count: int) -> Processes:
    """Prepare worker processes; raise ValueError when the objective cannot be pickled."""
    try:
        return Processes(fun, count)
    except Exception as error:
        raise ValueError(
            f"fun = {fun.fun!r} cannot be sent to other processes ({error}): define it at the top "
            "level of a module, or pass the map of a concurrent.futures.ThreadPoolExecutor as "
            "workers"
        ) from error
