"""What designs without values look like: few features, and a GP that decodes them to designs.

The decoder's part of the paper's joint likelihood needs no values. All D outputs share one kernel
over the features Z, which are trained with it under a standard normal prior (N. Lawrence, Gaussian
process latent variable models, 2005). There are as many features as it takes to decode the designs
but for a small part of their variance.

| symbol | code | meaning                           | shape |
|--------|------|-----------------------------------|-------|
| X      | `x`  | designs, centred, of unit variance | n D   |
| Z      | `z`  | features                          | n q   |
"""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from infold._types import Array
from infold.gp import kernels
from infold.gp.training import Start, Trained, differentiate, train
from infold.learning.lessons import Manifold

KERNEL = "squared-exponential"
_MOST = 300  # designs that the decoder is conditioned on
_FEWEST = 8  # designs that can say anything
_NUMBERS = (1, 2, 3, 4, 5, 6, 8)  # of features that are tried, until they are enough
_ENOUGH = 3e-4  # part of the designs' variance that may be left: `docs/notes.md` compares others
_ITERATIONS = 100
_LEAST_NOISE = 1e-6  # variance of designs of unit variance
_CONSTANT = 1e-9  # spread of designs that are all the same


def learn_manifold(x: Float[np.ndarray, "n D"], seed: int) -> Manifold | None:
    """Return what the designs have in common; None where they are too few or all the same.

    Args:
        x: designs in the unit cube, one per row.
        seed: chooses among more designs than the decoder takes.
    """
    x = np.unique(x, axis=0)
    if len(x) > _MOST:
        rows = np.random.default_rng([seed, 31]).permutation(len(x))[:_MOST]
        x = x[np.sort(rows)]
    spread = float(np.sqrt(np.mean(np.var(x, axis=0)))) if len(x) else 0.0
    if len(x) < _FEWEST or spread < _CONSTANT:
        return None
    targets = (x - np.mean(x, axis=0)) / spread
    left, values, _ = np.linalg.svd(targets, full_matrices=False)
    most = max(1, min(int(np.sum(values > 1e-6 * values[0])), len(x) // 4))
    for count in sorted({min(count, most) for count in _NUMBERS}):
        start = left[:, :count] * math.sqrt(len(x))
        lengthscale = np.log(np.maximum(3.0 * values[0] / values[:count], 1.0))
        trained = _fit(targets, start, lengthscale, _ITERATIONS)
        if trained.flat[-1] < math.log(_ENOUGH):
            break
    z, lengthscale, _ = _parts(trained.flat, len(x), count)
    width = np.maximum(np.std(z, axis=0), 1e-9)
    return Manifold(
        x=x,
        z=(z - np.mean(z, axis=0)) / width,
        log_lengthscale=lengthscale - np.log(width),
        log_noise=float(trained.flat[-1]),
        weight=np.ones(x.shape[1]),
    )


def _parts(flat: Array, n: int, q: int) -> tuple[Array, Array, Array]:
    return flat[: n * q].reshape(n, q), flat[n * q : n * q + q], flat[n * q + q]


def log_likelihood(
    flat: Float[Array, " p"], x: Float[Array, "n D"], q: int
) -> tuple[Float[Array, ""], None]:
    """Return log N(X | 0, K_y) over all outputs, plus the log prior of the features."""
    n, dimension = x.shape
    z, log_lengthscale, log_noise = _parts(flat, n, q)
    k = kernels.covariance(KERNEL, z, z, jnp.exp(log_lengthscale))
    factor = jnp.linalg.cholesky(k + jnp.exp(log_noise) * jnp.eye(n))
    solved = jax.scipy.linalg.solve_triangular(factor, x, lower=True)
    half_logdet = jnp.sum(jnp.log(jnp.diagonal(factor)))
    value = -dimension * half_logdet - 0.5 * jnp.sum(solved**2)
    return value - 0.5 * jnp.sum(z**2) - 0.5 * jnp.sum(log_lengthscale**2), None


@functools.partial(jax.jit, static_argnames="q")
def _evaluate(flat: Array, x: Array, q: int) -> tuple[Array, Array, None]:
    return differentiate(lambda flat: log_likelihood(flat, x, q), flat)


def _fit(x: np.ndarray, z: np.ndarray, log_lengthscale: np.ndarray, iterations: int) -> Trained:
    q = z.shape[1]
    start = np.concatenate([z.ravel(), log_lengthscale, [math.log(1e-2)]])
    lower = np.full(len(start), -20.0)
    upper = np.full(len(start), 20.0)
    lower[-1], upper[-1] = math.log(_LEAST_NOISE), 0.0
    return train(
        lambda flat: _evaluate(flat, x, q), [Start("designs", start, iterations)], (lower, upper)
    )


def diverse(z: Float[np.ndarray, "n q"], count: int) -> list[int]:
    """Return the most central row, then each time the one farthest from those before."""
    order = [int(np.argmin(np.sum((z - np.mean(z, axis=0)) ** 2, axis=1)))]
    nearest = np.sum((z - z[order[0]]) ** 2, axis=1)
    # Not the very outermost: extremes of a cloud are unlike everything else in it.
    inside = np.sum((z - np.mean(z, axis=0)) ** 2, axis=1)
    inside = inside <= np.quantile(inside, 0.9)
    while len(order) < min(count, len(z)):
        chosen = int(np.argmax(np.where(inside, nearest, -1.0)))
        if nearest[chosen] <= 0.0:
            break
        order.append(chosen)
        nearest = np.minimum(nearest, np.sum((z - z[chosen]) ** 2, axis=1))
    return order
