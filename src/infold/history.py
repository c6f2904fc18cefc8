"""What methods and models see of a run: inputs in the unit cube, values to minimize."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from infold import _checks
from infold.learning.lessons import Lessons

OTHERS = ("design", "user", "earlier")
"""Who may have chosen a point besides the method."""


class Proposal(NamedTuple):
    """Who proposed a point, and what they said about it."""

    by: str = ""
    """Part of the method that chose the point, empty where it has no parts; or one of `OTHERS`."""
    diagnostics: Mapping[str, Any] = {}
    """What a person may want to know about the choice, as JSON can hold it."""


class Rounding(NamedTuple):
    """Which coordinates of the cube have gaps, and the way to points that can be evaluated."""

    coordinates: np.ndarray
    """D truth values: True where a coordinate is discrete."""
    snap: Callable[[np.ndarray], np.ndarray]
    """Moves points, one per row, to the nearest that can be evaluated."""


def _frozen(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class History:
    """What a method sees: evaluations in the unit cube, values to minimize.

    The arrays are read-only copies.
    """

    x: np.ndarray
    """N x D inputs, failed evaluations included."""
    y: np.ndarray
    """N values; NaN marks a failed evaluation."""
    pending: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    """P x D inputs that are being evaluated."""
    rounding: Rounding | None = None
    """None: every point of the cube can be evaluated."""
    proposals: tuple[Proposal, ...] = ()
    """Who proposed each of x and then each of pending; empty proposals where nobody knows."""
    rows: np.ndarray | None = None
    """Which evaluations of the whole run these are; None: all of them."""
    lessons: Lessons | None = None
    """What earlier runs taught, in the same cube; None where there is nothing to know."""

    def __post_init__(self) -> None:
        x = _checks.unit_cube("x", self.x, None)
        y = np.asarray(self.y, dtype=np.float64)
        if y.shape != (len(x),):
            raise ValueError(f"y has shape {y.shape}: expected ({len(x)},)")
        if np.any(np.isinf(y)):
            raise ValueError(
                "y holds infinite values: expected finite numbers, or NaN for a failed evaluation"
            )
        pending = np.asarray(self.pending, dtype=np.float64)
        if pending.size == 0:
            pending = np.empty((0, x.shape[1]))
        else:
            pending = _checks.unit_cube("pending", pending, x.shape[1])
        n_points = len(x) + len(pending)
        proposals = tuple(self.proposals) or (Proposal(),) * n_points
        if len(proposals) != n_points:
            raise ValueError(f"proposals has {len(proposals)} entries: expected {n_points}")
        if self.lessons is not None and self.lessons.dimension != x.shape[1]:
            raise ValueError(
                f"lessons are of dimension {self.lessons.dimension}: expected {x.shape[1]}"
            )
        object.__setattr__(self, "proposals", proposals)
        for name, array in (("x", x), ("y", y), ("pending", pending)):
            object.__setattr__(self, name, _frozen(array))

    @property
    def dimension(self) -> int:
        """Return D, the number of coordinates."""
        return int(self.x.shape[1])

    @property
    def succeeded(self) -> np.ndarray:
        """Return which evaluations returned a value."""
        return np.isfinite(self.y)

    @property
    def n_succeeded(self) -> int:
        """Return how many evaluations returned a value."""
        return int(np.sum(self.succeeded))

    @property
    def imputed(self) -> np.ndarray:
        """Return y with the worst value seen where evaluations failed: models turn away from it."""
        seen = self.y[self.succeeded]
        worst = float(np.max(seen)) if len(seen) else 0.0
        return np.where(self.succeeded, self.y, worst)

    @property
    def everywhere(self) -> np.ndarray:
        """Return all points, evaluated and pending."""
        return np.concatenate([self.x, self.pending])

    def part(self, rows: np.ndarray) -> "History":
        """Return these evaluations alone, by their numbers, with all pending points."""
        proposals = tuple(self.proposals[i] for i in rows) + self.proposals[len(self.y) :]
        whole = np.arange(len(self.y)) if self.rows is None else self.rows
        return replace(self, x=self.x[rows], y=self.y[rows], proposals=proposals, rows=whole[rows])

    def with_pending(self, x: np.ndarray, proposals: tuple[Proposal, ...] = ()) -> "History":
        """Return the history with further pending points."""
        x = np.atleast_2d(x)
        proposals = proposals or (Proposal(),) * len(x)
        pending = np.concatenate([self.pending, x])
        return replace(self, pending=pending, proposals=(*self.proposals, *proposals))
