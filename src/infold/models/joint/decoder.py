"""The decoder g: a multi-output GP from features back to inputs (intrinsic coregionalization).

| symbol | code                | meaning                                   | shape      |
|--------|---------------------|-------------------------------------------|------------|
| X~     | `warped`            | data; also in blocks of outputs           | n D, n q s |
| k_c    | `kernel`            | of unit variance, once or once per block  |            |
| B      | `coregionalization` | A Aᵀ + diag(κ), one matrix per block      | q s s      |

| kind         | blocks of outputs | kernels       | cost         |
|--------------|-------------------|---------------|--------------|
| full         | one of size D     | one           | O(N³ + D³)   |
| hierarchical | D/3 of size 3     | one per block | O(Q N³)      |
| shared       | D/3 of size 3     | one           | O(N³ + 27 Q) |

When the block size does not divide D the last block is padded.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from infold import _checks
from infold._types import Array
from infold.gp import kernels, kronecker, padding

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
        blocks = -(-dimension // size)
        return blocks, size, blocks if self.kind == "hierarchical" else 1


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
    blocks, size, _ = decoder.layout(dimension)
    return xp.pad(warped, ((0, 0), (0, blocks * size - dimension))).reshape(n, blocks, size)


def _from_blocks(outputs: Float[Array, "k m q s"], dimension: int) -> Float[Array, "m D"]:
    return jnp.moveaxis(outputs, 0, 1).reshape(outputs.shape[1], -1)[:, :dimension]


def coregionalization(
    decoder: Decoder, params: DecoderParams, dimension: int
) -> Float[Array, "q s s"]:
    """Return B = A Aᵀ + diag(κ) of every block, the last one eigen-padded."""
    blocks, size, _ = decoder.layout(dimension)
    b = params.a @ jnp.swapaxes(params.a, 1, 2) + jax.vmap(jnp.diag)(jnp.exp(params.log_kappa))
    real = (jnp.arange(blocks * size) < dimension).reshape(blocks, size)
    return jax.vmap(padding.eigen_pad)(b, real)


def _covariances(
    kernel: str, params: DecoderParams, z: Array, mask: Array
) -> Float[Array, "k n n"]:
    """Return k_c(Z, Z) of every kernel, eigen-padded."""

    def one(lengthscale: Array) -> Array:
        return padding.eigen_pad(kernels.covariance(kernel, z, z, lengthscale), mask)

    return jax.vmap(one)(params.lengthscale)


def _by_kernel(decoder: Decoder, b: Array, x: Array) -> tuple[Array, Array]:
    """Group outputs by the kernel they use: B as (k, q/k, s, s) and X~ as (k, n, q/k, s)."""
    n, blocks, size = x.shape
    k = blocks if decoder.kind == "hierarchical" else 1
    b = b.reshape(k, blocks // k, size, size)
    x = jnp.moveaxis(x.reshape(n, k, blocks // k, size), 1, 0)
    return b, x


def infer(
    decoder: Decoder,
    kernel: str,
    params: DecoderParams,
    z: Float[Array, "n d"],
    warped: Float[Array, "n D"],
    mask: Bool[Array, " n"],
    noise: Float[Array, ""],
) -> tuple[Float[Array, ""], kronecker.KroneckerPosterior]:
    """Return log p(X~ | Z) and the posteriors of the outputs of each kernel, stacked.

    Padded rows of `warped` are zero.
    """
    b = coregionalization(decoder, params, warped.shape[1])
    b, x = _by_kernel(decoder, b, _to_blocks(decoder, warped))
    covariances = _covariances(kernel, params, z, mask)
    values, posterior = jax.vmap(kronecker.infer, (0, 0, 0, None))(covariances, b, x, noise)
    return jnp.sum(values), posterior


def _k_star(
    kernel: str, params: DecoderParams, z_data: Array, mask: Array, z: Array
) -> Float[Array, "k m n"]:
    def one(lengthscale: Array) -> Array:
        return jnp.where(mask, kernels.covariance(kernel, z, z_data, lengthscale), 0.0)

    return jax.vmap(one)(params.lengthscale)


def mean(
    kernel: str,
    params: DecoderParams,
    posterior: kronecker.KroneckerPosterior,
    z_data: Float[Array, "n d"],
    mask: Bool[Array, " n"],
    z: Float[Array, "m d"],
    dimension: int,
) -> Float[Array, "m D"]:
    """Return μ(z), the posterior mean of x~."""
    outputs = jax.vmap(kronecker.mean)(posterior, _k_star(kernel, params, z_data, mask, z))
    return _from_blocks(outputs, dimension)


def slopes(
    kernel: str,
    params: DecoderParams,
    posterior: kronecker.KroneckerPosterior,
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
    posterior: kronecker.KroneckerPosterior,
    z_data: Float[Array, "n d"],
    mask: Bool[Array, " n"],
    z: Float[Array, " d"],
    output: Int[Array, ""],
    feature: Int[Array, ""],
) -> Float[Array, ""]:
    """Return one entry of the Jacobian of `mean`, at one z."""
    _, n, blocks, size = posterior.weights.shape
    weights = jnp.moveaxis(posterior.weights, 1, 0).reshape(n, -1)[:, output]
    lengthscale = params.lengthscale[output // (blocks * size)]
    slopes = jnp.where(mask, kernels.slope(kernel, z[None], z_data, lengthscale)[0], 0.0)
    total = jnp.sum(slopes * weights * (z[feature] - z_data[:, feature]))
    return 2.0 / lengthscale[feature] ** 2 * total


def mean_and_variance(
    kernel: str,
    params: DecoderParams,
    posterior: kronecker.KroneckerPosterior,
    z_data: Float[Array, "n d"],
    mask: Bool[Array, " n"],
    z: Float[Array, "m d"],
    dimension: int,
) -> tuple[Float[Array, "m D"], Float[Array, "m D"]]:
    """Return posterior mean and variance of x~."""
    k_star = _k_star(kernel, params, z_data, mask, z)
    mu = jax.vmap(kronecker.mean)(posterior, k_star)
    var = jax.vmap(kronecker.variance, (0, 0, None))(posterior, k_star, jnp.ones(()))
    return _from_blocks(mu, dimension), _from_blocks(var, dimension)


def initial_params(decoder: Decoder, n_features: int, warped: np.ndarray) -> DecoderParams:
    """Return where training starts.

    B is the second moments of the data, block by block; lengthscales are 1, the side of the
    feature cube.
    """
    n, dimension = warped.shape
    blocks, size, n_kernels = decoder.layout(dimension)
    rank = min(decoder.rank or size, size)
    x = _to_blocks(decoder, warped, np)
    values, vectors = np.linalg.eigh(np.einsum("nqs,nqt->qst", x, x) / n)
    a = vectors[:, :, -rank:] * np.sqrt(np.maximum(values[:, None, -rank:], 1e-4))
    return DecoderParams(
        log_lengthscale=np.zeros((n_kernels, n_features)),
        a=a,
        log_kappa=np.full((blocks, size), np.log(0.1)),
    )
