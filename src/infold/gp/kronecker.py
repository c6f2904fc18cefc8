"""Gaussian algebra of Kronecker products plus noise: the paper's Algorithm 2.

| symbol | code         | meaning                                              | shape   |
|--------|--------------|------------------------------------------------------|---------|
| K_l    | `factors`    | symmetric factors of K_1 (x) ... (x) K_W             | G_l G_l |
| K_c    | `k`          | covariance of the rows (data)                        | n n     |
| B      | `b`          | diagonal blocks of the columns' (outputs) covariance | q s s   |
| X~     | `x`          | data, columns grouped as the blocks of B             | n q s   |
| σ²     | `noise`      | noise variance                                       |         |
| Q, l   | `q_*`, `l_*` | eigenvectors and eigenvalues                         |         |
| S, E   | `s`, `e`     | Q_kᵀ X~ Q_b and l_k l_bᵀ + σ²                        | n q s   |
| W      | `w`          | S / E, zero where padded                             | n q s   |

Nothing of size (n q s)² is ever formed. `k` and `b` may be padded with `padding.eigen_pad`.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float

from infold._types import Array
from infold.gp.padding import real_eigenvalues

_LOG_2PI = math.log(2.0 * math.pi)


def matvec(factors: Sequence[Float[Array, "_ _"]], x: Float[Array, " v"]) -> Float[Array, " v"]:
    """Return (K_1 (x) ... (x) K_W) x: procedure `matvecmul` of Algorithm 2, in row-major order."""
    r = x
    for k in reversed(factors):
        # The last factor acts on the fastest index. Moving its result to the front makes the
        # index of the next factor the fastest.
        r = (k @ r.reshape(-1, k.shape[0]).T).reshape(-1)
    return r


def _eigen(factors: Sequence[Array], noise: Array) -> tuple[list[Array], Array]:
    """Return the eigenvectors of every factor and the eigenvalues of the whole plus noise."""
    values, vectors = zip(*(jnp.linalg.eigh(k) for k in factors), strict=True)
    product = jnp.ones(1, dtype=values[0].dtype)
    for value in values:
        product = jnp.kron(product, value)
    return list(vectors), product + noise


def solve(
    factors: Sequence[Float[Array, "_ _"]], x: Float[Array, " v"], noise: Float[Array, ""]
) -> Float[Array, " v"]:
    """Return (K_1 (x) ... (x) K_W + σ² I)⁻¹ x: Algorithm 2."""
    vectors, eigenvalues = _eigen(factors, noise)
    s = matvec([q.T for q in vectors], x)
    return matvec(vectors, s / eigenvalues)


def logdet(factors: Sequence[Float[Array, "_ _"]], noise: Float[Array, ""]) -> Float[Array, ""]:
    """Return log |K_1 (x) ... (x) K_W + σ² I|."""
    return jnp.sum(jnp.log(_eigen(factors, noise)[1]))


class _Decomposition(NamedTuple):
    """Eigendecompositions of K_c and B, and the data in their eigenvectors."""

    q_k: Float[Array, "n n"]
    l_k: Float[Array, " n"]
    q_b: Float[Array, "q s s"]
    l_b: Float[Array, "q s"]
    e: Float[Array, "n q s"]
    real: Bool[Array, "n q s"]
    w: Float[Array, "n q s"]
    q_k_w: Float[Array, "n q s"]


def _decompose(k: Array, b: Array, x: Array, noise: Array) -> _Decomposition:
    l_k, q_k = jnp.linalg.eigh(k, symmetrize_input=False)
    l_b, q_b = jnp.linalg.eigh(b, symmetrize_input=False)
    real = real_eigenvalues(l_k)[:, None, None] & real_eigenvalues(l_b)
    l_k = jnp.maximum(l_k, 0.0)
    l_b = jnp.maximum(l_b, 0.0)
    s = jnp.einsum("nqs,qst->nqt", jnp.tensordot(q_k.T, x, axes=1), q_b)
    e = l_k[:, None, None] * l_b + noise
    w = jnp.where(real, s / e, 0.0)
    return _Decomposition(q_k, l_k, q_b, l_b, e, real, w, jnp.tensordot(q_k, w, axes=1))


class KroneckerPosterior(NamedTuple):
    """A multi-output GP conditioned on data: `weights` give the mean, the rest the variance."""

    weights: Float[Array, "n q s"]  # R B
    q_k: Float[Array, "n n"]
    shrinkage: Float[Array, "n q s"]  # l_b² / E
    q_b: Float[Array, "q s s"]
    prior_variance: Float[Array, "q s"]  # diagonal of B


@jax.custom_vjp
def infer(
    k: Float[Array, "n n"],
    b: Float[Array, "q s s"],
    x: Float[Array, "n q s"],
    noise: Float[Array, ""],
) -> tuple[Float[Array, ""], KroneckerPosterior]:
    """Return the log likelihood log N(vec X~ | 0, B (x) K_c + σ² I) and the posterior.

    The posterior is that of the outputs without noise. The cost is O(n³ + q s³ + n² q s). Only
    the likelihood is differentiated, without derivatives of eigenvectors, which do not exist
    where eigenvalues repeat.
    """
    return _infer_forward(k, b, x, noise)[0]


def _infer_forward(k: Array, b: Array, x: Array, noise: Array) -> tuple:
    d = _decompose(k, b, x, noise)
    terms = d.w**2 * d.e + jnp.log(d.e) + _LOG_2PI
    value = -0.5 * jnp.sum(jnp.where(d.real, terms, 0.0))
    weights = jnp.einsum("nqt,qst->nqs", d.q_k_w * d.l_b, d.q_b)  # R B, as B = Q_b l_b Q_bᵀ
    shrinkage = jnp.where(d.real, d.l_b**2 / d.e, 0.0)
    prior_variance = jnp.diagonal(b, axis1=1, axis2=2)
    posterior = KroneckerPosterior(weights, d.q_k, shrinkage, d.q_b, prior_variance)
    return (value, posterior), d


def _infer_backward(d: _Decomposition, cotangent: tuple) -> tuple:
    g = cotangent[0]
    w = d.w
    n, _, s = w.shape
    inverse_e = jnp.where(d.real, 1.0 / d.e, 0.0)
    # With W = S/E:  d/dK_c = ½ Q_k [W diag(l_b) Wᵀ - diag_i(Σ_j l_b[j]/E[i,j])] Q_kᵀ
    grad_k = (d.q_k_w * d.l_b).reshape(n, -1) @ d.q_k_w.reshape(n, -1).T
    grad_k = 0.5 * (grad_k - (d.q_k * jnp.sum(d.l_b * inverse_e, axis=(1, 2))) @ d.q_k.T)
    # d/dB = ½ Q_b [Wᵀ diag(l_k) W - diag_j(Σ_i l_k[i]/E[i,j])] Q_bᵀ, block by block
    inner_b = jnp.einsum("nqs,nqt->qst", d.l_k[:, None, None] * w, w)
    inner_b -= jnp.tensordot(d.l_k, inverse_e, axes=1)[:, :, None] * jnp.eye(s, dtype=w.dtype)
    grad_b = 0.5 * jnp.einsum("qis,qst,qjt->qij", d.q_b, inner_b, d.q_b)
    grad_noise = 0.5 * jnp.sum(w * w) - 0.5 * jnp.sum(inverse_e)
    grad_x = -jnp.einsum("nqt,qst->nqs", d.q_k_w, d.q_b)
    return g * grad_k, g * grad_b, g * grad_x, g * grad_noise


infer.defvjp(_infer_forward, _infer_backward)


def mean(weights: Float[Array, "n q s"], k_star: Float[Array, "m n"]) -> Float[Array, "m q s"]:
    """Return the posterior mean k_c(z*, Z) R B; `k_star` is zero in padded columns."""
    return jnp.tensordot(k_star, weights, axes=1)


def variance(
    posterior: KroneckerPosterior, k_star: Float[Array, "m n"], k_star_star: Float[Array, ""]
) -> Float[Array, "m q s"]:
    """Return the posterior variance of each output at each z*.

    B_jj k_c(z*, z*) - Σ_m Q_b[j,m]² l_b[m]² Σ_i t_i² / E[i,m] with t = Q_kᵀ k_c(Z, z*).
    """
    t = k_star @ posterior.q_k
    shrunk = jnp.tensordot(t**2, posterior.shrinkage, axes=1)
    explained = jnp.einsum("mqt,qst->mqs", shrunk, posterior.q_b**2)
    return jnp.maximum(posterior.prior_variance * k_star_star - explained, 0.0)
