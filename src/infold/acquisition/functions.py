"""Acquisition functions, all to be maximized; f is minimized.

| symbol | code | meaning |
|--------|------|---------|
| μ, σ²  | `mean`, `variance` | posterior of f |
| y_min  | `y_min` | best noisy observation |
| u      | `u` | (y_min - μ) / σ |
| β      | `beta` | weight of σ in UCB |

Improvement-based functions underflow far from the optimum, so they are computed as logarithms, with the same maximizer.
"""

import math
from dataclasses import dataclass

import jax.numpy as jnp
from jax.scipy.special import log_ndtr, ndtr
from jaxtyping import Float

from infold import _checks
from infold._types import Array

NAMES = ("ei", "pi", "ucb")
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_TAIL = -20.0  # the two forms of log h agree to 1e-11 here; below, the first loses digits like u²


@dataclass(frozen=True, kw_only=True)
class Acquisition:
    """Settings of the acquisition function."""

    name: str = "ei"
    """One of `NAMES`."""
    beta: float = math.sqrt(3.0)
    """Weight of the standard deviation in UCB."""

    def __post_init__(self) -> None:
        _checks.one_of("acquisition", self.name, NAMES)


def log_h(u: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """log(u Φ(u) + φ(u)), accurate to a relative 1e-10 for u in [-1e5, 1e5] in float64, with a finite gradient there."""
    near = jnp.maximum(u, -1.0)
    direct = jnp.log(near * ndtr(near) + jnp.exp(-0.5 * near**2 - _LOG_SQRT_2PI))
    # h = φ (1 + u Φ/φ): for u < -1 the factor is 1/u² and smaller terms.
    middle_u = jnp.clip(u, _TAIL, -1.0)
    log_phi = -0.5 * middle_u**2 - _LOG_SQRT_2PI
    middle = log_phi + jnp.log1p(middle_u * jnp.exp(log_ndtr(middle_u) - log_phi))
    # Asymptotic series of 1 + u Φ/φ in v = 1/u²: v (1 - 3v + 15v² - 105v³ + 945v⁴ - ...)
    far_u = jnp.minimum(u, _TAIL)
    v = 1.0 / far_u**2
    series = -3.0 + v * (15.0 + v * (-105.0 + v * (945.0 + v * (-10395.0 + v * 135135.0))))
    far = -0.5 * far_u**2 - _LOG_SQRT_2PI + jnp.log(v) + jnp.log1p(v * series)
    return jnp.where(u > -1.0, direct, jnp.where(u > _TAIL, middle, far))


def log_expected_improvement(mean: Array, variance: Array, y_min: Array) -> Array:
    """log E[max(y_min - f, 0)], Eq. (3)."""
    sigma = jnp.sqrt(variance)
    return jnp.log(sigma) + log_h((y_min - mean) / sigma)


def log_probability_of_improvement(mean: Array, variance: Array, y_min: Array) -> Array:
    """log P(f < y_min), Eq. (2)."""
    return log_ndtr((y_min - mean) / jnp.sqrt(variance))


def upper_confidence_bound(mean: Array, variance: Array, beta: float) -> Array:
    """-μ + β σ, Eq. (4)."""
    return -mean + beta * jnp.sqrt(variance)


def expected_improvement(mean: Array, variance: Array, y_min: Array) -> Array:
    """E[max(y_min - f, 0)]."""
    return jnp.exp(log_expected_improvement(mean, variance, y_min))


def probability_of_improvement(mean: Array, variance: Array, y_min: Array) -> Array:
    """P(f < y_min)."""
    return jnp.exp(log_probability_of_improvement(mean, variance, y_min))


def evaluate(acquisition: Acquisition, mean: Array, variance: Array, y_min: Array) -> Array:
    """What the search maximizes: log EI, log PI or UCB."""
    if acquisition.name == "ei":
        return log_expected_improvement(mean, variance, y_min)
    if acquisition.name == "pi":
        return log_probability_of_improvement(mean, variance, y_min)
    return upper_confidence_bound(mean, variance, acquisition.beta)
