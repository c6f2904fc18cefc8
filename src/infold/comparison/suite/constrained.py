"""Problems with constraints on outcomes, feasible where none is above 0.

Constraints of the four design problems are relative to their limits where they have some.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.optimize

from infold.comparison.suite import functions
from infold.comparison.suite.truss import cantilever, sized
from infold.evaluation.outcome import Outcome
from infold.space import Float, Int, Point, Space


@dataclass(frozen=True, kw_only=True)
class Constrained:
    """A deterministic function to minimize under constraints."""

    name: str
    space: Space
    function: Callable[[Point], tuple[float, list[float]]]
    """Returns the value and the constraints."""
    n_constraints: int
    minimum: float | None = None
    """Least value of a feasible point, as published; None where it is not known."""
    minimizer: Point | None = None
    """A point of that value."""

    def __call__(self, point: Point) -> Outcome:
        value, constraints = self.function(point)
        return Outcome(value, constraints=constraints)


def welded_beam() -> Constrained:
    """The cheapest welded beam that bears its load: h, l, t, b (K. Ragsdell, D. Phillips, 1976)."""

    def function(x: Point) -> tuple[float, list[float]]:
        h, l, t, b = map(float, x)  # noqa: E741
        load, length, young, shear = 6000.0, 14.0, 30e6, 12e6
        arm = math.sqrt(l**2 / 4.0 + ((h + t) / 2.0) ** 2)
        polar = 2.0 * math.sqrt(2.0) * h * l * (l**2 / 12.0 + ((h + t) / 2.0) ** 2)
        first = load / (math.sqrt(2.0) * h * l)
        second = load * (length + l / 2.0) * arm / polar
        tau = math.sqrt(first**2 + first * second * l / arm + second**2)
        sigma = 6.0 * load * length / (b * t**2)
        sag = 4.0 * load * length**3 / (young * t**3 * b)
        buckling = (
            4.013
            * young
            * math.sqrt(t**2 * b**6 / 36.0)
            / length**2
            * (1.0 - t / (2.0 * length) * math.sqrt(young / (4.0 * shear)))
        )
        cost = 1.10471 * h**2 * l + 0.04811 * t * b * (14.0 + l)
        return cost, [
            tau / 13600.0 - 1.0,
            sigma / 30000.0 - 1.0,
            h - b,
            (0.10471 * h**2 + 0.04811 * t * b * (14.0 + l)) / 5.0 - 1.0,
            0.125 - h,
            sag / 0.25 - 1.0,
            1.0 - buckling / load,
        ]

    return Constrained(
        name="welded-beam",
        space=Space.of([(0.1, 2.0), (0.1, 10.0), (0.1, 10.0), (0.1, 2.0)]),
        function=function,
        n_constraints=7,
        minimum=1.724852,
        minimizer=np.array([0.205730, 3.470489, 9.036624, 0.205730]),
    )


def pressure_vessel() -> Constrained:
    """The cheapest vessel; thicknesses are multiples of 1/16 (B. Kannan and S. Kramer, 1994)."""

    def function(x: Point) -> tuple[float, list[float]]:
        shell, head, radius, length = 0.0625 * x[0], 0.0625 * x[1], float(x[2]), float(x[3])  # type: ignore[index]
        cost = (
            0.6224 * shell * radius * length
            + 1.7781 * head * radius**2
            + 3.1661 * shell**2 * length
            + 19.84 * shell**2 * radius
        )
        volume = math.pi * radius**2 * length + 4.0 / 3.0 * math.pi * radius**3
        return cost, [
            0.0193 * radius - shell,
            0.00954 * radius - head,
            1.0 - volume / 1296000.0,
            length / 240.0 - 1.0,
        ]

    return Constrained(
        name="pressure-vessel",
        space=Space.of([Int(1, 99), Int(1, 99), Float(10.0, 200.0), Float(10.0, 200.0)]),
        function=function,
        n_constraints=4,
        minimum=6059.714335,
        minimizer=[13, 7, 42.098446, 176.636596],
    )


def speed_reducer() -> Constrained:
    """The lightest gear box (J. Golinski, 1973), with the second shaft from 7.3."""

    def function(x: Point) -> tuple[float, list[float]]:
        a, m, z, l1, l2, d1, d2 = map(float, x)
        weight = (
            0.7854 * a * m**2 * (3.3333 * z**2 + 14.9334 * z - 43.0934)
            - 1.508 * a * (d1**2 + d2**2)
            + 7.4777 * (d1**3 + d2**3)
            + 0.7854 * (l1 * d1**2 + l2 * d2**2)
        )
        return weight, [
            27.0 / (a * m**2 * z) - 1.0,
            397.5 / (a * m**2 * z**2) - 1.0,
            1.93 * l1**3 / (m * z * d1**4) - 1.0,
            1.93 * l2**3 / (m * z * d2**4) - 1.0,
            math.sqrt((745.0 * l1 / (m * z)) ** 2 + 16.9e6) / (110.0 * d1**3) - 1.0,
            math.sqrt((745.0 * l2 / (m * z)) ** 2 + 157.5e6) / (85.0 * d2**3) - 1.0,
            m * z / 40.0 - 1.0,
            5.0 * m / a - 1.0,
            a / (12.0 * m) - 1.0,
            (1.5 * d1 + 1.9) / l1 - 1.0,
            (1.1 * d2 + 1.9) / l2 - 1.0,
        ]

    box = [(2.6, 3.6), (0.7, 0.8), Int(17, 28), (7.3, 8.3), (7.3, 8.3), (2.9, 3.9), (5.0, 5.5)]
    return Constrained(
        name="speed-reducer",
        space=Space.of(box),
        function=function,
        n_constraints=11,
        minimum=2994.471066,
        minimizer=[3.5, 0.7, 17, 7.3, 7.715320, 3.350215, 5.286654],
    )


def tension_spring() -> Constrained:
    """The lightest coil spring: wire, coil and number of turns (A. Belegundu, 1982)."""

    def function(x: Point) -> tuple[float, list[float]]:
        d, c, n = map(float, x)
        return (n + 2.0) * c * d**2, [
            1.0 - c**3 * n / (71785.0 * d**4),
            (4.0 * c**2 - d * c) / (12566.0 * (c * d**3 - d**4)) + 1.0 / (5108.0 * d**2) - 1.0,
            1.0 - 140.45 * d / (c**2 * n),
            (c + d) / 1.5 - 1.0,
        ]

    return Constrained(
        name="tension-spring",
        space=Space.of([(0.05, 0.2), (0.25, 1.3), (2.0, 15.0)]),  # coils wider than their wire
        function=function,
        n_constraints=4,
        minimum=0.012665233,
        minimizer=np.array([0.05168906, 0.35671773, 11.28896595]),
    )


def ackley() -> Constrained:
    """Ackley's function in 10 dimensions, as in D. Eriksson and M. Poloczek (2021)."""
    base = functions.ackley(10)

    def function(x: Point) -> tuple[float, list[float]]:
        z = np.asarray(x, dtype=np.float64)
        value = float(base.values(z[None])[0])
        return value, [float(np.sum(z)), float(np.linalg.norm(z)) - 5.0]

    return Constrained(
        name="ackley-10",
        space=Space.of([(-5.0, 10.0)] * 10),
        function=function,
        n_constraints=2,
        minimum=0.0,
        minimizer=np.zeros(10),
    )


def keane(dimension: int = 30) -> Constrained:
    """Keane's bump: its best points lie where the product of all parameters is 0.75."""

    def function(x: Point) -> tuple[float, list[float]]:
        z = np.asarray(x, dtype=np.float64)
        cos2 = np.cos(z) ** 2
        size = math.sqrt(max(float(np.sum(np.arange(1, len(z) + 1) * z**2)), 1e-300))
        bump = abs(float(np.sum(cos2**2) - 2.0 * np.prod(cos2))) / size
        return -bump, [0.75 - float(np.prod(z)), float(np.sum(z)) / (7.5 * len(z)) - 1.0]

    return Constrained(
        name=f"keane-{dimension}",
        space=Space.of([(0.0, 10.0)] * dimension),
        function=function,
        n_constraints=2,
    )


def truss() -> Constrained:
    """The lightest cantilever of 35 bars whose stresses and sag stay within limits."""
    built = cantilever(7)

    def function(x: Point) -> tuple[float, list[float]]:
        return sized(built, 1e-4 * np.asarray(x, dtype=np.float64))

    return Constrained(
        name="truss-35",
        space=Space.of([Float(1.0, 100.0, log=True)] * len(built.bars)),  # in cm²
        function=function,
        n_constraints=3,
    )


def hidden(dimension: int = 60, n_features: int = 6, n_constraints: int = 5) -> Constrained:
    """Squared distance from a point, in hidden features, cut off by hidden half-spaces.

    Features are an orthonormal projection of what the parameters are off the centre. The limit of
    each half-space is the zero of a hyperbolic sine, which no transform of values makes linear.
    """
    rng = np.random.default_rng(60)
    basis = np.linalg.qr(rng.normal(size=(dimension, n_features)))[0].T
    target = np.full(n_features, 0.8) * rng.choice([-1.0, 1.0], size=n_features)
    rows = rng.normal(size=(n_constraints, n_features))
    rows += 0.7 * target / np.linalg.norm(target) * np.sqrt(n_features)  # all stand in the way
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    limits = 0.35 * (rows @ target)

    def function(x: Point) -> tuple[float, list[float]]:
        z = basis @ (np.asarray(x, dtype=np.float64) - 0.5)
        return float(np.sum((z - target) ** 2)), np.sinh(3.0 * (rows @ z - limits)).tolist()

    best = scipy.optimize.minimize(
        lambda z: np.sum((z - target) ** 2),
        np.zeros(n_features),
        jac=lambda z: 2.0 * (z - target),
        constraints=scipy.optimize.LinearConstraint(rows, -np.inf, limits),
        method="SLSQP",
        options={"ftol": 1e-14},
    ).x
    return Constrained(
        name=f"hidden-{dimension}",
        space=Space.of([(0.0, 1.0)] * dimension),
        function=function,
        n_constraints=n_constraints,
        minimum=float(np.sum((best - target) ** 2)),
        minimizer=0.5 + basis.T @ best,
    )


PROBLEMS: dict[str, Callable[[], Constrained]] = {
    "welded-beam": welded_beam,
    "pressure-vessel": pressure_vessel,
    "speed-reducer": speed_reducer,
    "tension-spring": tension_spring,
    "ackley-10": ackley,
    "keane-30": partial(keane, 30),
    "truss-35": truss,
    "hidden-60": hidden,
}
"""Makers of the problems, by name."""
