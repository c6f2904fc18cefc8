"""Points of earlier runs in the design of a new one: which come next, and when they stop.

The best points of earlier runs are candidates. The first few stand for the most others; after them
a GP says which is worth a try. It sees the inputs as earlier runs taught, through their metric or
their features, and the few values that the new run has. A run of a family has its optimum close to
those of the runs most like it, and that is how they are found.
"""

import math
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from infold.acquisition.functions import ExpectedImprovement
from infold.gp.outputs import PowerTransform, without_outliers
from infold.learning.lessons import Lessons
from infold.record import History

if TYPE_CHECKING:
    from infold.space.where import Where

SAME = 1e-6  # a value between the cube and the user's units comes back with rounding errors

_MOST = 9  # points of earlier runs: one of a usual design is left for another
_UNTRIED = 2  # of them that are evaluated at once before anything is known of their worth
_FEWEST = 3  # of them that have to be known before a model chooses the next
_BETTER = 0.8  # share of pairs with ordinary points in which they are better: others follow
_NO_WORSE = 0.5  # share below which an ordinary point comes first
_NEAR = 0.01  # of the cube: so far a point may be moved, such as one of rounded shares of a whole


def earlier_points(history: History, q: int) -> list[np.ndarray]:
    """Return at most q points of earlier runs that are worth a try; none where they do not help.

    The most promising comes first, then an ordinary point of the design. Where points of earlier
    runs are mostly better than ordinary ones others follow, the centre of the good ones before
    them; where they are about as good the two take turns, and where they are worse they wait.
    """
    lessons = history.lessons
    rows, untried = _tried_and_untried(history)
    # Designs without values are unlike each other, so that one is worse says nothing of the next.
    if lessons is None or (lessons.manifold is not None and not lessons.n_runs):
        return untried[:q]
    if not rows:
        return untried[: min(q, _UNTRIED)]
    share = _share_better(history, rows)
    in_turn = share >= _NO_WORSE and 2 * len(rows) <= len(history.everywhere)
    if not (share >= _BETTER or in_turn):
        return []
    if len(untried) > 1 and len(rows) >= _FEWEST:
        untried = [untried[i] for i in _most_promising(np.stack(untried), history, lessons)]
    return untried[: max(min(q, _MOST - len(rows)), 0)]


def _tried_and_untried(history: History) -> tuple[list[int], list[np.ndarray]]:
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


def _share_better(history: History, rows: list[int]) -> float:
    """Return in how many pairs of an earlier and another point the earlier one is better.

    NaN where there is no such pair. The centre of the cube is one of the others: best points of any
    run lie closer to it than uniform ones, and are better than these for that alone where the new
    run's best is not far from it.

    Args:
        history: evaluations of the new run.
        rows: those that are points of earlier runs.
    """
    values = np.where(history.succeeded, history.merit(history.imputed), np.inf)
    evaluated = [row for row in rows if row < len(values)]
    earlier, others = values[evaluated][:, None], np.delete(values, evaluated)
    if not len(earlier) or not len(others):
        return np.nan
    return float(np.mean(earlier < others) + 0.5 * np.mean(earlier == others))


def _allowed(points: np.ndarray, where: "Where") -> list[np.ndarray]:
    """Return the points that known constraints allow, others moved to where they do if near."""
    moved = where.nearest(points)
    near = np.max(np.abs(moved - points), axis=1) < _NEAR
    return list(moved[near & where.contains(moved)])


_SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)  # lengthscales, in distances that are usual among the points
_NOISE = 1e-3  # of values of unit variance


def _most_promising(
    candidates: Float[np.ndarray, "m D"], history: History, lessons: Lessons
) -> Int[np.ndarray, " m"]:
    """Return the order of the candidates by expected improvement, the largest first."""
    merit = history.merit(history.imputed)
    if np.all(merit == merit[0]):
        return np.arange(len(candidates))
    values = without_outliers(merit)
    y = PowerTransform.of(values).apply(values)
    weights = _weights(lessons)
    mean, variance = _predict(history.x @ weights.T, y, candidates @ weights.T)
    worth = ExpectedImprovement().evaluate(mean, variance, float(np.min(y))).value
    return np.argsort(-worth, kind="stable")


def _weights(lessons: Lessons) -> Float[np.ndarray, "e D"]:
    """Return A of the distances |A x| that earlier runs taught; the identity where they did not."""
    if lessons.features is not None:
        return lessons.features.weights
    return np.eye(lessons.dimension) if lessons.metric is None else lessons.metric.weights


def _predict(
    z: Float[np.ndarray, "n e"], y: Float[np.ndarray, " n"], new: Float[np.ndarray, "m e"]
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """Return mean and variance at new points by a GP with the most likely lengthscale of a few.

    Mean and signal variance are the most likely ones. There are a dozen values, so that this is
    done at once, with nothing to train or compile.
    """
    everywhere = np.concatenate([z, new])
    usual = math.sqrt(2.0 * float(np.sum(np.var(everywhere, axis=0)))) or 1.0
    best = (-np.inf, np.zeros(len(new)), np.ones(len(new)))
    for scale in _SCALES:
        k = _matern(z, z, scale * usual) + _NOISE * np.eye(len(y))
        factor = np.linalg.cholesky(k)
        one, half = np.linalg.solve(factor, np.stack([np.ones(len(y)), y], axis=1)).T
        mean = float(one @ half / (one @ one))
        half = half - mean * one
        signal = max(float(half @ half) / len(y), 1e-12)
        likelihood = -0.5 * len(y) * math.log(signal) - np.sum(np.log(np.diagonal(factor)))
        if likelihood > best[0]:
            way = np.linalg.solve(factor, _matern(z, new, scale * usual))
            left = np.maximum(1.0 - np.sum(way**2, axis=0), 1e-9)
            best = (float(likelihood), mean + half @ way, signal * left)
    return best[1], best[2]


def _matern(
    a: Float[np.ndarray, "n e"], b: Float[np.ndarray, "m e"], lengthscale: float
) -> Float[np.ndarray, "n m"]:
    """Return the Matern-5/2 correlations between the rows of a and b."""
    r = math.sqrt(5.0) * np.linalg.norm(a[:, None] - b, axis=2) / lengthscale
    return (1.0 + r + r**2 / 3.0) * np.exp(-r)
