"""The decoder g: a multi-output GP from features back to inputs (intrinsic coregionalization).

| symbol | code                | meaning                                   | shape      |
|--------|---------------------|-------------------------------------------|------------|
| X~     | `warped`            | data; also in blocks of outputs           | n D, n q s |
| k_c    | `kernel`            | of unit variance, once or once per block  |            |
| B      | `coregionalization` | A Aᵀ + diag(κ), one matrix per block      | q s s      |

| kind         | blocks of outputs | kernels       | cost         |
|--------------|-------------------|---------------|--------------|
| full         | one of size D     | one           | O(N³ + D³)   |
| hierarchical | D/3 of size 3     | one per block | O(D N³)      |
| shared       | D/3 of size 3     | one           | O(N³ + 27 Q) |

When the block size does not divide D the last block is padded.
"""

import functools
from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from infold import _checks
from infold._types import Array
from infold.gp import blocks, kernels, kronecker, padding

DecoderPosterior = kronecker.KroneckerPosterior | blocks.Posterior

KINDS = ("full", "hierarchical", "shared")


@dataclass(frozen=True, kw_only=True)
class Decoder:
    """Settings of the decoder."""

    kind: str = "full"
    """One of `KINDS`."""
    block_size: int = 3
    """Outputs per block of the hierarchical and shared decoders."""
    rank: int | None = None
    """Columns of A; None: as many as a block has outputs."""

    def __post_init__(self) -> None:
        _checks.one_of("kind", self.kind, KINDS)
        _checks.at_least("block_size", self.block_size, 1)
        if self.rank is not None:
            _checks.at_least("rank", self.rank, 1)

    def layout(self, dimension: int) -> tuple[int, int, int]:
        """Return the number of blocks, of outputs per block, and of kernels."""
        if self.kind == "full":
            return 1, dimension, 1
        size = min(self.block_size, dimension)
        n_blocks = -(-dimension // size)
        return n_blocks, size, n_blocks if self.kind == "hierarchical" else 1


class DecoderParams(NamedTuple):
    """Hyper-parameters of the decoder, for k kernels."""

    log_lengthscale: Float[Array, "k d"]
    a: Float[Array, "q s r"]
    log_kappa: Float[Array, "q s"]

    @property
    def lengthscale(self) -> Array:
        return jnp.exp(self.log_lengthscale)


def _to_blocks(
    decoder: Decoder, warped: Float[Array, "n D"], xp: ModuleType = jnp
) -> Float[Array, "n q s"]:
    n, dimension = warped.shape
    n_blocks, size, _ = decoder.layout(dimension)
    return xp.pad(warped, ((0, 0), (0, n_blocks * size - dimension))).reshape(n, n_blocks, size)


def _from_blocks(outputs: Float[Array, "k m q s"], dimension: int) -> Float[Array, "m D"]:
    return jnp.moveaxis(outputs, 0, 1).reshape(outputs.shape[1], -1)[:, :dimension]


def coregionalization(
    decoder: Decoder, params: DecoderParams, dimension: int
) -> Float[Array, "q s s"]:
    """Return B = A Aᵀ + diag(κ) of every block, the last one eigen-padded."""
    n_blocks, size, _ = decoder.layout(dimension)
    b = params.a @ jnp.swapaxes(params.a, 1, 2) + jax.vmap(jnp.diag)(jnp.exp(params.log_kappa))
    real = (jnp.arange(n_blocks * size) < dimension).reshape(n_blocks, size)
    return jax.vmap(padding.eigen_pad)(b, real)


def prior(
    decoder: Decoder,
    params: DecoderParams,
    z: Float[Array, "n d"],
    noise: Float[Array, ""],
    dimension: int,
) -> blocks.Prior:
    """Return what the covariances of a hierarchical decoder depend on."""
    features = z / params.lengthscale[:, None]
    return blocks.Prior(features, coregionalization(decoder, params, dimension), noise)


def solve(
    decoder: Decoder,
    kernel: str,
    prior: blocks.Prior,
    warped: Float[Array, "n D"],
    mask: Bool[Array, " n"],
) -> blocks.Solved:
    """Return log p(X~ | Z) of a hierarchical decoder and more, computed in NumPy."""
    x = np.moveaxis(np.asarray(_to_blocks(decoder, np.asarray(warped), np)), 1, 0)
    known = jax.tree.map(np.asarray, prior)
    return blocks.solve(known, functools.partial(_covariance, kernel), x, int(np.sum(mask)))


@functools.partial(jax.jit, static_argnames="kernel")
def _covariance(
    kernel: str, features: Float[Array, "n d"]
) -> tuple[Float[Array, "n n"], Float[Array, "n n"]]:
    """Return k_c of one block at its data, and its derivative in squared distances."""
    unit = jnp.ones(features.shape[1])
    k = kernels.covariance(kernel, features, features, unit)
    return k, kernels.slope(kernel, features, features, unit)


def infer(
    decoder: Decoder,
    kernel: str,
    params: DecoderParams,
    z: Float[Array, "n d"],
    warped: Float[Array, "n D"],
    mask: Bool[Array, " n"],
    noise: Float[Array, ""],
    solved: blocks.Solved | None = None,
) -> tuple[Float[Array, ""], DecoderPosterior]:
    """Return log p(X~ | Z) and the posteriors of the outputs of each kernel, stacked.

    Padded rows of `warped` are zero. `solved`, of a hierarchical decoder, is what `solve`
    returned; JAX cannot trace this function without it.
    """
    known = prior(decoder, params, z, noise, warped.shape[1])
    if decoder.kind != "hierarchical":
        k = padding.eigen_pad(kernels.covariance(kernel, z, z, params.lengthscale[0]), mask)
        value, posterior = kronecker.infer(k, known.b, _to_blocks(decoder, warped), noise)
        return value, jax.tree.map(lambda array: array[None], posterior)
    if solved is None:
        solved = solve(decoder, kernel, known, warped, mask)
    weights = jnp.asarray(solved.weights)[:, :, None]
    return blocks.likelihood(known, solved), blocks.Posterior(weights, known)


@functools.partial(jax.jit, static_argnames="kernel")
def _k_star(
    kernel: str, params: DecoderParams, z_data: Array, mask: Array, z: Array
) -> Float[Array, "k m n"]:
    def one(lengthscale: Array) -> Array:
        return jnp.where(mask, kernels.covariance(kernel, z, z_data, lengthscale), 0.0)

    return jax.vmap(one)(params.lengthscale)


def mean(
    kernel: str,
    params: DecoderParams,
    posterior: DecoderPosterior,
    z_data: Float[Array, "n d"],
    mask: Bool[Array, " n"],
    z: Float[Array, "m d"],
    dimension: int,
) -> Float[Array, "m D"]:
    """Return μ(z), the posterior mean of x~."""
    return _mean(posterior.weights, _k_star(kernel, params, z_data, mask, z), dimension)


@functools.partial(jax.jit, static_argnames="dimension")
def _mean(
    weights: Float[Array, "k n q s"], k_star: Float[Array, "k m n"], dimension: int
) -> Float[Array, "m D"]:
    return _from_blocks(jax.vmap(kronecker.mean)(weights, k_star), dimension)


def slopes(
    kernel: str,
    params: DecoderParams,
    posterior: DecoderPosterior,
    z_data: Float[Array, "n d"],
    mask: Bool[Array, " n"],
    z: Float[Array, "m d"],
    dimension: int,
) -> Float[Array, "m D d"]:
    """Return the Jacobian of `mean` at every z, by two matrix products per kernel.

    From ∂k(z, z_i)/∂z_l = 2 k'(r²) (z_l - z_il) / ℓ_l² follows
    ∂μ_j/∂z_l = 2/ℓ_l² Σ_i k'_i W_ij (z_l - z_il).
    """
    centre = jnp.mean(z_data, axis=0)  # the difference below cancels less between centred points
    a = z - centre
    c = z_data - centre

    def one(lengthscale: Array, weights: Array) -> Array:
        w = weights.reshape(len(c), -1)
        slope = jnp.where(mask, kernels.slope(kernel, z, z_data, lengthscale), 0.0)
        moments = slope @ (w[:, :, None] * c[:, None, :]).reshape(len(c), -1)
        moments = moments.reshape(len(a), -1, c.shape[1])
        return 2.0 / lengthscale**2 * ((slope @ w)[:, :, None] * a[:, None, :] - moments)

    jacobians = jnp.moveaxis(jax.vmap(one)(params.lengthscale, posterior.weights), 0, 1)
    return jacobians.reshape(len(a), -1, c.shape[1])[:, :dimension]


def slope(
    kernel: str,
    params: DecoderParams,
    posterior: DecoderPosterior,
    z_data: Float[Array, "n d"],
    mask: Bool[Array, " n"],
    z: Float[Array, " d"],
    output: Int[Array, ""],
    feature: Int[Array, ""],
) -> Float[Array, ""]:
    """Return one entry of the Jacobian of `mean`, at one z."""
    _, n, n_blocks, size = posterior.weights.shape
    weights = jnp.moveaxis(posterior.weights, 1, 0).reshape(n, -1)[:, output]
    lengthscale = params.lengthscale[output // (n_blocks * size)]
    slopes = jnp.where(mask, kernels.slope(kernel, z[None], z_data, lengthscale)[0], 0.0)
    total = jnp.sum(slopes * weights * (z[feature] - z_data[:, feature]))
    return 2.0 / lengthscale[feature] ** 2 * total


def mean_and_variance(
    kernel: str,
    params: DecoderParams,
    posterior: DecoderPosterior,
    z_data: Float[Array, "n d"],
    mask: Bool[Array, " n"],
    z: Float[Array, "m d"],
    dimension: int,
) -> tuple[Float[Array, "m D"], Float[Array, "m D"]]:
    """Return posterior mean and variance of x~; JAX cannot trace it for `blocks.Posterior`."""
    k_star = _k_star(kernel, params, z_data, mask, z)
    mu = _mean(posterior.weights, k_star, dimension)
    if isinstance(posterior, blocks.Posterior):
        known = jax.tree.map(np.asarray, posterior.prior)
        covariance = functools.partial(_covariance, kernel)
        each = blocks.variance(known, covariance, np.asarray(k_star), int(np.sum(mask)))
        return mu, each.reshape(len(each), -1)[:, :dimension]
    var = jax.vmap(kronecker.variance, (0, 0, None))(posterior, k_star, jnp.ones(()))
    return mu, _from_blocks(var, dimension)


def initial_params(decoder: Decoder, n_features: int, warped: np.ndarray) -> DecoderParams:
    """Return where training starts.

    B is the second moments of the data, block by block; lengthscales are 1, the side of the
    feature cube.
    """
    n, dimension = warped.shape
    n_blocks, size, n_kernels = decoder.layout(dimension)
    rank = min(decoder.rank or size, size)
    x = _to_blocks(decoder, warped, np)
    values, vectors = np.linalg.eigh(np.einsum("nqs,nqt->qst", x, x) / n)
    a = vectors[:, :, -rank:] * np.sqrt(np.maximum(values[:, None, -rank:], 1e-4))
    return DecoderParams(
        log_lengthscale=np.zeros((n_kernels, n_features)),
        a=a,
        log_kappa=np.full((n_blocks, size), np.log(0.1)),
    )
