"""What has been evaluated: the only thing a method sees."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from infold import _checks


def _frozen(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


class Rounding(NamedTuple):
    """Not every point of the cube can be evaluated: which coordinates have gaps, and the way to a point that can."""

    coordinates: np.ndarray
    """D truth values."""
    snap: Callable[[np.ndarray], np.ndarray]
    """Takes points, one per row, to where they are evaluated."""


@dataclass(frozen=True, eq=False)
class History:
    """Evaluations in the unit cube, values to minimize. The arrays are read-only copies."""

    x: np.ndarray
    """N x D inputs, failed evaluations included."""
    y: np.ndarray
    """N values; NaN marks a failed evaluation."""
    pending: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    """P x D inputs that are being evaluated."""
    rounding: Rounding | None = None
    """None: every point of the cube can be evaluated."""

    def __post_init__(self) -> None:
        x = _checks.unit_cube("x", self.x, None)
        y = np.asarray(self.y, dtype=np.float64)
        if y.shape != (len(x),):
            raise ValueError(f"y has shape {y.shape}: expected ({len(x)},)")
        if np.any(np.isinf(y)):
            raise ValueError("y holds infinite values: expected finite numbers, or NaN for a failed evaluation")
        pending = np.asarray(self.pending, dtype=np.float64)
        pending = np.empty((0, x.shape[1])) if pending.size == 0 else _checks.unit_cube("pending", pending, x.shape[1])
        for name, array in (("x", x), ("y", y), ("pending", pending)):
            object.__setattr__(self, name, _frozen(array))

    @property
    def dimension(self) -> int:
        return int(self.x.shape[1])

    @property
    def n_succeeded(self) -> int:
        """How many evaluations returned a value."""
        return int(np.sum(np.isfinite(self.y)))

    @property
    def values(self) -> np.ndarray:
        """y with failed evaluations at the worst value seen, so that a model turns away from them."""
        finite = self.y[np.isfinite(self.y)]
        return np.where(np.isfinite(self.y), self.y, np.max(finite, initial=-np.inf) if len(finite) else 0.0)

    def with_pending(self, x: np.ndarray) -> "History":
        """The same with further pending points."""
        return History(self.x, self.y, np.concatenate([self.pending, np.atleast_2d(x)]), self.rounding)
