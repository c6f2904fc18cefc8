"""Test functions of several variables, each with its minimum.

Definitions, minima and minimizers are those of S. Surjanovic and D. Bingham, Virtual Library of
Simulation Experiments. Every minimum holds on all of R^d and not only on the usual domain, so
the functions may be shifted.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from infold.problems.embedded import rosenbrock


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function of d variables."""

    values: Callable[[np.ndarray], np.ndarray]
    """Function that returns the values at the rows of an array."""
    minimizer: np.ndarray
    minimum: float
    width: np.ndarray
    """Width of the usual domain along each variable."""


def ackley(d: int) -> Function:
    """Ackley's function, on [-5, 10]^d as in D. Eriksson et al. (2019)."""

    def values(z: np.ndarray) -> np.ndarray:
        slope = -20.0 * np.exp(-0.2 * np.sqrt(np.mean(z**2, axis=1)))
        ripples = np.exp(np.mean(np.cos(2.0 * np.pi * z), axis=1))
        return slope - ripples + 20.0 + np.e

    return Function(values=values, minimizer=np.zeros(d), minimum=0.0, width=np.full(d, 15.0))


def levy(d: int) -> Function:
    """Levy's function, on [-5, 10]^d as in D. Eriksson et al. (2019)."""

    def values(z: np.ndarray) -> np.ndarray:
        w = 1.0 + (z - 1.0) / 4.0
        first = np.sin(np.pi * w[:, 0]) ** 2
        inner = (w[:, :-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(np.pi * w[:, :-1] + 1.0) ** 2)
        last = (w[:, -1] - 1.0) ** 2 * (1.0 + np.sin(2.0 * np.pi * w[:, -1]) ** 2)
        return first + np.sum(inner, axis=1) + last

    return Function(values=values, minimizer=np.ones(d), minimum=0.0, width=np.full(d, 15.0))


def rosenbrock_function(d: int) -> Function:
    """Rosenbrock's function, on [-5, 10]^d."""
    return Function(values=rosenbrock, minimizer=np.ones(d), minimum=0.0, width=np.full(d, 15.0))


def styblinski_tang(d: int) -> Function:
    """Styblinski and Tang's function, on [-5, 5]^d."""
    roots = np.roots([4.0, 0.0, -32.0, 5.0])  # where the derivative of a term is 0
    lowest = float(np.min(roots.real))

    def term(z: np.ndarray) -> np.ndarray:
        return 0.5 * (z**4 - 16.0 * z**2 + 5.0 * z)

    return Function(
        values=lambda z: np.sum(term(z), axis=1),
        minimizer=np.full(d, lowest),
        minimum=d * float(term(np.array(lowest))),
        width=np.full(d, 10.0),
    )


def branin() -> Function:
    """Branin's function of 2 variables, on [-5, 10] x [0, 15].

    Its square vanishes and its cosine is -1 at the minimizer, so the minimum is 10 / (8π).
    """

    def values(z: np.ndarray) -> np.ndarray:
        a, b = z.T
        valley = b - 5.1 / (4.0 * np.pi**2) * a**2 + 5.0 / np.pi * a - 6.0
        return valley**2 + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(a) + 10.0

    return Function(
        values=values,
        minimizer=np.array([np.pi, 2.275]),
        minimum=10.0 / (8.0 * np.pi),
        width=np.full(2, 15.0),
    )


_HARTMANN_WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN_RATES = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
_HARTMANN_CENTRES = 1e-4 * np.array(
    [
        [1312.0, 1696.0, 5569.0, 124.0, 8283.0, 5886.0],
        [2329.0, 4135.0, 8307.0, 3736.0, 1004.0, 9991.0],
        [2348.0, 1451.0, 3522.0, 2883.0, 3047.0, 6650.0],
        [4047.0, 8828.0, 8732.0, 5743.0, 1091.0, 381.0],
    ]
)


def hartmann6() -> Function:
    """Hartmann's function of 6 variables, on [0, 1]^6."""

    def values(z: np.ndarray) -> np.ndarray:
        distance = np.sum(_HARTMANN_RATES * (z[:, None, :] - _HARTMANN_CENTRES) ** 2, axis=2)
        return -np.exp(-distance) @ _HARTMANN_WEIGHTS

    # The published minimizer, polished to the accuracy of a float.
    minimizer = np.array(
        [
            0.20168951265373836,
            0.15001069271431358,
            0.4768739727643224,
            0.2753324306183083,
            0.31165161653706114,
            0.6573005340921458,
        ]
    )
    return Function(
        values=values,
        minimizer=minimizer,
        minimum=float(values(minimizer[None])[0]),
        width=np.ones(6),
    )
