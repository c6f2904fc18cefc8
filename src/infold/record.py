"""What is kept of evaluations: `Evaluation` for people and files, `History` for models."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from infold import _checks


class Proposal(NamedTuple):
    """Who proposed a point, and what they said about it."""

    by: str = ""
    """Part of the method that chose the point; empty where the method has no parts."""
    diagnostics: Mapping[str, Any] = {}
    """What a person may want to know about the choice, as JSON can hold it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """Everything that is kept of one evaluation."""

    point: Any
    """The point as the user writes it."""
    unit: np.ndarray = field(repr=False)
    """Its coordinates in the unit cube."""
    value: float
    """The value that was told; NaN where the evaluation failed."""
    error: str | None = None
    """What went wrong, where somebody said so."""
    seconds: float | None = None
    """How long the evaluation took, where it was measured."""
    told_at: float
    """When it was told, in seconds since 1970."""
    proposed_by: str
    """`design`, `user`, or the method's name, with the part of it that chose the point: `mgpc/random`."""
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    """What the method said about the point when it proposed it."""
    constraints: tuple[float, ...] = ()
    """Constraint values, feasible where none is above 0."""

    @property
    def failed(self) -> bool:
        """Whether the evaluation returned no finite value."""
        return not np.isfinite(self.value)


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
    """What a method sees: evaluations in the unit cube, values to minimize. The arrays are read-only copies."""

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
        object.__setattr__(self, "proposals", proposals)
        for name, array in (("x", x), ("y", y), ("pending", pending)):
            object.__setattr__(self, name, _frozen(array))

    @property
    def dimension(self) -> int:
        """D, the number of coordinates."""
        return int(self.x.shape[1])

    @property
    def succeeded(self) -> np.ndarray:
        """Which evaluations returned a value."""
        return np.isfinite(self.y)

    @property
    def n_succeeded(self) -> int:
        """How many evaluations returned a value."""
        return int(np.sum(self.succeeded))

    @property
    def imputed(self) -> np.ndarray:
        """y with failed evaluations at the worst value seen, so that a model turns away from them."""
        seen = self.y[self.succeeded]
        worst = float(np.max(seen)) if len(seen) else 0.0
        return np.where(self.succeeded, self.y, worst)

    @property
    def everywhere(self) -> np.ndarray:
        """All points, evaluated and pending."""
        return np.concatenate([self.x, self.pending])

    def knows(self, x: np.ndarray) -> np.ndarray:
        """Which rows of x have been evaluated or are pending."""
        known = {row.tobytes() for row in self.everywhere}
        return np.array([row.tobytes() in known for row in np.ascontiguousarray(x)], dtype=bool)

    def with_pending(self, x: np.ndarray, proposals: tuple[Proposal, ...] = ()) -> "History":
        """Return the history with further pending points."""
        x = np.atleast_2d(x)
        proposals = proposals or (Proposal(),) * len(x)
        pending = np.concatenate([self.pending, x])
        return replace(self, pending=pending, proposals=(*self.proposals, *proposals))
