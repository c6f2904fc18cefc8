"""Maximization of an acquisition function: many candidates, the best few, ascent of these as one
batch.

The region enters as candidates and a projection, so all regions are one algorithm: projected
gradient steps of Barzilai-Borwein length, shortened where the function does not rise enough. The
paper runs L-BFGS-B in the cube and an interior-point method in the Lipschitz region, start by
start; the tests compare with both.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from infold import _checks
from infold.acquisition.discrete import new_candidates
from infold.acquisition.edges import follow_edges
from infold.acquisition.feasibility import Feasibility
from infold.acquisition.functions import Acquisition
from infold.acquisition.regions import Region, Within, limits_of
from infold.acquisition.several import ChebyshevImprovement
from infold.models.base import Predictions, SmoothSurface, Surface

ValueAndGradient = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
Projection = Callable[[np.ndarray], np.ndarray]

_BATCH = 25  # points per compiled evaluation of a gradient
_MEMORY = 5  # recent values of which a step must beat only the worst, which lets long steps through
_SUFFICIENT = 1e-4  # Armijo's constant
_SHORTEST = 1e-10  # a start that moves by less has converged
_GAIN = 1e-3  # so has one that gains less in _MEMORY steps: a thousandth of EI, PI or a deviation
_SIFT_AFTER = 5  # steps after which only the best starts are followed: others do not overtake them
_CONSTRAINED = 15  # most steps with constraints: later ones creep along edges, which are followed
_SEVERAL = 40  # most steps with several objectives: with 15 fronts were clearly worse
_SIFT_TO = 25  # starts that are followed then
_ROUNDS = 8  # of random steps where there are no gradients
_REACH = 0.1  # deviation of the first of these steps, halved every round


class Found(NamedTuple):
    """The best point and its value."""

    point: Float[np.ndarray, " d"]
    value: float
    others: Sequence["Found"] = ()
    """Other points of the search, the best first: the best may be known already."""

    @classmethod
    def among(cls, z: Float[np.ndarray, "m d"], f: Float[np.ndarray, " m"]) -> "Found":
        """Return the point of the largest value, the first of those that are equal."""
        order = np.argsort(-np.where(np.isfinite(f), f, -np.inf), kind="stable")
        best, *others = (cls(z[i], float(f[i])) for i in order)
        return best._replace(others=[other for other in others if np.isfinite(other.value)])


@dataclass(frozen=True)
class Objective:
    """An acquisition function on a response surface: what the search maximizes."""

    acquisition: Acquisition
    surface: Surface
    batch: int = _BATCH
    """Points per evaluation of gradients, always the same number: each compiles a program."""
    feasibility: Feasibility | None = None
    """Where there are constraints: how likely it is that they are satisfied."""
    several: ChebyshevImprovement | None = None
    """Where there are several objectives with a model each: takes the place of `acquisition`."""

    @property
    def has_outputs(self) -> bool:
        """Whether constraints or several objectives have models of their own."""
        return self.feasibility is not None or self.several is not None

    def value(self, z: Float[np.ndarray, "m d"]) -> Float[np.ndarray, " m"]:
        """Return the acquisition function at z."""
        if self.feasibility is not None and not self.feasibility.found:
            return self.feasibility.value(z)
        if self.several is not None:
            value = self.several.value(z)
        else:
            mean, variance = self.surface.predict(z)
            value = self.acquisition.evaluate(mean, variance, self.surface.y_min).value
        return value if self.feasibility is None else value + self.feasibility.value(z)

    def predict(self, z: Float[np.ndarray, "m d"]) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance at a few points, without compiling for their number."""
        if isinstance(self.surface, SmoothSurface):
            return self._predictions(self.surface, z)[:2]
        return self.surface.predict(z)

    def log_feasibility(self, z: Float[np.ndarray, "m d"]) -> Float[np.ndarray, " m"]:
        """Return the log probability of feasibility, without compiling for the number of points."""
        assert self.feasibility is not None
        return self._in_batches(self.feasibility.log_probability, z)[0]

    def _predictions(self, surface: SmoothSurface, z: Float[np.ndarray, "m d"]) -> Predictions:
        return Predictions(*self._in_batches(surface.predict_with_gradients, z))

    def _in_batches(
        self, function: Callable[[np.ndarray], tuple[np.ndarray, ...]], z: Float[np.ndarray, "m d"]
    ) -> Sequence[np.ndarray]:
        """Return what a function of any number of places gives, asked in batches of one size."""
        missing = -len(z) % self.batch
        padded = np.concatenate([z, np.repeat(z[-1:], missing, axis=0)]) if missing else z
        if len(padded) == self.batch:
            rows = function(padded)
            return [array[: len(z)] for array in rows] if missing else rows
        batches = np.split(padded, len(padded) // self.batch)
        parts = [function(batch) for batch in batches]
        return [np.concatenate(rows)[: len(z)] for rows in zip(*parts, strict=True)]

    def value_and_gradient(
        self, z: Float[np.ndarray, "m d"]
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, "m d"]]:
        """Return the acquisition function at z and its gradient, which the surface must have."""
        assert isinstance(self.surface, SmoothSurface)
        if self.feasibility is None:
            value, in_z = self._improvement(self.surface, z)
            return value, in_z
        log_p, gradient = self._in_batches(self.feasibility.value_and_gradient, z)
        if not self.feasibility.found:
            return log_p, gradient
        value, in_z = self._improvement(self.surface, z)
        return value + log_p, in_z + gradient

    def follow_edges(
        self, region: Region, start: Float[np.ndarray, " d"], free: Bool[np.ndarray, " d"]
    ) -> Float[np.ndarray, " d"]:
        """Return a point of the region where edges of constraints lead from a start."""
        assert self.feasibility is not None
        assert isinstance(self.surface, SmoothSurface)
        surface = self.surface
        constraints = self.feasibility.constraints

        def predict(z: np.ndarray) -> tuple[np.ndarray, ...]:
            return tuple(np.moveaxis(rows, 0, 1) for rows in constraints.predict_with_gradients(z))

        lower, upper = limits_of(region, surface.upper)
        end = follow_edges(
            lambda z: tuple(self._improvement(surface, z)),
            lambda z: tuple(self._in_batches(predict, z)),
            constraints.limits,
            start,
            (np.broadcast_to(lower, start.shape), np.broadcast_to(upper, start.shape)),
            free,
        )
        return region.project(end[None])[0]

    def _improvement(
        self, surface: SmoothSurface, z: Float[np.ndarray, "m d"]
    ) -> Sequence[np.ndarray]:
        if self.several is not None:
            return self._in_batches(self.several.value_and_gradient, z)
        p = self._predictions(surface, z)
        value = self.acquisition.evaluate(p.mean, p.variance, surface.y_min)
        in_mean = value.in_mean[:, None] * p.mean_gradient
        in_variance = value.in_variance[:, None] * p.variance_gradient
        return value.value, in_mean + in_variance


@dataclass(frozen=True, kw_only=True)
class Search:
    """How hard to search."""

    n_candidates: int = 5000
    """Points of the random search."""
    n_starts: int = 100
    """The best of them start a gradient search."""
    search_iterations: int = 30
    """Iterations of the gradient search."""
    vary_best: bool = False
    """Half of the candidates are variations of the best evaluations."""
    keep_best: bool = False
    """The best evaluation is a candidate itself."""

    def __post_init__(self) -> None:
        _checks.at_least("search_iterations", self.search_iterations, 1)
        _checks.at_least("n_starts", self.n_starts, 1)
        _checks.at_least("n_candidates", self.n_candidates, self.n_starts)

    def objective(
        self,
        acquisition: Acquisition,
        surface: Surface,
        feasibility: Feasibility | None = None,
        several: ChebyshevImprovement | None = None,
    ) -> Objective:
        """Return what is maximized, in batches that suit the number of starts."""
        return Objective(acquisition, surface, min(self.n_starts, _BATCH), feasibility, several)

    def maximize(
        self,
        objective: Objective,
        region: Region,
        rng: np.random.Generator,
        known: Float[np.ndarray, "n d"] | None = None,
    ) -> Found:
        """Return the best point of the region that was found, and others.

        Args:
            objective: what to maximize.
            region: where.
            rng: draws candidates.
            known: places that are not to be proposed, as far as there are others; those that the
                surface is fitted to where it is None.
        """
        n = self.n_candidates
        if objective.has_outputs:
            n = max(n // 3, self.n_starts)  # each costs as many predictions as there are outputs
        candidates = self._candidates(n, objective.surface, region, rng)
        rounding = objective.surface.rounding
        if rounding is not None:
            candidates = rounding.snap(candidates)
        if not self.keep_best:
            known = objective.surface.data if known is None else known
            candidates = new_candidates(candidates, known)
        if rounding is not None and isinstance(region, Within):
            allowed = candidates[region.where.contains(candidates)]
            candidates = np.concatenate([allowed, region.where.sample(self.n_starts, rng)])
        starts = best_starts(objective.value, candidates, self.n_starts)
        return self.climb(objective, region, starts, rng)

    def climb(
        self,
        objective: Objective,
        region: Region,
        starts: Float[np.ndarray, "m d"],
        rng: np.random.Generator,
    ) -> Found:
        """Return the best point that is reached from the starts."""
        rounding = objective.surface.rounding
        fixed = np.zeros(starts.shape[1], dtype=bool) if rounding is None else rounding.coordinates
        if rounding is not None and isinstance(region, Within):
            # No step leads on without a look at all constraints.
            return Found.among(starts, objective.value(starts))
        if not isinstance(objective.surface, SmoothSurface):
            return random_ascent(objective.value, region.project, starts, fixed, rng)
        value_and_gradient: ValueAndGradient = objective.value_and_gradient
        if np.any(fixed):
            value_and_gradient = holding(value_and_gradient, fixed)
        most = self.search_iterations
        if objective.has_outputs:
            most = min(most, _SEVERAL if objective.feasibility is None else _CONSTRAINED)
        found = projected_ascent(value_and_gradient, region.project, starts, max_iterations=most)
        if objective.feasibility is None or not objective.feasibility.found or np.all(fixed):
            return found
        end = replace(objective, batch=1).follow_edges(region, found.point, ~fixed)
        every = [found, *found.others]
        return Found.among(
            np.array([*(each.point for each in every), end]),
            np.append([each.value for each in every], objective.value_and_gradient(end[None])[0]),
        )

    def _candidates(
        self, n: int, surface: Surface, region: Region, rng: np.random.Generator
    ) -> Float[np.ndarray, "n d"]:
        if not self.vary_best:
            candidates = region.sample(n, rng)
        else:
            half = n // 2
            varied = variations(surface.promising, n - half, rng)
            candidates = np.concatenate([region.sample(half, rng), region.project(varied)])
        if self.keep_best:
            candidates[0] = surface.promising[0]
        return candidates


def variations(
    points: Float[np.ndarray, "k d"], n: int, rng: np.random.Generator
) -> Float[np.ndarray, "n d"]:
    """Vary randomly chosen points of the cube.

    Half of the variations move a few coordinates a little, the others give one to three of them any
    value: the gradient search does not get from one choice of a categorical parameter to another.
    """
    d = points.shape[1]
    varied = points[rng.integers(len(points), size=n)]
    near, far = np.array_split(varied, 2)
    moved = rng.uniform(size=near.shape) < min(1.0, 20.0 / d)
    near = np.clip(near + moved * 0.1 * rng.normal(size=near.shape), 0.0, 1.0)
    replaced = rng.uniform(size=far.shape).argsort(axis=1) < rng.integers(1, 4, size=(len(far), 1))
    far = np.where(replaced, rng.uniform(size=far.shape), far)
    return np.concatenate([near, far])


def holding(
    value_and_gradient: ValueAndGradient, coordinates: Bool[np.ndarray, " d"]
) -> ValueAndGradient:
    """Return the function with no slope along these coordinates: a search leaves them alone."""

    def held(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, gradient = value_and_gradient(z)
        return value, np.where(coordinates, 0.0, gradient)

    return held


def best_starts(
    value: Callable[[np.ndarray], np.ndarray], candidates: np.ndarray, n_starts: int
) -> np.ndarray:
    """Return the `n_starts` candidates of the largest value."""
    values = value(candidates)
    return candidates[np.argsort(np.where(np.isnan(values), -np.inf, values))[-n_starts:]]


def random_ascent(
    value: Callable[[np.ndarray], np.ndarray],
    project: Projection,
    starts: Float[np.ndarray, "m d"],
    fixed: Bool[np.ndarray, " d"],
    rng: np.random.Generator,
) -> Found:
    """Return the best point that shorter and shorter random steps reach, without gradients."""
    first = z = project(starts)
    f_first = f = value(z)
    for round_ in range(_ROUNDS):
        steps = _REACH * 0.5**round_ * rng.normal(size=z.shape)
        trial = project(z + np.where(fixed, 0.0, steps))
        f_trial = value(trial)
        better = f_trial > f
        z = np.where(better[:, None], trial, z)
        f = np.where(better, f_trial, f)
    return Found.among(np.concatenate([z, first]), np.append(f, f_first))


def projected_ascent(
    value_and_gradient: ValueAndGradient,
    project: Projection,
    starts: Float[np.ndarray, "m d"],
    *,
    max_iterations: int = 30,
    first_step: float = 0.05,
) -> Found:
    """Return the best point that any start reaches.

    Each iteration evaluates all starts that are still followed, once. `first_step` is the length of
    the first step, in units of the cube's side.
    """
    first = z = project(starts)
    f, g = value_and_gradient(z)
    f_first = f
    best_z = z.copy()
    best_f = f.copy()
    kept = np.flatnonzero(np.isfinite(f))  # starts still followed; below are their rows alone
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
            kept, earlier, step = kept[follow], earlier[follow], step[follow]
            z, f, g, trial = z[follow], f[follow], g[follow], trial[follow]
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
        best_f[kept[improved]] = f[improved]
        best_z[kept[improved]] = z[improved]
    return Found.among(np.concatenate([best_z, first]), np.append(best_f, f_first))
