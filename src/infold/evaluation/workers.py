"""Places where the objective is evaluated: this process, worker processes, or a user's executor.

All of them look alike to the loop, which submits points and waits for some of their outcomes.
"""

import numbers
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from concurrent.futures import Executor, Future
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, Protocol

from infold import _checks
from infold.evaluation.outcome import Guarded, Outcome, failure
from infold.evaluation.processes import Processes, advice_on_functions
from infold.evaluation.program import Command
from infold.evaluation.programs import Programs

__all__ = ["Outcome", "Workers", "check_workers", "open_workers"]

_UNKNOWN_CAPACITY = 4  # evaluations at once where a callable does not say how many it can take
_POLL = 1.0  # seconds between looks at the processes of a multiprocessing pool


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
        done: list[Future[Outcome]] = []
        while not done:
            futures.wait(theirs, timeout=_POLL, return_when=futures.FIRST_COMPLETED)
            done = [ours for ours in order if self._theirs[ours].done()]
            if not done and isinstance(self._executor, _AsyncPool) and self._executor.is_broken():
                raise _broken()
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
        if not isinstance(error, Exception) or not self._fun.catch:
            raise error  # it means "stop", or somebody wants to see it
        return failure(error, time.perf_counter() - start)


def _broken() -> RuntimeError:
    return RuntimeError(
        "the executor given as workers is broken: one of its processes died, perhaps for want of "
        "memory"
    )


class _AsyncPool(Executor):
    """A multiprocessing pool as an executor.

    A pool replaces a process that dies, and waits for ever for what it was doing. So the processes
    are looked at from outside.
    """

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._seen = list(getattr(pool, "_pool", []))

    def is_broken(self) -> bool:
        """Return whether a process has died, other than by the pool's own wish."""
        may_retire = getattr(self._pool, "_maxtasksperchild", None) is not None
        peaceful = (None, 0) if may_retire else (None,)
        broken = any(process.exitcode not in peaceful for process in self._seen)
        self._seen = list(getattr(self._pool, "_pool", []))
        return broken

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
        returned = self._map(self._fun, list(self._queue.values()))
        done = list(self._queue)
        outcomes = list(returned) if isinstance(returned, Iterable) else [returned]
        if len(outcomes) != len(done) or not all(isinstance(o, Outcome) for o in outcomes):
            raise ValueError(
                f"workers = {_checks.shown(self._map)} returned {_checks.shown(returned)}: "
                f"expected what map(function, points) returns, here {len(done)} results of it"
            )
        for future, outcome in zip(done, outcomes, strict=True):
            future.set_result(outcome)
        self._queue.clear()
        return done


@contextmanager
def open_workers(
    fun: Callable,
    workers: object,
    n_parallel: int | None,
    *,
    timeout: float | None = None,
    catch: bool = True,
    n_objectives: int = 1,
) -> Iterator[Workers]:
    """Provide a place to evaluate `fun`, and clean up afterwards.

    An executor, a multiprocessing pool or a Dask client is given as itself or as its map. Either
    way each outcome can be used as soon as it is there.

    Args:
        fun: the objective, a function of one point.
        workers: as in SciPy, a number of processes (-1 for one per core) or a map-like callable;
            or an executor.
        n_parallel: number of evaluations under way at once, for a map-like callable; when None,
            as many as its owner has workers, or 4 when that is not known.
        timeout: seconds after which an evaluation is ended and has failed; one process is used
            where `workers` is 1.
        catch: whether exceptions become failed evaluations; otherwise they are raised.
        n_objectives: how many values the objective returns.
    """
    check_workers(workers, n_parallel, timeout)
    guarded = Guarded(fun, catch, n_objectives)
    if not _is_count(workers):
        yield _through_owner(guarded, workers, n_parallel)
        return
    count = _process_count(workers)
    if isinstance(fun, Command):
        if timeout is not None:
            fun = replace(fun, timeout=timeout)
        with closing(Programs(fun, count, catch=catch, n_objectives=n_objectives)) as programs:
            yield programs
        return
    if count == 1 and timeout is None:
        yield Serial(guarded)
        return
    with closing(_processes(guarded, count, timeout)) as processes:
        processes.probe()
        yield processes


def check_workers(workers: object, n_parallel: int | None, timeout: float | None = None) -> None:
    """Raise ValueError when `open_workers` would refuse these arguments."""
    if n_parallel is not None:
        _checks.at_least("n_parallel", n_parallel, 1)
    if timeout is not None:
        _checks.positive("timeout", timeout)
    if _is_count(workers):
        _process_count(workers)
        if n_parallel is not None:
            raise ValueError(
                f"n_parallel = {n_parallel} goes with a map-like callable: workers = {workers!r} "
                "says how many"
            )
        return
    if not (callable(workers) or _can_run(workers)):
        raise _not_workers(workers)
    if timeout is not None:
        raise ValueError(
            f"timeout = {timeout!r} goes with a number of processes, which can be ended: "
            f"workers = {workers!r:.60} cannot end an evaluation"
        )


def _is_count(workers: object) -> bool:
    return isinstance(workers, numbers.Integral)


def _not_workers(workers: object) -> ValueError:
    return ValueError(
        f"workers = {workers!r}: expected a number of at least 1, -1 for one per core, or a "
        "map-like callable or an executor"
    )


def _can_run(owner: object) -> bool:
    """Return whether single evaluations can be given to an object."""
    kinds = ("get_executor", "apply_async")  # of a Dask client, of a multiprocessing pool
    return isinstance(owner, Executor) or any(hasattr(owner, name) for name in kinds)


def _through_owner(fun: Guarded, workers: Any, n_parallel: int | None) -> Workers:
    """Use an executor or the owner of its map; a plain map-like callable only as it is."""
    owner: Any = workers if _can_run(workers) else getattr(workers, "__self__", None)
    if hasattr(owner, "get_executor"):  # a Dask client
        n_threads = sum(owner.nthreads().values())
        # Not pure: the objective may be noisy, so equal points in flight are evaluated each.
        return Pool(fun, n_parallel or max(1, n_threads), owner.get_executor(pure=False))
    if isinstance(owner, Executor):
        n_workers = getattr(owner, "_max_workers", _UNKNOWN_CAPACITY)
        return Pool(fun, n_parallel or int(n_workers), owner)
    if hasattr(owner, "apply_async"):
        n_workers = getattr(owner, "_processes", _UNKNOWN_CAPACITY)
        return Pool(fun, n_parallel or int(n_workers), _AsyncPool(owner))
    return Mapped(fun, workers, n_parallel or _UNKNOWN_CAPACITY)


def _process_count(workers: Any) -> int:
    """Return the number of processes that the argument `workers` asks for."""
    if isinstance(workers, bool) or (workers < 1 and workers != -1):
        raise _not_workers(workers)
    return (os.cpu_count() or 1) if workers == -1 else int(workers)


def _processes(fun: Guarded, count: int, timeout: float | None) -> Processes:
    """Prepare worker processes; raise ValueError when the objective cannot be pickled."""
    try:
        return Processes(fun, count, timeout)
    except Exception as error:
        raise ValueError(
            f"fun = {fun.fun!r} cannot be sent to other processes ({error}): "
            + advice_on_functions()
        ) from error
