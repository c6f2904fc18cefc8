"""An additive GP: f = Σ_g f_g, each f_g a GP on a group of the inputs.

Groups are contiguous; the last one is padded with inputs that are always zero.

| symbol | code                         | shape |
|--------|------------------------------|-------|
| x_g    | `x[:, g]`                    | n G s |
| ℓ_g    | `AdditiveParams.lengthscale` | G s   |
| σ_g²   | `AdditiveParams.variance`    | G     |
| σ_n²   | `AdditiveParams.noise`       |       |

Given the sum, one component has posterior mean k_g(x, X) K_y⁻¹ y and posterior variance
σ_g² - k_g(x, X) K_y⁻¹ k_g(X, x).
"""

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from infold._types import Array
from infold.gp import exact, kernels, padding
from infold.gp.training import Trained, differentiate, start_from, train

_KERNEL = "matern52"


class AdditiveData(NamedTuple):
    """Grouped inputs and standardized values, padded to a bucket size."""

    x: Float[Array, "n G s"]
    y: Float[Array, " n"]
    mask: Bool[Array, " n"]


class AdditiveParams(NamedTuple):
    """Hyper-parameters of the GP."""

    lengthscale: Float[Array, "G s"]
    variance: Float[Array, " G"]
    noise: Float[Array, ""]


class AdditivePosterior(NamedTuple):
    """The sum conditioned on data."""

    params: AdditiveParams
    data: AdditiveData
    exact: exact.ScalarPosterior


def grouped(x: Float[np.ndarray, "n D"], size: int) -> Float[np.ndarray, "n G s"]:
    """Return the columns of x in contiguous groups of `size`."""
    n, dimension = x.shape
    groups = -(-dimension // size)
    return np.pad(x, ((0, 0), (0, groups * size - dimension))).reshape(n, groups, size)


def make_data(
    x: Float[np.ndarray, "n D"], y: Float[np.ndarray, " n"], size: int, rows: int | None = None
) -> AdditiveData:
    """Return points in groups of `size` inputs, and values, padded to `rows` rows.

    The default number of rows is the bucket of N.
    """
    rows = padding.bucket_size(len(x)) if rows is None else rows
    return AdditiveData(
        padding.pad_rows(grouped(x, size), rows),
        padding.pad_rows(y, rows),
        padding.row_mask(len(x), rows),
    )


def unflatten(groups: int, size: int, flat: Float[Array, " p"]) -> AdditiveParams:
    """Return the parameters that the vector `flat` stands for.

    It holds the logarithms of lengthscales, variances and noise.
    """
    values = jnp.exp(flat)
    n = groups * size
    return AdditiveParams(
        values[:n].reshape(groups, size), values[n : n + groups], values[n + groups]
    )


def initial_params(groups: int, size: int) -> np.ndarray:
    """Return where training starts.

    Lengthscales are half the diagonal of a group's cube; variances are equal and add up to one.
    """
    lengthscale = 0.5 * math.log(size) - math.log(2.0)
    return np.concatenate(
        [np.full(groups * size, lengthscale), np.full(groups, -math.log(groups)), [math.log(1e-2)]]
    )


def parameter_bounds(groups: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper limits of the parameter vector during training."""
    counts = (groups * size, groups, 1)  # of lengthscales, variances and noises
    lower = np.repeat(np.log([1e-2, 1e-4, 1e-6]), counts)
    upper = np.repeat(np.log([1e3, 1e3, 1.0]), counts)
    return lower, upper


def components(
    params: AdditiveParams, a: Float[Array, "n G s"], b: Float[Array, "m G s"]
) -> Float[Array, "G n m"]:
    """Return the covariance of every component between all rows of `a` and of `b`."""

    def one(a: Array, b: Array, lengthscale: Array, variance: Array) -> Array:
        return variance * kernels.covariance(_KERNEL, a, b, lengthscale)

    return jax.vmap(one, (1, 1, 0, 0))(a, b, params.lengthscale, params.variance)


def infer(
    flat: Float[Array, " p"], data: AdditiveData
) -> tuple[Float[Array, ""], AdditivePosterior]:
    """Return the log marginal likelihood of the sum, and the posterior.

    Only the first is differentiated.
    """
    n, groups, size = data.x.shape
    params = unflatten(groups, size, flat)
    k = jnp.sum(components(params, data.x, data.x), axis=0) + params.noise * jnp.eye(n)
    value, posterior = exact.infer(padding.identity_pad(k, data.mask), data.y, data.mask)
    return value, AdditivePosterior(params, data, posterior)


@jax.jit
def evaluate(flat: Array, data: AdditiveData) -> tuple[Array, Array, AdditivePosterior]:
    """Return the negative log marginal likelihood, its gradient, and the posterior."""
    return differentiate(lambda flat: infer(flat, data), flat)


def fit(
    data: AdditiveData, *, warm: np.ndarray | None = None, curvature: np.ndarray | None = None
) -> Trained:
    """Find the most likely parameters.

    Args:
        data: what to fit the GP to.
        warm: parameter vector of an earlier fit to begin with, `Trained.flat`.
        curvature: what that fit knew of the curvature, `Trained.curvature`.
    """
    _, groups, size = data.x.shape
    start = start_from(initial_params(groups, size), warm, curvature)
    return train(lambda flat: evaluate(flat, data), [start], parameter_bounds(groups, size))


def _k_star(
    posterior: AdditivePosterior, group: Array, x: Float[Array, "m s"]
) -> Float[Array, "m n"]:
    params, data = posterior.params, posterior.data
    k = kernels.covariance(_KERNEL, x, data.x[:, group], params.lengthscale[group])
    return jnp.where(data.mask, params.variance[group] * k, 0.0)


def predict(
    posterior: AdditivePosterior, group: Int[Array, ""], x: Float[Array, "m s"]
) -> tuple[Array, Array]:
    """Return mean and variance of one component at values x of its inputs."""
    return exact.predict(
        posterior.exact, _k_star(posterior, group, x), posterior.params.variance[group]
    )


def predict_with_gradients(
    posterior: AdditivePosterior, group: Int[Array, ""], x: Float[Array, "m s"]
) -> Float[Array, "m 2+2*s"]:
    """Return mean, variance, and the gradients of both in x, as columns of one array."""
    k_star = functools.partial(_k_star, posterior, group)
    return exact.predict_with_gradients(
        posterior.exact, k_star, x, posterior.params.variance[group]
    )


def leave_one_out(
    posterior: AdditivePosterior,
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Return mean and variance of each training value, of the sum, given all the others.

    In standardized units, noise included, padded like the data; see `exact.leave_one_out`.
    """
    data = posterior.data
    return exact.leave_one_out(posterior.exact, data.y, data.mask, False)
