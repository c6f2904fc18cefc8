"""Points of earlier runs in a new run: which have been tried, and how good they are there."""

from typing import TYPE_CHECKING

import numpy as np

from infold.record import OTHERS, History

if TYPE_CHECKING:
    from infold.space.where import Where

SAME = 1e-6  # a value between the cube and the user's units comes back with rounding errors
BETTER = 0.8
"""Share of pairs with ordinary points from which points of earlier runs are clearly better."""

_NEAR = 0.01  # of the cube: so far a point may be moved, such as one of rounded shares of a whole


def tried_and_untried(history: History) -> tuple[list[int], list[np.ndarray]]:
    """Return the rows of the points of earlier runs that are known, pending ones too, and the rest.

    The first is the most promising, the second the centre of the good ones.
    """
    lessons = history.lessons
    if lessons is None or not len(lessons.points):
        return [], []
    points = list(lessons.points)
    if lessons.centre is not None:
        points.insert(1, lessons.centre)
    if history.rounding is not None:
        points = list(history.rounding.snap(np.stack(points)))
    if history.where is not None:
        points = _allowed(np.stack(points), history.where)
    known = history.everywhere
    rows = []
    untried: list[np.ndarray] = []
    for point in points:
        same = np.flatnonzero(np.all(np.abs(known - point) < SAME, axis=1))
        if len(same):
            rows.append(int(same[0]))
        elif not any(np.all(np.abs(point - other) < SAME) for other in untried):
            untried.append(point)
    return rows, untried


def share_better(history: History, rows: list[int]) -> float:
    """Return in how many pairs of an earlier and an ordinary point the earlier one is better.

    NaN where there is no such pair. Ordinary points are those that neither earlier runs nor a model
    proposed. The centre of the cube is one of them: bests of any run lie closer to it than uniform
    points do, and are better than these for that alone where the new run's best is not far from it.

    Args:
        history: evaluations of the new run.
        rows: those that are points of earlier runs.
    """
    values = np.where(history.succeeded, history.merit(history.imputed), np.inf)
    earlier = [row for row in rows if row < len(values)]
    others = [proposal.by in (*OTHERS, "") for proposal in history.proposals[: len(values)]]
    ordinary = np.array(others, dtype=bool)
    ordinary[earlier] = False
    if not earlier or not np.any(ordinary):
        return np.nan
    a, b = values[earlier][:, None], values[ordinary]
    return float(np.mean(a < b) + 0.5 * np.mean(a == b))


def _allowed(points: np.ndarray, where: "Where") -> list[np.ndarray]:
    """Return the points that known constraints allow, others moved to where they do if near."""
    moved = where.nearest(points)
    near = np.max(np.abs(moved - points), axis=1) < _NEAR
    return list(moved[near & where.contains(moved)])
