"""What is kept of a run: a `Record` for the optimizer, an `Evaluation` for people.

A `Record` grows by events: an `Ask`, a `Pending` point that nobody asked for, an `Evaluation`, a
`Forget`. Run files hold the same events, and the same events give the same record.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from infold import objectives
from infold.frames import to_frame
from infold.history import OTHERS, History, Proposal, Rounding
from infold.space import pairing

if TYPE_CHECKING:
    from infold.learning.lessons import Lessons
    from infold.space import Space

__all__ = [
    "OTHERS",
    "Ask",
    "Evaluation",
    "Event",
    "Forget",
    "History",
    "Pending",
    "Proposal",
    "Record",
    "Rounding",
    "to_frame",
]


class _Proposed:
    """A point that somebody proposed."""

    proposed_by: str
    diagnostics: Mapping[str, Any]

    @property
    def proposal(self) -> Proposal:
        """What methods see of it: who chose it, without the method's name, and what was said."""
        first, _, part = self.proposed_by.partition("/")
        return Proposal(first if first in OTHERS else part, self.diagnostics)


@dataclass(frozen=True, kw_only=True, eq=False)
class Pending(_Proposed):
    """A point that is being evaluated."""

    point: Any
    """The point as the user writes it."""
    unit: np.ndarray = field(repr=False)
    """Its coordinates in the unit cube."""
    identity: bytes = field(repr=False)
    """What `Space.identity` says of the point."""
    proposed_by: str
    """As in `Evaluation`."""
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    """As in `Evaluation`."""

    @classmethod
    def at(
        cls, x: object, space: "Space", proposed_by: str, diagnostics: Mapping[str, Any]
    ) -> "Pending":
        """Return the pending point x; raise where it is no point of the space."""
        point, unit, identity = space.resolve(x)
        return cls(
            point=point,
            unit=unit,
            identity=identity,
            proposed_by=proposed_by,
            diagnostics=diagnostics,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation(_Proposed):
    """Everything that is kept of one evaluation."""

    point: Any
    """The point as the user writes it."""
    unit: np.ndarray = field(repr=False)
    """Its coordinates in the unit cube."""
    value: float
    """The value that was told, the first of several; NaN where the evaluation failed."""
    error: str | None = None
    """What went wrong, where somebody said so."""
    seconds: float | None = None
    """How long the evaluation took, where it was measured."""
    told_at: float
    """When it was told, in seconds since 1970; NaN where a file of an older infold does not say."""
    proposed_by: str
    """Who proposed the point: `design`, `user`, or a method, as in `mgpc` or `mgpc/random`.

    What follows the slash is the part of the method that chose the point, or behind `design` that
    earlier runs taught it. It ends in `replaced` where the choice was known already and a random
    point took its place. `unknown` stands in runs that an older infold wrote.
    """
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    """What the method said about the point when it proposed it."""
    constraints: tuple[float, ...] = ()
    """Constraint values, feasible where none is above 0."""
    values: tuple[float, ...] = ()
    """All values where there are several objectives and the evaluation succeeded."""
    identity: bytes = field(default=b"", repr=False)
    """What `Space.identity` says of the point, where it has been asked already."""

    @property
    def failed(self) -> bool:
        """Whether the evaluation returned no finite value."""
        return not np.isfinite(self.value)


class Ask(NamedTuple):
    """One call of `Optimizer.ask`."""

    points: tuple[Pending, ...]
    """What it returned."""
    n_asked: int
    """How many points had been asked for before it."""
    fixed: Mapping[str, Any] = {}
    """Values that the caller asked for, by the names of their parameters."""


class Forget(NamedTuple):
    """One call of `Optimizer.forget`."""

    point: Any
    """The point that is not waited for any more, as the user writes it."""
    identity: bytes
    """What `Space.identity` says of the point."""


Event = Evaluation | Pending | Ask | Forget


class Record:
    """Evaluations and pending points of a run."""

    def __init__(
        self, space: "Space", sign: float | np.ndarray, lessons: "Lessons | None" = None
    ) -> None:
        """
        Args:
            space: the user's parameters.
            sign: 1 where values are minimized, -1 where they are maximized; an array of them where
                there are several objectives.
            lessons: what earlier runs teach, in the unit cube of the space.
        """
        self.space = space
        self.sign = sign
        self.lessons = lessons
        self.evaluations: list[Evaluation] = []
        """In the order they were told."""
        self.pending: list[Pending] = []
        """In the order they were asked for or expected."""
        self.n_asked = 0
        """Points asked for so far."""
        self.known: set[bytes] = set()
        """Identities of all points, evaluated and pending."""

    def add(self, event: Event) -> None:
        """Take one event in. An evaluation ends the wait for the pending point that it is of."""
        if isinstance(event, Ask):
            for point in event.points:
                self.add(point)
            self.n_asked += len(event.points)
        elif isinstance(event, Pending):
            self.known.add(event.identity)
            self.pending.append(event)
        elif isinstance(event, Forget):
            found = self.find_pending(event.point, event.identity)
            if found is None:
                raise ValueError(f"x = {event.point!r:.60}: expected a point that is pending")
            self._remove(found)
        else:
            self._check_values(event)
            self._check_constraints(event)
            identity = event.identity or self.space.identity(event.point)
            found = self.find_pending(event.point, identity)
            self.evaluations.append(event)
            self.known.add(identity)
            if found is not None and found.identity == identity:
                self.pending.remove(found)
            elif found is not None:
                self._remove(found)

    @property
    def n_constraints(self) -> int:
        """Return how many constraints the evaluations have; 0 where they have none."""
        return next((len(e.constraints) for e in self.evaluations if e.constraints), 0)

    @property
    def several(self) -> bool:
        """Return whether there are several objectives."""
        return np.ndim(self.sign) > 0

    def _check_values(self, event: Evaluation) -> None:
        """Raise ValueError where an evaluation has not as many values as there are objectives."""
        expected = np.size(self.sign) if self.several and not event.failed else 0
        if len(event.values) != expected:
            raise ValueError(
                f"y has {len(event.values) or 1} values: expected {max(expected, 1)}, "
                "one for each objective"
            )

    def _check_constraints(self, event: Evaluation) -> None:
        """Raise ValueError where an evaluation has not as many constraints as those before."""
        given = len(event.constraints)
        decided = next((e for e in self.evaluations if e.constraints or not e.failed), None)
        if decided is None or (event.failed and not given):
            return
        expected = max(self.n_constraints, len(decided.constraints))
        if given != expected:
            raise ValueError(
                f"constraints has {given} values: expected {expected}, as in the evaluations before"
            )

    def _remove(self, pending: Pending) -> None:
        """Take a pending point out; it is still known where it is there another time."""
        self.pending.remove(pending)
        others = {p.identity for p in self.pending} | {e.identity for e in self.evaluations}
        if pending.identity not in others:
            self.known.discard(pending.identity)

    def find_pending(self, point: Any, identity: bytes) -> Pending | None:
        """Return the pending point that this one is: the first equal one, else a rounded one."""
        equal = next((p for p in self.pending if p.identity == identity), None)
        return equal or pairing.unrounded(point, self.pending, self.space)

    def as_of(self, n_evaluations: int, pending: Iterable[Pending], n_asked: int) -> "Record":
        """Return the record as it was at an earlier time."""
        earlier = Record(self.space, self.sign, self.lessons)
        earlier.evaluations = self.evaluations[:n_evaluations]
        earlier.pending = list(pending)
        earlier.n_asked = n_asked
        return earlier

    @property
    def feasible(self) -> np.ndarray:
        """Return which evaluations succeeded and satisfy all constraints."""
        rows = (not e.failed and all(c <= 0.0 for c in e.constraints) for e in self.evaluations)
        return np.fromiter(rows, dtype=bool, count=len(self.evaluations))

    @property
    def best_index(self) -> int | None:
        """Number of the best evaluation; None where nothing is known of any.

        Where there are constraints it is the best feasible one, or else that of least violation,
        which may have no value; with several objectives the last one of the front.
        """
        front = self.front
        return front[-1] if front else None

    @property
    def front(self) -> list[int]:
        """Numbers of the evaluations that no other dominates; with one objective, of the best.

        Where there are constraints they are feasible; while none is, the least violation is alone.
        """
        if not self.several and not self.n_constraints:
            values = self.sign * self.values
            return [int(np.nanargmin(values))] if np.any(np.isfinite(values)) else []
        history = self.history
        if not history.n_succeeded and not np.any(np.isfinite(history.constraints)):
            return []
        feasible = history.feasible
        if not self.several or not np.any(feasible):
            return [int(np.argmin(history.merit(history.imputed)))]
        rows = np.where(feasible[:, None], history.objectives, np.nan)
        return [int(i) for i in np.flatnonzero(objectives.non_dominated(rows))]

    @property
    def values(self) -> np.ndarray:
        """N values, or N x M where there are several objectives, as the user has them."""
        if not self.several:
            return np.array([e.value for e in self.evaluations])
        failed = (np.nan,) * np.size(self.sign)
        rows = [e.values or failed for e in self.evaluations]
        return np.array(rows).reshape(len(rows), len(failed))

    def _constraints(self) -> np.ndarray:
        """Return the constraint values, NaN for evaluations that came without."""
        unknown = (np.nan,) * self.n_constraints
        rows = [e.constraints or unknown for e in self.evaluations]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(unknown))

    @property
    def history(self) -> History:
        """Return what methods see."""
        units = [e.unit for e in self.evaluations]
        pending = [p.unit for p in self.pending]
        losses = self.sign * self.values
        constraints = self._constraints()
        y = losses
        if self.several:
            feasible = np.all(constraints <= 0.0, axis=1)
            y = objectives.scalarize(losses, objectives.equal_weights(losses.shape[1]), feasible)
        return History(
            x=np.array(units).reshape(-1, self.space.dimension),
            y=y,
            pending=np.array(pending).reshape(-1, self.space.dimension),
            rounding=self.space.rounding,
            proposals=tuple(e.proposal for e in (*self.evaluations, *self.pending)),
            constraints=constraints,
            objectives=losses if self.several else np.empty((0, 0)),
            where=self.space.where,
            lessons=self.lessons,
        )
