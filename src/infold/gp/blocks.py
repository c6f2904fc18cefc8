"""Gaussian algebra of many Kronecker products of a large and a small factor, plus noise.

| symbol | code           | meaning                                            | shape |
|--------|----------------|----------------------------------------------------|-------|
| a      | `features`     | places of the rows (data), one set per block       | q n d |
| K      | `k`            | covariance of the rows of one block                | n n   |
| k'     | `slopes`       | its derivatives in squared distances |a_i - a_j|²   | n n   |
| B      | `b`            | covariance of the columns (outputs), one per block | q s s |
| X~     | `x`            | data                                               | q n s |
| σ²     | `noise`        | noise variance of all blocks                       |       |
| Q, l   | `q_b`, `l_b`   | eigenvectors and eigenvalues of one B              | s s, s |
| w_t    | `w[:, t]`      | (l_t K + σ² I)⁻¹ X~ q_t                            | n s   |

In the eigenvectors of B the columns are independent, with covariances l_t (K + σ²/l_t I). For few
columns a Cholesky factor each costs less than the eigenvectors of K that `kronecker` takes. XLA has
neither LAPACK's products of triangles nor a way to fill one triangle only, so `solve` is NumPy, and
`likelihood` brings what it found into a JAX program.

All arrays may be padded: only the first n rows of data count, and only those columns of B that
`padding.eigen_pad` left alone.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.linalg import blas, lapack

from infold._types import Array
from infold.gp.padding import real_eigenvalues

_LOG_2PI = math.log(2.0 * math.pi)
_SMALL = 64  # LAPACK inverts a smaller triangle as fast as its halves
_LEAST = 1e-12  # eigenvalue of B: rounding may leave one of zero or less


class Prior(NamedTuple):
    """What the covariances of all blocks are functions of; or the gradient in these."""

    features: Float[Array, "q n d"]
    b: Float[Array, "q s s"]
    noise: Float[Array, ""]


class Posterior(NamedTuple):
    """The outputs of all blocks conditioned on data: `weights` give the mean."""

    weights: Float[Array, "q n 1 s"]  # R B, as in `kronecker`, where a K has several blocks
    prior: Prior


class Solved(NamedTuple):
    """The log likelihood of the data, its gradient, and the weights of the posterior mean."""

    value: Float[np.ndarray, ""]
    gradient: Prior
    weights: Float[np.ndarray, "q n s"]


Kernel = Callable[[Float[Array, "n d"]], tuple[Float[Array, "n n"], Float[Array, "n n"]]]
"""Returns the covariances of features, and their derivatives in squared distances."""


def solve(prior: Prior, kernel: Kernel, x: Float[np.ndarray, "q n s"], n: int) -> Solved:
    """Return Σ log N(vec X~ | 0, B (x) K + σ² I) over the blocks, and more.

    It is NaN where a covariance is not positive definite, or not finite.

    Args:
        prior: features, covariances of the outputs, and noise.
        kernel: the kernel of all blocks, of unit variance.
        x: data.
        n: number of real rows.
    """
    features = np.asarray(prior.features)
    b = np.asarray(prior.b)
    noise = float(prior.noise)
    value = 0.0
    grad_features = np.zeros_like(features)
    grad_b = np.zeros_like(b)
    grad_noise = 0.0
    weights = np.zeros_like(x)
    upper = np.triu(np.ones((n, n)), 1)  # the derivatives of K_ii are zero
    for i, a in enumerate(features):
        k, slopes = (np.asarray(array)[:n, :n] for array in kernel(a))
        l_b, q_b = _outputs(b[i])
        s = x[i, :n] @ q_b
        w = np.empty_like(s)
        explained = np.empty_like(l_b)  # tr K (l_t K + σ² I)⁻¹
        inverses = np.zeros((n, n))  # Σ_t l_t (l_t K + σ² I)⁻¹, above the diagonal
        for t, scale in enumerate(l_b):
            factor = _factor(k, noise / scale)
            logdet = 2.0 * np.sum(np.log(np.diagonal(factor))) + n * math.log(scale)
            w[:, t] = lapack.dpotrs(factor, s[:, t], lower=1)[0] / scale
            inverse, _ = lapack.dlauum(_triangular_inverse(factor), lower=1, overwrite_c=1)
            inverses += inverse.T
            trace = np.trace(inverse) / scale
            explained[t] = (n - noise * trace) / scale
            value -= 0.5 * (s[:, t] @ w[:, t] + logdet + n * _LOG_2PI)
            grad_noise += 0.5 * (w[:, t] @ w[:, t] - trace)
        in_distances = ((w * l_b) @ w.T - inverses) * slopes * upper
        grad_features[i, :n] = _in_features(in_distances, a[:n])
        grad_b[i] = 0.5 * q_b @ (w.T @ (k @ w) - np.diag(explained)) @ q_b.T
        weights[i, :n] = (w * l_b) @ q_b.T
    gradient = Prior(grad_features, grad_b, np.asarray(grad_noise))
    return Solved(np.asarray(value), gradient, weights)


def _outputs(b: Float[np.ndarray, "s s"]) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues and eigenvectors of B, without those of padding; NaN where B overflows."""
    if not np.all(np.isfinite(b)):
        return np.full(len(b), np.nan), np.full_like(b, np.nan)
    l_b, q_b = np.linalg.eigh(b)
    real = real_eigenvalues(l_b)
    return np.maximum(l_b[real], _LEAST), q_b[:, real]


def _factor(k: Float[np.ndarray, "n n"], shift: float) -> Float[np.ndarray, "n n"]:
    """Return the lower Cholesky factor of K + shift I, with anything above its diagonal.

    It is NaN where there is none.
    """
    shifted = np.array(k.T, order="F")
    np.einsum("ii->i", shifted)[...] += shift
    factor, failed = lapack.dpotrf(shifted, lower=1, clean=0, overwrite_a=1)
    return np.full_like(factor, np.nan) if failed else factor


def _triangular_inverse(lower: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """Return L⁻¹, recursively by halves; what is above either diagonal does not count.

    At n = 320 this takes two fifths of the time of LAPACK's `trtri`.
    """
    n = len(lower)
    if n <= _SMALL:
        return lapack.dtrtri(lower, lower=1)[0]
    h = n // 2
    first = _triangular_inverse(lower[:h, :h])
    last = _triangular_inverse(lower[h:, h:])
    across = blas.dtrmm(1.0, first, lower[h:, :h], side=1, lower=1)
    inverse = np.zeros((n, n), order="F")
    inverse[:h, :h] = first
    inverse[h:, h:] = last
    inverse[h:, :h] = blas.dtrmm(-1.0, last, across, lower=1, overwrite_b=1)
    return inverse


def _in_features(in_distances: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Return the gradient in features a from the one in squared distances |a_i - a_j|²."""
    features = features - np.mean(features, axis=0)  # the difference below cancels less
    totals = np.sum(in_distances, axis=0) + np.sum(in_distances, axis=1)
    products = in_distances @ features + in_distances.T @ features
    return 2.0 * (totals[:, None] * features - products)


@jax.custom_vjp
def likelihood(prior: Prior, solved: Solved) -> Float[Array, ""]:
    """Return the log likelihood that `solve` found at `prior`, to be differentiated there."""
    return jnp.asarray(solved.value)


def _likelihood_forward(prior: Prior, solved: Solved) -> tuple[Array, Prior]:
    return likelihood(prior, solved), solved.gradient


def _likelihood_backward(gradient: Prior, cotangent: Array) -> tuple[Prior, None]:
    return jax.tree.map(lambda one: cotangent * one, gradient), None


likelihood.defvjp(_likelihood_forward, _likelihood_backward)


def variance(
    prior: Prior, kernel: Kernel, k_star: Float[np.ndarray, "q m n"], n: int
) -> Float[np.ndarray, "m q s"]:
    """Return the posterior variance of each output at each z*.

    B_jj - Σ_t Q[j,t]² l_t k(z*, Z) (K + σ²/l_t I)⁻¹ k(Z, z*).

    Args:
        prior: features, covariances of the outputs, and noise.
        kernel: the kernel of all blocks, of unit variance.
        k_star: covariances of z* with the data, for each block.
        n: number of real rows.
    """
    result = np.empty((k_star.shape[1], *prior.b.shape[:2]))
    for i, b in enumerate(np.asarray(prior.b)):
        k = np.asarray(kernel(prior.features[i])[0])[:n, :n]
        l_b, q_b = _outputs(b)
        explained = np.empty((len(result), len(l_b)))
        for t, scale in enumerate(l_b):
            factor = _factor(k, float(prior.noise) / scale)
            root, _ = lapack.dtrtrs(factor, k_star[i, :, :n].T, lower=1)
            explained[:, t] = scale * np.sum(root**2, axis=0)
        result[:, i] = np.diagonal(b) - explained @ (q_b**2).T
    return np.maximum(result, 0.0)
