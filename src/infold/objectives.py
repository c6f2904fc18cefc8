"""Several objectives: what is best of them, and how they become one number for a suggestion.

A suggestion draws weights and looks for the point that improves the augmented Chebyshev
scalarization with them, s(y) = max_j w_j u_j + α Σ_j w_j u_j, where u_j is objective j scaled so
that what is known of it, or of its front, reaches from 0.1 to 1.1 (J. Knowles, "ParEGO", IEEE
Transactions on Evolutionary Computation, 2006). Every point of the front is the best for some
weights. All methods see one value per evaluation, and need not know that there are several; those
with expected improvement model each objective, and measure the improvement of the largest weighted
one (`acquisition/several.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from infold import _checks
from infold.gp.outputs import without_outliers

if TYPE_CHECKING:
    from infold.history import History, Proposal

_SUM = 0.05  # α: tells points apart that share their worst objective; that of ParEGO
_FAR = 1e100  # beyond it a value is just bad
_AT_ONCE = 100  # rows that are compared with all others at once
# What is aimed at lies beyond the least values, in units of how far values reach. With the least
# values themselves the ends of the known front are as good as can be, and the front never grows.
_BEYOND = 0.1
_NARROWEST = 0.2  # of how far values reach: a smaller front is one end, and must grow first
_LEAST_WEIGHT = 1e-12  # an objective of less weight has no limit
_STREAM = 7  # of the random numbers of one suggestion
_N_WEIGHTS = 64  # among which those are chosen that lead into a gap of the front
_N_LOOKED = 20  # suggestions before this one that look elsewhere


def non_dominated(y: Float[np.ndarray, "n m"]) -> Bool[np.ndarray, " n"]:
    """Tell which rows no other row dominates: is at most as large throughout, and smaller once.

    Of equal rows all are kept. Rows with NaN are none.
    """
    kept = np.all(np.isfinite(y), axis=1)
    known = np.flatnonzero(kept)
    for rows in _in_parts(known):
        no_larger = _no_larger(y[known], y[rows])
        kept[rows] = ~np.any(no_larger & ~_no_larger(y[rows], y[known]).T, axis=0)
    return kept


def enters_front(y: Float[np.ndarray, "n m"]) -> Bool[np.ndarray, " n"]:
    """Tell which rows no row before is at least as good as; those with NaN are none."""
    enters = np.all(np.isfinite(y), axis=1)
    known = np.flatnonzero(enters)
    for rows in _in_parts(known):
        before = known[:, None] < rows
        enters[rows] = ~np.any(before & _no_larger(y[known], y[rows]), axis=0)
    return enters


def _in_parts(rows: Int[np.ndarray, " n"]) -> list[Int[np.ndarray, " k"]]:
    return np.array_split(rows, len(rows) // _AT_ONCE + 1)


def _no_larger(a: Float[np.ndarray, "n m"], b: Float[np.ndarray, "k m"]) -> Bool[np.ndarray, "n k"]:
    """Tell which rows of a are in no column larger than which rows of b."""
    found = np.ones((len(a), len(b)), dtype=bool)
    for column, other in zip(a.T, b.T, strict=True):
        found &= column[:, None] <= other
    return found


class Draw(NamedTuple):
    """What a suggestion draws: how much each objective counts, and in which units."""

    weights: Float[np.ndarray, " m"]
    narrow: bool
    """Whether the known front is the unit, which fills its gaps, or all values are, which makes
    it grow: where the known front is small, none of its weights leads far away from it."""


def draw_of(key: Sequence[int], n_objectives: int) -> Draw:
    """Return the draw of a suggestion, a function of the key: weights uniform on the simplex."""
    rng = np.random.default_rng([*key, _STREAM])
    return Draw(rng.dirichlet(np.ones(n_objectives)), bool(rng.uniform() < 0.5))


def towards_gaps(
    history: "History", draw: Draw, key: Sequence[int], tried: Sequence[np.ndarray] = ()
) -> Draw:
    """Return a draw that looks where the known front is thin.

    Of many weights it has those whose direction is farthest from the points of the front, and from
    where the last suggestions looked: what they did not find need not be there. Draws in units of
    all values stay as they are, and so do those of more than two objectives.

    Args:
        history: the evaluations, and who proposed them with which weights.
        draw: what was drawn.
        key: seeds everything random.
        tried: weights of this suggestion that led to known points.
    """
    feasible = np.all(history.constraints <= 0.0, axis=1)
    made = Scalarization.of(history.objectives, draw, feasible)
    if not draw.narrow or history.n_objectives != 2 or made is None or not np.any(feasible):
        return draw
    rng = np.random.default_rng([*key, _STREAM, 1])
    weights = rng.dirichlet(np.ones(2), size=_N_WEIGHTS)
    y = np.where(feasible[:, None], history.objectives, np.nan)
    looked = [*_weights_of(history.proposals), *tried][-_N_LOOKED:]
    covered = _directions(
        np.concatenate([made.scaled(y[non_dominated(y)]), *(_aim(w)[None] for w in looked)])
    )
    nearest = np.max(_directions(_aim(weights)) @ covered.T, axis=1)
    return draw._replace(weights=weights[np.argmin(nearest)])


def _weights_of(proposals: Sequence["Proposal"]) -> list[np.ndarray]:
    """Return the weights of two objectives with which gaps of the front were looked for."""
    said = (proposal.diagnostics for proposal in proposals)
    weights = (known.get("weights") for known in said if known.get("narrow") is True)
    found = (w for w in weights if isinstance(w, list | tuple) and len(w) == 2)
    return [np.array(w) for w in found if all(map(_checks.is_number, w))]


def _aim(weights: Float[np.ndarray, "*n m"]) -> Float[np.ndarray, "*n m"]:
    """Return where weights lead: all weighted objectives are equal there."""
    return 1.0 / np.maximum(weights, _LEAST_WEIGHT)


def _directions(u: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "n m"]:
    """Return rows of length 1."""
    return u / np.linalg.norm(u, axis=1, keepdims=True)


def equal_weights(n_objectives: int) -> Draw:
    """Return the draw that treats all objectives alike."""
    return Draw(np.full(n_objectives, 1.0 / n_objectives), False)


class _Reach(NamedTuple):
    """Where objectives begin, and how far they reach."""

    unit: Float[np.ndarray, " m"]
    """What values are divided by first: 1, or more where differences would not be finite."""
    least: Float[np.ndarray, " m"]
    """Least value of each objective."""
    front: Float[np.ndarray, " m"]
    """How far the known front reaches from there; as far as all values where it is one point."""
    whole: Float[np.ndarray, " m"]
    """How far all values reach, outliers left out; 1 where all are equal."""


def _reach(y: Float[np.ndarray, "n m"], eligible: Bool[np.ndarray, " n"]) -> _Reach | None:
    """Return how far objectives reach; None where nothing is known.

    Args:
        y: objectives to minimize.
        eligible: rows among which the front is, such as those that are feasible.
    """
    complete = np.all(np.isfinite(y), axis=1)
    known = eligible & complete
    if not np.any(known):
        known = complete
    if not np.any(known):
        return None
    unit = np.maximum(1.0, np.nanmax(np.abs(y), axis=0) / _FAR)
    y = y / unit
    least = np.min(y[known], axis=0)
    most = np.array([np.max(without_outliers(column)) for column in y[complete].T])
    whole = np.where(most > least, most - least, 1.0)
    front = np.max(y[known][non_dominated(y[known])], axis=0) - least
    return _Reach(unit, least, np.where(front > 0.0, front, whole), whole)


def scaled(
    y: Float[np.ndarray, "n m"], eligible: Bool[np.ndarray, " n"]
) -> Float[np.ndarray, "n m"]:
    """Return objectives in units in which the known front reaches from 0 to 1.

    Where the front is a single point, the units are those of all rows. Rows with NaN hold NaN.

    Args:
        y: objectives to minimize.
        eligible: rows among which the front is, such as those that are feasible.
    """
    found = _reach(y, eligible)
    if found is None:
        return np.full(y.shape, np.nan)
    with np.errstate(over="ignore"):
        return np.clip((y / found.unit - found.least) / found.front, -_FAR, _FAR)


@dataclass(frozen=True, eq=False)
class Scalarization:
    """One number in place of several objectives, for one choice of weights."""

    weights: Float[np.ndarray, " m"]
    utopia: Float[np.ndarray, " m"]
    """A little less than the least value of each objective, in units of `unit`."""
    scale: Float[np.ndarray, " m"]
    """How far values reach, likewise."""
    unit: Float[np.ndarray, " m"]
    """Keeps differences of huge values finite; else 1."""

    @classmethod
    def of(
        cls, y: Float[np.ndarray, "n m"], draw: Draw, eligible: Bool[np.ndarray, " n"]
    ) -> "Scalarization | None":
        """Return the scalarization in units of what is known; None where nothing is.

        Args:
            y: objectives to minimize.
            draw: how much each of them counts, and in which units.
            eligible: rows among which the front is, such as those that are feasible.
        """
        found = _reach(y, eligible)
        if found is None:
            return None
        scale = found.whole
        if draw.narrow:
            scale = np.maximum(found.front, _NARROWEST * found.whole)
        return cls(draw.weights, found.least - _BEYOND * scale, scale, found.unit)

    def apply(self, y: Float[np.ndarray, "n m"]) -> Float[np.ndarray, " n"]:
        """Return one value to minimize for each row; NaN where a row holds NaN."""
        weighted = self._weighted(y)
        return np.max(weighted, axis=1) + _SUM * np.sum(weighted, axis=1)

    def worst(self, y: Float[np.ndarray, "n m"]) -> Float[np.ndarray, " n"]:
        """Return the largest weighted objective of each row; NaN where a row holds NaN."""
        return np.max(self._weighted(y), axis=1)

    def limits(self, t: Float[np.ndarray, " q"]) -> Float[np.ndarray, "m q"]:
        """Return up to which value of each objective `worst` is at most t."""
        with np.errstate(over="ignore"):
            u = t / np.maximum(self.weights, _LEAST_WEIGHT)[:, None]
            reached = self.utopia[:, None] + u * self.scale[:, None]
            return self.unit[:, None] * np.clip(reached, -_FAR, _FAR)

    def scaled(self, y: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "n m"]:
        """Return objectives from utopia on, in units of how far values reach."""
        with np.errstate(over="ignore"):
            return np.clip((y / self.unit - self.utopia) / self.scale, -_FAR, _FAR)

    def _weighted(self, y: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "n m"]:
        return self.weights * self.scaled(y)


def scalarize(
    y: Float[np.ndarray, "n m"], draw: Draw, eligible: Bool[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Return one value to minimize for each row; NaN where a row holds NaN.

    Args:
        y: objectives to minimize.
        draw: how much each of them counts, and in which units.
        eligible: rows among which the front is, such as those that are feasible.
    """
    found = Scalarization.of(y, draw, eligible)
    return np.full(len(y), np.nan) if found is None else found.apply(y)


def with_draw(history: "History", draw: Draw) -> "History":
    """Return the history with one scalarization for its values."""
    feasible = np.all(history.constraints <= 0.0, axis=1)
    found = Scalarization.of(history.objectives, draw, feasible)
    if found is None:
        return history
    return replace(history, y=found.apply(history.objectives), scalarization=found)


def hypervolume(values: Any, reference: Any, direction: Sequence[str] | None = None) -> float:
    """Return the volume that points dominate, up to a reference point; the larger the better.

    Args:
        values: objectives, one point per row, or a single point; those worse than the reference
            add nothing.
        reference: a point that is worse than all that count.
        direction: "minimize" or "maximize" for each objective; all are minimized when None.
    """
    try:
        import moocore
    except ImportError as error:
        raise ImportError("hypervolume needs moocore: pip install 'infold[objectives]'") from error
    limit = _checks.finite_array("reference", reference, (None,))
    if not len(limit):
        raise ValueError("reference is empty: expected one number for each objective")
    y = _checks.array_of("values", values)
    if y.shape in (limit.shape, (0,)):
        y = y.reshape(-1, len(limit))
    if y.ndim != 2 or y.shape[1] != len(limit):
        raise ValueError(
            f"values has shape {y.shape}: expected one point per row, with {len(limit)} numbers "
            "each as reference has, or a single point"
        )
    y = _checks.finite_array("values", y, (None, len(limit)))
    signs = signs_of(["minimize"] * len(limit) if direction is None else direction)
    if len(signs) != len(limit):
        raise ValueError(f"direction has {len(signs)} entries: expected {len(limit)}")
    return float(moocore.hypervolume(signs * y, ref=signs * limit)) if len(y) else 0.0


DIRECTIONS = ("minimize", "maximize")


def directions_of(direction: object) -> tuple[str, ...]:
    """Return the directions of all objectives, checked.

    Args:
        direction: "minimize" or "maximize", or a sequence of them, one for each objective.
    """
    if isinstance(direction, str) or not isinstance(direction, Sequence):
        return (_checks.one_of("direction", direction, DIRECTIONS),)
    if not direction:
        raise ValueError("direction = []: expected one for each objective")
    return tuple(
        _checks.one_of(f"direction[{j}]", each, DIRECTIONS) for j, each in enumerate(direction)
    )


def signs_of(directions: Sequence[str]) -> Float[np.ndarray, " m"]:
    """Return 1 for each objective that is minimized, -1 for each that is maximized."""
    return np.array([1.0 if each == "minimize" else -1.0 for each in directions_of(directions)])


def values_of(y: object, n_objectives: int, name: str = "y") -> tuple[float, ...]:
    """Return the values of all objectives as floats; NaN for all where the evaluation failed.

    Args:
        y: what the objective gave; None, NaN or infinity, at least once, where it failed.
        n_objectives: how many there must be.
        name: what errors call it.
    """
    failed = (np.nan,) * n_objectives
    if y is None:
        return failed
    try:
        without_order = isinstance(y, str | bytes | dict | set | frozenset)
        listed = None if without_order else list(y)  # type: ignore[call-overload]
    except TypeError:
        if _checks.is_number(y) and not np.isfinite(y):  # type: ignore[call-overload]
            return failed
        listed = None
    if listed is None or len(listed) != n_objectives:
        raise ValueError(
            f"{name} = {_checks.shown(y)}: expected {n_objectives} numbers, one for each "
            "objective, or None for a failed evaluation"
        )
    values = tuple(_checks.value_of(each, f"{name}[{j}]") for j, each in enumerate(listed))
    return values if np.all(np.isfinite(values)) else failed
