"""Known constraints on points: `LinearConstraint` and `NonlinearConstraint` of SciPy.

Rows of linear constraints on floats with a linear scale are rows a·u <= b or e·u = f in the unit
cube too: they are sampled by hit-and-run and projected onto by Dykstra's algorithm. Where equations
mix such floats with other parameters, the floats follow from the others. Everything else is asked
point by point, and a way back to a point that satisfies it is found by bisection.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool
from jaxtyping import Float as Floats

from infold import _checks
from infold.space import scipy_constraints
from infold.space.categories import Categorical
from infold.space.linear import Linear
from infold.space.scipy_constraints import (
    Rows,
    check,
    is_linear,
    limits_of,
    numbers_of,
    over_nonlinear,
    over_rows,
    rows_of,
)

if TYPE_CHECKING:
    from infold.space.fixed import Fixed
    from infold.space.space import Point, Space

_STEPS = 40  # of a hit-and-run chain
_HALVINGS = 16  # on the way back to a point that satisfies everything,
_FEW = 100  # or a quarter of them where there are more points, which are candidates
_TRIES = 10_000  # random points among which the first that satisfies everything is looked for
_REPAIRS = 2_000  # steps of a local search from the one that violates least


class Where:
    """Known constraints of a space."""

    def __init__(self, space: "Space", constraints: object, fixed: "Fixed | None" = None) -> None:
        """
        Args:
            space: the parameters.
            constraints: constraints of SciPy, one or several.
            fixed: values that some parameters must have.
        """
        self.space = space
        self.constraints = scipy_constraints.listed(constraints)
        self._fixed = fixed
        self._rounding = space.rounding if fixed is None else fixed.rounding
        names = list(space.parameters)
        for i, constraint in enumerate(self.constraints):
            check(f"where[{i}]", constraint, len(names))
        self._rows = {i: rows_of(c) for i, c in enumerate(self.constraints) if is_linear(c)}
        self._nonlinear = {
            f"where[{i}]": c for i, c in enumerate(self.constraints) if not is_linear(c)
        }
        for i, (a, _, _) in self._rows.items():
            for j, parameter in enumerate(space.parameters.values()):
                if isinstance(parameter, Categorical) and np.any(a[:, j]):
                    raise ValueError(
                        f"where[{i}] has a factor for {names[j]}, which is no number: expected 0"
                    )
        self._check_linear()
        rows = Rows.joined(list(self._rows.values()), len(names))
        owner = np.repeat(list(self._rows), [len(each.a) for each in self._rows.values()])
        self._linear = Linear(space, rows, fixed)
        for i in owner[self._linear.out_of_reach()]:
            raise ValueError(
                f"where[{i}] is an equation of parameters on a logarithmic scale: expected a float "
                "on a linear scale among them, from which it can be solved; leave out log=True, or "
                "eliminate a parameter"
            )
        limits = [limits_of(parameter) for parameter in space.parameters.values()]
        reach = np.max(np.abs(np.array(limits)), axis=1)
        allowed = rows.widened(self._linear.equations, reach)
        self._allowed = {i: allowed.part(owner == i) for i in self._rows}
        self._asked = allowed.part(~self._linear.is_plain)
        self._polytope = self._linear.polytope
        self._is_affine = not (len(self._asked.a) or self._nonlinear or space.rounding is not None)
        self._seeds = self._find()

    # What users see

    def violated(self, point: object) -> str | None:
        """Return which constraint a point violates, in words; None where it satisfies all."""
        normal = self.space.normalize(point)
        numbers = numbers_of(self.space, normal)
        for i, constraint in enumerate(self.constraints):
            if is_linear(constraint):
                over = over_rows(self._allowed[i], numbers)
            else:
                over = over_nonlinear(f"where[{i}]", constraint, normal)
            if over > 0.0:
                return f"where[{i}]"
        return None

    def to_json(self) -> dict[str, Any]:
        """Return the linear constraints as plain data, and the number of the others."""
        return scipy_constraints.to_json(list(self._rows.values()), len(self._nonlinear))

    @property
    def settled(self) -> frozenset[str]:
        """Names of floats that follow from the other parameters: they have one value for each."""
        return self._linear.settled

    def completed(self, point: object) -> "Point":
        """Return the point with the values that follow from the others, as far as there are any."""
        return self.space.decode(self._solved(self.space.encode(point)[None])[0])

    # What searches need

    def contains(self, units: Floats[np.ndarray, "m D"]) -> Bool[np.ndarray, " m"]:
        """Tell which points of the cube satisfy everything, rounded as they would be evaluated."""
        inside = self._polytope.contains(units)
        if self._fixed is not None:
            inside &= np.all(np.abs(units - self._placed(units)) <= 1e-9, axis=1)
        if not self._is_affine:
            for i in np.flatnonzero(inside):
                inside[i] = self._excess(units[i]) == 0.0
        return inside

    def sample(self, n: int, rng: np.random.Generator) -> Floats[np.ndarray, "n D"]:
        """Draw points that satisfy everything."""
        x = self._seeds[rng.integers(len(self._seeds), size=n)]
        for _ in range(_STEPS):
            if self._is_affine:
                x = self._polytope.hit_and_run(x, rng)
                continue
            trial = self._walk(x, rng)
            x = np.where(self.contains(trial)[:, None], trial, x)
        if self._is_affine:
            return self._placed(self._back(x, self._seeds[:1]))
        return x

    def nearest(self, units: Floats[np.ndarray, "m D"]) -> Floats[np.ndarray, "m D"]:
        """Return these points, or in place of those that violate something others near them.

        Where parameters are discrete the nearest of a few points that are known is taken.
        """
        if self.space.rounding is None:
            return self.moved(units)
        if self._linear.solves:
            units = self._solved(units)
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
        near = self._solved(units[outside], lower, upper)
        units[outside] = self._back(near, anchors)
        return self._placed(np.clip(units, 0.0, 1.0))

    # Inside

    def _excess(self, unit: Floats[np.ndarray, " D"]) -> float:
        """Return by how much a point of the cube violates what its linear rows do not tell."""
        point = self.space.decode(unit)
        numbers = numbers_of(self.space, point)
        total = sum(over_nonlinear(name, c, point) for name, c in self._nonlinear.items())
        return total + over_rows(self._asked, numbers)

    def _placed(self, units: Floats[np.ndarray, "m D"]) -> Floats[np.ndarray, "m D"]:
        """Return points with the fixed values, exactly."""
        fixed = self._fixed
        return units if fixed is None else np.where(fixed.held, fixed.places, units)

    def _solved(
        self,
        units: Floats[np.ndarray, "m D"],
        lower: Floats[np.ndarray, " D"] | float = 0.0,
        upper: Floats[np.ndarray, " D"] | float = 1.0,
    ) -> Floats[np.ndarray, "m D"]:
        """Return points near these that satisfy the linear rows, up to some rounding.

        Where rows mix floats with other parameters these keep the values that they round to.
        """
        if not self._linear.solves:
            return self._polytope.on_equations(self._polytope.nearest(units, lower, upper))
        units = units if self._rounding is None else self._rounding.snap(units)
        return self._placed(self._linear.solved(units, lower, upper))

    def _check_linear(self) -> None:
        """Raise ValueError where no values of the parameters satisfy the linear constraints."""
        if not self._rows:
            return
        from scipy.optimize import Bounds, LinearConstraint, milp

        limits = [limits_of(parameter) for parameter in self.space.parameters.values()]
        low, high = np.array(limits, dtype=np.float64).T
        rows = [LinearConstraint(a, lb, ub) for a, lb, ub in self._rows.values()]
        found = milp(np.zeros(len(low)), constraints=rows, bounds=Bounds(low, high))
        if found.status == 2:
            raise ValueError(
                "where: the linear constraints contradict each other, or the limits of the "
                "parameters: no point satisfies them all"
            )

    def _find(self) -> Floats[np.ndarray, "k D"]:
        """Return points that satisfy everything, the first in the middle of the linear rows."""
        centre = self._polytope.centre()
        if self._is_affine:
            return centre[None]
        rng = np.random.default_rng(0)  # what is found is a property of the space
        rounding = self._rounding
        found: list[np.ndarray] = []
        best, least = centre, np.inf
        x = np.repeat(centre[None], 100, axis=0)
        for _ in range(_TRIES // 100):
            x = self._polytope.hit_and_run(x, rng)
            trials = x if rounding is None else rounding.snap(x)
            if self._linear.solves:
                trials = self._solved(x)
            inside = self._polytope.contains(trials)
            for unit, is_inside in zip(trials, inside, strict=True):
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
            trial = self._solved(trial[None])[0]
            trial = trial if rounding is None else rounding.snap(trial[None])[0]
            excess = self._excess(trial)
            if excess == 0.0 and self._polytope.contains(trial[None])[0]:
                return trial[None]
            step = min(1.2 * step, 0.5) if excess < least else max(0.97 * step, 1e-3)
            if excess < least:
                best, least = trial, excess
        if not found:
            self._check_numbers(best)
            raise ValueError(
                f"where: no point that satisfies all constraints was found among {_TRIES} random "
                f"points and {_REPAIRS} steps from the best of them, which violates them by "
                f"{least:.3g} in all"
            )
        return np.array(found)

    def _check_numbers(self, unit: Floats[np.ndarray, " D"]) -> None:
        """Raise ValueError where functions return no number at a point, the best that was found."""
        point = self.space.decode(unit)
        for name, constraint in self._nonlinear.items():
            if over_nonlinear(name, constraint, point) == np.inf:
                raise ValueError(
                    f"{name}.fun returned {_checks.shown(constraint.fun(point))} at "
                    f"{_checks.shown(point)}, and no point was found at which all constraints "
                    "are finite: expected numbers"
                )

    def _walk(
        self, x: Floats[np.ndarray, "m D"], rng: np.random.Generator
    ) -> Floats[np.ndarray, "m D"]:
        """Move each point along a line within the linear rows, or give a coordinate any value."""
        solves = self._linear.solves
        along = (self._linear if solves else self._polytope).hit_and_run(x, rng)
        chosen = rng.integers(x.shape[1], size=len(x))
        replaced = np.array(x)
        replaced[np.arange(len(x)), chosen] = rng.uniform(size=len(x))
        if solves:
            replaced = self._solved(replaced)
        moved = np.where(rng.uniform(size=(len(x), 1)) < 0.5, along, replaced)
        return moved if self._rounding is None else self._rounding.snap(moved)

    def _back(
        self, z: Floats[np.ndarray, "m D"], anchors: Floats[np.ndarray, "k D"]
    ) -> Floats[np.ndarray, "m D"]:
        """Return the last point that satisfies everything on the way to each z from an anchor."""
        outside = ~self.contains(z)
        if not np.any(outside):
            return z
        gaps = np.sum(anchors**2, axis=1) - 2.0 * z @ anchors.T
        start = anchors[np.argmin(gaps, axis=1)]

        def at(share: np.ndarray) -> np.ndarray:
            points = start + share * (z - start)
            return self._solved(points) if self._linear.solves else points

        low = np.zeros((len(z), 1))
        high = np.where(outside[:, None], 1.0, 0.0)
        for _ in range(_HALVINGS if len(z) <= _FEW else _HALVINGS // 4):
            middle = 0.5 * (low + high)
            inside = self.contains(at(middle))[:, None]
            low = np.where(inside, middle, low)
            high = np.where(inside, high, middle)
        return np.where(outside[:, None], np.where(low > 0.0, at(low), start), z)
