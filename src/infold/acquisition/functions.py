"""Acquisition functions, all to be maximized; f is minimized.

| symbol | code | meaning |
|--------|------|---------|
| μ, σ²  | `mean`, `variance` | posterior of f |
| y_min  | `y_min` | best noisy observation |
| u      | `u` | (y_min - μ) / σ |
| β      | `beta` | weight of σ in UCB |

Functions of the improvement underflow far from the optimum, so they are computed as logarithms,
which have the same maximizer. They take a few operations per point, in NumPy, with their
derivatives written out: nothing to compile.

To add one, write a class here and list it in `FUNCTIONS`.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import erfcx, log_ndtr, ndtr

from infold import _checks

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_TAIL = -20.0  # the two forms of r agree to 1e-11 here; below, the first loses digits like u²


class Value(NamedTuple):
    """What the search maximizes, and its derivatives in mean and variance."""

    value: Float[np.ndarray, " m"]
    in_mean: Float[np.ndarray, " m"]
    in_variance: Float[np.ndarray, " m"]


class Acquisition(ABC):
    """How much is to be gained by an evaluation: a frozen dataclass of settings."""

    name: ClassVar[str]

    @abstractmethod
    def evaluate(
        self, mean: Float[np.ndarray, " m"], variance: Float[np.ndarray, " m"], y_min: float
    ) -> Value:
        """Return value and derivatives where f has this mean and variance."""


def improvement(u: Float[np.ndarray, " m"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return log h, Φ/h and φ/h of h(u) = u Φ(u) + φ(u).

    Accurate to a relative 1e-10 for u in [-1e5, 1e5] in float64.
    """
    near = np.maximum(u, -1.0)
    phi = np.exp(-0.5 * near**2 - _LOG_SQRT_2PI)
    cdf = ndtr(near)
    h = near * cdf + phi
    # For u < -1, h = φ r with r = 1 + u Φ/φ, and Φ/φ is a scaled complementary error function.
    below = np.minimum(u, -1.0)
    mills = math.sqrt(0.5 * math.pi) * erfcx(-below / math.sqrt(2.0))
    # Asymptotic series of r in v = 1/u²: v (1 - 3v + 15v² - 105v³ + 945v⁴ - ...)
    v = 1.0 / np.minimum(u, _TAIL) ** 2
    tail = 945.0 + v * (-10395.0 + v * 135135.0)
    series = v * (1.0 + v * (-3.0 + v * (15.0 + v * (-105.0 + v * tail))))
    r = np.where(u > _TAIL, 1.0 + np.maximum(below, _TAIL) * mills, series)
    return (
        np.where(u > -1.0, np.log(h), -0.5 * below**2 - _LOG_SQRT_2PI + np.log(r)),
        np.where(u > -1.0, cdf / h, mills / r),
        np.where(u > -1.0, phi / h, 1.0 / r),
    )


@dataclass(frozen=True, kw_only=True)
class ExpectedImprovement(Acquisition):
    """log E[max(y_min - f, 0)], Eq. (3)."""

    name: ClassVar[str] = "ei"

    def evaluate(
        self, mean: Float[np.ndarray, " m"], variance: Float[np.ndarray, " m"], y_min: float
    ) -> Value:
        sigma = np.sqrt(variance)
        log_h, cdf, phi = improvement((y_min - mean) / sigma)
        return Value(np.log(sigma) + log_h, -cdf / sigma, 0.5 * phi / variance)


@dataclass(frozen=True, kw_only=True)
class ProbabilityOfImprovement(Acquisition):
    """log P(f < y_min), Eq. (2)."""

    name: ClassVar[str] = "pi"

    def evaluate(
        self, mean: Float[np.ndarray, " m"], variance: Float[np.ndarray, " m"], y_min: float
    ) -> Value:
        sigma = np.sqrt(variance)
        u = (y_min - mean) / sigma
        slope = math.sqrt(2.0 / math.pi) / erfcx(-u / math.sqrt(2.0))  # φ/Φ
        return Value(log_ndtr(u), -slope / sigma, -0.5 * slope * u / variance)


@dataclass(frozen=True, kw_only=True)
class UpperConfidenceBound(Acquisition):
    """-μ + β σ, Eq. (4)."""

    name: ClassVar[str] = "ucb"
    beta: float = math.sqrt(3.0)
    """Weight of the standard deviation."""

    def evaluate(
        self, mean: Float[np.ndarray, " m"], variance: Float[np.ndarray, " m"], y_min: float
    ) -> Value:
        sigma = np.sqrt(variance)
        return Value(-mean + self.beta * sigma, np.full_like(mean, -1.0), 0.5 * self.beta / sigma)


FUNCTIONS: dict[str, type[Acquisition]] = {
    function.name: function
    for function in (ExpectedImprovement, ProbabilityOfImprovement, UpperConfidenceBound)
}
NAMES = tuple(FUNCTIONS)


def by_name(name: str) -> Acquisition:
    """Return the acquisition function of that name, with its default settings."""
    return FUNCTIONS[_checks.one_of("acquisition", name, NAMES)]()
