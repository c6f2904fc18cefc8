"""Points of earlier runs that a new run has tried, and whether they were better than others."""

from typing import TYPE_CHECKING

import numpy as np

from infold.history import OTHERS, History, Proposal

if TYPE_CHECKING:
    from infold.space.where import Where

SAME = 1e-6  # a value between the cube and the user's units comes back with rounding errors

_STREAM = 15  # of the random numbers of a run, for the order of these points
_NEAR = 0.01  # of the cube: so far a point may be moved, such as one of rounded shares of a whole
_FEWEST = 3  # points of earlier runs that can be clearly better than others
_BETTER = 0.65  # share of pairs with other points in which they are better then


def tried_and_untried(history: History, seed: int = 0) -> tuple[list[int], list[np.ndarray]]:
    """Return the rows of the points of earlier runs that are known, pending ones too, and the rest.

    These are in an order that is the seed's, but for the centre of the good ones, which is the
    second: a best point at random is worth more than one that stands for many (docs/notes.md).
    Designs without values remain in their order, in which each is unlike those before.
    """
    lessons = history.lessons
    if lessons is None or not len(lessons.points):
        return [], []
    points = list(lessons.points)
    if lessons.n_runs:
        order = np.random.default_rng([seed, _STREAM]).permutation(len(points))
        points = [points[i] for i in order]
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
            if int(same[0]) not in rows:  # of a fixed or narrow space several are one point
                rows.append(int(same[0]))
        elif not any(np.all(np.abs(point - other) < SAME) for other in untried):
            untried.append(point)
    return rows, untried


def values_of_both(history: History, rows: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return values of the points of earlier runs, and of others that no model chose.

    The centre of the cube is one of the others: best points of any run lie closer to it than
    uniform ones, and are better than these for that alone where the new run's best is not far
    from it.

    Args:
        history: evaluations of the new run.
        rows: those that are points of earlier runs.
    """
    values = np.where(history.succeeded, history.merit(history.imputed), np.inf)
    evaluated = [row for row in rows if row < len(values)]
    others = [
        row
        for row in range(len(values))
        if row not in evaluated and _by_no_model(history.proposals[row])
    ]
    return values[evaluated], values[others]


def _by_no_model(proposal: Proposal) -> bool:
    """Tell whether a point came from a design, a user or chance."""
    return proposal.by in OTHERS or not (proposal.by or "known" in proposal.diagnostics)


def share_better(earlier: np.ndarray, others: np.ndarray) -> float:
    """Return in how many pairs the value of the earlier point is less; NaN where there is none."""
    if not len(earlier) or not len(others):
        return np.nan
    earlier = earlier[:, None]
    return float(np.mean(earlier < others) + 0.5 * np.mean(earlier == others))


def carry_over(history: History) -> bool:
    """Tell whether points of earlier runs were clearly better in this run than others."""
    if history.carried is not None:
        return history.carried
    if history.lessons is None or not history.lessons.n_runs:
        return False
    earlier, others = values_of_both(history, tried_and_untried(history)[0])
    return len(earlier) >= _FEWEST and share_better(earlier, others) >= _BETTER


def _allowed(points: np.ndarray, where: "Where") -> list[np.ndarray]:
    """Return the points that known constraints allow, others moved to where they do if near."""
    moved = where.nearest(points)
    near = np.max(np.abs(moved - points), axis=1) < _NEAR
    return list(moved[near & where.contains(moved)])
