"""Known constraints on points: `LinearConstraint` and `NonlinearConstraint` of SciPy.

Rows of linear constraints on floats with a linear scale are rows a·u <= b or e·u = f in the unit
cube too: they are sampled by hit-and-run and projected onto by Dykstra's algorithm. Everything else
is asked point by point, and a way back to a point that satisfies it is found by bisection.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool
from jaxtyping import Float as Floats

from infold import _checks
from infold.space.categories import Categorical
from infold.space.numbers import Float

if TYPE_CHECKING:
    from infold.space.space import Point, Space

_MARGIN = 1e-9  # by which rows are narrower in the cube: rounding does not lead out
_EQUAL = 1e-8  # how exactly an equation must hold, relative to the largest that its terms may be
_EQUAL_IN_CUBE = 1e-9  # the same in the cube, narrower: rounding does not lead out
_STEPS = 40  # of a hit-and-run chain
_SWEEPS = 30  # of Dykstra's algorithm
_HALVINGS = 16  # on the way back to a point that satisfies everything,
_FEW = 100  # or a quarter of them where there are more points, which are candidates
_TRIES = 10_000  # random points among which the first that satisfies everything is looked for
_REPAIRS = 2_000  # steps of a local search from the one that violates least


class Where:
    """Known constraints of a space."""

    def __init__(self, space: "Space", constraints: object) -> None:
        """
        Args:
            space: the parameters.
            constraints: constraints of SciPy, one or several.
        """
        self.space = space
        self.constraints = listed(constraints)
        names = list(space.parameters)
        for i, constraint in enumerate(self.constraints):
            _check(f"where[{i}]", constraint, len(names))
        self._rows = [_rows(c) for c in self.constraints if _is_linear(c)]
        self._nonlinear = [c for c in self.constraints if not _is_linear(c)]
        for i, (a, _, _) in enumerate(self._rows):
            for j, parameter in enumerate(space.parameters.values()):
                if isinstance(parameter, Categorical) and np.any(a[:, j]):
                    raise ValueError(
                        f"where[{i}] has a factor for {names[j]}, which is no number: expected 0"
                    )
        limits = [_limits(parameter) for parameter in space.parameters.values()]
        self._reach = np.max(np.abs(np.array(limits)), axis=1)
        self._check_linear()
        self._a, self._b, self._e, self._f, self._is_affine = self._in_cube()
        self._seeds = self._find()

    # What users see

    def violated(self, point: object) -> str | None:
        """Return which constraint a point violates, in words; None where it satisfies all."""
        normal = self.space.normalize(point)
        numbers = _numbers(self.space, normal)
        for i, constraint in enumerate(self.constraints):
            if _is_linear(constraint):
                over = _over_rows(_rows(constraint), numbers, self._reach)
            else:
                over = _over_nonlinear(constraint, normal)
            if over > 0.0:
                return f"where[{i}]"
        return None

    def to_json(self) -> dict[str, Any]:
        """Return the linear constraints as plain data, and the number of the others."""
        linear = [{"A": a.tolist(), "lb": _plain(lb), "ub": _plain(ub)} for a, lb, ub in self._rows]
        return {"linear": linear, "n_nonlinear": len(self._nonlinear)}

    # What searches need

    def contains(self, units: Floats[np.ndarray, "m D"]) -> Bool[np.ndarray, " m"]:
        """Tell which points of the cube satisfy everything, rounded as they would be evaluated."""
        inside = self._in_rows(units)
        if not self._is_affine:
            for i in np.flatnonzero(inside):
                inside[i] = self._excess(units[i]) == 0.0
        return inside

    def sample(self, n: int, rng: np.random.Generator) -> Floats[np.ndarray, "n D"]:
        """Draw points that satisfy everything."""
        x = self._seeds[rng.integers(len(self._seeds), size=n)]
        rounding = self.space.rounding
        for _ in range(_STEPS):
            if self._is_affine:
                x = self._hit_and_run(x, rng)
                continue
            trial = self._walk(x, rng)
            if rounding is not None:
                trial = rounding.snap(trial)
            x = np.where(self.contains(trial)[:, None], trial, x)
        if self._is_affine:
            return self._back(x, self._seeds[:1])
        return x

    def nearest(self, units: Floats[np.ndarray, "m D"]) -> Floats[np.ndarray, "m D"]:
        """Return these points, or in place of those that violate something others near them.

        Where parameters are discrete the nearest of a few points that are known is taken.
        """
        if self.space.rounding is None:
            return self.moved(units)
        gaps = np.sum((units[:, None] - self._seeds) ** 2, axis=2)
        closest = self._seeds[np.argmin(gaps, axis=1)]
        return np.where(self.contains(units)[:, None], units, closest)

    def moved(
        self,
        units: Floats[np.ndarray, "m D"],
        anchors: Floats[np.ndarray, "k D"] | None = None,
        lower: Floats[np.ndarray, " D"] | float = 0.0,
        upper: Floats[np.ndarray, " D"] | float = 1.0,
    ) -> Floats[np.ndarray, "m D"]:
        """Return points near these that satisfy everything; those that do stay.

        Args:
            units: points of the cube, without discrete coordinates.
            anchors: points that satisfy everything, of which the nearest is gone back to; one that
                is known when None.
            lower: lower limits, which no anchor is below.
            upper: upper limits.
        """
        anchors = self._seeds[:1] if anchors is None else anchors
        outside = ~self.contains(units)
        if not np.any(outside):
            return units
        units = np.array(units)
        near = self._exactly(self._dykstra(units[outside], lower, upper))
        units[outside] = self._back(near, anchors)
        return np.clip(units, 0.0, 1.0)

    # Inside

    def _excess(self, unit: Floats[np.ndarray, " D"]) -> float:
        """Return by how much a point of the cube violates what its linear rows do not tell."""
        point = self.space.decode(unit)
        numbers = _numbers(self.space, point)
        total = sum(_over_nonlinear(constraint, point) for constraint in self._nonlinear)
        return total + sum(_over_rows(rows, numbers, self._reach) for rows in self._asked)

    def _in_rows(self, units: Floats[np.ndarray, "m D"]) -> Bool[np.ndarray, " m"]:
        in_cube = np.all((units >= -1e-12) & (units <= 1.0 + 1e-12), axis=1)
        below = np.all(units @ self._a.T <= self._b + 0.5 * _MARGIN, axis=1)
        equal = np.all(np.abs(units @ self._e.T - self._f) <= _EQUAL_IN_CUBE, axis=1)
        return in_cube & below & equal

    def _check_linear(self) -> None:
        """Raise ValueError where no values of the parameters satisfy the linear constraints."""
        if not self._rows:
            return
        from scipy.optimize import Bounds, LinearConstraint, milp

        limits = [_limits(parameter) for parameter in self.space.parameters.values()]
        low, high = np.array(limits, dtype=np.float64).T
        rows = [LinearConstraint(a, lb, ub) for a, lb, ub in self._rows]
        found = milp(np.zeros(len(low)), constraints=rows, bounds=Bounds(low, high))
        if found.status == 2:
            raise ValueError(
                "where: the linear constraints contradict each other, or the limits of the "
                "parameters: no point satisfies them all"
            )

    def _in_cube(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, bool]:
        """Return the rows a u <= b and e u = f of the cube, and whether they are everything."""
        below, equal = [], []
        self._asked: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        affine = not self._nonlinear and self.space.rounding is None
        for a, lb, ub in self._rows:
            for row, low, high in zip(a, lb, ub, strict=True):
                unit = self._unit_row(row)
                if unit is None:
                    affine = False
                    self._asked.append((row[None], np.array([low]), np.array([high])))
                    continue
                factors, offset = unit
                size = float(np.linalg.norm(factors))
                if size == 0.0:
                    continue  # fixed parameters alone, which `_check_linear` has looked at
                if low == high:
                    equal.append((factors / size, (low - offset) / size))
                    continue
                if np.isfinite(high):
                    below.append((factors / size, (high - offset) / size - _MARGIN))
                if np.isfinite(low):
                    below.append((-factors / size, (offset - low) / size - _MARGIN))
        d = self.space.dimension
        return (
            np.array([row for row, _ in below]).reshape(-1, d),
            np.array([limit for _, limit in below]),
            np.array([row for row, _ in equal]).reshape(-1, d),
            np.array([value for _, value in equal]),
            affine,
        )

    def _unit_row(self, row: Floats[np.ndarray, " n"]) -> tuple[np.ndarray, float] | None:
        """Return factors and constant of a row in the cube; None where it is not linear there."""
        factors: list[float] = []
        offset = 0.0
        for factor, parameter in zip(row, self.space.parameters.values(), strict=True):
            is_plain = isinstance(parameter, Float) and not parameter.log and not parameter.step
            if parameter.fixed:
                low, _ = _limits(parameter)
                offset += factor * low
                factors += [0.0] * parameter.width
            elif is_plain:
                assert isinstance(parameter, Float)
                offset += factor * parameter.low
                factors.append(factor * (parameter.high - parameter.low))
            elif factor:
                return None
            else:
                factors += [0.0] * parameter.width
        return np.array(factors), offset

    def _find(self) -> Floats[np.ndarray, "k D"]:
        """Return points that satisfy everything, the first in the middle of the linear rows."""
        centre = self._centre()
        if self._is_affine:
            return centre[None]
        rng = np.random.default_rng(0)  # what is found is a property of the space
        rounding = self.space.rounding
        found: list[np.ndarray] = []
        best, least = centre, np.inf
        x = np.repeat(centre[None], 100, axis=0)
        for _ in range(_TRIES // 100):
            x = self._hit_and_run(x, rng)
            inside = self._in_rows(x)
            for unit, is_inside in zip(
                x if rounding is None else rounding.snap(x), inside, strict=True
            ):
                excess = self._excess(unit)
                if excess == 0.0 and is_inside:
                    found.append(unit)
                elif excess < least:
                    best, least = unit, excess
            if len(found) >= 20:
                return np.array(found)
        step = 0.3
        for _ in range(_REPAIRS if not found else 0):
            moved = rng.uniform(size=best.shape) < max(0.2, 1.0 / len(best))
            trial = np.clip(best + step * moved * rng.normal(size=best.shape), 0.0, 1.0)
            trial = self._exactly(self._dykstra(trial[None], 0.0, 1.0))[0]
            trial = trial if rounding is None else rounding.snap(trial[None])[0]
            excess = self._excess(trial)
            if excess == 0.0 and self._in_rows(trial[None])[0]:
                return trial[None]
            step = min(1.2 * step, 0.5) if excess < least else max(0.97 * step, 1e-3)
            if excess < least:
                best, least = trial, excess
        if not found:
            raise ValueError(
                f"where: no point that satisfies all constraints was found among {_TRIES} random "
                f"points and {_REPAIRS} steps from the best of them, which violates them by "
                f"{least:.3g} in all"
            )
        return np.array(found)

    def _centre(self) -> Floats[np.ndarray, " D"]:
        """Return the centre of the largest ball within the linear rows and the cube."""
        d = self.space.dimension
        if not len(self._a) and not len(self._e):
            return np.full(d, 0.5)
        from scipy.optimize import linprog

        eye = np.eye(d)
        # The last variable is the radius: rows have unit length.
        upper = np.block(
            [[self._a, np.ones((len(self._a), 1))], [eye, np.ones((d, 1))], [-eye, np.ones((d, 1))]]
        )
        limits = np.concatenate([self._b, np.ones(d), np.zeros(d)])
        equal = np.block([[self._e, np.zeros((len(self._e), 1))]]) if len(self._e) else None
        found = linprog(
            np.append(np.zeros(d), -1.0),
            A_ub=upper,
            b_ub=limits,
            A_eq=equal,
            b_eq=self._f if len(self._e) else None,
            bounds=[(0.0, 1.0)] * d + [(None, 0.5)],
        )
        if found.status != 0 or found.x[-1] < -2.0 * _MARGIN:
            raise ValueError(
                "where: the linear constraints contradict each other, or the limits of the "
                "parameters: no point satisfies them all"
            )
        return np.clip(found.x[:-1], 0.0, 1.0)

    def _hit_and_run(
        self, x: Floats[np.ndarray, "m D"], rng: np.random.Generator
    ) -> Floats[np.ndarray, "m D"]:
        """Move each point along a random line, uniformly within the linear rows and the cube."""
        way = rng.normal(size=x.shape)
        if len(self._e):
            basis = np.linalg.qr(self._e.T)[0]
            way = way - (way @ basis) @ basis.T
        way /= np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300)
        d = x.shape[1]
        rows = np.concatenate([self._a, np.eye(d), -np.eye(d)])
        limits = np.concatenate([self._b, np.ones(d), np.zeros(d)])
        speed = way @ rows.T
        room = np.maximum(limits - x @ rows.T, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = room / speed
        ahead = np.min(np.where(speed > 1e-12, reach, np.inf), axis=1)
        behind = np.max(np.where(speed < -1e-12, reach, -np.inf), axis=1)
        length = rng.uniform(np.minimum(behind, 0.0), np.maximum(ahead, 0.0))
        return np.clip(x + length[:, None] * way, 0.0, 1.0)

    def _walk(
        self, x: Floats[np.ndarray, "m D"], rng: np.random.Generator
    ) -> Floats[np.ndarray, "m D"]:
        """Move each point along a line within the linear rows, or give a coordinate any value."""
        along = self._hit_and_run(x, rng)
        chosen = rng.integers(x.shape[1], size=len(x))
        replaced = np.array(x)
        replaced[np.arange(len(x)), chosen] = rng.uniform(size=len(x))
        return np.where(rng.uniform(size=(len(x), 1)) < 0.5, along, replaced)

    def _dykstra(
        self,
        z: Floats[np.ndarray, "m D"],
        lower: Floats[np.ndarray, " D"] | float,
        upper: Floats[np.ndarray, " D"] | float,
    ) -> Floats[np.ndarray, "m D"]:
        """Return the nearest points within the linear rows and a box, up to some rounding."""
        corrections = np.zeros((len(self._a) + 1, *z.shape))
        for _ in range(_SWEEPS if len(self._a) or len(self._e) else 0):
            before = z
            for value, row in zip(self._f, self._e, strict=True):
                z = z - (z @ row - value)[:, None] * row
            for k, (row, limit) in enumerate(zip(self._a, self._b, strict=True)):
                y = z + corrections[k]
                z = y - np.maximum(y @ row - limit, 0.0)[:, None] * row
                corrections[k] = y - z
            y = z + corrections[-1]
            z = np.clip(y, lower, upper)
            corrections[-1] = y - z
            if np.max(np.abs(z - before), initial=0.0) < 1e-10:
                break
        return np.clip(z, lower, upper)

    def _exactly(self, z: Floats[np.ndarray, "m D"]) -> Floats[np.ndarray, "m D"]:
        """Return the nearest points that satisfy the equations, up to rounding."""
        if not len(self._e):
            return z
        return z - (z @ self._e.T - self._f) @ np.linalg.pinv(self._e).T

    def _back(
        self, z: Floats[np.ndarray, "m D"], anchors: Floats[np.ndarray, "k D"]
    ) -> Floats[np.ndarray, "m D"]:
        """Return the last point that satisfies everything on the way to each z from an anchor."""
        outside = ~self.contains(z)
        if not np.any(outside):
            return z
        gaps = np.sum(anchors**2, axis=1) - 2.0 * z @ anchors.T
        start = anchors[np.argmin(gaps, axis=1)]
        low = np.zeros((len(z), 1))
        high = np.where(outside[:, None], 1.0, 0.0)
        for _ in range(_HALVINGS if len(z) <= _FEW else _HALVINGS // 4):
            middle = 0.5 * (low + high)
            inside = self.contains(start + middle * (z - start))[:, None]
            low = np.where(inside, middle, low)
            high = np.where(inside, high, middle)
        return np.where(outside[:, None], start + low * (z - start), z)


def listed(constraints: object) -> list[Any]:
    """Return one constraint or several as a list."""
    if constraints is None:
        return []
    if isinstance(constraints, Iterable):
        return list(constraints)
    return [constraints]


def _is_linear(constraint: Any) -> bool:
    return hasattr(constraint, "A")


def _check(name: str, constraint: Any, n: int) -> None:
    """Raise ValueError where something is no constraint on n parameters."""
    if not (_is_linear(constraint) or callable(getattr(constraint, "fun", None))):
        raise ValueError(
            f"{name} = {_checks.shown(constraint)}: expected a LinearConstraint or a "
            "NonlinearConstraint of scipy.optimize"
        )
    if _is_linear(constraint):
        a, lb, ub = _rows(constraint)
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


def _rows(constraint: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return A, lb and ub of a linear constraint, one entry of the limits for each row."""
    a = constraint.A.toarray() if hasattr(constraint.A, "toarray") else constraint.A
    a = np.atleast_2d(np.asarray(a, dtype=np.float64))
    lb = np.broadcast_to(np.asarray(constraint.lb, dtype=np.float64), (len(a),))
    ub = np.broadcast_to(np.asarray(constraint.ub, dtype=np.float64), (len(a),))
    return a, lb, ub


def _numbers(space: "Space", point: "Point") -> Floats[np.ndarray, " n"]:
    """Return the values of a point as numbers; 0 for choices, which are none."""
    values: Sequence[Any] = list(point.values()) if isinstance(point, dict) else list(point)
    parts = zip(space.parameters.values(), values, strict=True)
    return np.array([0.0 if isinstance(p, Categorical) else float(v) for p, v in parts])


def _limits(parameter: Any) -> tuple[float, float]:
    """Return the least and the largest number that a parameter may be."""
    if isinstance(parameter, Categorical):
        return 0.0, 0.0
    return float(getattr(parameter, "low", 0.0)), float(getattr(parameter, "high", 1.0))


def _over_rows(
    rows: tuple[np.ndarray, np.ndarray, np.ndarray],
    numbers: Floats[np.ndarray, " n"],
    reach: Floats[np.ndarray, " n"],
) -> float:
    """Return by how much the values of a point violate linear rows; 0 where they do not.

    Args:
        rows: A, lb and ub.
        numbers: the values.
        reach: how large each of them may be.
    """
    a, lb, ub = rows
    slack = np.where(lb == ub, _EQUAL * (1.0 + np.abs(a) @ reach), 0.0)
    return _over(a @ numbers, lb - slack, ub + slack)


def _over_nonlinear(constraint: Any, point: "Point") -> float:
    """Return by how much a point violates a function's limits; 0 where it does not."""
    values = np.atleast_1d(np.asarray(constraint.fun(point), dtype=np.float64))
    return _over(values, np.asarray(constraint.lb), np.asarray(constraint.ub))


def _over(values: np.ndarray, lb: np.ndarray, ub: np.ndarray) -> float:
    over = np.maximum(lb - values, values - ub)
    return float(np.sum(np.where(np.isnan(over), np.inf, np.maximum(over, 0.0))))


def _plain(limits: Floats[np.ndarray, " r"]) -> list[float | None]:
    return [float(limit) if np.isfinite(limit) else None for limit in limits]


def from_json(data: Any) -> tuple[list[Any], int]:
    """Return the linear constraints that `Where.to_json` described, and the number of others."""
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
