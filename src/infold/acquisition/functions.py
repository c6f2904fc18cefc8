"""Acquisition functions, all to be maximized; f is minimized.

| symbol | code | meaning |
|--------|------|---------|
| μ, σ²  | `mean`, `variance` | posterior of f |
| y_min  | `y_min` | best noisy observation |
| u      | `u` | (y_min - μ) / σ |
| β      | `beta` | weight of σ in UCB |

Improvement-based functions underflow far from the optimum, so they are computed as logarithms, with the same maximizer.
They are a few operations per point, in NumPy, with their derivatives written out: nothing to compile.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import erfcx, log_ndtr, ndtr

from infold import _checks

NAMES = ("ei", "pi", "ucb")
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_TAIL = -20.0  # the two forms of r agree to 1e-11 here; below, the first loses digits like u²


@dataclass(frozen=True, kw_only=True)
class Acquisition:
    """Settings of the acquisition function."""

    name: str = "ei"
    """One of `NAMES`."""
    beta: float = math.sqrt(3.0)
    """Weight of the standard deviation in UCB."""

    def __post_init__(self) -> None:
        _checks.one_of("acquisition", self.name, NAMES)


def improvement(u: Float[np.ndarray, " m"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log h, Φ/h and φ/h of h(u) = u Φ(u) + φ(u), accurate to a relative 1e-10 for u in [-1e5, 1e5] in float64."""
    near = np.maximum(u, -1.0)
    phi, cdf = np.exp(-0.5 * near**2 - _LOG_SQRT_2PI), ndtr(near)
    h = near * cdf + phi
    # For u < -1, h = φ r with r = 1 + u Φ/φ, and Φ/φ is a scaled complementary error function.
    below = np.minimum(u, -1.0)
    mills = math.sqrt(0.5 * math.pi) * erfcx(-below / math.sqrt(2.0))
    # Asymptotic series of r in v = 1/u²: v (1 - 3v + 15v² - 105v³ + 945v⁴ - ...)
    v = 1.0 / np.minimum(u, _TAIL) ** 2
    series = v * (
        1.0 + v * (-3.0 + v * (15.0 + v * (-105.0 + v * (945.0 + v * (-10395.0 + v * 135135.0)))))
    )
    r = np.where(u > _TAIL, 1.0 + np.maximum(below, _TAIL) * mills, series)
    return (
        np.where(u > -1.0, np.log(h), -0.5 * below**2 - _LOG_SQRT_2PI + np.log(r)),
        np.where(u > -1.0, cdf / h, mills / r),
        np.where(u > -1.0, phi / h, 1.0 / r),
    )


class Value(NamedTuple):
    """What the search maximizes and its derivatives."""

    value: Float[np.ndarray, " m"]
    in_mean: Float[np.ndarray, " m"]
    in_variance: Float[np.ndarray, " m"]


def log_expected_improvement(
    mean: Float[np.ndarray, " m"], variance: Float[np.ndarray, " m"], y_min: float
) -> Value:
    """log E[max(y_min - f, 0)], Eq. (3)."""
    sigma = np.sqrt(variance)
    log_h, cdf, phi = improvement((y_min - mean) / sigma)
    return Value(np.log(sigma) + log_h, -cdf / sigma, 0.5 * phi / variance)


def log_probability_of_improvement(
    mean: Float[np.ndarray, " m"], variance: Float[np.ndarray, " m"], y_min: float
) -> Value:
    """log P(f < y_min), Eq. (2)."""
    sigma = np.sqrt(variance)
    u = (y_min - mean) / sigma
    slope = math.sqrt(2.0 / math.pi) / erfcx(-u / math.sqrt(2.0))  # φ/Φ
    return Value(log_ndtr(u), -slope / sigma, -0.5 * slope * u / variance)


def upper_confidence_bound(
    mean: Float[np.ndarray, " m"], variance: Float[np.ndarray, " m"], beta: float
) -> Value:
    """-μ + β σ, Eq. (4)."""
    sigma = np.sqrt(variance)
    return Value(-mean + beta * sigma, np.full_like(mean, -1.0), 0.5 * beta / sigma)


def evaluate(
    acquisition: Acquisition,
    mean: Float[np.ndarray, " m"],
    variance: Float[np.ndarray, " m"],
    y_min: float,
) -> Value:
    """log EI, log PI or UCB."""
    if acquisition.name == "ei":
        return log_expected_improvement(mean, variance, y_min)
    if acquisition.name == "pi":
        return log_probability_of_improvement(mean, variance, y_min)
    return upper_confidence_bound(mean, variance, acquisition.beta)
