"""Linear constraints of a space, and floats that satisfy them given the other parameters.

Floats on a linear scale are here called plain: rows of plain floats are rows in the unit cube too.
In other rows, plain floats follow from the rest: whole numbers, steps and numbers on a logarithmic
scale are taken as they are, and what they leave to the plain floats is a polytope.
"""

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool
from jaxtyping import Float as Floats

from infold.space.numbers import Float
from infold.space.polytope import MARGIN, Polytope, independent
from infold.space.scipy_constraints import Rows, limits_of

if TYPE_CHECKING:
    from infold.space.fixed import Fixed
    from infold.space.space import Space

_SAME = 1e-9  # limits that differ by this share are one number: the row is an equation


class Linear:
    """What linear rows leave of a space."""

    def __init__(self, space: "Space", rows: Rows, fixed: "Fixed | None") -> None:
        """
        Args:
            space: the parameters.
            rows: all linear constraints, one column per parameter.
            fixed: values that some of them have.
        """
        self._space = space
        parameters = list(space.parameters.values())
        self._low, high = np.array([limits_of(p) for p in parameters], dtype=np.float64).T
        self._width = high - self._low
        self._log = np.array([isinstance(p, Float) and p.log for p in parameters])
        self._plain = np.array(
            [isinstance(p, Float) and not (p.log or p.step or p.fixed) for p in parameters]
        )
        self._ends = np.cumsum([p.width for p in parameters])
        self._columns = self._ends[self._plain] - 1
        factors = rows.a * self._width
        self.is_plain: Bool[np.ndarray, " r"] = ~np.any(factors[:, ~self._plain], axis=1)
        """Which rows have factors of plain floats and parameters of one value alone."""
        self._rows, self._factors = _merged(rows, ~self.is_plain), factors
        self.polytope = self._of_plain(fixed)
        """What rows of plain floats leave of the unit cube."""
        self._mixed = np.any(factors[:, self._plain], axis=1) & ~self.is_plain
        needed = self.equations if fixed is None else True
        self.solves = bool(np.any(self._mixed & needed))
        """Whether plain floats must follow from the other parameters, as chance does not do."""

    @cached_property
    def equations(self) -> Bool[np.ndarray, " r"]:
        """Which rows can have only one value."""
        settled = np.zeros(len(self._factors), dtype=bool)
        for i in np.flatnonzero(self.is_plain):
            settled[i] = self.polytope.settles(self._in_cube(self._factors[i]))
        return settled | (self._rows.lb == self._rows.ub)

    def out_of_reach(self) -> Bool[np.ndarray, " r"]:
        """Tell which are equations with a logarithmic scale and without a plain float."""
        on_log = np.any(self._factors[:, self._log], axis=1)
        return self.equations & on_log & ~self._mixed

    @cached_property
    def settled(self) -> frozenset[str]:
        """Names of plain floats that can have only one value where all others have theirs."""
        loose = self.polytope.loose[self._columns]
        if self.solves:
            loose = self._conditional[0].loose
        names = np.array(list(self._space.parameters))[self._plain]
        return frozenset(names[~loose].tolist())

    def _in_cube(self, factors: Floats[np.ndarray, " n"]) -> Floats[np.ndarray, " D"]:
        row = np.zeros(self._space.dimension)
        row[self._columns] = factors[self._plain]
        return row

    def _offset(self, row: Floats[np.ndarray, " n"]) -> float:
        offset = 0.0
        for factor, low in zip(row, self._low, strict=True):
            offset += factor * low
        return offset

    def _of_plain(self, fixed: "Fixed | None") -> Polytope:
        below, equal = [], []
        for i in np.flatnonzero(self.is_plain & np.any(self._factors, axis=1)):
            factors = self._in_cube(self._factors[i])
            row, low, high = (part[i] for part in self._rows)
            offset = self._offset(row)
            if low == high:
                equal.append((factors, low - offset))
                continue
            if np.isfinite(high):
                below.append((factors, high - offset))
            if np.isfinite(low):
                below.append((-factors, offset - low))
        if fixed is not None:
            eye = np.eye(self._space.dimension)
            equal += [(eye[j], fixed.places[j]) for j in self._columns if fixed.held[j]]
        parts = self._space.parameters.items()
        names = [name for name, parameter in parts for _ in range(parameter.width)]
        return Polytope.of(below, equal, names)

    # Plain floats, given the other parameters

    @cached_property
    def _conditional(self) -> tuple[Polytope, np.ndarray, np.ndarray]:
        """What all rows leave to plain floats where all others are 0, and the others' factors."""
        a, lb, ub = (part[self._mixed] for part in self._rows)
        # In coordinates of plain floats from 0 to 1, in units of the others.
        lb, ub = (limits - a[:, self._plain] @ self._low[self._plain] for limits in (lb, ub))
        rows, others = self._factors[self._mixed][:, self._plain], a[:, ~self._plain]
        size = np.linalg.norm(rows, axis=1)
        rows, others, lb, ub = rows / size[:, None], others / size[:, None], lb / size, ub / size
        equal = self.equations[self._mixed]
        up, down = ~equal & np.isfinite(ub), ~equal & np.isfinite(lb)
        own = self.polytope
        e = np.concatenate([own.e[:, self._columns], rows[equal]])
        kept = independent(e)
        zero_a, zero_e = (np.zeros((len(part), others.shape[1])) for part in (own.a, own.e))
        polytope = Polytope(
            np.concatenate([own.a[:, self._columns], rows[up], -rows[down]]),
            np.concatenate([own.b, ub[up] - MARGIN, -lb[down] - MARGIN]),
            e[kept],
            np.concatenate([own.f, 0.5 * (lb + ub)[equal]])[kept],
        )
        of_a = np.concatenate([zero_a, others[up], -others[down]])
        return polytope, of_a, np.concatenate([zero_e, others[equal]])[kept]

    def _given(self, units: Floats[np.ndarray, "m D"]) -> Polytope:
        """Return what is left to plain floats at the other parameters of m points."""
        whole, of_a, of_e = self._conditional
        values = np.tile(self._low[~self._plain], (len(units), 1))
        parameters = list(self._space.parameters.values())
        for k, j in enumerate(np.flatnonzero(~self._plain)):
            if self._width[j]:  # 0 for categories
                column = units[:, self._ends[j] - 1, None]
                values[:, k] = [float(parameters[j].decode(unit)) for unit in column]
        return Polytope(whole.a, whole.b - values @ of_a.T, whole.e, whole.f - values @ of_e.T)

    def solved(
        self,
        units: Floats[np.ndarray, "m D"],
        lower: Floats[np.ndarray, " D"] | float = 0.0,
        upper: Floats[np.ndarray, " D"] | float = 1.0,
    ) -> Floats[np.ndarray, "m D"]:
        """Return points whose plain floats are the nearest that satisfy all rows, if any do.

        Args:
            units: points of the cube, whose other parameters stay.
            lower: lower limits of the plain floats, as far as equations let them.
            upper: upper limits.
        """
        lower, upper = (
            np.broadcast_to(limit, units.shape[1:])[self._columns] for limit in (lower, upper)
        )
        given = self._given(units)
        near = given.nearest_exactly(units[:, self._columns], lower, upper)
        units = np.array(units)
        units[:, self._columns] = np.clip(given.on_equations(near), 0.0, 1.0)
        return units

    def hit_and_run(
        self, units: Floats[np.ndarray, "m D"], rng: np.random.Generator
    ) -> Floats[np.ndarray, "m D"]:
        """Move the plain floats of each point along a random line within all rows."""
        moved = np.array(units)
        moved[:, self._columns] = self._given(units).hit_and_run(units[:, self._columns], rng)
        return moved


def _merged(rows: Rows, chosen: Bool[np.ndarray, " r"]) -> Rows:
    """Return the rows with one limit for both where chosen ones together say an equation."""
    lb, ub = np.array(rows.lb), np.array(rows.ub)
    size = np.linalg.norm(rows.a, axis=1)
    chosen = np.flatnonzero(chosen & (size > 0.0))
    directions = rows.a[chosen] / size[chosen, None]
    cosines = directions @ directions.T
    for k, i in enumerate(chosen):
        same, opposite = (chosen[sign * cosines[k] > 1.0 - 1e-12] for sign in (1.0, -1.0))
        low = max(
            np.max(lb[same] / size[same]), np.max(-ub[opposite] / size[opposite], initial=-np.inf)
        )
        high = min(
            np.min(ub[same] / size[same]), np.min(-lb[opposite] / size[opposite], initial=np.inf)
        )
        if np.isfinite(low) and high - low <= _SAME * max(abs(low), abs(high)):
            lb[i] = ub[i] = 0.5 * (low + high) * size[i]
    return Rows(rows.a, lb, ub)
