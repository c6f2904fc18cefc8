"""Part of the unit cube that linear rows leave: the geometry behind known constraints.

| symbol | code     | meaning                                        | shape |
|--------|----------|------------------------------------------------|-------|
| a, b   | `a`, `b` | rows a·u <= b, each of unit length             | k D   |
| e, f   | `e`, `f` | equations e·u = f, each of unit length         | r D   |

It is sampled by hit-and-run, and projected onto by Dykstra's algorithm.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

_MARGIN = 1e-9  # by which rows are narrower: rounding does not lead out
_EQUAL = 1e-9  # how exactly an equation must hold
_SWEEPS = 30  # of Dykstra's algorithm


@dataclass(frozen=True, eq=False)
class Polytope:
    """Points of the unit cube with a·u <= b and e·u = f."""

    a: Float[np.ndarray, "k D"]
    b: Float[np.ndarray, " k"]
    e: Float[np.ndarray, "r D"]
    f: Float[np.ndarray, " r"]

    @classmethod
    def of(
        cls,
        below: list[tuple[np.ndarray, float]],
        equal: list[tuple[np.ndarray, float]],
        dimension: int,
    ) -> "Polytope":
        """Return what rows of any length leave of the cube, a little narrower than they say."""
        below, equal = ([_unit(*row) for row in rows] for rows in (below, equal))
        return cls(
            np.array([row for row, _ in below]).reshape(-1, dimension),
            np.array([limit - _MARGIN for _, limit in below]),
            np.array([row for row, _ in equal]).reshape(-1, dimension),
            np.array([value for _, value in equal]),
        )

    def contains(self, units: Float[np.ndarray, "m D"]) -> Bool[np.ndarray, " m"]:
        """Tell which points are in it, up to rounding."""
        in_cube = np.all((units >= -1e-12) & (units <= 1.0 + 1e-12), axis=1)
        below = np.all(units @ self.a.T <= self.b + 0.5 * _MARGIN, axis=1)
        equal = np.all(np.abs(units @ self.e.T - self.f) <= _EQUAL, axis=1)
        return in_cube & below & equal

    def centre(self) -> Float[np.ndarray, " D"]:
        """Return the centre of the largest ball within the linear rows and the cube."""
        d = self.a.shape[1]
        if not len(self.a) and not len(self.e):
            return np.full(d, 0.5)
        from scipy.optimize import linprog

        eye = np.eye(d)
        # The last variable is the radius: rows have unit length.
        upper = np.block(
            [[self.a, np.ones((len(self.a), 1))], [eye, np.ones((d, 1))], [-eye, np.ones((d, 1))]]
        )
        limits = np.concatenate([self.b, np.ones(d), np.zeros(d)])
        equal = np.block([[self.e, np.zeros((len(self.e), 1))]]) if len(self.e) else None
        found = linprog(
            np.append(np.zeros(d), -1.0),
            A_ub=upper,
            b_ub=limits,
            A_eq=equal,
            b_eq=self.f if len(self.e) else None,
            bounds=[(0.0, 1.0)] * d + [(None, 0.5)],
        )
        if found.status != 0 or found.x[-1] < -2.0 * _MARGIN:
            raise ValueError(
                "where: the linear constraints contradict each other, or the limits of the "
                "parameters: no point satisfies them all"
            )
        return np.clip(found.x[:-1], 0.0, 1.0)

    def hit_and_run(
        self, x: Float[np.ndarray, "m D"], rng: np.random.Generator
    ) -> Float[np.ndarray, "m D"]:
        """Move each point along a random line, uniformly within the linear rows and the cube."""
        way = rng.normal(size=x.shape)
        if len(self.e):
            basis = np.linalg.qr(self.e.T)[0]
            way = way - (way @ basis) @ basis.T
        way /= np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300)
        d = x.shape[1]
        rows = np.concatenate([self.a, np.eye(d), -np.eye(d)])
        limits = np.concatenate([self.b, np.ones(d), np.zeros(d)])
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
            for value, row in zip(self.f, self.e, strict=True):
                z = z - (z @ row - value)[:, None] * row
            for k, (row, limit) in enumerate(zip(self.a, self.b, strict=True)):
                y = z + corrections[k]
                z = y - np.maximum(y @ row - limit, 0.0)[:, None] * row
                corrections[k] = y - z
            y = z + corrections[-1]
            z = np.clip(y, lower, upper)
            corrections[-1] = y - z
            if np.max(np.abs(z - before), initial=0.0) < 1e-10:
                break
        return np.clip(z, lower, upper)

    def on_equations(self, z: Float[np.ndarray, "m D"]) -> Float[np.ndarray, "m D"]:
        """Return the nearest points that satisfy the equations, up to rounding."""
        if not len(self.e):
            return z
        return z - (z @ self.e.T - self.f) @ np.linalg.pinv(self.e).T


def _unit(row: Float[np.ndarray, " D"], limit: float) -> tuple[np.ndarray, float]:
    """Return a row of unit length, and its limit."""
    size = float(np.linalg.norm(row))
    return row / size, limit / size
