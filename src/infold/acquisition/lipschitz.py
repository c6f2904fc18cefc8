"""The Lipschitz constraint: how far from the data the decoder still says something (section 4 of the paper).

| symbol | code | shape |
|--------|------|-------|
| L      | the first that `around` returns | largest absolute entry of the Jacobian of the decoder's mean |
| z_i    | `Region.centers` | n d |
| μ_max(z_i) / L | `Region.radii` | n |

A point is feasible when its distance to the nearest datum is at most that datum's radius, Eq. (17): the ball of every datum,
cut to the datum's Voronoi cell. A cell is convex and holds its datum, so moving straight towards the nearest datum never
changes which one is nearest.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int


class Region(NamedTuple):
    """The feasible set: balls around the data, within the unit cube."""

    centers: Float[np.ndarray, "n d"]
    radii: Float[np.ndarray, " n"]


def nearest(
    region: Region, z: Float[np.ndarray, "m d"]
) -> tuple[Int[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """The nearest datum of every point and the distance to it."""
    middle = region.centers.mean(axis=0)  # centred, the products below cancel less
    a, c = z - middle, region.centers - middle
    index = np.argmin(np.sum(c * c, axis=1) - 2.0 * a @ c.T, axis=1)
    return index, np.linalg.norm(z - region.centers[index], axis=1)


def contains(
    region: Region, z: Float[np.ndarray, "m d"], tolerance: float = 1e-9
) -> Bool[np.ndarray, " m"]:
    """Which points are feasible."""
    index, distance = nearest(region, z)
    inside = np.all((z >= 0.0) & (z <= 1.0), axis=1)
    return inside & (distance <= region.radii[index] + tolerance)


def project(region: Region, z: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m d"]:
    """The nearest point of the cube within the ball of the nearest datum; feasible points stay."""
    clipped = np.clip(z, 0.0, 1.0)
    index, distance = nearest(region, clipped)
    outside = np.flatnonzero(distance > region.radii[index])
    if not len(outside):
        return clipped
    center, radius = region.centers[index[outside]], region.radii[index[outside]]
    straight = center + (radius / distance[outside])[:, None] * (clipped[outside] - center)
    # From outside the cube the nearest point is another one. The way to it is bent by the faces of the cube and may cross the
    # cell of another datum; the straight one never does.
    bent = np.flatnonzero(np.any(z[outside] != clipped[outside], axis=1))
    if len(bent):
        projected = _into_ball_and_cube(z[outside[bent]], center[bent], radius[bent])
        good = contains(region, projected)
        straight[bent[good]] = projected[good]
    clipped[outside] = straight
    return clipped


def _into_ball_and_cube(z: np.ndarray, center: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Euclidean projection onto a ball, cut by the cube that holds its center, of points whose nearest in the cube is outside.

    The solution is clip(center + t (z - center)) with t in (0, 1] such that its distance to the center is the radius. As t
    grows coordinates only ever join the clipped ones, and given which they are t is a closed form: at most d rounds.
    """
    way = z - center
    edge = np.where(way > 0.0, 1.0, 0.0) - center
    fixed = np.zeros(z.shape, dtype=bool)
    for _ in range(z.shape[1]):
        free = np.sum(np.where(fixed, 0.0, way) ** 2, axis=1)
        left = np.maximum(radius**2 - np.sum(np.where(fixed, edge, 0.0) ** 2, axis=1), 0.0)
        t = np.sqrt(left / np.maximum(free, 1e-300))[:, None]
        now = np.abs(t * way) > np.abs(edge)
        if np.array_equal(now | fixed, fixed):
            break
        fixed |= now
    return center + np.where(fixed, edge, t * way)


def sample(region: Region, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
    """Feasible points: a random datum, a random direction, a radius uniform in its ball's volume."""
    index = rng.integers(len(region.centers), size=n)
    direction = rng.normal(size=(n, region.centers.shape[1]))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    radius = region.radii[index] * rng.uniform(size=n) ** (1.0 / region.centers.shape[1])
    return project(region, region.centers[index] + radius[:, None] * direction)


class Survey(NamedTuple):
    """The decoder's mean around m points."""

    slope: Float[np.ndarray, " m"]  # the largest absolute entry of its Jacobian
    slope_gradient: Float[np.ndarray, "m d"]  # of that entry
    output: Float[np.ndarray, " m"]  # its largest absolute entry, μ_max


def around(
    survey: Callable[[np.ndarray], Survey],
    z_data: Float[np.ndarray, "n d"],
    rng: np.random.Generator,
    batch: int,
    *,
    n_slopes: int | None = None,
    n_random: int = 100,
    n_steps: int = 5,
    step: float = 0.02,
) -> tuple[float, Region]:
    """L by maximization over the data, random points in the cube and around the data, and a few gradient steps; the region.

    `survey` takes `batch` points at once, the steepest so many of which take the steps. Slopes vanish far from the data, so
    half the random points are drawn near them. With `n_slopes` L is the largest slope at so many of the data instead, which is
    no more: larger balls. FloatingPointError when the decoder is not finite.
    """
    n, d = z_data.shape
    if n_slopes is not None:
        n_random, n_steps = 0, 0
    near = z_data[rng.integers(n, size=n_random)] + 0.1 * rng.normal(size=(n_random, d))
    points = np.concatenate([z_data, np.clip(near, 0.0, 1.0), rng.uniform(size=(n_random, d))])
    points = np.concatenate([points, np.repeat(points[-1:], -len(points) % batch, axis=0)])
    seen = Survey(
        *map(np.concatenate, zip(*map(survey, np.split(points, len(points) // batch)), strict=True))
    )
    best = np.argsort(seen.slope)[-batch:]
    chosen = (
        slice(None) if n_slopes is None else rng.choice(n, size=min(n, n_slopes), replace=False)
    )
    points, gradients, largest = (
        points[best],
        seen.slope_gradient[best],
        float(np.max(seen.slope[chosen])),
    )
    for _ in range(n_steps):
        norm = np.linalg.norm(gradients, axis=1, keepdims=True)
        points = np.clip(points + step * gradients / np.maximum(norm, 1e-300), 0.0, 1.0)
        slopes, gradients, _ = survey(points)
        largest = max(largest, float(np.max(slopes)))
    if not (np.isfinite(largest) and np.all(np.isfinite(seen.output[:n]))):
        raise FloatingPointError("the decoder's slope is not finite")
    return largest, Region(z_data, seen.output[:n] / max(largest, 1e-300))
