"""A problem of the suite: a space, a function on it, and what is known of its minimum."""

from collections.abc import Callable
from dataclasses import dataclass

from infold.space import Point, Space


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A deterministic function to minimize over a user's space."""

    name: str
    space: Space
    function: Callable[[Point], float]
    """Function of a point as the user writes it."""
    minimum: float | None = None
    """Smallest value; None where it is not known."""
    minimizer: Point | None = None
    """A point at which the minimum is attained; None where none is known."""

    @property
    def dimension(self) -> int:
        """D, the dimension of the unit cube that stands for the space."""
        return self.space.dimension

    @property
    def continuous(self) -> bool:
        """Whether every parameter is a real number."""
        return self.space.rounding is None

    def __call__(self, point: Point) -> float:
        return float(self.function(point))
