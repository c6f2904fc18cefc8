"""A trust region: a box around the best point that grows with success and shrinks with failure.

Its size is a function of the history: every evaluation is gone through again, and whoever has the
same evaluations has the same region (D. Eriksson et al., "Scalable global optimization via local
Bayesian optimization", NeurIPS 2019). The model is fitted to the evaluations near the region, which
bounds the time of a suggestion, and whose values are standardized among themselves: close to an
optimum they differ by little, and that little is what the model must resolve.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.lib.stride_tricks import sliding_window_view

from infold import _checks
from infold.acquisition.regions import Place, Region
from infold.learning.tried import carry_over
from infold.models.base import NEGLIGIBLE_NOISE, Fitted, Surface
from infold.objectives import enters_front
from infold.record import OTHERS, History

_RECENT = 10  # evaluations whose median says what values are usual
_NEARER = 0.5  # side of the first box, where points of earlier runs carry over, to the usual one
_FEWEST = 64  # evaluations that the model is fitted to, where there are so many
# Geometric mean of lengthscales over the inverse of their root mean square inverse, beside pending
# points: up to 2.4 where all inputs matter, in time 7 to 25 where 2 to 6 of 60 to 80 do
# (docs/notes.md).
_LONGEST = 2.5


@dataclass(frozen=True, eq=False)
class Box(Region):
    """A box around a point, whose discrete coordinates are free."""

    centre: Float[np.ndarray, " d"]
    lower: Float[np.ndarray, " d"]
    upper: Float[np.ndarray, " d"]
    side: float
    """Geometric mean of its sides, before they are cut by the cube."""
    n_moved: int
    """Number of coordinates in which a sample differs from the centre, in the mean."""

    def project(self, z: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m d"]:
        return np.clip(z, self.lower, self.upper)

    def sample(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """Draw points that differ from the centre in a few coordinates, at least one."""
        d = len(self.centre)
        moved = rng.uniform(size=(n, d)) < min(1.0, self.n_moved / d)
        moved[np.arange(n), rng.integers(d, size=n)] = True
        return np.where(moved, rng.uniform(self.lower, self.upper, size=(n, d)), self.centre)

    def contains(
        self, z: Float[np.ndarray, "m d"], tolerance: float = 1e-9
    ) -> Bool[np.ndarray, " m"]:
        return np.all((z >= self.lower - tolerance) & (z <= self.upper + tolerance), axis=1)

    def describe(self, z: Float[np.ndarray, " d"]) -> dict[str, Any]:
        return {"side": self.side}


@dataclass(frozen=True, kw_only=True)
class TrustRegion:
    """Search a box around the best evaluation, with sides in proportion to the lengthscales."""

    first_side: float = 0.8
    """Side of the box at the beginning, and after it was exhausted."""
    least_side: float = 2.0**-10
    """Side below which it is exhausted: the box is as large as at the beginning again."""
    n_successes: int = 3
    """Better values in a row that double the side."""
    n_failures: int = 5
    """Evaluations in a row without a better value that halve it."""
    least_gain: float = 0.01
    """Gain that counts as a success, relative to how far the last values are above the best."""
    n_moved: int = 20
    """Coordinates in which a candidate differs from the best point, in the mean."""
    n_data: int = 500
    """Most evaluations that the model is fitted to."""
    most_noise: float = NEGLIGIBLE_NOISE
    """Share of the variance of the evaluations near the best one from which noise hides how they
    differ. Then failures say nothing, and a small box holds nothing but noise: the box is as wide
    as at the beginning, and the model is fitted to evaluations everywhere."""

    def __post_init__(self) -> None:
        for name in ("n_successes", "n_failures", "n_moved", "n_data"):
            _checks.at_least(name, getattr(self, name), 1)
        if not self.most_noise > 0.0:
            raise ValueError(f"most_noise = {self.most_noise}: expected a share above 0")
        if not 0.0 < self.least_side <= self.first_side:
            raise ValueError(
                f"least_side = {self.least_side} and first_side = {self.first_side}: "
                "expected 0 < least_side <= first_side"
            )

    def at(self, history: History) -> Place:
        """Return the evaluations near the best one, and the box around it."""
        # Told to the part as well, which may lack the first points.
        history = replace(history, carried=carry_over(history))
        side = self.side(history)
        return Near(history.part(self._near(history, side)), history, side, self)

    def in_noise(self, history: History) -> "Near":
        """Return evaluations everywhere, and the box as wide as at the beginning."""
        everywhere = history.part(self._near(history, 1.0))
        return Near(everywhere, history, self.first_side, self, noisy=True)

    def side(self, history: History) -> float:
        """Return the side of the region, from successes and failures so far.

        Points that somebody else chose, such as those of an initial design, are neither, nor are
        random ones in place of a model. Nor are those that were chosen, as one of many at once,
        before the last change was known: of a batch without a better value several count, but they
        halve the region once. Where points of earlier runs carry over, the best of them is nearer
        to an optimum than that of a usual design.
        """
        first = self.first_side * (_NEARER if carry_over(history) else 1.0)
        side = first
        successes = failures = 0
        changed = 0  # evaluations there were at the last success or change of the side
        for i, better in enumerate(self._successes(history).tolist()):
            by, diagnostics = history.proposals[i]
            known = diagnostics.get("known")
            if by in (*OTHERS, "random") or (isinstance(known, int) and known < changed):
                continue
            successes = successes + 1 if better else 0
            failures = 0 if better else failures + 1
            if better or failures == self.n_failures:
                changed = i + 1
            if successes == self.n_successes:
                side = min(2.0 * side, first)
                successes = 0
            elif failures == self.n_failures:
                side /= 2.0
                failures = 0
            if side < self.least_side:
                side = first
        return side

    def _successes(self, history: History) -> Bool[np.ndarray, " n"]:
        """Tell which evaluations were better than all before, by more than next to nothing.

        What that is depends on how far above the best value the median of the last ten is.
        """
        several = history.n_objectives > 1
        if not history.n_constraints and not several:
            return self._better(history.imputed) & history.succeeded
        # Violation first (D. Eriksson and M. Poloczek, "Scalable constrained Bayesian
        # optimization", AISTATS 2021): less of it counts until a feasible point is found.
        feasible = history.feasible
        nearer = self._better(history.violation) & history.succeeded
        nearer &= np.cumsum(feasible) == 0
        if several:
            return nearer | enters_front(np.where(feasible[:, None], history.objectives, np.nan))
        return nearer | (self._better(np.where(feasible, history.y, np.nan)) & feasible)

    def _better(self, y: Float[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Tell which values are below all before by more than next to nothing; NaN is not."""
        before = np.fmin.accumulate(np.append(np.inf, y))[:-1]
        padded = np.append(np.full(_RECENT, np.nan), y)[:-1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # nothing is before the first
            usual = np.nanmedian(sliding_window_view(padded, _RECENT), axis=1)
        least = np.where(np.isnan(usual), 0.0, self.least_gain * (usual - before))
        return y < before - least

    def _near(self, history: History, side: float) -> Int[np.ndarray, " k"]:
        """Return which evaluations the model is fitted to, in their order.

        Those no farther from the best than the side, and the nearest in any case. Where some
        parameters are discrete, all: what a choice is worth shows in evaluations elsewhere too.
        """
        way = history.x - history.x[np.argmin(history.merit(history.imputed))]
        within = np.max(np.abs(way), axis=1) <= side
        if history.rounding is not None:
            way = way[:, ~history.rounding.coordinates]
            within = np.ones(len(way), dtype=bool)
        nearest = np.argsort(np.sum(way**2, axis=1), kind="stable")
        count = max(int(np.sum(within)), 2 * history.dimension + 1, _FEWEST)
        return np.sort(nearest[: min(count, self.n_data)])


@dataclass(frozen=True)
class Near:
    """The neighbourhood of the best evaluation."""

    history: History
    whole: History
    """All evaluations."""
    side: float
    settings: TrustRegion
    noisy: bool = False

    def given(self, fitted: Fitted) -> "Near":
        """Return where to look once a model was fitted: wider where noise made the box small.

        With constraints and several objectives noise is left to the models, and so it is to those
        that know earlier runs.
        """
        simple = not self.whole.n_constraints and self.whole.n_objectives == 1
        small = self.side < self.settings.first_side
        if (
            simple
            and small
            and not fitted.taught
            and float(fitted.noise) >= self.settings.most_noise
        ):
            return self.settings.in_noise(self.whole)
        return self

    def around(self, surface: Surface, rng: np.random.Generator) -> Region:
        """Return the box around the surface's best point."""
        centre = surface.promising[0]
        half = np.full(len(centre), 0.5 * self.side)
        if surface.lengthscale is not None:
            half *= surface.lengthscale / self._unit(surface)
        if surface.rounding is not None:
            half = np.where(surface.rounding.coordinates, 1.0, half)
        return Box(
            centre,
            np.maximum(centre - half, 0.0),
            np.minimum(centre + half, surface.upper),
            self.side,
            self.settings.n_moved,
        )

    def _unit(self, surface: Surface) -> float:
        """Return the lengthscale along which the box is as wide as its side.

        It is the geometric mean of all. Where few inputs matter, the others make that so long that
        the box is next to nothing along those few. One point at a time widens it soon enough, but
        points that are chosen together would all end at the same edge. So beside pending points it
        is at most a few times the lengthscale of the inputs that matter.
        """
        lengthscale = np.asarray(surface.lengthscale)
        usual = float(np.exp(np.mean(np.log(lengthscale))))
        if len(surface.data) == len(self.history.x):
            return usual
        mattering = float(np.mean(lengthscale**-2.0) ** -0.5)
        return min(usual, _LONGEST * mattering)
