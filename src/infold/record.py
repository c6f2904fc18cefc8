"""What is kept of a run: `Record` for the optimizer, `Evaluation` for people, `History` for models.

A `Record` grows by events: an `Ask`, a `Pending` point that nobody asked for, an `Evaluation`.
Run files hold the same events, and the same events give the same record.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from infold import _checks

if TYPE_CHECKING:
    import pandas

    from infold.space import Space


class Proposal(NamedTuple):
    """Who proposed a point, and what they said about it."""

    by: str = ""
    """Part of the method that chose the point; empty where the method has no parts."""
    diagnostics: Mapping[str, Any] = {}
    """What a person may want to know about the choice, as JSON can hold it."""


class _Proposed:
    """A point that somebody proposed."""

    proposed_by: str
    diagnostics: Mapping[str, Any]

    @property
    def proposal(self) -> Proposal:
        """What methods see of it: the part behind the method's name, and the diagnostics."""
        return Proposal(self.proposed_by.partition("/")[2], self.diagnostics)


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
    """The value that was told; NaN where the evaluation failed."""
    error: str | None = None
    """What went wrong, where somebody said so."""
    seconds: float | None = None
    """How long the evaluation took, where it was measured."""
    told_at: float
    """When it was told, in seconds since 1970; NaN where a file of an older infold does not say."""
    proposed_by: str
    """Who proposed the point: `design`, `user`, or a method, as in `mgpc` or `mgpc/random`.

    What follows the slash is the part of the method that chose the point. It ends in `replaced`
    where the choice was known already and a random point took its place. `unknown` stands in runs
    that an older infold wrote.
    """
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    """What the method said about the point when it proposed it."""
    constraints: tuple[float, ...] = ()
    """Constraint values, feasible where none is above 0."""
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

    def with_pending(self, x: np.ndarray, proposals: tuple[Proposal, ...] = ()) -> "History":
        """Return the history with further pending points."""
        x = np.atleast_2d(x)
        proposals = proposals or (Proposal(),) * len(x)
        pending = np.concatenate([self.pending, x])
        return replace(self, pending=pending, proposals=(*self.proposals, *proposals))


class Record:
    """Evaluations and pending points of a run."""

    def __init__(self, space: "Space", sign: float) -> None:
        """
        Args:
            space: the user's parameters.
            sign: 1 where values are minimized, -1 where they are maximized.
        """
        self.space = space
        self.sign = sign
        self.evaluations: list[Evaluation] = []
        """In the order they were told."""
        self.pending: list[Pending] = []
        """In the order they were asked for or expected."""
        self.n_asked = 0
        """Points asked for so far."""
        self.known: set[bytes] = set()
        """Identities of all points, evaluated and pending."""

    def add(self, event: "Evaluation | Pending | Ask") -> None:
        """Take one event in. An evaluation ends the wait for the first pending point like it."""
        if isinstance(event, Ask):
            for point in event.points:
                self.add(point)
            self.n_asked += len(event.points)
            return
        if isinstance(event, Pending):
            self.known.add(event.identity)
            self.pending.append(event)
            return
        identity = event.identity or self.space.identity(event.point)
        self.known.add(identity)
        found = self.find_pending(identity)
        if found is not None:
            self.pending.remove(found)
        self.evaluations.append(event)

    def find_pending(self, identity: bytes) -> Pending | None:
        """Return the first pending point of this identity."""
        return next((p for p in self.pending if p.identity == identity), None)

    def as_of(self, n_evaluations: int, pending: Iterable[Pending], n_asked: int) -> "Record":
        """Return the record as it was at an earlier time."""
        earlier = Record(self.space, self.sign)
        earlier.evaluations = self.evaluations[:n_evaluations]
        earlier.pending = list(pending)
        earlier.n_asked = n_asked
        return earlier

    @property
    def history(self) -> History:
        """Return what methods see."""
        units = [e.unit for e in self.evaluations]
        pending = [p.unit for p in self.pending]
        return History(
            x=np.array(units).reshape(-1, self.space.dimension),
            y=self.sign * np.array([e.value for e in self.evaluations]),
            pending=np.array(pending).reshape(-1, self.space.dimension),
            rounding=self.space.rounding,
            proposals=tuple(e.proposal for e in (*self.evaluations, *self.pending)),
        )


def to_frame(evaluations: Iterable[Evaluation], space: "Space") -> "pandas.DataFrame":
    """Return evaluations as a table, one per row.

    It has a column for each parameter, then value, failed, error, seconds, told_at and proposed_by,
    then one for each diagnostic that is a number, a text or a truth value. A name that is taken
    already gets `evaluation.` or `diagnostics.` in front.
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_frame needs pandas: pip install 'infold[experiments]'") from error
    evaluations = list(evaluations)
    keys = space.parameters if space.named else range(len(space.parameters))
    columns: dict[str, Any] = {
        name: [e.point[key] for e in evaluations]
        for name, key in zip(space.parameters, keys, strict=True)
    }

    def add(prefix: str, name: str, column: Any) -> None:
        columns[name if name not in columns else f"{prefix}.{name}"] = column

    add("evaluation", "value", np.array([e.value for e in evaluations], dtype=np.float64))
    add("evaluation", "failed", np.array([e.failed for e in evaluations], dtype=bool))
    add("evaluation", "error", [e.error for e in evaluations])
    seconds = [np.nan if e.seconds is None else e.seconds for e in evaluations]
    add("evaluation", "seconds", np.array(seconds, dtype=np.float64))
    told_at = np.array([e.told_at for e in evaluations], dtype=np.float64)
    times = pandas.to_datetime(told_at, unit="s", utc=True, errors="coerce")
    add("evaluation", "told_at", times)
    add("evaluation", "proposed_by", [e.proposed_by for e in evaluations])
    scalars = dict.fromkeys(
        name
        for e in evaluations
        for name, value in e.diagnostics.items()
        if isinstance(value, str | int | float | bool)
    )
    for name in scalars:
        add("diagnostics", name, [e.diagnostics.get(name) for e in evaluations])
    return pandas.DataFrame(columns)
