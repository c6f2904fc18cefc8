"""Functions of a few variables hidden in a cube of many, their minimizers shifted.

The minimizer x* of a problem is a random point of [0.2, 0.8]^D: nothing is at the centre of the
box. The function's own variables are z = z* + s (u - u*), where z* is its minimizer, u* belongs to
x*, and s makes a unit step in u as wide as the function's usual domain. The variables u are some of
the coordinates of x ("axis"), or half of R (2x - 1) with orthonormal rows of R ("dense").
"""

import zlib

import numpy as np

from infold.comparison.suite.benchmark import Benchmark
from infold.comparison.suite.functions import Function
from infold.problems.embedded import embedding
from infold.space import Space


def axis(name: str, function: Function, dimension: int) -> Benchmark:
    """Hide a function along some of the axes; along all of them where it has D variables."""
    rng = _generator(name)
    axes = rng.permutation(dimension)[: len(function.minimizer)]
    return _hidden(name, function, dimension, np.eye(dimension)[axes], rng)


def dense(name: str, function: Function, dimension: int) -> Benchmark:
    """Hide a function along random orthonormal directions."""
    rng = _generator(name)
    r = embedding(dimension, len(function.minimizer), seed=int(rng.integers(2**31)))
    return _hidden(name, function, dimension, r, rng)


def _generator(name: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(name.encode()))


def _hidden(
    name: str, function: Function, dimension: int, r: np.ndarray, rng: np.random.Generator
) -> Benchmark:
    """Return the problem whose variables are u = R x, up to a shift that cancels in u - u*."""
    minimizer = rng.uniform(0.2, 0.8, size=dimension)

    def value(x: object) -> float:
        step = r @ (np.asarray(x, dtype=float) - minimizer)
        return float(function.values((function.minimizer + function.width * step)[None])[0])

    return Benchmark(
        name=name,
        space=Space.of([(0.0, 1.0)] * dimension),
        function=value,
        minimum=function.minimum,
        minimizer=minimizer,
    )
