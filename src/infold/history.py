"""What methods and models see of a run: inputs in the unit cube, values to minimize."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from infold import _checks
from infold.learning.lessons import Lessons

if TYPE_CHECKING:
    from infold.objectives import Scalarization
    from infold.space.where import Where

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


_SAME = 1e-12  # coordinates closer than this may be one value of the user's: they were rounded
_MOST = 1e300  # violation of one constraint: sums of them stay finite


def _table(name: str, value: np.ndarray, n: int) -> np.ndarray:
    """Return an array of n rows, or of n rows and no columns where nothing was given; checked."""
    table = np.asarray(value, dtype=np.float64)
    if table.size == 0:
        return np.empty((n, table.shape[1] if table.ndim == 2 else 0))
    if table.ndim != 2 or len(table) != n:
        raise ValueError(f"{name} has shape {table.shape}: expected ({n}, any)")
    if np.any(np.isinf(table)):
        raise ValueError(
            f"{name} holds infinite values: expected finite numbers, or NaN for unknown ones"
        )
    return table


def _scales(constraints: np.ndarray) -> np.ndarray:
    """Return the median violation of each constraint; 1 where there is none."""
    violations = (column[column > 0.0] for column in constraints.T)
    medians = [np.max(v) * np.median(v / np.max(v)) if len(v) else 1.0 for v in violations]
    return np.maximum(medians, np.finfo(float).tiny)


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
    constraints: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    """N x K constraint values, feasible where none is above 0; NaN where one is not known."""
    objectives: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    """N x M objectives to minimize where there are several, of which y is one scalarization."""
    scalarization: "Scalarization | None" = None
    """How y was made of several objectives; None where nobody chose weights."""
    where: "Where | None" = None
    """Known constraints on inputs; None where every point is allowed."""
    scales: np.ndarray | None = None
    """K units in which violations are added up; None: the median violation of each constraint."""
    lessons: Lessons | None = None
    """What earlier runs taught, in the same cube; None where there is nothing to know."""
    carried: bool | None = None
    """Whether points of earlier runs were clearly better here than others; None: as x and y say."""

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
        constraints = _table("constraints", self.constraints, len(x))
        objectives = _table("objectives", self.objectives, len(x))
        if self.scales is None:
            object.__setattr__(self, "scales", _scales(constraints))
        arrays = {
            "x": x,
            "y": y,
            "pending": pending,
            "constraints": constraints,
            "objectives": objectives,
        }
        for name, array in arrays.items():
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
    def n_objectives(self) -> int:
        """Return M, the number of objectives."""
        return int(self.objectives.shape[1]) or 1

    @property
    def n_constraints(self) -> int:
        """Return K, the number of constraints."""
        return int(self.constraints.shape[1])

    @property
    def feasible(self) -> np.ndarray:
        """Return which evaluations returned a value and satisfy all constraints."""
        return self.succeeded & np.all(self.constraints <= 0.0, axis=1)

    @property
    def eligible(self) -> np.ndarray:
        """Return which evaluations may be the best: the feasible ones, or all while none is."""
        feasible = self.feasible
        return feasible if np.any(feasible) else self.succeeded

    @property
    def violation(self) -> np.ndarray:
        """Return by how much each evaluation violates its constraints, in units of `scales`.

        A constraint that is not known counts as violated, as much as it ever was, and by one unit
        at least.
        """
        known = np.isfinite(self.constraints)
        with np.errstate(over="ignore"):
            excess = np.minimum(np.maximum(self.constraints, 0.0) / self.scales, _MOST)
        worst = np.max(np.where(known, excess, 1.0), axis=0, initial=1.0)
        return np.sum(np.where(known, excess, worst), axis=1)

    def merit(self, y: np.ndarray) -> np.ndarray:
        """Return numbers that order the evaluations, the smallest for the best.

        Without constraints they are y; with some, ranks: feasible evaluations by y, then the others
        by their violation, then those that failed.
        """
        if not self.n_constraints:
            return y
        violation = np.where(self.feasible, -1.0, self.violation)
        ranks = np.empty(len(y))
        ranks[np.lexsort((y, violation, ~self.succeeded))] = np.arange(len(y))
        return ranks

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

    def knows(self, x: np.ndarray) -> bool:
        """Tell whether x is evaluated or pending already, apart from rounding."""
        return bool(np.any(np.max(np.abs(self.everywhere - x), axis=1) < _SAME))

    def part(self, rows: np.ndarray) -> "History":
        """Return these evaluations alone, by their numbers, with all pending points."""
        proposals = tuple(self.proposals[i] for i in rows) + self.proposals[len(self.y) :]
        whole = np.arange(len(self.y)) if self.rows is None else self.rows
        return replace(
            self,
            x=self.x[rows],
            y=self.y[rows],
            proposals=proposals,
            rows=whole[rows],
            constraints=self.constraints[rows],
            objectives=self.objectives[rows],
        )

    def with_pending(self, x: np.ndarray, proposals: tuple[Proposal, ...] = ()) -> "History":
        """Return the history with further pending points."""
        x = np.atleast_2d(x)
        proposals = proposals or (Proposal(),) * len(x)
        pending = np.concatenate([self.pending, x])
        return replace(self, pending=pending, proposals=(*self.proposals, *proposals))
