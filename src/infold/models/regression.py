"""GP regression on the unit cube or any box: what the methods without a learned feature space use.

| symbol | code | shape |
|--------|------|-------|
| ℓ      | exp of the first D parameters | D |
| σ_n²   | exp of the next one | |
| σ_f²   | exp of the last one, where it is learned | |
"""

import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from infold._types import Array
from infold.gp import exact, kernels, padding
from infold.gp.training import Trained, differentiate, start_from, train


@dataclass(frozen=True, kw_only=True)
class Regression:
    """Settings of the GP."""

    kernel: str = "matern52"
    """One of `infold.gp.kernels.KERNELS`."""
    scaled_priors: bool = False
    """Log-normal priors on lengthscales, growing with √D, and on the noise; and the most likely constant mean."""
    learn_variance: bool = True
    """Learn the signal variance; otherwise it is 1."""


class RegressionData(NamedTuple):
    """Inputs and standardized values, padded to a bucket size."""

    x: Float[Array, "n D"]
    y: Float[Array, " n"]
    mask: Bool[Array, " n"]


def make_data(x: np.ndarray, y: np.ndarray, size: int | None = None) -> RegressionData:
    """`x` and `y` padded to `size` rows (default: the bucket of N)."""
    size = padding.bucket_size(len(x)) if size is None else size
    return RegressionData(
        padding.pad_rows(x, size), padding.pad_rows(y, size), padding.row_mask(len(x), size)
    )


class RegressionParams(NamedTuple):
    lengthscale: Float[Array, " D"]
    noise: Float[Array, ""]
    variance: Float[Array, ""]


def unflatten(settings: Regression, dimension: int, flat: Float[Array, " p"]) -> RegressionParams:
    """Parameters from the vector that training sees."""
    values = jnp.exp(flat)
    variance = values[dimension + 1] if settings.learn_variance else jnp.ones(())
    return RegressionParams(values[:dimension], values[dimension], variance)


# A density in the lengthscale itself, so its logarithm enters once more (C. Hvarfner et al., ICML 2024).
_LENGTHSCALE_LOCATION, _LENGTHSCALE_SCALE = math.sqrt(2.0), math.sqrt(3.0)
_NOISE_LOCATION, _NOISE_SCALE = -4.0, 1.0


def _log_log_normal(log_value: Array, location: float, scale: float) -> Array:
    """Log-density of a log-normal variable at exp(log_value), summed."""
    return jnp.sum(
        -0.5 * ((log_value - location) / scale) ** 2
        - log_value
        - math.log(scale * math.sqrt(2.0 * math.pi))
    )


class RegressionPosterior(NamedTuple):
    """The GP conditioned on data."""

    params: RegressionParams
    data: RegressionData
    exact: exact.ScalarPosterior


def infer(
    settings: Regression, flat: Float[Array, " p"], data: RegressionData
) -> tuple[Float[Array, ""], RegressionPosterior]:
    """Log marginal likelihood, plus the log prior where one is set, and the posterior, which is not differentiated."""
    dimension = data.x.shape[1]
    params = unflatten(settings, dimension, flat)
    value, posterior = exact.infer(
        _covariance(settings, params, data), data.y, data.mask, settings.scaled_priors
    )
    if settings.scaled_priors:
        location = _LENGTHSCALE_LOCATION + 0.5 * math.log(dimension)
        value += _log_log_normal(flat[:dimension], location, _LENGTHSCALE_SCALE)
        value += _log_log_normal(flat[dimension : dimension + 1], _NOISE_LOCATION, _NOISE_SCALE)
    return value, RegressionPosterior(params, data, posterior)


def _covariance(settings: Regression, params: RegressionParams, data: RegressionData) -> Array:
    k = params.variance * kernels.covariance(settings.kernel, data.x, data.x, params.lengthscale)
    return padding.identity_pad(k + params.noise * jnp.eye(len(data.x)), data.mask)


@functools.partial(jax.jit, static_argnames="settings")
def evaluate(
    settings: Regression, flat: Array, data: RegressionData
) -> tuple[Array, Array, RegressionPosterior]:
    """The negative objective, its gradient, and the posterior."""
    return differentiate(lambda flat: infer(settings, flat, data), flat)


def initial_params(settings: Regression, dimension: int) -> np.ndarray:
    """The modes of the priors, or lengthscales of half a cube's diagonal."""
    log_lengthscale, log_noise = 0.5 * math.log(dimension) - math.log(2.0), math.log(1e-2)
    if settings.scaled_priors:
        log_lengthscale = _LENGTHSCALE_LOCATION + 0.5 * math.log(dimension) - _LENGTHSCALE_SCALE**2
        log_noise = _NOISE_LOCATION - _NOISE_SCALE**2
    return np.append(
        np.full(dimension, log_lengthscale), [log_noise, 0.0][: 1 + settings.learn_variance]
    )


def parameter_bounds(settings: Regression, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Limits during training."""
    lower = np.append(
        np.full(dimension, math.log(1e-2)),
        [math.log(1e-6), math.log(1e-3)][: 1 + settings.learn_variance],
    )
    upper = np.append(
        np.full(dimension, math.log(1e3)), [0.0, math.log(1e3)][: 1 + settings.learn_variance]
    )
    return lower, upper


def fit(
    settings: Regression,
    data: RegressionData,
    *,
    warm: np.ndarray | None = None,
    curvature: np.ndarray | None = None,
    warm_iterations: int = 3,
) -> Trained:
    """The most likely parameters, from `warm`, with what is known of the curvature there, or from the initial ones."""
    dimension = data.x.shape[1]
    start = start_from(initial_params(settings, dimension), warm, curvature, warm_iterations)
    return train(
        lambda flat: evaluate(settings, flat, data), [start], parameter_bounds(settings, dimension)
    )


def _k_star(settings: Regression, posterior: RegressionPosterior, x: Array) -> Float[Array, "m n"]:
    params, data = posterior.params, posterior.data
    return jnp.where(
        data.mask,
        params.variance * kernels.covariance(settings.kernel, x, data.x, params.lengthscale),
        0.0,
    )


def predict(
    settings: Regression, posterior: RegressionPosterior, x: Float[Array, "m D"]
) -> tuple[Array, Array]:
    """Mean and variance of f at x."""
    return exact.predict(
        posterior.exact, _k_star(settings, posterior, x), posterior.params.variance
    )


def predict_with_gradients(
    settings: Regression, posterior: RegressionPosterior, x: Float[Array, "m D"]
) -> Float[Array, "m 2+2*D"]:
    """The same as columns, followed by the gradients in x."""
    k_star = functools.partial(_k_star, settings, posterior)
    return exact.predict_with_gradients(posterior.exact, k_star, x, posterior.params.variance)
