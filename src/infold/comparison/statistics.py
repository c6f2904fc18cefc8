"""Regrets, ranks and paired tests over the runs of a comparison.

A cell is a problem with a seed. Optimizers are compared on the cells that all of them have. Seeds
of one problem are averaged first and problems then, each with the same weight, and what is drawn
again for intervals are problems: another seed says little about another problem.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import stats

from infold.comparison import suite
from infold.comparison.contenders import N_FIRST
from infold.comparison.runs import Run
from infold.paper.significance import p_different

LEVEL = 0.95  # of intervals
_RESAMPLES = 9999
# Smallest regrets that are told apart, as shares of that after the first points. Where the minimum
# is the best value found, the run that found it would have none.
_SMALLEST_KNOWN = 1e-6
_SMALLEST_FOUND = 1e-2

Cells = Mapping[str, Sequence[int]]
"""Seeds by problem."""


class Key(NamedTuple):
    """What a curve belongs to."""

    optimizer: str
    problem: str
    seed: int


@dataclass(frozen=True)
class Curves:
    """Progress of runs, after each evaluation."""

    best: Mapping[Key, Float[np.ndarray, " n"]]
    """Best value so far."""
    log_regret: Mapping[Key, Float[np.ndarray, " n"]]
    """log10 of the regret, as a share of the median regret after the first points."""

    def common(self, optimizers: Iterable[str], evaluations: int, problems: Iterable[str]) -> Cells:
        """Return the cells of which all the optimizers have runs of so many evaluations."""
        sets = [
            {
                (key.problem, key.seed)
                for key, curve in self.best.items()
                if key.optimizer == optimizer and len(curve) >= evaluations
            }
            for optimizer in optimizers
        ]
        shared = set.intersection(*sets) if sets else set()
        return {
            problem: seeds
            for problem in problems
            if (seeds := sorted(seed for name, seed in shared if name == problem))
        }


def curves(runs: Iterable[Run]) -> Curves:
    """Make the curves of runs.

    Where a problem's minimum is not known, the best value of any of the runs stands for it.
    """
    by_problem: dict[str, dict[Key, np.ndarray]] = {}
    for run in runs:
        key = Key(run.task.optimizer, run.task.problem, run.task.seed)
        by_problem.setdefault(run.task.problem, {})[key] = run.best
    best: dict[Key, np.ndarray] = {}
    log_regret = {}
    for problem, found in by_problem.items():
        known = suite.get(problem).minimum
        minimum = min(curve[-1] for curve in found.values()) if known is None else known
        smallest = _SMALLEST_FOUND if known is None else _SMALLEST_KNOWN
        start = np.median([curve[:N_FIRST][-1] - minimum for curve in found.values()])
        scale = start if start > 0.0 else 1.0
        best |= found
        for key, curve in found.items():
            log_regret[key] = np.log10(np.maximum((curve - minimum) / scale, smallest))
    return Curves(best, log_regret)


def mean_ranks(
    found: Curves, optimizers: Sequence[str], cells: Cells, evaluations: int
) -> dict[str, Float[np.ndarray, " n"]]:
    """Return the mean ranks of the optimizers' best values, after each of so many evaluations.

    Equal values share the mean of their ranks.
    """
    by_problem = []
    for problem, seeds in cells.items():
        ranks = [
            stats.rankdata(
                [found.best[Key(o, problem, seed)][:evaluations] for o in optimizers], axis=0
            )
            for seed in seeds
        ]
        by_problem.append(np.mean(ranks, axis=0))
    nothing = np.full((len(optimizers), evaluations), np.nan)
    means = np.mean(by_problem, axis=0) if by_problem else nothing
    return dict(zip(optimizers, means, strict=True))


def mean_log_regret(
    found: Curves, optimizer: str, cells: Cells, evaluations: int
) -> Float[np.ndarray, " n"]:
    """Return the mean log10 regret over cells, after each of so many evaluations."""
    by_problem = [
        np.mean([found.log_regret[Key(optimizer, p, s)][:evaluations] for s in seeds], axis=0)
        for p, seeds in cells.items()
    ]
    return np.mean(by_problem, axis=0) if by_problem else np.full(evaluations, np.nan)


def area(found: Curves, optimizer: str, cells: Cells, evaluations: int) -> float:
    """Return the area under the curve of log10 regret, per evaluation after the first points."""
    return float(np.mean(mean_log_regret(found, optimizer, cells, evaluations)[N_FIRST:]))


class Contest(NamedTuple):
    """Outcome of a comparison of one optimizer with another, or with several."""

    n_problems: int
    n_pairs: int
    ratio: float
    """Geometric mean of the ratio of regrets, below 1 where the first optimizer is better."""
    low: float
    """Lower end of the interval for the ratio."""
    high: float
    """Upper end of it."""
    wins: float
    """Share of the pairs in which the first has the lower value; equal values count half."""
    p: float
    """Two-sided p-value of the Wilcoxon signed-rank test over the problems' mean log ratios."""


def contest(
    found: Curves, ours: str, others: Mapping[str, str], cells: Cells, evaluations: int
) -> Contest:
    """Compare an optimizer with others after so many evaluations.

    Args:
        found: curves of all of them.
        ours: name of the optimizer.
        others: name of its opponent on each problem.
        cells: what they are compared on.
        evaluations: number of evaluations.
    """
    at = evaluations - 1
    logs = []
    wins: list[float] = []
    for problem, seeds in cells.items():
        pairs = [(Key(ours, problem, s), Key(others[problem], problem, s)) for s in seeds]
        logs.append(np.mean([found.log_regret[a][at] - found.log_regret[b][at] for a, b in pairs]))
        wins += [0.5 - 0.5 * np.sign(found.best[a][at] - found.best[b][at]) for a, b in pairs]
    if not logs:
        return Contest(0, 0, np.nan, np.nan, np.nan, np.nan, np.nan)
    low, high = interval(logs)
    return Contest(
        n_problems=len(logs),
        n_pairs=len(wins),
        ratio=float(10.0 ** np.mean(logs)),
        low=10.0**low,
        high=10.0**high,
        wins=float(np.mean(wins)),
        p=p_different(logs),
    )


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return a bootstrap interval for the mean; NaN for fewer than two values."""
    if len(values) < 2:
        return np.nan, np.nan
    drawn = stats.bootstrap(
        (np.asarray(values),),
        np.mean,
        n_resamples=_RESAMPLES,
        confidence_level=LEVEL,
        method="percentile",
        rng=np.random.default_rng(0),
    )
    return float(drawn.confidence_interval.low), float(drawn.confidence_interval.high)


def best_of_each(
    found: Curves, optimizers: Sequence[str], cells: Cells, evaluations: int
) -> dict[str, str]:
    """Name the optimizer with the lowest median value on each problem, as known afterwards."""
    return {
        problem: min(
            optimizers,
            key=lambda o, p=problem, s=seeds: np.median(  # type: ignore[misc]
                [found.best[Key(o, p, seed)][evaluations - 1] for seed in s]
            ),
        )
        for problem, seeds in cells.items()
    }


def median_values(
    found: Curves, optimizers: Sequence[str], cells: Cells, evaluations: int
) -> dict[str, dict[str, float]]:
    """Return the median best value over seeds, by problem and optimizer."""
    return {
        problem: {
            o: float(np.median([found.best[Key(o, problem, s)][evaluations - 1] for s in seeds]))
            for o in optimizers
        }
        for problem, seeds in cells.items()
    }


def seconds(runs: Iterable[Run], marks: Sequence[int]) -> dict[str, dict[int, float]]:
    """Return the median seconds of a suggestion near each of so many evaluations, by optimizer.

    Only runs on the kind of processor that most optimizers ran on count, and there only problems
    that all of these have.
    """
    listed = list(runs)
    by_processor: dict[str, set[str]] = {}
    for run in listed:
        by_processor.setdefault(run.processor, set()).add(run.task.optimizer)
    if not by_processor:
        return {}
    usual = max(by_processor, key=lambda processor: len(by_processor[processor]))
    here = [run for run in listed if run.processor == usual]
    problems = set.intersection(
        *(
            {run.task.problem for run in here if run.task.optimizer == optimizer}
            for optimizer in by_processor[usual]
        )
    )
    found: dict[str, dict[int, float]] = {}
    for optimizer in sorted(by_processor[usual]):
        times: dict[int, list[float]] = {mark: [] for mark in marks}
        for run in here:
            if run.task.optimizer == optimizer and run.task.problem in problems:
                for mark in marks:
                    if len(run.seconds) >= mark:
                        times[mark].append(float(np.median(run.seconds[mark - 10 : mark])))
        found[optimizer] = {m: float(np.median(t)) for m, t in times.items() if t}
    return found
