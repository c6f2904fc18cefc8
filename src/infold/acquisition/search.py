"""Maximization of an acquisition function: random search, the best few, gradient ascent of all of them as one batch.

The feasible set enters only as a projection, so the cube and the Lipschitz region are one algorithm: projected gradient steps
of Barzilai-Borwein length, shortened where the function does not rise enough. The paper runs L-BFGS-B in the cube and an
interior-point method in the region, start by start; both are what the tests compare with, and the second is kept.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.optimize
from jaxtyping import Bool, Float

from infold._types import Array
from infold.acquisition import functions, lipschitz
from infold.acquisition.functions import Acquisition
from infold.acquisition.lipschitz import Region

ValueAndGradient = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
Projection = Callable[[np.ndarray], np.ndarray]

_MEMORY = 5  # values a step is compared with: rising above the worst of them is enough, which lets long steps through
_SUFFICIENT = 1e-4  # Armijo's constant
_SHORTEST = 1e-10  # a start that moves by less has converged
_GAIN = 1e-3  # so has one that gains less over as many iterations as are compared: a thousandth of EI, PI or a deviation
_SIFT_AFTER, _SIFT_TO = (
    5,
    25,
)  # from then on only the best starts are followed: the others would not overtake them


class Found(NamedTuple):
    """The best point and its value."""

    point: Float[np.ndarray, " d"]
    value: float


class Predictions(NamedTuple):
    """Mean and variance of a response surface at m points, and their gradients in the point."""

    mean: Float[np.ndarray, " m"]
    variance: Float[np.ndarray, " m"]
    mean_gradient: Float[np.ndarray, "m d"]
    variance_gradient: Float[np.ndarray, "m d"]


@dataclass(frozen=True)
class Objective:
    """An acquisition function on a response surface, as the search wants it."""

    acquisition: Acquisition
    y_min: float
    predict: Callable[[np.ndarray], Array]
    """Mean and variance at points, as two rows."""
    predict_with_gradients: Callable[[np.ndarray], Array]
    """The columns of `Predictions` side by side, at exactly `batch` points: not to be compiled for every number of them."""
    batch: int

    def value(self, z: Float[np.ndarray, "m d"]) -> Float[np.ndarray, " m"]:
        mean, variance = np.asarray(self.predict(z))
        return functions.evaluate(self.acquisition, mean, variance, self.y_min).value

    def predictions(self, z: Float[np.ndarray, "m d"]) -> Predictions:
        """Predictions at any number of points, in batches."""
        padded = np.concatenate([z, np.repeat(z[-1:], -len(z) % self.batch, axis=0)])
        parts = [
            self.predict_with_gradients(part)
            for part in np.split(padded, len(padded) // self.batch)
        ]
        columns = np.concatenate(parts)[: len(z)]
        d = z.shape[1]
        return Predictions(columns[:, 0], columns[:, 1], columns[:, 2 : 2 + d], columns[:, 2 + d :])

    def value_and_gradient(
        self, z: Float[np.ndarray, "m d"]
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, "m d"]]:
        p = self.predictions(z)
        value = functions.evaluate(self.acquisition, p.mean, p.variance, self.y_min)
        return value.value, value.in_mean[:, None] * p.mean_gradient + value.in_variance[
            :, None
        ] * p.variance_gradient


def fixing(
    value_and_gradient: ValueAndGradient, coordinates: Bool[np.ndarray, " d"]
) -> ValueAndGradient:
    """The same function for a search that is not to move along these coordinates."""

    def fixed(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, gradient = value_and_gradient(z)
        return value, np.where(coordinates, 0.0, gradient)

    return fixed


def best_starts(
    value: Callable[[np.ndarray], np.ndarray], candidates: np.ndarray, n_starts: int
) -> np.ndarray:
    """The `n_starts` candidates of the largest value."""
    values = value(candidates)
    return candidates[np.argsort(np.where(np.isnan(values), -np.inf, values))[-n_starts:]]


def projected_ascent(
    value_and_gradient: ValueAndGradient,
    project: Projection,
    starts: Float[np.ndarray, "m d"],
    *,
    max_iterations: int = 30,
    first_step: float = 0.05,
) -> Found:
    """The best point that any start reaches. One evaluation per iteration of all starts that are still followed.

    `first_step` is the length of the first step, in units of the cube's side.
    """
    z = project(starts)
    f, g = value_and_gradient(z)
    best_z, best_f = z.copy(), f.copy()
    kept = np.flatnonzero(
        np.isfinite(f)
    )  # the starts still followed; what follows holds their rows alone
    z, f, g = z[kept], f[kept], g[kept]
    recent = np.repeat(f[None], _MEMORY, axis=0)
    earlier = f
    step = first_step / np.maximum(np.max(np.abs(g), axis=1, initial=0.0), 1e-300)
    for iteration in range(1, max_iterations + 1):
        trial = project(z + step[:, None] * g)
        follow = np.max(np.abs(trial - z), axis=1, initial=0.0) > _SHORTEST
        if iteration % _MEMORY == 0:
            follow &= best_f[kept] > earlier + _GAIN
            earlier = best_f[kept]
        if iteration == _SIFT_AFTER and np.sum(follow) > _SIFT_TO:
            follow &= best_f[kept] >= np.sort(best_f[kept])[-_SIFT_TO]
        if not np.all(follow):
            kept, z, f, g, step, trial, earlier = (
                a[follow] for a in (kept, z, f, g, step, trial, earlier)
            )
            recent = recent[:, follow]
        if not len(kept):
            break
        moved = trial - z
        f_trial, g_trial = value_and_gradient(trial)
        rise = np.maximum(_SUFFICIENT * np.sum(g * moved, axis=1), 0.0)
        with np.errstate(invalid="ignore"):
            accepted = f_trial >= recent.min(axis=0) + rise
        # Barzilai and Borwein: the step that a quadratic through the last two gradients would take.
        change = np.sum(moved * (g - g_trial), axis=1)
        length = np.sum(moved * moved, axis=1)
        grown = np.where(change > 0.0, length / np.maximum(change, 1e-300), 10.0 * step)
        step = np.where(accepted, np.clip(grown, 0.1 * step, 100.0 * step), 0.25 * step)
        z = np.where(accepted[:, None], trial, z)
        g = np.where(accepted[:, None], g_trial, g)
        f = np.where(accepted, f_trial, f)
        recent[iteration % _MEMORY] = f
        improved = f > best_f[kept]
        best_f[kept[improved]], best_z[kept[improved]] = f[improved], z[improved]
    winner = int(np.argmax(np.where(np.isfinite(best_f), best_f, -np.inf)))
    return Found(best_z[winner], float(best_f[winner]))


def trust_constr(
    value_and_gradient: ValueAndGradient, region: Region, starts: Float[np.ndarray, "m d"]
) -> Found:
    """The same by SciPy's trust-region interior-point method, one start after the other: the paper's route."""

    def negative(z: np.ndarray) -> tuple[float, np.ndarray]:
        f, g = value_and_gradient(z[None])
        return -float(f[0]), -g[0]

    def slack(z: np.ndarray) -> float:
        index, distance = lipschitz.nearest(region, z[None])
        return float(region.radii[index[0]] ** 2 - distance[0] ** 2)

    def slack_gradient(z: np.ndarray) -> np.ndarray:
        index, _ = lipschitz.nearest(region, z[None])
        return -2.0 * (z - region.centers[index[0]])

    d = starts.shape[1]
    constraint = scipy.optimize.NonlinearConstraint(
        slack, 0.0, np.inf, jac=slack_gradient, hess=scipy.optimize.BFGS()
    )
    best = Found(starts[0], -np.inf)
    for start in np.clip(
        lipschitz.project(region, starts), 1e-6, 1.0 - 1e-6
    ):  # from a face of the cube it cannot move
        with warnings.catch_warnings():
            # The quasi-Newton update remarks on starts at which the function is flat.
            warnings.filterwarnings("ignore", message="delta_grad == 0.0", category=UserWarning)
            result = scipy.optimize.minimize(
                negative,
                start,
                jac=True,
                method="trust-constr",
                bounds=scipy.optimize.Bounds(np.zeros(d), np.ones(d), keep_feasible=True),
                constraints=constraint,
                hess=scipy.optimize.BFGS(),
                options={"maxiter": 200},
            )
        # Interior points end inside to within a tolerance; the comparison is between feasible points.
        point = lipschitz.project(region, result.x[None])
        value = float(value_and_gradient(point)[0][0])
        if value > best.value:
            best = Found(point[0], value)
    return best
