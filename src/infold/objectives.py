"""Several objectives: what is best of them, and how they become one number for a suggestion.

A suggestion draws weights and looks for the point that improves the augmented Chebyshev
scalarization with them, s(y) = max_j w_j u_j + α Σ_j w_j u_j, where u_j is objective j scaled so
that the known front reaches from 0 to 1 (J. Knowles, "ParEGO", IEEE Transactions on Evolutionary
Computation, 2006). Every point of the front is the best for some weights. All methods see one value
per evaluation, and need not know that there are several.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from infold import _checks

if TYPE_CHECKING:
    from infold.history import History

_SUM = 0.05  # α: tells points apart that share their worst objective; that of ParEGO
_FAR = 1e100  # beyond it a value is just bad
_AT_ONCE = 100  # rows that are compared with all others at once
_STREAM = 7  # of the random numbers of one suggestion


def non_dominated(y: Float[np.ndarray, "n m"]) -> Bool[np.ndarray, " n"]:
    """Tell which rows no other row dominates: is at most as large throughout, and smaller once.

    Of equal rows all are kept. Rows with NaN are none.
    """
    kept = np.all(np.isfinite(y), axis=1)
    known = np.flatnonzero(kept)
    for rows in np.array_split(known, len(known) // _AT_ONCE + 1):
        others = y[known][:, None]
        dominated = np.all(others <= y[rows], axis=2) & np.any(others < y[rows], axis=2)
        kept[rows] = ~np.any(dominated, axis=0)
    return kept


def weights_of(key: Sequence[int], n_objectives: int) -> Float[np.ndarray, " m"]:
    """Return the weights of a suggestion: uniform on the simplex, a function of the key."""
    return np.random.default_rng([*key, _STREAM]).dirichlet(np.ones(n_objectives))


def equal_weights(n_objectives: int) -> Float[np.ndarray, " m"]:
    """Return the weights that treat all objectives alike."""
    return np.full(n_objectives, 1.0 / n_objectives)


def scaled(
    y: Float[np.ndarray, "n m"], eligible: Bool[np.ndarray, " n"]
) -> Float[np.ndarray, "n m"]:
    """Return objectives in units in which the known front reaches from 0 to 1.

    Where the front is a single point, the units are those of all rows. Rows with NaN hold NaN.

    Args:
        y: objectives to minimize.
        eligible: rows among which the front is, such as those that are feasible.
    """
    known = eligible & np.all(np.isfinite(y), axis=1)
    if not np.any(known):
        known = np.all(np.isfinite(y), axis=1)
    if not np.any(known):
        return np.full(y.shape, np.nan)
    y = y / np.maximum(1.0, np.nanmax(np.abs(y), axis=0) / _FAR)  # differences stay finite
    ideal = np.min(y[known], axis=0)
    front = y[known][non_dominated(y[known])]
    reach = np.max(front, axis=0) - ideal
    whole = np.nanmax(y, axis=0) - ideal
    scale = np.where(reach > 0.0, reach, np.where(whole > 0.0, whole, 1.0))
    with np.errstate(over="ignore"):
        return np.clip((y - ideal) / scale, -_FAR, _FAR)


def scalarize(
    y: Float[np.ndarray, "n m"], weights: Float[np.ndarray, " m"], eligible: Bool[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Return one value to minimize for each row; NaN where a row holds NaN.

    Args:
        y: objectives to minimize.
        weights: how much each of them counts.
        eligible: rows among which the front is, such as those that are feasible.
    """
    weighted = weights * scaled(y, eligible)
    return np.max(weighted, axis=1) + _SUM * np.sum(weighted, axis=1)


def with_weights(history: "History", weights: Float[np.ndarray, " m"]) -> "History":
    """Return the history with the scalarization with these weights for its values."""
    feasible = np.all(history.constraints <= 0.0, axis=1)
    return replace(history, y=scalarize(history.objectives, weights, feasible))


def hypervolume(values: Any, reference: Any, direction: Sequence[str] | None = None) -> float:
    """Return the volume that points dominate, up to a reference point; the larger the better.

    Args:
        values: objectives, one point per row; those worse than the reference add nothing.
        reference: a point that is worse than all that count.
        direction: "minimize" or "maximize" for each objective; all are minimized when None.
    """
    try:
        import moocore
    except ImportError as error:
        raise ImportError("hypervolume needs moocore: pip install 'infold[objectives]'") from error
    limit = _checks.finite_array("reference", reference, (None,))
    y = _checks.finite_array("values", np.reshape(values, (-1, len(limit))), (None, len(limit)))
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
        listed = list(y) if not isinstance(y, str | bytes | dict) else None  # type: ignore[call-overload]
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
