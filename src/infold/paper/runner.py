"""Sweeps over a grid of runs, on the cores of this machine or on a Dask cluster.

A run is one choice of problem, method, acquisition function, number of features and seed. It
advances in steps of a few evaluations, and its state is stored after every step. A step depends on
that state alone. So the numbers are the same wherever a step is computed, and however often it had
to begin again because a worker was killed.
"""

import dataclasses
import itertools
import logging
import signal
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import numpy as np

from infold import methods, problems
from infold.paper import variants
from infold.paper.store import PAPER_EVALUATIONS, PAPER_INITIAL, Cell, Run, Store

N_INITIAL = PAPER_INITIAL
ITERATIONS = PAPER_EVALUATIONS - PAPER_INITIAL
# Evaluations per step. They take a few seconds: enough to make the start of a step cheap beside
# them, and little to lose when a worker is killed.
STEP = 20
_log = logging.getLogger(__name__)
_TRIES = 3  # a sweep ends when all workers are lost so many times without a finished step between
# One thread per process is faster than several, and gives the same numbers.
_ONE_THREAD = {
    "JAX_PLATFORMS": "cpu",
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}


def grid(
    problem: str,
    names: Iterable[str],
    acquisitions: Iterable[str],
    seeds: Iterable[int],
    features: Iterable[int] | None = None,
) -> list[Cell]:
    """List the cells of a grid, seed by seed.

    A setting that a method does not have is left out of its cells, and every cell comes once.

    Args:
        problem: name of the test problem.
        names: names of methods, with or without a variant (see `infold.paper.variants`).
        acquisitions: names of acquisition functions.
        seeds: seeds of the runs.
        features: dimensions of the feature space; those of the paper when None.
    """
    chosen = list(features or paper_features(problem))
    cells = []
    for seed, n_features, name, acquisition in itertools.product(
        seeds, chosen, names, acquisitions
    ):
        settings = methods.settings_of(name.partition("+")[0])
        cells.append(
            Cell(
                problem=problem,
                method=name,
                acquisition=acquisition if "acquisition" in settings else "",
                n_features=n_features if "n_features" in settings else 0,
                seed=seed,
            )
        )
    return list(dict.fromkeys(cells))


def paper_features(problem: str) -> tuple[int, ...]:
    """Return the dimensions of the feature space that the paper tries."""
    return (2, 3, 4, 6) if problem == "thomson" else (10,)


def paper_acquisitions(problem: str) -> tuple[str, ...]:
    """Return the acquisition functions that the paper tries."""
    return ("pi",) if problem == "thomson" else ("ei", "ucb", "pi")


def advance(run: Run, evaluations: int) -> Run:
    """Continue the run until it has so many evaluations; begin it where it has no state."""
    from infold.compilation import cache_compilations
    from infold.optimizer import Optimizer

    cache_compilations()
    problem = problems.get(run.cell.problem)
    if run.state is None:
        optimizer = Optimizer(
            [(0.0, 1.0)] * problem.dimension,
            method=variants.method(run.cell),
            n_initial=N_INITIAL,
            initial="uniform",
            seed=run.cell.seed,
        )
        run = Run(cell=run.cell)
    else:
        optimizer = Optimizer.from_text(run.state)
    seconds = run.seconds
    while len(optimizer) < evaluations:
        x = np.asarray(optimizer.ask())
        optimizer.tell(x, problem.observe(x, run.cell.seed, len(optimizer)))
        seconds += optimizer.ask_seconds
    values = tuple(np.atleast_1d(problem(np.array(optimizer.points))).tolist())
    return Run(cell=run.cell, values=values, seconds=seconds, state=optimizer.to_text())


@dataclass(frozen=True)
class Workers:
    """An executor, and the number of steps that it computes at once."""

    executor: Executor
    capacity: int


Open = Callable[[], AbstractContextManager[Workers]]
"""Opens the workers of a sweep. It is called again when all of them were lost."""


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C in a worker.

    Ctrl-C reaches every process of a terminal. The process that began the sweep ends the workers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def local(jobs: int) -> Open:
    """Compute in `jobs` processes on this machine, with one thread each."""

    @contextmanager
    def opened() -> Iterator[Workers]:
        from joblib.externals.loky import get_reusable_executor

        # Should this process be killed, the workers end after a minute without work.
        executor = get_reusable_executor(
            max_workers=jobs,
            env=_ONE_THREAD,
            timeout=60,
            reuse=False,
            initializer=_ignore_interrupts,
        )
        try:
            with warnings.catch_warnings():
                # loky takes compiled programs for leaked memory, and replaces a worker that holds
                # much of it by a new one.
                warnings.filterwarnings(
                    "ignore", message="A worker stopped while some jobs were given to the executor"
                )
                yield Workers(executor, jobs)
        except BaseException:
            # A thread of loky fails where steps are cancelled just after they were submitted.
            time.sleep(0.5)
            raise
        finally:
            executor.shutdown(wait=True, kill_workers=True)

    return opened


def dask(address: str) -> Open:
    """Compute on the workers of the Dask cluster at `address`, one step at a time on each.

    The workers need infold, but none of this machine's files. Several steps on the threads of one
    worker would share a process and gain nothing.
    """

    @contextmanager
    def opened() -> Iterator[Workers]:
        from distributed import Client

        try:
            client = Client(address, timeout="10s")
        except OSError as error:
            raise ValueError(f"no Dask cluster answers at {address}: {error}") from error
        with client:
            n_workers = len(client.nthreads())
            if not n_workers:
                raise ValueError(f"the Dask cluster at {address} has no workers")
            yield Workers(client.get_executor(pure=False), n_workers)

    return opened


@dataclass
class Outcome:
    """Result of a sweep."""

    done: int = 0
    """Number of runs that have all their evaluations."""
    failed: dict[Cell, str] = dataclasses.field(default_factory=dict)
    """Error messages of the runs that failed."""


Report = Callable[[int, int, int], None]
"""Called with the numbers of finished runs, of runs under way and of evaluations done."""


def sweep(
    cells: Iterable[Cell],
    store: Store,
    open_workers: Open,
    *,
    evaluations: int,
    report: Report | None = None,
) -> Outcome:
    """Bring the run of every cell to so many evaluations.

    Runs continue from what the store holds. One run that fails does not stop the others.

    Args:
        cells: cells whose runs are wanted.
        store: folder that the runs are read from and written to.
        open_workers: where to compute, from `local` or `dask`.
        evaluations: number of evaluations of each run, the initial ones included.
        report: called before each wait for a step, and at the end.
    """
    outcome = Outcome()
    waiting: deque[Run] = deque()
    n_evaluations = 0
    for cell in cells:
        run = store.read(cell)
        n_evaluations += min(len(run.values), evaluations)
        if len(run.values) >= evaluations:
            outcome.done += 1
        else:
            waiting.append(run)
    n_cells = outcome.done + len(waiting)
    losses = 0
    while waiting:
        running: dict[Future, Run] = {}
        with open_workers() as workers:
            try:
                while waiting or running:
                    while waiting and len(running) < workers.capacity:
                        run = waiting[0]
                        until = min(evaluations, len(run.values) + STEP)
                        running[workers.executor.submit(advance, run, until)] = run
                        waiting.popleft()  # only now: `submit` fails where the workers are lost
                    if report is not None:
                        report(outcome.done, len(running), n_evaluations)
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        before = running[future]
                        try:
                            run = future.result()
                        except (BrokenExecutor, CancelledError):
                            raise
                        except Exception as error:
                            del running[future]
                            outcome.failed[before.cell] = f"{type(error).__name__}: {error}"
                            _log.info("%s failed", before.cell, exc_info=error)
                            continue
                        del running[future]
                        store.write(run)
                        losses = 0
                        n_evaluations += len(run.values) - len(before.values)
                        if len(run.values) >= evaluations:
                            outcome.done += 1
                        else:
                            waiting.appendleft(run)
            except (BrokenExecutor, CancelledError) as error:
                losses += 1
                if losses == _TRIES:
                    raise ChildProcessError(
                        f"all workers were lost {_TRIES} times in a row, perhaps because memory "
                        "ran out: try fewer at once. Finished steps are kept, and the same command "
                        "continues from them"
                    ) from error
                waiting.extendleft(running.values())
    assert outcome.done + len(outcome.failed) == n_cells
    if report is not None:
        report(outcome.done, 0, n_evaluations)
    return outcome
