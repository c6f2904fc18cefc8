"""The response surface: a GP on features, f_X = f_Z o h.

| symbol | code | shape |
|--------|------|-------|
| k      | Matern-5/2 (or another kernel) with ARD | |
| θ_k    | `ResponseParams` | |
| σ_n²   | `noise` | |
"""

import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from infold._types import Array
from infold.gp import exact, kernels, padding


class ResponseParams(NamedTuple):
    log_lengthscale: Float[Array, " d"]
    log_variance: Float[Array, ""]

    @property
    def lengthscale(self) -> Array:
        return jnp.exp(self.log_lengthscale)

    @property
    def variance(self) -> Array:
        return jnp.exp(self.log_variance)


def initial_params(n_features: int) -> ResponseParams:
    """Lengthscales of the side of the feature cube, unit variance (y is standardized)."""
    return ResponseParams(log_lengthscale=np.zeros(n_features), log_variance=np.zeros(()))


def covariance(
    kernel: str,
    params: ResponseParams,
    z: Float[Array, "n d"],
    mask: Bool[Array, " n"],
    noise: Float[Array, ""],
) -> Float[Array, "n n"]:
    """K_y = k(Z, Z) + σ_n² I, identity-padded."""
    k = params.variance * kernels.covariance(kernel, z, z, params.lengthscale)
    return padding.identity_pad(k + noise * jnp.eye(z.shape[0]), mask)


def _k_star(
    kernel: str, params: ResponseParams, z_data: Array, mask: Array, z: Array
) -> Float[Array, "m n"]:
    return jnp.where(
        mask, params.variance * kernels.covariance(kernel, z, z_data, params.lengthscale), 0.0
    )


def predict(
    kernel: str,
    params: ResponseParams,
    posterior: exact.ScalarPosterior,
    z_data: Float[Array, "n d"],
    mask: Bool[Array, " n"],
    z: Float[Array, "m d"],
) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
    """Mean and variance of f_Z at z."""
    return exact.predict(posterior, _k_star(kernel, params, z_data, mask, z), params.variance)


def predict_with_gradients(
    kernel: str,
    params: ResponseParams,
    posterior: exact.ScalarPosterior,
    z_data: Float[Array, "n d"],
    mask: Bool[Array, " n"],
    z: Float[Array, "m d"],
) -> Float[Array, "m 2+2*d"]:
    """The same as columns, followed by the gradients in z."""
    k_star = functools.partial(_k_star, kernel, params, z_data, mask)
    return exact.predict_with_gradients(posterior, k_star, z, params.variance)
