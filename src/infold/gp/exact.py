"""Exact inference for one output, with a prior mean of zero or of the most likely constant.

| symbol | code     | meaning                              | shape |
|--------|----------|--------------------------------------|-------|
| K_y    | `k_y`    | k(Z, Z) + σ_n² I, identity-padded    | n n   |
| y      | `y`      | values, zero where padded            | n     |
| m      | `mean`   | prior mean                           |       |
| α      | `alpha`  | K_y⁻¹ (y - m)                        | n     |
"""

import functools
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

    mean: Float[Array, ""]
    alpha: Float[Array, "n"]
    k_y_inverse: Float[Array, "n n"]


def _condition(k_y: Array, y: Array, mask: Array, fit_mean: bool) -> tuple[Posterior, Array]:
    """The posterior and half the log-determinant of K_y."""
    factor = jnp.linalg.cholesky(k_y, symmetrize_input=False)
    half = solve_triangular(factor, jnp.eye(k_y.shape[0], dtype=k_y.dtype), lower=True)
    inverse = half.T @ half
    alpha = inverse @ y
    mean = jnp.zeros((), dtype=y.dtype)
    if fit_mean:
        ones = mask.astype(y.dtype)
        weights = inverse @ ones
        mean = jnp.sum(alpha * ones) / jnp.sum(weights * ones)  # generalized least squares
        alpha = alpha - mean * weights
    return Posterior(mean, alpha, inverse), jnp.sum(jnp.log(jnp.diagonal(factor)))


def condition(k_y: Float[Array, "n n"], y: Float[Array, "n"], mask: Bool[Array, "n"], fit_mean: bool = False) -> Posterior:
    """The posterior given observations `y` with covariance `k_y`."""
    return _condition(k_y, y, mask, fit_mean)[0]


def predict(
    posterior: Posterior, k_star: Float[Array, "m n"], k_star_star: Float[Array, ""]
) -> tuple[Float[Array, "m"], Float[Array, "m"]]:
    """Mean and variance of f at m points: Eq. (5) and (6). `k_star` is zero in padded columns."""
    mean = posterior.mean + k_star @ posterior.alpha
    variance = k_star_star - jnp.sum((k_star @ posterior.k_y_inverse) * k_star, axis=1)
    return mean, jnp.maximum(variance, 1e-12 * k_star_star)  # rounding may leave a tiny negative number at a datum


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def log_marginal_likelihood(
    k_y: Float[Array, "n n"], y: Float[Array, "n"], mask: Bool[Array, "n"], fit_mean: bool = False
) -> Float[Array, ""]:
    """log N(y | m, K_y) of the unpadded observations.

    Its derivative is written out, ½(α αᵀ - K_y⁻¹), which costs one triangular inverse instead of the several solves of the
    derivative of a Cholesky factor. It holds for the fitted mean too: there the likelihood is stationary in m.
    """
    return _lml_forward(k_y, y, mask, fit_mean)[0]


def _lml_forward(k_y: Array, y: Array, mask: Array, fit_mean: bool) -> tuple:
    posterior, half_logdet = _condition(k_y, y, mask, fit_mean)
    residual = jnp.where(mask, y - posterior.mean, 0.0)
    value = -0.5 * residual @ posterior.alpha - half_logdet - 0.5 * jnp.sum(mask) * _LOG_2PI
    return value, (posterior.alpha, posterior.k_y_inverse)


def _lml_backward(fit_mean: bool, residuals: tuple, g: Array) -> tuple:
    alpha, inverse = residuals
    return 0.5 * g * (jnp.outer(alpha, alpha) - inverse), -g * alpha, None


log_marginal_likelihood.defvjp(_lml_forward, _lml_backward)


def leave_one_out(
    k_y: Float[Array, "n n"], y: Float[Array, "n"], mask: Bool[Array, "n"]
) -> tuple[Float[Array, "n"], Float[Array, "n"]]:
    """Mean and variance of each y_i given all the others, without n refits (Rasmussen and Williams, Eq. 5.12)."""
    posterior = condition(k_y, y, mask)
    variance = 1.0 / jnp.diagonal(posterior.k_y_inverse)
    return y - posterior.alpha * variance, variance


def log_leave_one_out_density(k_y: Float[Array, "n n"], y: Float[Array, "n"], mask: Bool[Array, "n"]) -> Float[Array, ""]:
    """Σ_i log p(y_i | y_-i) over the real observations."""
    mean, variance = leave_one_out(k_y, y, mask)
    terms = -0.5 * ((y - mean) ** 2 / variance + jnp.log(variance) + _LOG_2PI)
    return jnp.sum(jnp.where(mask, terms, 0.0))
