"""The learned feature space: the plane through the best point along two principal directions.

| symbol | code | meaning |
|--------|------|---------|
| z_best | `origin` | features of the best evaluation |
| u1, u2 | `directions` | the two principal directions of the data, orthonormal |
| z      | z_best + a u1 + b u2 | a place of the plane, with coordinates (a, b) |

A ball of radius r around a datum at height h above the plane cuts it in a disc of radius
√(r² - h²).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from infold.acquisition.lipschitz import LipschitzBalls
from infold.acquisition.regions import Region
from infold.methods import BayesianOptimization
from infold.models.base import Fitted, Surface
from infold.report.subject import Subject

_N_CELLS = 25  # cells of the grid along each direction
_MARGIN = 0.08  # of the data's range that is shown beyond the data


@dataclass(frozen=True, kw_only=True)
class Discs:
    """Where the Lipschitz balls cut the plane."""

    centres: Float[np.ndarray, "k 2"]
    radii: Float[np.ndarray, " k"]
    n_balls: int
    """Balls there are, also those that do not reach the plane."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """A rectangle of the plane, on a grid."""

    a: Float[np.ndarray, " k"]
    """Centres of the grid's columns."""
    b: Float[np.ndarray, " k"]
    """Centres of the grid's rows."""
    mean: Float[np.ndarray, "k k"]
    """Response surface in the user's units, a row for each b; NaN outside the feature space."""
    deviation: Float[np.ndarray, "k k"]
    acquisition: Float[np.ndarray, "k k"] | None
    """What the search maximizes."""
    allowed: Bool[np.ndarray, "k k"]
    """Whether the search may go there."""
    decoded: list[list[Any] | None]
    """For each cell, row by row, the values of all parameters that it decodes to."""


@dataclass(frozen=True, kw_only=True)
class FeatureMap:
    """A plane of the feature space, and the data projected onto it."""

    n_features: int
    shown: float
    """Share of the data's variance that lies along the two directions."""
    whole: Window
    """All data."""
    near: Window
    """What is around the best point."""
    acquisition_name: str
    discs: Discs | None
    """None where the region is not made of balls."""
    evaluations: Int[np.ndarray, " n"]
    """Numbers of the evaluations of the model, from 0, in the order they were told."""
    places: Float[np.ndarray, "n 2"]
    """Where their features are, projected onto the plane."""
    heights: Float[np.ndarray, " n"]
    """How far from the plane they are."""


def feature_map(subject: Subject) -> FeatureMap | None:
    """Return the plane; None where the model has no features, or fewer than two."""
    model = subject.model
    if model is None or not model.fitted.has_features:
        return None
    fitted = model.fitted.condition(model.fitted.history)
    history = fitted.history
    surface = fitted.surfaces[0]
    n = len(history.y)
    z = surface.data[:n]
    if z.shape[1] < 2 or n < 3:
        return None
    origin = z[int(np.argmin(history.merit(history.imputed)))]
    directions, shown = _principal(z)
    places = (z - origin) @ directions.T
    region = None
    if isinstance(subject.method, BayesianOptimization):
        rng = np.random.default_rng(0)  # regions are found by sampling; the page stays the same
        region = subject.method.region.at(history).around(surface, rng)
    discs = _discs(region, origin, directions) if isinstance(region, LipschitzBalls) else None
    plane = _Plane(subject, fitted, surface, region, origin, directions)
    best = places[np.argsort(history.merit(history.imputed))[: max(3, n // 10)]]
    return FeatureMap(
        n_features=z.shape[1],
        shown=shown,
        whole=plane.window(*(_cells(places[:, i]) for i in range(2))),
        near=plane.window(*(_around(best, discs) for _ in range(2))),
        acquisition_name=getattr(getattr(subject.method, "acquisition", None), "name", ""),
        discs=discs,
        evaluations=np.arange(n) if history.rows is None else history.rows,
        places=places,
        heights=np.linalg.norm(z - origin - places @ directions, axis=1),
    )


@dataclass(frozen=True)
class _Plane:
    """What is asked at places of the plane."""

    subject: Subject
    fitted: Fitted
    surface: Surface
    region: Region | None
    origin: Float[np.ndarray, " d"]
    directions: Float[np.ndarray, "2 d"]

    def window(self, a: Float[np.ndarray, " k"], b: Float[np.ndarray, " k"]) -> Window:
        """Return what the model says on a grid."""
        upper = self.surface.upper
        grid = np.stack(np.meshgrid(a, b), axis=-1).reshape(-1, 2)
        z = self.origin + grid @ self.directions
        inside = np.all((z >= 0.0) & (z <= upper), axis=1)
        z = np.clip(z, 0.0, upper)
        mean, variance = self.surface.predict(z)
        centre, deviation = self.fitted.outputs.spread(mean, np.sqrt(variance))
        acquisition = None
        allowed = inside
        if self.region is not None:
            method = self.subject.method
            value = method.acquisition.evaluate(mean, variance, self.surface.y_min).value
            acquisition = _square(value, inside)
            allowed = inside & self.region.contains(z)
        return Window(
            a=a,
            b=b,
            mean=_square(self.subject.sign * centre, inside),
            deviation=_square(deviation, inside),
            acquisition=acquisition,
            allowed=allowed.reshape(len(b), len(a)),
            decoded=[
                _settings(self.subject, self.fitted.decode([place])) if is_inside else None
                for place, is_inside in zip(z, inside, strict=True)
            ],
        )


def _square(values: Float[np.ndarray, " m"], known: Bool[np.ndarray, " m"]) -> np.ndarray:
    return np.where(known, values, np.nan).reshape(_N_CELLS, _N_CELLS)


def _principal(z: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, "2 d"], float]:
    """Return the two principal directions, and their share in the variance."""
    _, scales, directions = np.linalg.svd(z - np.mean(z, axis=0), full_matrices=False)
    total = float(np.sum(scales**2))
    largest = np.argmax(np.abs(directions[:2]), axis=1)
    signs = np.sign(directions[np.arange(2), largest])  # a direction and its opposite are the same
    return signs[:, None] * directions[:2], float(np.sum(scales[:2] ** 2)) / max(total, 1e-300)


def _cells(places: Float[np.ndarray, " n"]) -> Float[np.ndarray, " k"]:
    low, high = float(np.min(places)), float(np.max(places))
    margin = max(_MARGIN * (high - low), 1e-6)
    return np.linspace(low - margin, high + margin, _N_CELLS)


def _around(best: Float[np.ndarray, "k 2"], discs: Discs | None) -> Float[np.ndarray, " k"]:
    """Return cells around the origin that show the best evaluations, and a ball of usual size."""
    reach = float(np.max(np.abs(best)))
    if discs is not None and len(discs.radii):
        reach = max(reach, 2.0 * float(np.median(discs.radii)))
    reach = max((1.0 + _MARGIN) * reach, 1e-6)
    return np.linspace(-reach, reach, _N_CELLS)


def _discs(
    balls: LipschitzBalls, origin: Float[np.ndarray, " d"], directions: Float[np.ndarray, "2 d"]
) -> Discs:
    """Return where the balls cut the plane."""
    centres = (balls.centers - origin) @ directions.T
    heights = np.linalg.norm(balls.centers - origin - centres @ directions, axis=1)
    cut = heights < balls.radii
    radii = np.sqrt(balls.radii[cut] ** 2 - heights[cut] ** 2)
    return Discs(centres=centres[cut], radii=radii, n_balls=len(cut))


def _settings(subject: Subject, unit: np.ndarray) -> list[Any]:
    point = subject.space.decode(unit)
    return list(point.values()) if isinstance(point, dict) else list(point)
