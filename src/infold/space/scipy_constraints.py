"""Constraints of SciPy on the values of parameters, and by how much a point violates them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool
from jaxtyping import Float as Floats

from infold import _checks
from infold.space.categories import Categorical

if TYPE_CHECKING:
    from infold.space.space import Point, Space

_EQUAL = 1e-8  # how exactly an equation must hold, relative to the largest that its terms may be


class Rows(NamedTuple):
    """Linear constraints lb <= A x <= ub."""

    a: Floats[np.ndarray, "r n"]
    lb: Floats[np.ndarray, " r"]
    ub: Floats[np.ndarray, " r"]

    @classmethod
    def joined(cls, several: Sequence["Rows"], n: int) -> "Rows":
        """Return the rows of several constraints on n parameters together."""
        none = cls(np.empty((0, n)), np.empty(0), np.empty(0))
        return cls(*(np.concatenate(parts) for parts in zip(none, *several, strict=True)))

    def part(self, chosen: Bool[np.ndarray, " r"]) -> "Rows":
        """Return some of the rows."""
        return Rows(self.a[chosen], self.lb[chosen], self.ub[chosen])

    def widened(self, equations: Bool[np.ndarray, " r"], reach: Floats[np.ndarray, " n"]) -> "Rows":
        """Return the rows with some slack for equations, which hold up to rounding only.

        Args:
            equations: which rows are equations.
            reach: how large each parameter may be.
        """
        slack = np.where(equations, _EQUAL * (1.0 + np.abs(self.a) @ reach), 0.0)
        return Rows(self.a, self.lb - slack, self.ub + slack)


def listed(constraints: object) -> list[Any]:
    """Return one constraint or several as a list."""
    if constraints is None:
        return []
    if isinstance(constraints, Iterable) and not isinstance(constraints, str | bytes | Mapping):
        return list(constraints)
    return [constraints]


def is_linear(constraint: Any) -> bool:
    return hasattr(constraint, "A")


def check(name: str, constraint: Any, n: int) -> None:
    """Raise ValueError where something is no constraint on n parameters."""
    if not (is_linear(constraint) or callable(getattr(constraint, "fun", None))):
        raise ValueError(
            f"{name} = {_checks.shown(constraint)}: expected a LinearConstraint or a "
            "NonlinearConstraint of scipy.optimize"
        )
    if is_linear(constraint):
        a, lb, ub = rows_of(constraint)
        if a.shape[1] != n:
            raise ValueError(f"{name} has {a.shape[1]} columns: expected {n}, one per parameter")
        if not np.all(np.isfinite(a)):
            raise ValueError(f"{name}.A holds infinity or NaN: expected finite numbers")
    else:
        lb, ub = np.atleast_1d(constraint.lb), np.atleast_1d(constraint.ub)
        if np.any(lb == ub):
            raise ValueError(
                f"{name} is an equation: expected lb < ub, points that satisfy nonlinear equations "
                "are not found by chance; eliminate a parameter"
            )
    if np.any(np.isnan(lb)) or np.any(np.isnan(ub)) or np.any(lb > ub):
        raise ValueError(f"{name}: expected lb <= ub")


def rows_of(constraint: Any) -> Rows:
    """Return A, lb and ub of a linear constraint, one entry of the limits for each row."""
    a = constraint.A.toarray() if hasattr(constraint.A, "toarray") else constraint.A
    a = np.atleast_2d(np.asarray(a, dtype=np.float64))
    lb = np.broadcast_to(np.asarray(constraint.lb, dtype=np.float64), (len(a),))
    ub = np.broadcast_to(np.asarray(constraint.ub, dtype=np.float64), (len(a),))
    return Rows(a, lb, ub)


def numbers_of(space: "Space", point: "Point") -> Floats[np.ndarray, " n"]:
    """Return the values of a point as numbers; 0 for choices, which are none."""
    values: Sequence[Any] = list(point.values()) if isinstance(point, dict) else list(point)
    parts = zip(space.parameters.values(), values, strict=True)
    return np.array([0.0 if isinstance(p, Categorical) else float(v) for p, v in parts])


def limits_of(parameter: Any) -> tuple[float, float]:
    """Return the least and the largest number that a parameter may be."""
    if isinstance(parameter, Categorical):
        return 0.0, 0.0
    return float(getattr(parameter, "low", 0.0)), float(getattr(parameter, "high", 1.0))


def over_rows(rows: Rows, numbers: Floats[np.ndarray, " n"]) -> float:
    """Return by how much the values of a point violate linear rows; 0 where they do not."""
    return _over(rows.a @ numbers, rows.lb, rows.ub)


def over_nonlinear(name: str, constraint: Any, point: "Point") -> float:
    """Return by how much a point violates a function's limits; 0 where it does not.

    A value that is None or NaN violates them, by infinity. Raise where there are other values than
    numbers, or not as many as limits.
    """
    returned = constraint.fun(point)
    lb, ub = np.atleast_1d(constraint.lb), np.atleast_1d(constraint.ub)
    try:
        values = np.atleast_1d(np.asarray(returned, dtype=np.float64))
        fits = np.broadcast_shapes(values.shape, lb.shape, ub.shape) == values.shape
    except (TypeError, ValueError):
        fits = False
    if not fits or not values.size:
        n = max(lb.size, ub.size)
        expected = f"{n} numbers, one for each limit" if n > 1 else "numbers"
        raise ValueError(f"{name}.fun returned {_checks.shown(returned)}: expected {expected}")
    return _over(values, lb, ub)


def _over(values: np.ndarray, lb: np.ndarray, ub: np.ndarray) -> float:
    over = np.maximum(lb - values, values - ub)
    return float(np.sum(np.where(np.isnan(over), np.inf, np.maximum(over, 0.0))))


def to_json(linear: Sequence[Rows], n_nonlinear: int) -> dict[str, Any]:
    """Return linear constraints as plain data, and the number of the others."""
    described = [
        {"A": rows.a.tolist(), "lb": _plain(rows.lb), "ub": _plain(rows.ub)} for rows in linear
    ]
    return {"linear": described, "n_nonlinear": n_nonlinear}


def _plain(limits: Floats[np.ndarray, " r"]) -> list[float | None]:
    return [float(limit) if np.isfinite(limit) else None for limit in limits]


def from_json(data: Any) -> tuple[list[Any], int]:
    """Return the linear constraints that `to_json` described, and the number of others."""
    from scipy.optimize import LinearConstraint

    if not isinstance(data, dict) or not isinstance(data.get("linear"), list):
        raise ValueError(f"where = {_checks.shown(data)}: expected a table with linear")
    linear = [
        LinearConstraint(
            np.array(rows["A"], dtype=np.float64),
            [-np.inf if limit is None else limit for limit in rows["lb"]],
            [np.inf if limit is None else limit for limit in rows["ub"]],
        )
        for rows in data["linear"]
    ]
    return linear, _checks.at_least("where.n_nonlinear", data.get("n_nonlinear"), 0)
