"""Where the acquisition function may be maximized: a region is projected onto, sampled and asked.

To the search all regions are one algorithm. Which region is searched is a setting of the method: an
object that says, given the history, which evaluations matter and which region of a response surface
is searched.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float

from infold.models.base import Fitted, Surface
from infold.record import History
from infold.space.where import Where


class Region(ABC):
    """A set of points of the unit cube."""

    @abstractmethod
    def project(self, z: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m d"]:
        """Return a point of the region near each z; points of the region stay."""

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """Draw points of the region that are worth a try."""

    @abstractmethod
    def contains(
        self, z: Float[np.ndarray, "m d"], tolerance: float = 1e-9
    ) -> Bool[np.ndarray, " m"]:
        """Tell which points belong to the region."""

    def describe(self, z: Float[np.ndarray, " d"]) -> dict[str, Any]:
        """Say what a person may want to know about the region at z."""
        return {}


@dataclass(frozen=True, eq=False)
class Cube(Region):
    """The box [0, upper]; the whole unit cube where every upper limit is 1."""

    upper: Float[np.ndarray, " d"]
    """Upper limits; a coordinate with the limit 0 is not searched."""

    def project(self, z: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m d"]:
        return np.clip(z, 0.0, self.upper)

    def sample(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        return self.upper * rng.uniform(size=(n, len(self.upper)))

    def contains(
        self, z: Float[np.ndarray, "m d"], tolerance: float = 1e-9
    ) -> Bool[np.ndarray, " m"]:
        return np.all((z >= -tolerance) & (z <= self.upper + tolerance), axis=1)


_N_INSIDE = 50  # points of a region that are looked for first


@dataclass(frozen=True, eq=False)
class Within(Region):
    """What known constraints leave of a region of inputs."""

    region: Region
    where: Where
    inside: Float[np.ndarray, "k d"]
    """Points of both, to which a way leads back from others."""

    @classmethod
    def of(
        cls,
        region: Region,
        where: Where,
        best: Float[np.ndarray, "k d"],
        rng: np.random.Generator,
    ) -> "Within":
        """Return what is left of a region.

        Args:
            region: the region, which has the best evaluation in it. Where that violates a
                constraint, as only a user's own point may, the region is the cube.
            where: the constraints.
            best: the best evaluations.
            rng: draws points that lie inside.
        """
        allowed = best[where.contains(best)]
        anchors = allowed[region.contains(allowed)] if len(allowed) else allowed
        if not len(anchors):
            region = Cube(np.ones(best.shape[1]))
            anchors = where.nearest(best[:1])
        found = cls(region, where, anchors).sample(_N_INSIDE, rng)
        # Evaluations lie on edges, from which every way leads out, and need not be found again.
        new = found[np.min(np.linalg.norm(found[:, None] - anchors, axis=2), axis=1) > 1e-9]
        return cls(region, where, new if len(new) else anchors)

    def project(self, z: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m d"]:
        lower, upper = limits_of(self.region, 1.0)
        return self.where.moved(self.region.project(z), self.inside, lower, upper)

    def sample(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        return self.project(self.region.sample(n, rng))

    def contains(
        self, z: Float[np.ndarray, "m d"], tolerance: float = 1e-9
    ) -> Bool[np.ndarray, " m"]:
        return self.region.contains(z, tolerance) & self.where.contains(z)

    def describe(self, z: Float[np.ndarray, " d"]) -> dict[str, Any]:
        return self.region.describe(z)


def limits_of(region: Region, upper: Any) -> tuple[Any, Any]:
    """Return lower and upper limits of a region's points; 0 and `upper` where it has none."""
    inner = region.region if isinstance(region, Within) else region
    return getattr(inner, "lower", 0.0), getattr(inner, "upper", upper)


@runtime_checkable
class Place(Protocol):
    """Where a run has got to: what matters to the next suggestion."""

    @property
    def history(self) -> History:
        """The evaluations that the model is fitted to, and all pending points."""
        ...

    @property
    def noisy(self) -> bool:
        """Whether noise hides how the evaluations near the best one differ."""
        ...

    def given(self, fitted: Fitted) -> "Place":
        """Return where to look once a model was fitted there: mostly here."""
        ...

    def around(self, surface: Surface, rng: np.random.Generator) -> Region:
        """Return the region of a surface of that model."""
        ...


@runtime_checkable
class RegionSettings(Protocol):
    """Which region is searched."""

    def at(self, history: History) -> Place:
        """Return where the run has got to, from its history alone."""
        ...


@dataclass(frozen=True)
class Everywhere:
    """All evaluations matter, and the region depends on the surface alone."""

    history: History
    around: Callable[[Surface, np.random.Generator], Region]
    noisy: bool = False

    def given(self, fitted: Fitted) -> "Everywhere":
        """Return the same: there is nowhere else."""
        return self


@dataclass(frozen=True, kw_only=True)
class WholeCube:
    """Search everywhere."""

    def at(self, history: History) -> Place:
        """Return all evaluations, and the box of the surface."""
        return Everywhere(history, lambda surface, rng: Cube(surface.upper))
