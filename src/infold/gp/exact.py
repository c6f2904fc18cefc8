"""Exact inference for one output with a zero prior mean.

| symbol | code     | meaning                              | shape |
|--------|----------|--------------------------------------|-------|
| K_y    | `k_y`    | k(Z, Z) + σ_n² I, identity-padded    | n n   |
| y      | `y`      | values, zero where padded            | n     |
| α      | `alpha`  | K_y⁻¹ y                              | n     |
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Bool, Float

from infold._types import Array

_LOG_2PI = math.log(2.0 * math.pi)


class Posterior(NamedTuple):
    """What predictions need. K_y⁻¹ is explicit: one matrix product then serves thousands of points at once."""

    alpha: Float[Array, "n"]
    k_y_inverse: Float[Array, "n n"]


def _inverse_and_half_logdet(k_y: Float[Array, "n n"]) -> tuple[Float[Array, "n n"], Float[Array, ""]]:
    factor = jnp.linalg.cholesky(k_y, symmetrize_input=False)
    half = solve_triangular(factor, jnp.eye(k_y.shape[0], dtype=k_y.dtype), lower=True)
    return half.T @ half, jnp.sum(jnp.log(jnp.diagonal(factor)))


def condition(k_y: Float[Array, "n n"], y: Float[Array, "n"]) -> Posterior:
    """The posterior given observations `y` with covariance `k_y`."""
    inverse, _ = _inverse_and_half_logdet(k_y)
    return Posterior(alpha=inverse @ y, k_y_inverse=inverse)


def predict(
    posterior: Posterior, k_star: Float[Array, "m n"], k_star_star: Float[Array, ""]
) -> tuple[Float[Array, "m"], Float[Array, "m"]]:
    """Mean and variance of f at m points: Eq. (6) and (7). `k_star` is zero in padded columns."""
    mean = k_star @ posterior.alpha
    variance = k_star_star - jnp.sum((k_star @ posterior.k_y_inverse) * k_star, axis=1)
    return mean, jnp.maximum(variance, 1e-12 * k_star_star)  # rounding may leave a tiny negative number at a datum


@jax.custom_vjp
def log_marginal_likelihood(k_y: Float[Array, "n n"], y: Float[Array, "n"], n_real: Float[Array, ""]) -> Float[Array, ""]:
    """log N(y | 0, K_y) of the `n_real` unpadded observations.

    Its derivative is written out, ½(α αᵀ - K_y⁻¹), which costs one triangular inverse instead of the several solves of the
    derivative of a Cholesky factor.
    """
    return _lml_forward(k_y, y, n_real)[0]


def _lml_forward(k_y: Array, y: Array, n_real: Array) -> tuple:
    inverse, half_logdet = _inverse_and_half_logdet(k_y)
    alpha = inverse @ y
    return -0.5 * y @ alpha - half_logdet - 0.5 * n_real * _LOG_2PI, (alpha, inverse)


def _lml_backward(residuals: tuple, g: Array) -> tuple:
    alpha, inverse = residuals
    return 0.5 * g * (jnp.outer(alpha, alpha) - inverse), -g * alpha, -0.5 * g * _LOG_2PI


log_marginal_likelihood.defvjp(_lml_forward, _lml_backward)


def leave_one_out(k_y: Float[Array, "n n"], y: Float[Array, "n"]) -> tuple[Float[Array, "n"], Float[Array, "n"]]:
    """Mean and variance of each y_i given all the others (Rasmussen and Williams, Eq. 5.12), without n refits."""
    posterior = condition(k_y, y)
    variance = 1.0 / jnp.diagonal(posterior.k_y_inverse)
    return y - posterior.alpha * variance, variance


def log_leave_one_out_density(k_y: Float[Array, "n n"], y: Float[Array, "n"], mask: Bool[Array, "n"]) -> Float[Array, ""]:
    """Σ_i log p(y_i | y_-i) over the real observations."""
    mean, variance = leave_one_out(k_y, y)
    terms = -0.5 * ((y - mean) ** 2 / variance + jnp.log(variance) + _LOG_2PI)
    return jnp.sum(jnp.where(mask, terms, 0.0))
