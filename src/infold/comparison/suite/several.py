"""Problems with several objectives, all minimized.

ZDT: E. Zitzler, K. Deb and L. Thiele (2000). DTLZ: K. Deb et al. (2005). RE: R. Tanabe and
H. Ishibuchi, "An easy-to-use real-world multi-objective optimization problem suite" (2020).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float

from infold.space import Point, Space


@dataclass(frozen=True, kw_only=True)
class Several:
    """A deterministic function with several values."""

    name: str
    space: Space
    function: Callable[[np.ndarray], np.ndarray]
    reference: tuple[float, ...]
    """A point that all of the front is better than, up to which hypervolume is measured."""
    front: Callable[[int], Float[np.ndarray, "n m"]] | None = None
    """Points of the front, as published, by their number; None where it is not known."""

    @property
    def n_objectives(self) -> int:
        """How many values it has."""
        return len(self.reference)

    def __call__(self, point: Point) -> list[float]:
        return [float(value) for value in self.function(np.asarray(point, dtype=np.float64))]


def zdt(number: int, dimension: int = 30) -> Several:
    """ZDT1, ZDT2 or ZDT3: a convex front, a concave one, or one in five pieces."""

    def second(f: np.ndarray, g: np.ndarray) -> np.ndarray:
        ratio = f / g
        if number == 2:
            return g * (1.0 - ratio**2)
        waves = ratio * np.sin(10.0 * np.pi * f) if number == 3 else 0.0
        return g * (1.0 - np.sqrt(ratio) - waves)

    def function(x: np.ndarray) -> np.ndarray:
        g = 1.0 + 9.0 * np.mean(x[1:])
        return np.array([x[0], second(x[0], g)])

    def front(n: int) -> np.ndarray:
        f = np.linspace(0.0, 1.0, n)
        if number == 3:
            pieces = [  # where the front is, K. Deb (2001)
                (0.0, 0.0830015349),
                (0.1822287280, 0.2577623634),
                (0.4093136748, 0.4538821041),
                (0.6183967944, 0.6525117038),
                (0.8233317983, 0.8518328654),
            ]
            f = np.concatenate([np.linspace(low, high, n // 5) for low, high in pieces])
        return np.stack([f, second(f, np.ones_like(f))], axis=1)

    return Several(
        name=f"zdt{number}",
        space=Space.of([(0.0, 1.0)] * dimension),
        function=function,
        reference=(1.1, 1.1) if number < 3 else (1.0, 1.1),
        front=front,
    )


def dtlz2(n_objectives: int) -> Several:
    """DTLZ2 with ten parameters for the distance: the front is part of the unit sphere."""

    def function(x: np.ndarray) -> np.ndarray:
        angles = 0.5 * np.pi * x[: n_objectives - 1]
        g = np.sum((x[n_objectives - 1 :] - 0.5) ** 2)
        cosines = np.append(1.0, np.cumprod(np.cos(angles)))[::-1]
        return (1.0 + g) * cosines * np.append(1.0, np.sin(angles[::-1]))

    def front(n: int) -> np.ndarray:
        points = np.abs(np.random.default_rng(0).normal(size=(n, n_objectives)))
        return points / np.linalg.norm(points, axis=1, keepdims=True)

    return Several(
        name=f"dtlz2-{n_objectives}",
        space=Space.of([(0.0, 1.0)] * (n_objectives + 9)),
        function=function,
        reference=(1.1,) * n_objectives,
        front=front,
    )


def re21() -> Several:
    """The four bar truss: volume and displacement of a joint."""

    def function(x: np.ndarray) -> np.ndarray:
        load, modulus, length = 10.0, 2e5, 200.0
        a, b, c, d = x
        root = np.sqrt(2.0)
        volume = length * (2.0 * a + root * b + np.sqrt(c) + d)
        give = load * length / modulus * (2.0 / a + 2.0 * root / b - 2.0 * root / c + 2.0 / d)
        return np.array([volume, give])

    root = np.sqrt(2.0)
    return Several(
        name="re21",
        space=Space.of([(1.0, 3.0), (root, 3.0), (root, 3.0), (1.0, 3.0)]),
        function=function,
        reference=(2967.0, 0.0383),
    )


def re33() -> Several:
    """The disc brake: its mass, its stopping time, and by how much it violates four limits."""

    def function(x: np.ndarray) -> np.ndarray:
        inner, outer, force, n = x
        squares = outer**2 - inner**2
        cubes = outer**3 - inner**3
        limits = np.array(
            [
                (outer - inner) - 20.0,
                0.4 - force / (3.14 * squares),
                1.0 - 2.22e-3 * force * cubes / squares**2,
                2.66e-2 * force * n * cubes / squares - 900.0,
            ]
        )
        violation = np.sum(np.maximum(-limits, 0.0))
        return np.array(
            [4.9e-5 * squares * (n - 1.0), 9.82e6 * squares / (force * n * cubes), violation]
        )

    return Several(
        name="re33",
        space=Space.of([(55.0, 80.0), (75.0, 110.0), (1000.0, 3000.0), (11.0, 20.0)]),
        function=function,
        reference=(8.9, 9.7, 2578.0),
    )


PROBLEMS: dict[str, Callable[[], Several]] = {
    "zdt1": partial(zdt, 1),
    "zdt2": partial(zdt, 2),
    "zdt3": partial(zdt, 3),
    "dtlz2-2": partial(dtlz2, 2),
    "dtlz2-3": partial(dtlz2, 3),
    "re21": re21,
    "re33": re33,
}
"""Makers of the problems, by name."""
