"""The response surface: a GP on features, f_X = f_Z o h.

| symbol | code             | meaning                                 |
|--------|------------------|-----------------------------------------|
| k      | `kernel`         | Matern-5/2, or another kernel, with ARD |
| θ_k    | `ResponseParams` | its lengthscales and variance           |
| σ_n²   | `noise`          | noise variance                          |
"""

import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from infold._types import Array
from infold.gp import exact, kernels, padding


class ResponseParams(NamedTuple):
    """Hyper-parameters of the response surface."""

    log_lengthscale: Float[Array, " d"]
    log_variance: Float[Array, ""]

    @property
    def lengthscale(self) -> Array:
        return jnp.exp(self.log_lengthscale)

    @property
    def variance(self) -> Array:
        return jnp.exp(self.log_variance)


def initial_params(n_features: int) -> ResponseParams:
    """Return where training starts: lengthscales of 1, the side of the feature cube, variance 1."""
    return ResponseParams(log_lengthscale=np.zeros(n_features), log_variance=np.zeros(()))


def covariance(
    kernel: str,
    params: ResponseParams,
    z: Float[Array, "n d"],
    mask: Bool[Array, " n"],
    noise: Float[Array, ""],
) -> Float[Array, "n n"]:
    """Return K_y = k(Z, Z) + σ_n² I, identity-padded."""
    k = params.variance * kernels.covariance(kernel, z, z, params.lengthscale)
    return padding.identity_pad(k + noise * jnp.eye(z.shape[0]), mask)


def _k_star(
    kernel: str, params: ResponseParams, z_data: Array, mask: Array, z: Array
) -> Float[Array, "m n"]:
    k = params.variance * kernels.covariance(kernel, z, z_data, params.lengthscale)
    return jnp.where(mask, k, 0.0)


def predict(
    kernel: str,
    params: ResponseParams,
    posterior: exact.ScalarPosterior,
    z_data: Float[Array, "n d"],
    mask: Bool[Array, " n"],
    z: Float[Array, "m d"],
) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
    """Return mean and variance of f_Z at z."""
    return exact.predict(posterior, _k_star(kernel, params, z_data, mask, z), params.variance)


def predict_with_gradients(
    kernel: str,
    params: ResponseParams,
    posterior: exact.ScalarPosterior,
    z_data: Float[Array, "n d"],
    mask: Bool[Array, " n"],
    z: Float[Array, "m d"],
) -> Float[Array, "m 2+2*d"]:
    """Return mean, variance, and the gradients of both in z, as columns of one array."""
    k_star = functools.partial(_k_star, kernel, params, z_data, mask)
    return exact.predict_with_gradients(posterior, k_star, z, params.variance)
