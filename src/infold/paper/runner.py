"""Runs of experiments: a grid of (problem, method, acquisition, features, seed), on this machine's cores or on a Dask cluster.

Runs advance in steps of a few evaluations. A step is a function of the run's state alone, so where it is computed, and how
often a killed worker made it begin again, does not change the numbers. The state is kept after every step.
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
from typing import Any

import numpy as np

from infold import _checks, methods, problems
from infold.paper.store import PAPER_EVALUATIONS, PAPER_INITIAL, Cell, Run, Store

N_INITIAL, ITERATIONS = PAPER_INITIAL, PAPER_EVALUATIONS - PAPER_INITIAL
STEP = 20  # evaluations; a few seconds, so that starting a step costs little and a killed one loses little
VARIANTS: dict[str, dict[str, Any]] = {
    "free": {"weight_deviation": None},
    "orthogonal": {"weight_deviation": None, "orthogonal": True},
    "paper": {"weight_deviation": None, "orthogonal": True, "n_slopes": 10},
    "priors": {"scaled_priors": True},
    "uniform": {"design": "uniform"},
}
"""Settings that depart from a method's own: the paper's objective, without and with orthonormal weights, and with its L too;
baselines with priors on their GP; random search."""
_log = logging.getLogger(__name__)
_TRIES = 3  # times in a row that all workers may be lost without a step being done
_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}  # faster; the same numbers


def grid(
    problem: str,
    names: Iterable[str],
    acquisitions: Iterable[str],
    seeds: Iterable[int],
    features: Iterable[int] | None = None,
) -> list[Cell]:
    """All cells, seed by seed; settings that a method does not have are left out. Features: the paper's by default."""
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
    """The dimensions of the feature space that the paper tries."""
    return (2, 3, 4, 6) if problem == "thomson" else (10,)


def paper_acquisitions(problem: str) -> tuple[str, ...]:
    """The acquisition functions that the paper tries."""
    return ("pi",) if problem == "thomson" else ("ei", "ucb", "pi")


def method(cell: Cell) -> methods.Method:
    """The cell's method with its settings."""
    name, _, variant = cell.method.partition("+")
    problem = cell.problem if "problem" in methods.settings_of(name) else None
    settings = {
        "acquisition": cell.acquisition or None,
        "n_features": cell.n_features or None,
        "problem": problem,
    }
    made = methods.by_name(name, **settings)
    if isinstance(made, methods.FeatureSpace):
        made = dataclasses.replace(made, clip_outliers=False)  # the paper takes values as they are
    if not variant:
        return made
    for setting in VARIANTS[_checks.one_of("variant", variant, VARIANTS)]:
        if setting not in methods.settings_of(name):
            raise ValueError(f"{cell.method}: {name} has no setting {setting}")
    return dataclasses.replace(made, **VARIANTS[variant])  # type: ignore[type-var]


def advance(run: Run, evaluations: int) -> Run:
    """The run continued until it has so many evaluations; begun, where there is no state to continue from."""
    from infold.compilation import cache_compilations
    from infold.optimizer import Optimizer

    cache_compilations()
    problem = problems.get(run.cell.problem)
    if run.state is None:
        optimizer = Optimizer(
            [(0.0, 1.0)] * problem.dimension,
            method=method(run.cell),
            n_initial=N_INITIAL,
            initial="uniform",
            seed=run.cell.seed,
        )
        run = Run(cell=run.cell)
    else:
        optimizer = Optimizer.from_text(run.state)
    seconds = run.seconds
    while len(optimizer) < evaluations:
        x = optimizer.ask()
        optimizer.tell(x, problem.observe(x, run.cell.seed, len(optimizer)))
        seconds += optimizer.ask_seconds
    values = tuple(np.atleast_1d(problem(np.array(optimizer.points))).tolist())
    return Run(cell=run.cell, values=values, seconds=seconds, state=optimizer.to_text())


@dataclass(frozen=True)
class Workers:
    """Who computes: an executor, and how many steps at once."""

    executor: Executor
    capacity: int


Open = Callable[[], AbstractContextManager[Workers]]


def _ignore_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal; the one that began the sweep ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def local(jobs: int) -> Open:
    """Processes on this machine, one thread each."""

    @contextmanager
    def opened() -> Iterator[Workers]:
        from joblib.externals.loky import get_reusable_executor

        # Idle for a minute they end, should this process be killed and leave them behind.
        executor = get_reusable_executor(
            max_workers=jobs,
            env=_ONE_THREAD,
            timeout=60,
            reuse=False,
            initializer=_ignore_interrupts,
        )
        try:
            with warnings.catch_warnings():
                # Compiled programs count as leaked memory there, and a worker with much of it is replaced by a new one.
                warnings.filterwarnings(
                    "ignore", message="A worker stopped while some jobs were given to the executor"
                )
                yield Workers(executor, jobs)
        except BaseException:
            time.sleep(
                0.5
            )  # a thread of loky's stumbles over steps that are taken back the moment they were submitted
            raise
        finally:
            executor.shutdown(wait=True, kill_workers=True)

    return opened


def dask(address: str) -> Open:
    """The workers of a Dask cluster, which need infold but none of this machine's files; one step at a time on each.

    More threads in one worker would share a process and gain nothing.
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
    """What became of a sweep."""

    done: int = 0
    failed: dict[Cell, str] = dataclasses.field(default_factory=dict)
    """Errors of runs that could not go on."""


Report = Callable[[int, int, int], None]
"""Called with the number of runs finished, of runs under way, and of evaluations done."""


def sweep(
    cells: Iterable[Cell],
    store: Store,
    open_workers: Open,
    *,
    evaluations: int,
    report: Report | None = None,
) -> Outcome:
    """Take every cell to so many evaluations. What the store has is not computed again."""
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
                        waiting.popleft()  # not before it has been taken
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
                        f"all workers were lost {_TRIES} times in a row, perhaps for want of memory: fewer at once may help. "
                        "What was done is kept, and the same command continues"
                    ) from error
                waiting.extendleft(running.values())
    assert outcome.done + len(outcome.failed) == n_cells
    if report is not None:
        report(outcome.done, 0, n_evaluations)
    return outcome
