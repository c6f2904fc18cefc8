"""GP regression on the unit cube or any box, for methods without a learned feature space.

The parameter vector that training sees holds the logarithms of these, in this order.

| symbol | code                           | meaning                           | shape |
|--------|--------------------------------|-----------------------------------|-------|
| ℓ      | `RegressionParams.lengthscale` | lengthscales                      | D     |
| σ_n²   | `RegressionParams.noise`       | noise variance                    |       |
| σ_f²   | `RegressionParams.variance`    | signal variance, if it is learned |       |
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    """Put log-normal priors on lengthscales, growing with √D, and on the noise; fit the mean."""
    learn_variance: bool = True
    """Learn the signal variance; otherwise it is 1."""
    least_noise: float = 1e-6
    """Least noise variance."""


class RegressionData(NamedTuple):
    """Inputs and standardized values, padded to a bucket size."""

    x: Float[Array, "n D"]
    y: Float[Array, " n"]
    mask: Bool[Array, " n"]
    extent: Float[Array, " D"]
    """How far the inputs reach: the unit of the prior on the lengthscales."""
    noise_prior: Float[Array, " 2"]
    """Location and scale of the log-normal prior on the noise. Not static: each would compile."""
    spread: Float[Array, " D+1"] | None = None
    """How far each log lengthscale may be from its prior location, relative to the others; and how
    far all of them together. None: as far as priors that know nothing allow."""


def make_data(
    x: np.ndarray,
    y: np.ndarray,
    size: int | None = None,
    *,
    extent: Array | None = None,
    noise_prior: Sequence[float] | Array = (-4.0, 1.0),
    spread: Array | None = None,
) -> RegressionData:
    """Return `x` and `y` padded to `size` rows (default: the bucket of N).

    They reach as far as the unit cube where nothing else is given.
    """
    size = padding.bucket_size(len(x)) if size is None else size
    return RegressionData(
        padding.pad_rows(x, size),
        padding.pad_rows(y, size),
        padding.row_mask(len(x), size),
        np.ones(x.shape[1]) if extent is None else extent,
        np.asarray(noise_prior, dtype=float),
        spread,
    )


class RegressionParams(NamedTuple):
    """Hyper-parameters of the GP."""

    lengthscale: Float[Array, " D"]
    noise: Float[Array, ""]
    variance: Float[Array, ""]


def unflatten(settings: Regression, dimension: int, flat: Float[Array, " p"]) -> RegressionParams:
    """Return the parameters that the vector of logarithms `flat` stands for."""
    values = jnp.exp(flat)
    variance = values[dimension + 1] if settings.learn_variance else jnp.ones(())
    return RegressionParams(values[:dimension], values[dimension], variance)


_SHORTEST = 1e-2  # lengthscale
_ANEW = 30  # most quasi-Newton steps of a fresh start beside a warm one
# Densities in lengthscale and noise themselves, not in their logarithms, so that these enter once
# more (C. Hvarfner et al., ICML 2024). The location of the lengthscale grows with D.
_LENGTHSCALE_LOCATION = math.sqrt(2.0)
_LENGTHSCALE_SCALE = math.sqrt(3.0)


def _log_log_normal(log_value: Array, location: Array | float, scale: Array | float) -> Array:
    """Return the sum of log-normal log densities at exp(log_value)."""
    return jnp.sum(
        -0.5 * ((log_value - location) / scale) ** 2
        - log_value
        - jnp.log(scale * math.sqrt(2.0 * math.pi))
    )


def _log_lengthscale_prior(
    log_lengthscale: Float[Array, " D"], spread: Float[Array, " D+1"] | None
) -> Float[Array, ""]:
    """Return the log prior of lengthscales in units of `extent`.

    With a spread it is that of a known metric: lengthscales that are, up to a factor, at their
    locations, where the density of each is largest in the logarithm.
    """
    dimension = len(log_lengthscale)
    location = _LENGTHSCALE_LOCATION + 0.5 * math.log(dimension)
    if spread is None:
        return _log_log_normal(log_lengthscale, location, _LENGTHSCALE_SCALE)
    away = log_lengthscale
    weights = spread[:-1] ** -2.0
    factor = jnp.sum(weights * away) / jnp.sum(weights)
    own = jnp.sum(weights * (away - factor) ** 2)
    return -0.5 * (own + (factor / spread[-1]) ** 2)


class RegressionPosterior(NamedTuple):
    """The GP conditioned on data."""

    params: RegressionParams
    data: RegressionData
    exact: exact.ScalarPosterior


def infer(
    settings: Regression, flat: Float[Array, " p"], data: RegressionData
) -> tuple[Float[Array, ""], RegressionPosterior]:
    """Return the log marginal likelihood, plus any log prior, and the posterior.

    Only the first is differentiated.
    """
    dimension = data.x.shape[1]
    params = unflatten(settings, dimension, flat)
    value, posterior = exact.infer(
        _covariance(settings, params, data), data.y, data.mask, settings.scaled_priors
    )
    if settings.scaled_priors:
        value += _log_lengthscale_prior(flat[:dimension] - jnp.log(data.extent), data.spread)
        log_noise = flat[dimension : dimension + 1]
        value += _log_log_normal(log_noise, data.noise_prior[0], data.noise_prior[1])
    return value, RegressionPosterior(params, data, posterior)


def _covariance(settings: Regression, params: RegressionParams, data: RegressionData) -> Array:
    """Return K_y = k(X, X) + σ_n² I, identity-padded."""
    k = params.variance * kernels.covariance(settings.kernel, data.x, data.x, params.lengthscale)
    return padding.identity_pad(k + params.noise * jnp.eye(len(data.x)), data.mask)


@functools.partial(jax.jit, static_argnames="settings")
def evaluate(
    settings: Regression, flat: Array, data: RegressionData
) -> tuple[Array, Array, RegressionPosterior]:
    """Return the negative of what `infer` returns first, its gradient, and the posterior."""
    return differentiate(lambda flat: infer(settings, flat, data), flat)


def usual_lengthscale(dimension: int) -> float:
    """Return the mode of the prior on lengthscales of so many inputs, in units of `extent`."""
    return math.exp(_LENGTHSCALE_LOCATION - _LENGTHSCALE_SCALE**2) * math.sqrt(dimension)


def initial_params(settings: Regression, data: RegressionData) -> np.ndarray:
    """Return where training starts: the modes of the priors, or half the diagonal of the cube."""
    dimension = data.x.shape[1]
    log_lengthscale = 0.5 * math.log(dimension) - math.log(2.0)
    log_noise = math.log(1e-2)
    if settings.scaled_priors:
        log_lengthscale = 0.0 if data.spread is not None else math.log(usual_lengthscale(dimension))
        location, scale = np.asarray(data.noise_prior)
        log_noise = location - scale**2
    return np.append(
        log_lengthscale + np.log(data.extent), [log_noise, 0.0][: 1 + settings.learn_variance]
    )


def parameter_bounds(
    settings: Regression, dimension: int, noise: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper limits of the parameter vector during training.

    They meet at the noise variance where that is given.
    """
    lower = np.append(
        np.full(dimension, math.log(_SHORTEST)),
        [math.log(settings.least_noise), math.log(1e-3)][: 1 + settings.learn_variance],
    )
    upper = np.append(
        np.full(dimension, math.log(1e3)), [0.0, math.log(1e3)][: 1 + settings.learn_variance]
    )
    if noise is not None:
        given = np.clip(math.log(max(noise, settings.least_noise)), None, upper[dimension])
        lower[dimension] = upper[dimension] = given
    return lower, upper


def fit(
    settings: Regression,
    data: RegressionData,
    *,
    warm: np.ndarray | None = None,
    curvature: np.ndarray | None = None,
    warm_iterations: int = 3,
    noise: float | None = None,
    anew: bool = False,
) -> Trained:
    """Find the most likely parameters.

    Args:
        settings: the GP.
        data: what to fit it to.
        warm: parameter vector of an earlier fit to begin with, `Trained.flat`.
        curvature: what that fit knew of the curvature, `Trained.curvature`.
        warm_iterations: most quasi-Newton steps from `warm`.
        noise: variance of the noise where it is known; learned when None.
        anew: train from a fresh start too, and take the better of the two.
    """
    dimension = data.x.shape[1]
    fresh = initial_params(settings, data)
    starts = [start_from(fresh, warm, curvature, warm_iterations)]
    if anew:
        starts.append(replace(start_from(fresh, None, None), max_iterations=_ANEW))
    lower, upper = parameter_bounds(settings, dimension, noise)
    lower[:dimension] += np.log(data.extent)
    return train(
        lambda flat: evaluate(settings, flat, data),
        starts,
        (lower, upper),
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
    """Return mean and variance of f at x, in standardized units."""
    return exact.predict(
        posterior.exact, _k_star(settings, posterior, x), posterior.params.variance
    )


def predict_with_gradients(
    settings: Regression, posterior: RegressionPosterior, x: Float[Array, "m D"]
) -> Float[Array, "m 2+2*D"]:
    """Return mean, variance, and the gradients of both in x, as columns of one array."""
    k_star = functools.partial(_k_star, settings, posterior)
    return exact.predict_with_gradients(posterior.exact, k_star, x, posterior.params.variance)


def leave_one_out(
    settings: Regression, posterior: RegressionPosterior
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Return mean and variance of each training value given all the others.

    In standardized units, noise included, padded like the data; see `exact.leave_one_out`.
    """
    data = posterior.data
    return exact.leave_one_out(posterior.exact, data.y, data.mask, settings.scaled_priors)
