"""Tables about problems with constraints or several objectives, for a page that a person reads."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy import stats

from infold.comparison import outcomes, page, statistics
from infold.comparison.runs import Run
from infold.comparison.statistics import Cells, Curves, Key

MARKS = (100, 200)
"""Numbers of evaluations at which optimizers are compared."""
_MANY = 20  # parameters: problems with so many are reported apart


def write(path: Path, suite: str, runs: Iterable[Run], optimizers: Sequence[str]) -> None:
    """Write tables between the marks of a page that have the suite's name.

    Args:
        path: the page.
        suite: one of `infold.comparison.outcomes.SUITES`.
        runs: runs on its problems.
        optimizers: who is compared: the first with each of the others.
    """
    listed = [run for run in runs if run.task.optimizer in optimizers]
    best = {Key(r.task.optimizer, r.task.problem, r.task.seed): r.best for r in listed}
    curves = Curves(best, {})
    groups = {
        mark: _groups(curves.common(optimizers, mark, outcomes.SUITES[suite])) for mark in MARKS
    }
    marks = [mark for mark in MARKS if groups[mark]]
    if not marks:
        raise ValueError(
            f"there is no problem with runs of all of {', '.join(optimizers)} that are "
            f"{MARKS[0]} evaluations long: name fewer in --optimizers, or make those runs"
        )
    last = groups[marks[-1]]
    parts = [
        _ranks(curves, optimizers, {mark: groups[mark] for mark in marks}),
        _against(curves, optimizers, last, marks[-1]),
        _medians(curves, optimizers, last["all"], marks[-1]),
        page.seconds_table(listed, marks),
    ]
    page.splice(path, suite, "\n\n".join(parts))


def _groups(cells: Cells) -> dict[str, Cells]:
    """Return the cells, and those of problems of few and of many parameters."""
    if not cells:
        return {}
    many = {name for name in cells if outcomes.get(name).space.dimension >= _MANY}
    parts = {
        "all": dict(cells),
        f"below {_MANY} parameters": {n: s for n, s in cells.items() if n not in many},
        f"{_MANY} parameters and more": {n: s for n, s in cells.items() if n in many},
    }
    return {name: part for name, part in parts.items() if part}


def _ranks(
    curves: Curves, optimizers: Sequence[str], groups: Mapping[int, Mapping[str, Cells]]
) -> str:
    """Write mean ranks, and how many runs have found a feasible point."""
    last = max(groups)
    rows = []
    for name, cells in groups[last].items():
        ranks = {
            mark: statistics.mean_ranks(curves, optimizers, parts.get(name, {}), mark)
            for mark, parts in groups.items()
        }
        n_runs = sum(map(len, cells.values()))
        for optimizer in optimizers:
            found = [
                math.isfinite(curves.best[Key(optimizer, problem, seed)][last - 1])
                for problem, seeds in cells.items()
                for seed in seeds
            ]
            rows.append(
                [
                    f"{name} ({len(cells)})",
                    optimizer,
                    *(f"{ranks[mark][optimizer][-1]:.2f}" for mark in groups),
                    f"{sum(found)} of {n_runs}",
                ]
            )
    headings = [
        "problems",
        "optimizer",
        *(f"rank, {m}" for m in groups),
        f"runs with a point, {last}",
    ]
    return f"Mean ranks after {page.series(list(groups))} evaluations:\n\n" + page.table(
        headings, rows, 2
    )


def _against(
    curves: Curves, optimizers: Sequence[str], groups: Mapping[str, Cells], mark: int
) -> str:
    """Write how often the first optimizer is ahead of each of the others, problem by problem."""
    ours, *others = optimizers
    rows = []
    for name, cells in groups.items():
        for other in others:
            shares = [
                np.mean([_win(curves, ours, other, problem, seed, mark) for seed in seeds])
                for problem, seeds in cells.items()
            ]
            ahead = np.array(shares) - 0.5
            p = float(stats.wilcoxon(ahead).pvalue) if np.any(ahead) else 1.0
            rows.append([name, other, f"{np.mean(shares):.0%}", f"{p:.1g}"])
    return (
        f"Share of pairs of runs in which {ours} is better after {mark} evaluations, and "
        "p-value of the Wilcoxon test over problems:\n\n"
        + page.table(["problems", "against", "better", "p"], rows, 2)
    )


def _win(curves: Curves, a: str, b: str, problem: str, seed: int, mark: int) -> float:
    """Return 1 where a is better than b, 0 where it is worse, and a half where they are equal."""
    first, second = (curves.best[Key(name, problem, seed)][mark - 1] for name in (a, b))
    return float(first < second) + 0.5 * float(first == second)


def _medians(curves: Curves, optimizers: Sequence[str], cells: Cells, mark: int) -> str:
    """Write the median of each optimizer on every problem; the best is bold."""
    several = any(outcomes.suite_of(problem) == "several" for problem in cells)
    found = statistics.median_values(curves, optimizers, cells, mark)
    rows = []
    for problem, medians in found.items():
        made = outcomes.get(problem)
        lowest = min(medians.values())
        shown = [
            f"**{_shown(value, several)}**" if value == lowest else _shown(value, several)
            for value in medians.values()
        ]
        known = getattr(made, "minimum", None)
        row = [problem, str(made.space.dimension), str(len(cells[problem]))]
        rows.append([*row, *([] if several else ["" if known is None else f"{known:.5g}"]), *shown])
    headings = ["problem", "D", "seeds", *([] if several else ["minimum"]), *optimizers]
    what = "hypervolumes" if several else "best feasible values"
    return f"Median {what} after {mark} evaluations:\n\n" + page.table(headings, rows)


def _shown(value: float, several: bool) -> str:
    if not math.isfinite(value):
        return "none"
    return f"{abs(value) if several else value:.5g}"  # hypervolumes are kept as their negatives
