"""Part of the unit cube that linear rows leave: the geometry behind known constraints.

| symbol | code     | meaning                                        | shape |
|--------|----------|------------------------------------------------|-------|
| a, b   | `a`, `b` | rows a·u <= b, each of unit length             | k D   |
| e, f   | `e`, `f` | equations e·u = f, each of unit length         | r D   |

It is sampled by hit-and-run, and projected onto by Dykstra's algorithm. Rows that leave no room,
such as two that together say a·u = b, are equations too: a flat set is searched within itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

MARGIN = 1e-9  # by which rows are narrower: rounding does not lead out
_EQUAL = 1e-9  # how exactly an equation must hold
_FLAT = 1e-8  # room that a row must leave somewhere: it is an equation otherwise
_ROUNDING = 1e-12  # of a coordinate that can have only one value
_DECIMALS = 13  # of such a coordinate: equal points are the same to the last bit
_BISECTIONS = 60  # to the nearest point on one equation
_SWEEPS = 30  # of Dykstra's algorithm


@dataclass(frozen=True, eq=False)
class Polytope:
    """Points of the unit cube with a·u <= b and e·u = f.

    Limits may differ between points: methods that take m points take m rows of them as well.
    """

    a: Float[np.ndarray, "k D"]
    b: Float[np.ndarray, "*m k"]
    e: Float[np.ndarray, "r D"]
    f: Float[np.ndarray, "*m r"]

    @classmethod
    def of(
        cls,
        below: list[tuple[np.ndarray, float]],
        equal: list[tuple[np.ndarray, float]],
        names: Sequence[str],
    ) -> "Polytope":
        """Return what rows of any length leave of the cube, a little narrower than they say.

        Args:
            below: rows and limits.
            equal: equations and values.
            names: what errors call the coordinates.
        """
        below, equal = ([_unit(*row) for row in rows] for rows in (below, equal))
        exact = cls(
            np.array([row for row, _ in below]).reshape(-1, len(names)),
            np.array([limit for _, limit in below]),
            np.array([row for row, _ in equal]).reshape(-1, len(names)),
            np.array([value for _, value in equal]),
        )
        flat = exact._flattened(names)
        kept = independent(flat.e)
        return cls(flat.a, flat.b - MARGIN, flat.e[kept], flat.f[kept])

    @cached_property
    def _basis(self) -> Float[np.ndarray, "D r"]:
        """Orthonormal directions along which the equations let nothing vary."""
        return np.linalg.qr(self.e[independent(self.e)].T)[0]

    @cached_property
    def loose(self) -> Bool[np.ndarray, " D"]:
        """Which coordinates can vary as far as the equations go."""
        return np.sum(self._basis**2, axis=1) < 1.0 - 1e-9

    def settles(self, row: Float[np.ndarray, " D"]) -> bool:
        """Tell whether a·u has only one value, by the equations."""
        rest = row - self._basis @ (self._basis.T @ row)
        return bool(np.linalg.norm(rest) <= 1e-9 * np.linalg.norm(row))

    def contains(self, units: Float[np.ndarray, "m D"]) -> Bool[np.ndarray, " m"]:
        """Tell which points are in it, up to rounding."""
        in_cube = np.all((units >= -1e-12) & (units <= 1.0 + 1e-12), axis=1)
        below = np.all(units @ self.a.T <= self.b + 0.5 * MARGIN, axis=1)
        equal = np.all(np.abs(units @ self.e.T - self.f) <= _EQUAL, axis=1)
        return in_cube & below & equal

    def centre(self) -> Float[np.ndarray, " D"]:
        """Return the centre of the largest ball within the linear rows and the cube."""
        if not len(self.a) and not len(self.e):
            return np.full(self.a.shape[1], 0.5)
        return self._settled(self._ball(-2.0 * MARGIN)[0])

    def _ball(self, least: float) -> tuple[Float[np.ndarray, " D"], float]:
        """Return centre and radius of the largest ball; raise where the radius is below `least`."""
        d = self.a.shape[1]
        eye = np.eye(d)[self.loose]
        n_loose = len(eye)
        # The last variable is the radius: rows have unit length.
        upper = np.block(
            [
                [self.a, np.ones((len(self.a), 1))],
                [eye, np.ones((n_loose, 1))],
                [-eye, np.ones((n_loose, 1))],
            ]
        )
        limits = np.concatenate([self.b, np.ones(n_loose), np.zeros(n_loose)])
        equal = np.block([[self.e, np.zeros((len(self.e), 1))]]) if len(self.e) else None
        found = _linear_program(
            np.append(np.zeros(d), -1.0),
            A_ub=upper,
            b_ub=limits,
            A_eq=equal,
            b_eq=self.f if len(self.e) else None,
            bounds=[(0.0, 1.0)] * d + [(None, 0.5)],
        )
        if found.status != 0 or found.x[-1] < least:
            raise ValueError(
                "where: the linear constraints contradict each other, or the limits of the "
                "parameters: no point satisfies them all"
            )
        return np.clip(found.x[:-1], 0.0, 1.0), float(found.x[-1])

    def _flattened(self, names: Sequence[str]) -> "Polytope":
        """Return the same set with those rows as equations, the cube's too, that leave no room."""
        if not len(self.a) and not len(self.e):
            return self
        middle, radius = self._ball(-MARGIN)
        if radius > _FLAT:
            return self
        d = len(middle)
        rows = np.concatenate([self.a, np.eye(d), -np.eye(d)])
        limits = np.maximum(np.append(self.b, [1.0] * d + [0.0] * d), rows @ middle)
        room = limits - rows @ middle
        tight = room <= _FLAT
        while np.any(tight):
            # As much room as can be, together, for rows that have had none anywhere so far.
            n_tight = int(np.sum(tight))
            found = _linear_program(
                np.append(np.zeros(d), -np.ones(n_tight)),
                A_ub=np.hstack([rows, np.eye(len(rows))[:, tight]]),
                b_ub=limits,
                A_eq=np.hstack([self.e, np.zeros((len(self.e), n_tight))]),
                b_eq=self.e @ middle,
                bounds=[(0.0, 1.0)] * d + [(0.0, 1e-3)] * n_tight,
            )
            if found.status != 0:
                return self
            room = limits - rows @ found.x[:d]
            if not np.any(tight & (room > _FLAT)):
                break
            tight &= room <= _FLAT
        narrow = tight[len(self.a) :] & (room[len(self.a) :] > _ROUNDING)
        for j in np.flatnonzero(narrow[:d] | narrow[d:]).tolist():
            raise ValueError(
                f"where leaves {names[j]} less than {_FLAT:g} of the range between its limits: "
                "expected more, give it narrower limits"
            )
        n = len(self.a)
        return Polytope(
            self.a[~tight[:n]],
            self.b[~tight[:n]],
            np.concatenate([self.e, rows[tight]]),
            np.concatenate([self.f, rows[tight] @ middle]),
        )

    def hit_and_run(
        self, x: Float[np.ndarray, "m D"], rng: np.random.Generator
    ) -> Float[np.ndarray, "m D"]:
        """Move each point along a random line, uniformly within the linear rows and the cube."""
        if not np.any(self.loose):
            return x
        way = rng.normal(size=x.shape)
        if len(self.e):
            way = np.where(self.loose, way - (way @ self._basis) @ self._basis.T, 0.0)
        way /= np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300)
        d = x.shape[1]
        rows = np.concatenate([self.a, np.eye(d), -np.eye(d)])
        cube = np.broadcast_to([1.0] * d + [0.0] * d, (*self.b.shape[:-1], 2 * d))
        limits = np.concatenate([self.b, cube], axis=-1)
        speed = way @ rows.T
        room = np.maximum(limits - x @ rows.T, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = room / speed
        ahead = np.min(np.where(speed > 1e-12, reach, np.inf), axis=1)
        behind = np.max(np.where(speed < -1e-12, reach, -np.inf), axis=1)
        length = rng.uniform(np.minimum(behind, 0.0), np.maximum(ahead, 0.0))
        return np.clip(x + length[:, None] * way, 0.0, 1.0)

    def nearest(
        self,
        z: Float[np.ndarray, "m D"],
        lower: Float[np.ndarray, " D"] | float,
        upper: Float[np.ndarray, " D"] | float,
    ) -> Float[np.ndarray, "m D"]:
        """Return the nearest points within the linear rows and a box, up to some rounding."""
        corrections = np.zeros((len(self.a) + 1, *z.shape))
        for _ in range(_SWEEPS if len(self.a) or len(self.e) else 0):
            before = z
            for value, row in zip(self.f.T, self.e, strict=True):
                z = z - (z @ row - value)[:, None] * row
            for k, (row, limit) in enumerate(zip(self.a, self.b.T, strict=True)):
                y = z + corrections[k]
                z = y - np.maximum(y @ row - limit, 0.0)[:, None] * row
                corrections[k] = y - z
            y = z + corrections[-1]
            z = np.clip(y, lower, upper)
            corrections[-1] = y - z
            if np.max(np.abs(z - before), initial=0.0) < 1e-10:
                break
        return np.clip(z, lower, upper)

    def nearest_exactly(
        self,
        z: Float[np.ndarray, "m D"],
        lower: Float[np.ndarray, " D"] | float,
        upper: Float[np.ndarray, " D"] | float,
    ) -> Float[np.ndarray, "m D"]:
        """Return the nearest points as `nearest` does, exact where there is one equation alone.

        They are z - s e, cut to the box, for one number s: a corner is found as well as any other.
        """
        if len(self.a) or len(self.e) != 1:
            return self.nearest(z, lower, upper)
        row, value = self.e[0], self.f[..., 0]
        far = 2.0 * (1.0 + np.max(np.abs(z), initial=0.0)) / np.min(np.abs(row[row != 0.0]))
        low, high = np.full(len(z), -far), np.full(len(z), far)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            above = np.clip(z - middle[:, None] * row, lower, upper) @ row > value
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return np.clip(z - (0.5 * (low + high))[:, None] * row, lower, upper)

    def on_equations(self, z: Float[np.ndarray, "m D"]) -> Float[np.ndarray, "m D"]:
        """Return the nearest points that satisfy the equations, up to rounding."""
        if not len(self.e):
            return z
        return self._settled(z - (z @ self.e.T - self.f) @ np.linalg.pinv(self.e).T)

    def _settled(self, z: Float[np.ndarray, "*m D"]) -> Float[np.ndarray, "*m D"]:
        """Return points whose coordinates that can have one value only have it, without noise."""
        if np.all(self.loose):
            return z
        only = np.round(self.f @ np.linalg.pinv(self.e).T, _DECIMALS)
        return np.where(self.loose, z, only)


def independent(rows: Float[np.ndarray, "r D"]) -> Int[np.ndarray, " s"]:
    """Return numbers of rows that say what all of them say, none of which the others imply."""
    if len(rows) < 2:
        return np.arange(len(rows))
    from scipy.linalg import qr

    _, r, order = qr(rows.T, mode="economic", pivoting=True)
    return np.sort(order[: int(np.sum(np.abs(np.diag(r)) > 1e-9))])


def _linear_program(costs: Float[np.ndarray, " n"], **rows: Any) -> Any:
    from scipy.optimize import linprog

    return linprog(costs, **rows)


def _unit(row: Float[np.ndarray, " D"], limit: float) -> tuple[np.ndarray, float]:
    """Return a row of unit length, and its limit."""
    size = float(np.linalg.norm(row))
    return row / size, limit / size
