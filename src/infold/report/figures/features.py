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
from infold.methods import BayesianOptimization
from infold.models.base import Surface
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
class FeatureMap:
    """A plane of the feature space, on a grid, and the data projected onto it."""

    n_features: int
    shown: float
    """Share of the data's variance that lies along the two directions."""
    a: Float[np.ndarray, " k"]
    """Centres of the grid's columns."""
    b: Float[np.ndarray, " k"]
    """Centres of the grid's rows."""
    mean: Float[np.ndarray, "k k"]
    """Response surface in the user's units, a row for each b; NaN outside the feature space."""
    deviation: Float[np.ndarray, "k k"]
    acquisition: Float[np.ndarray, "k k"] | None
    """What the search maximizes."""
    acquisition_name: str
    allowed: Bool[np.ndarray, "k k"]
    """Whether the search may go there."""
    discs: Discs | None
    """None where the region is not made of balls."""
    evaluations: Int[np.ndarray, " n"]
    """Numbers of the evaluations of the model, from 0, in the order they were told."""
    places: Float[np.ndarray, "n 2"]
    """Where their features are, projected onto the plane."""
    heights: Float[np.ndarray, " n"]
    """How far from the plane they are."""
    decoded: list[list[Any] | None]
    """For each cell, row by row, the values of all parameters that it decodes to."""


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
    origin = z[int(np.nanargmin(history.y))]
    directions, shown = _principal(z)
    places = (z - origin) @ directions.T
    heights = np.linalg.norm(z - origin - places @ directions, axis=1)
    a, b = (_cells(places[:, i]) for i in range(2))
    grid = np.stack(np.meshgrid(a, b), axis=-1).reshape(-1, 2)
    cells = origin + grid @ directions
    inside = np.all((cells >= 0.0) & (cells <= surface.upper), axis=1)
    cells = np.clip(cells, 0.0, surface.upper)
    mean, variance = surface.predict(cells)
    centre, deviation = fitted.outputs.spread(mean, np.sqrt(variance))
    acquisition, allowed, discs = _searched(
        subject.method, history, surface, cells, origin, directions
    )
    decoded = [
        _settings(subject, fitted.decode([place])) if is_inside else None
        for place, is_inside in zip(cells, inside, strict=True)
    ]

    def square(values: np.ndarray) -> np.ndarray:
        return np.where(inside, values, np.nan).reshape(_N_CELLS, _N_CELLS)

    return FeatureMap(
        n_features=z.shape[1],
        shown=shown,
        a=a,
        b=b,
        mean=square(subject.sign * centre),
        deviation=square(deviation),
        acquisition=None if acquisition is None else square(acquisition),
        acquisition_name=getattr(getattr(subject.method, "acquisition", None), "name", ""),
        allowed=(allowed & inside).reshape(_N_CELLS, _N_CELLS),
        discs=discs,
        evaluations=np.arange(n) if history.rows is None else history.rows,
        places=places,
        heights=heights,
        decoded=decoded,
    )


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


def _searched(
    method: Any,
    history: Any,
    surface: Surface,
    cells: Float[np.ndarray, "m d"],
    origin: Float[np.ndarray, " d"],
    directions: Float[np.ndarray, "2 d"],
) -> tuple[np.ndarray | None, np.ndarray, Discs | None]:
    """Return the acquisition function, where it may be maximized, and the balls."""
    if not isinstance(method, BayesianOptimization):
        return None, np.ones(len(cells), dtype=bool), None
    acquisition = method.search.objective(method.acquisition, surface).value(cells)
    rng = np.random.default_rng(0)  # the region is found by sampling; the page is always the same
    region = method.region.at(history).around(surface, rng)
    allowed = region.contains(cells)
    if not isinstance(region, LipschitzBalls):
        return acquisition, allowed, None
    centres = (region.centers - origin) @ directions.T
    heights = np.linalg.norm(region.centers - origin - centres @ directions, axis=1)
    cut = heights < region.radii
    radii = np.sqrt(region.radii[cut] ** 2 - heights[cut] ** 2)
    return acquisition, allowed, Discs(centres=centres[cut], radii=radii, n_balls=len(cut))


def _settings(subject: Subject, unit: np.ndarray) -> list[Any]:
    point = subject.space.decode(unit)
    return list(point.values()) if isinstance(point, dict) else list(point)
