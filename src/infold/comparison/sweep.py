"""Many runs at once, one process of one thread for each.

The study's runner advances its runs in steps from a saved state, which other libraries do not
have. So runs are made whole here; the processes are the study's.
"""

import itertools
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass, field

from infold.comparison import contenders, suite
from infold.comparison.runs import Folder, Run, Task, run_one
from infold.paper.runner import local

_log = logging.getLogger(__name__)


def tasks(
    optimizers: Iterable[str], problems: Iterable[str], seeds: Iterable[int], batch: int = 1
) -> list[Task]:
    """List the runs of a sweep, seed by seed, of each seed the longest first.

    Runs that an optimizer cannot make, because it takes real numbers only, are left out.
    """
    dimensions = {}
    mixed = set()
    for problem in problems:
        benchmark = suite.get(problem)
        dimensions[problem] = benchmark.dimension
        if not benchmark.continuous:
            mixed.add(problem)
    slowest_first = list(contenders.PEERS)

    def rank(optimizer: str) -> int:
        known = optimizer in slowest_first
        return slowest_first.index(optimizer) if known else slowest_first.index("tpe")

    chosen = [
        Task(problem=problem, optimizer=optimizer, seed=seed, batch=batch)
        for optimizer, problem, seed in itertools.product(optimizers, dimensions, seeds)
        if not (optimizer in contenders.CONTINUOUS and problem in mixed)
    ]
    return sorted(chosen, key=lambda t: (t.seed, rank(t.optimizer), -dimensions[t.problem]))


@dataclass
class Outcome:
    """Result of a sweep."""

    done: int = 0
    """Number of runs that are there."""
    failed: dict[Task, str] = field(default_factory=dict)
    """Error messages of the runs that failed."""
    left: int = 0
    """Number of runs that were not begun, for want of time."""


Maker = Callable[[Task, int], Run]
"""Makes a run of so many evaluations."""

Report = Callable[[int, Sequence[Task]], None]
"""Called with the number of finished runs and with the runs under way."""


def _make(maker: Maker, task: Task, evaluations: int, folder: Folder) -> None:
    from infold.compilation import cache_compilations

    cache_compilations()
    folder.write(maker(task, evaluations))


def sweep(
    wanted: Iterable[Task],
    folder: Folder,
    *,
    evaluations: int,
    maker: Maker = run_one,
    processes: int = 1,
    limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """Make the runs that the folder does not have.

    One run that fails does not stop the others.

    Args:
        wanted: the runs, begun in this order.
        folder: where they are kept.
        evaluations: number of evaluations of each.
        maker: makes one of them.
        processes: number of runs at a time.
        limit: seconds after which no more runs are begun; those under way are finished.
        report: called whenever runs are begun or done.
    """
    began = time.monotonic()
    outcome = Outcome()
    waiting = list(wanted)
    waiting.reverse()
    running: dict[Future, Task] = {}
    with local(processes)() as workers:
        while waiting or running:
            while waiting and len(running) < processes:
                if limit is not None and time.monotonic() - began > limit:
                    outcome.left = len(waiting)
                    waiting.clear()
                    break
                task = waiting.pop()
                if folder.has(task, evaluations):  # perhaps since a moment ago
                    outcome.done += 1
                else:
                    running[workers.executor.submit(_make, maker, task, evaluations, folder)] = task
            if report is not None:
                report(outcome.done, list(running.values()))
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                task = running.pop(future)
                try:
                    future.result()
                    outcome.done += 1
                except BrokenExecutor as error:
                    raise ChildProcessError(
                        f"a process was lost during {task}, perhaps because memory ran out: try "
                        "fewer at once. Finished runs are kept, and the same command continues"
                    ) from error
                except Exception as error:
                    outcome.failed[task] = f"{type(error).__name__}: {error}"
                    _log.info("%s failed", task, exc_info=error)
    if report is not None:
        report(outcome.done, [])
    return outcome
