"""The Lipschitz constraint: how far from the data the decoder still says something (section 4).

| symbol | code | meaning |
|--------|------|---------|
| L      | `LipschitzBalls.constant` | largest absolute entry of the decoder's Jacobian |
| z_i    | `LipschitzBalls.centers` | the data, n x d |
| μ_max(z_i) / L | `LipschitzBalls.radii` | n |

A point is feasible when its distance to the nearest datum is at most that datum's radius, Eq. (17):
the ball of every datum, cut to the datum's Voronoi cell. A cell is convex and holds its datum, so
moving straight towards the nearest datum never changes which one is nearest.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from infold import _checks
from infold.acquisition.regions import Everywhere, Place, Region
from infold.models.base import DecodedSurface, Slopes, Surface
from infold.record import History

_SURVEY_BATCH = 50  # points per compiled evaluation of the decoder's Jacobian


@dataclass(frozen=True, eq=False)
class LipschitzBalls(Region):
    """Balls around the data, within the unit cube."""

    centers: Float[np.ndarray, "n d"]
    radii: Float[np.ndarray, " n"]
    constant: float = np.nan
    """L, from which the radii were made."""

    def nearest(
        self, z: Float[np.ndarray, "m d"]
    ) -> tuple[Int[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        """Return the nearest datum of every point and the distance to it."""
        middle = self.centers.mean(axis=0)  # centred, the products below cancel less
        a = z - middle
        c = self.centers - middle
        index = np.argmin(np.sum(c * c, axis=1) - 2.0 * a @ c.T, axis=1)
        return index, np.linalg.norm(z - self.centers[index], axis=1)

    def contains(
        self, z: Float[np.ndarray, "m d"], tolerance: float = 1e-9
    ) -> Bool[np.ndarray, " m"]:
        index, distance = self.nearest(z)
        inside = np.all((z >= 0.0) & (z <= 1.0), axis=1)
        return inside & (distance <= self.radii[index] + tolerance)

    def project(self, z: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m d"]:
        """Return the nearest point of the cube within the ball of the nearest datum."""
        clipped = np.clip(z, 0.0, 1.0)
        index, distance = self.nearest(clipped)
        outside = np.flatnonzero(distance > self.radii[index])
        if not len(outside):
            return clipped
        center = self.centers[index[outside]]
        radius = self.radii[index[outside]]
        straight = center + (radius / distance[outside])[:, None] * (clipped[outside] - center)
        # From outside the cube another point is nearest. The way to it is bent by the faces of the
        # cube and may cross the cell of another datum; the straight one never does.
        bent = np.flatnonzero(np.any(z[outside] != clipped[outside], axis=1))
        if len(bent):
            projected = _into_ball_and_cube(z[outside[bent]], center[bent], radius[bent])
            good = self.contains(projected)
            straight[bent[good]] = projected[good]
        clipped[outside] = straight
        return clipped

    def sample(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """Draw half of the points anywhere, projected, and half inside the balls."""
        anywhere = rng.uniform(size=(n, self.centers.shape[1]))
        half = n // 2
        return np.concatenate([self.project(anywhere[:half]), self.sample_inside(n - half, rng)])

    def sample_inside(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """Draw a random datum, a random direction, and a radius uniform in its ball's volume."""
        d = self.centers.shape[1]
        index = rng.integers(len(self.centers), size=n)
        direction = rng.normal(size=(n, d))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        radius = self.radii[index] * rng.uniform(size=n) ** (1.0 / d)
        return self.project(self.centers[index] + radius[:, None] * direction)

    def describe(self, z: Float[np.ndarray, " d"]) -> dict[str, Any]:
        index, _ = self.nearest(z[None])
        return {"L": self.constant, "radius": float(self.radii[index[0]])}


def _into_ball_and_cube(z: np.ndarray, center: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Project onto a ball cut by the cube that holds its center, where clipping z leaves it
    outside.

    The solution is clip(center + t (z - center)) with t in (0, 1] such that its distance to the
    center is the radius. As t grows coordinates only ever join the clipped ones, and given which
    they are t has a closed form: at most d rounds.
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


@dataclass(frozen=True, kw_only=True)
class LipschitzConstraint:
    """Search the Lipschitz balls around the data."""

    n_slopes: int | None = None
    """Data whose largest slope is L, 10 in the paper's code; None: L is over all features."""

    def __post_init__(self) -> None:
        if self.n_slopes is not None:
            _checks.at_least("n_slopes", self.n_slopes, 1)

    def at(self, history: History) -> Place:
        """Return all evaluations, and the balls around them."""
        return Everywhere(history, self.around)

    def around(self, surface: Surface, rng: np.random.Generator) -> LipschitzBalls:
        """Return the balls around the data of a surface with a decoder."""
        if not isinstance(surface, DecodedSurface):
            raise ValueError(
                "region = LipschitzConstraint: expected a model with a decoder, "
                "such as LearnedFeatures"
            )
        return lipschitz_balls(
            surface.slopes, surface.data, rng, _SURVEY_BATCH, n_slopes=self.n_slopes
        )


def lipschitz_balls(
    slopes: Callable[[np.ndarray], Slopes],
    data: Float[np.ndarray, "n d"],
    rng: np.random.Generator,
    batch: int,
    *,
    n_slopes: int | None = None,
    n_random: int = 100,
    n_steps: int = 5,
    step: float = 0.02,
) -> LipschitzBalls:
    """Return the balls around `data`, with L maximized over the feature space.

    L is the largest slope at the data, at random points of the cube and around the data, and after
    a few gradient steps from the steepest of them. Slopes vanish far from the data, so half the
    random points are drawn near them. With `n_slopes`, L is the largest slope at that many of the
    data instead: smaller, so the balls are larger. Raises FloatingPointError when the decoder is
    not finite.

    Args:
        slopes: what the decoder is like at exactly `batch` points.
        data: features of the data.
        rng: source of the random points.
        batch: points per call of `slopes`, and points that take gradient steps.
        n_slopes: number of data that L is taken over, without random points and steps.
        n_random: random points of each kind.
        n_steps: gradient steps.
        step: length of a gradient step.
    """
    n, d = data.shape
    if n_slopes is not None:
        n_random = 0
        n_steps = 0
    near = data[rng.integers(n, size=n_random)] + 0.1 * rng.normal(size=(n_random, d))
    anywhere = rng.uniform(size=(n_random, d))
    points = np.concatenate([data, np.clip(near, 0.0, 1.0), anywhere])
    points = np.concatenate([points, np.repeat(points[-1:], -len(points) % batch, axis=0)])
    parts = [slopes(part) for part in np.split(points, len(points) // batch)]
    seen = Slopes(*map(np.concatenate, zip(*parts, strict=True)))
    steepest = np.argsort(seen.slope)[-batch:]
    chosen = slice(None)
    if n_slopes is not None:
        chosen = rng.choice(n, size=min(n, n_slopes), replace=False)
    largest = float(np.max(seen.slope[chosen]))
    points = points[steepest]
    gradients = seen.gradient[steepest]
    for _ in range(n_steps):
        norm = np.linalg.norm(gradients, axis=1, keepdims=True)
        points = np.clip(points + step * gradients / np.maximum(norm, 1e-300), 0.0, 1.0)
        there = slopes(points)
        gradients = there.gradient
        largest = max(largest, float(np.max(there.slope)))
    if not (np.isfinite(largest) and np.all(np.isfinite(seen.output[:n]))):
        raise FloatingPointError("the decoder's slope is not finite")
    return LipschitzBalls(data, seen.output[:n] / max(largest, 1e-300), largest)
