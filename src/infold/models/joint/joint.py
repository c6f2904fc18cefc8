"""The joint model: one encoder, a response surface and a decoder on its features.

| symbol       | code                        | shape |
|--------------|-----------------------------|-------|
| X~           | `JointData.warped`          | n D   |
| y            | `JointData.y`               | n     |
| Z = h(X)     | `JointPosterior.z`          | n d   |
| L of Eq. (7) | the first result of `infer` |       |
"""

import functools
import math
from dataclasses import dataclass, field
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from infold import _checks
from infold._types import Array
from infold.gp import blocks, exact, kernels, padding
from infold.models.joint import decoder as dec
from infold.models.joint import encoder as enc
from infold.models.joint import response as res
from infold.models.joint.decoder import Decoder, DecoderParams
from infold.models.joint.encoder import Encoder, EncoderParams
from infold.models.joint.response import ResponseParams
from infold.models.joint.warp import probit


@dataclass(frozen=True, kw_only=True)
class Priors:
    """Normal priors that regularize the joint objective. Without any it is exactly the paper's."""

    weight_deviation: float | None = None
    """Deviation of the encoder's weights (not biases) around 0; None: no prior."""
    log_lengthscale: tuple[float, float] | None = None
    """Mean and deviation of every log lengthscale, of both GPs; None: no prior."""
    log_noise: tuple[float, float] | None = None
    """Mean and deviation of every log noise variance; None: no prior."""


@dataclass(frozen=True, kw_only=True)
class JointModel:
    """Settings of the joint model."""

    encoder: Encoder
    """The shared feature map."""
    decoder: Decoder = field(default_factory=Decoder)
    """How features are mapped back to inputs."""
    kernel: str = "matern52"
    """Kernel of both GPs, one of `infold.gp.kernels.KERNELS`."""
    separate_noise: bool = False
    """Give the decoder a noise variance of its own."""
    priors: Priors = field(default_factory=Priors)
    """Regularization; none by default."""

    def __post_init__(self) -> None:
        _checks.one_of("kernel", self.kernel, kernels.KERNELS)


class JointParams(NamedTuple):
    """Parameters of all three parts, and the noise.

    `log_noise` holds one variance for both GPs, or the response surface's and the decoder's.
    """

    encoder: EncoderParams
    response: ResponseParams
    decoder: DecoderParams
    log_noise: Float[Array, " _"]

    @property
    def response_noise(self) -> Array:
        return jnp.exp(self.log_noise[0])

    @property
    def decoder_noise(self) -> Array:
        return jnp.exp(self.log_noise[-1])


class JointData(NamedTuple):
    """Inputs and standardized values, padded to a bucket size."""

    inputs: Float[Array, "n D"]  # what the encoder is fed, X~ or X
    warped: Float[Array, "n D"]
    y: Float[Array, " n"]
    mask: Bool[Array, " n"]


def make_data(
    model: JointModel, x: np.ndarray, y: np.ndarray, size: int | None = None
) -> JointData:
    """Return points of the unit cube and standardized values, padded to `size` rows.

    The default size is the bucket of N.
    """
    n = x.shape[0]
    size = padding.bucket_size(n) if size is None else size
    return JointData(
        inputs=padding.pad_rows(model.encoder.inputs(x), size),
        warped=padding.pad_rows(probit(x), size),
        y=padding.pad_rows(y, size),
        mask=padding.row_mask(n, size),
    )


def _log_normal_density(values: Array, mean: float, deviation: float) -> Array:
    """Return the sum of normal log densities."""
    return jnp.sum(
        -0.5 * ((values - mean) / deviation) ** 2 - math.log(deviation * math.sqrt(2.0 * math.pi))
    )


def _log_prior(priors: Priors, params: JointParams) -> Array:
    total = jnp.zeros(())
    if priors.weight_deviation is not None:
        for w in params.encoder.weights:
            total += _log_normal_density(w, 0.0, priors.weight_deviation)
    if priors.log_lengthscale is not None:
        for values in (params.response.log_lengthscale, params.decoder.log_lengthscale):
            total += _log_normal_density(values, *priors.log_lengthscale)
    if priors.log_noise is not None:
        total += _log_normal_density(params.log_noise, *priors.log_noise)
    return total


class JointPosterior(NamedTuple):
    """The model conditioned on data."""

    params: JointParams
    z: Float[Array, "n d"]
    mask: Bool[Array, " n"]
    response: exact.ScalarPosterior
    decoder: dec.DecoderPosterior


def infer(
    model: JointModel,
    params: JointParams,
    data: JointData,
    solved: blocks.Solved | None = None,
) -> tuple[Float[Array, ""], JointPosterior]:
    """Return the joint objective and the model conditioned on `data`.

    The objective is log p(y | Z) + (1/D) log p(X~ | Z), Eq. (7), plus any log prior. Only it is
    differentiated. `solved` is as in `decoder.infer`.
    """
    z = enc.encode(model.encoder, params.encoder, data.inputs)
    k_y = res.covariance(model.kernel, params.response, z, data.mask, params.response_noise)
    fit_y, response = exact.infer(k_y, data.y, data.mask)
    fit_x, decoder = dec.infer(
        model.decoder,
        model.kernel,
        params.decoder,
        z,
        data.warped,
        data.mask,
        params.decoder_noise,
        solved,
    )
    value = fit_y + fit_x / data.warped.shape[1] + _log_prior(model.priors, params)
    return value, JointPosterior(params, z, data.mask, response, decoder)


def decoder_prior(model: JointModel, params: JointParams, data: JointData) -> blocks.Prior:
    """Return what the covariances of a hierarchical decoder depend on."""
    z = enc.encode(model.encoder, params.encoder, data.inputs)
    dimension = data.warped.shape[1]
    return dec.prior(model.decoder, params.decoder, z, params.decoder_noise, dimension)


@functools.lru_cache(maxsize=64)
def _template(model: JointModel, dimension: int) -> JointParams:
    """Return parameters of the right shapes; their values mean nothing."""
    return initial_params(model, np.full((1, dimension), 0.5), np.random.default_rng(0))


def flatten(params: JointParams) -> np.ndarray:
    """Return all parameters as one vector.

    In NumPy, like training: `jax.flatten_util.ravel_pytree` would compile for 50 to 200 ms first.
    """
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(params)])


def n_parameters(model: JointModel, dimension: int) -> int:
    """Return the length of the vector that `flatten` returns."""
    return sum(leaf.size for leaf in jax.tree.leaves(_template(model, dimension)))


def unflatten(model: JointModel, dimension: int, flat: Float[Array, " p"]) -> JointParams:
    """Return the parameters that `flatten` made the vector `flat` of."""
    leaves, structure = jax.tree.flatten(_template(model, dimension))
    ends = np.cumsum([leaf.size for leaf in leaves])
    parts = [
        flat[end - leaf.size : end].reshape(leaf.shape)
        for leaf, end in zip(leaves, ends, strict=True)
    ]
    return jax.tree.unflatten(structure, parts)


def initial_params(model: JointModel, x: np.ndarray, rng: np.random.Generator) -> JointParams:
    """Return random parameters to start training with, for points `x` of the unit cube."""
    d = model.encoder.n_features
    return JointParams(
        encoder=enc.initial_params(model.encoder, model.encoder.inputs(x), rng),
        response=res.initial_params(d),
        decoder=dec.initial_params(model.decoder, d, probit(x)),
        log_noise=np.full(2 if model.separate_noise else 1, math.log(1e-2)),
    )


# Limits of the hyper-parameters during training; the weights of the encoder and A are free.
# Features lie in [0, 1]: shorter lengthscales make white noise, longer ones linear functions.
_LOG_LENGTHSCALE = (math.log(1e-2), math.log(1e2))
_LOG_VARIANCE = (math.log(1e-3), math.log(1e3))  # y is standardized
_LOG_KAPPA = (math.log(1e-6), math.log(1e2))
# The least noise is what a Cholesky factor of duplicated points needs.
_LOG_NOISE = (math.log(1e-6), math.log(1.0))


def parameter_bounds(model: JointModel, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper limits of the vector that `flatten` returns."""
    template = _template(model, dimension)

    def side(i: int) -> np.ndarray:
        free = (-np.inf, np.inf)[i]
        filled = JointParams(
            encoder=jax.tree.map(lambda a: np.full_like(a, free), template.encoder),
            response=ResponseParams(
                np.full_like(template.response.log_lengthscale, _LOG_LENGTHSCALE[i]),
                np.asarray(_LOG_VARIANCE[i]),
            ),
            decoder=DecoderParams(
                log_lengthscale=np.full_like(template.decoder.log_lengthscale, _LOG_LENGTHSCALE[i]),
                a=np.full_like(template.decoder.a, free),
                log_kappa=np.full_like(template.decoder.log_kappa, _LOG_KAPPA[i]),
            ),
            log_noise=np.full_like(template.log_noise, _LOG_NOISE[i]),
        )
        return flatten(filled)

    return side(0), side(1)


def predict(
    model: JointModel, posterior: JointPosterior, z: Float[Array, "m d"]
) -> tuple[Array, Array]:
    """Return mean and variance of the response surface at features z, in standardized units."""
    return res.predict(
        model.kernel, posterior.params.response, posterior.response, posterior.z, posterior.mask, z
    )


def predict_with_gradients(
    model: JointModel, posterior: JointPosterior, z: Float[Array, "m d"]
) -> Float[Array, "m 2+2*d"]:
    """Return mean, variance, and the gradients of both in z, as columns of one array."""
    return res.predict_with_gradients(
        model.kernel, posterior.params.response, posterior.response, posterior.z, posterior.mask, z
    )


def leave_one_out(
    posterior: JointPosterior, y: Float[Array, " n"]
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Return mean and variance of each training value given all the others, features held.

    In standardized units, noise included, padded like the data; see `exact.leave_one_out`.

    Args:
        posterior: the model conditioned on data.
        y: the values of these data, standardized and padded, `JointData.y`.
    """
    return exact.leave_one_out(posterior.response, y, posterior.mask, False)


def decoder_mean(
    model: JointModel, posterior: JointPosterior, z: Float[Array, "m d"], dimension: int
) -> Float[Array, "m D"]:
    """Return μ(z), the posterior mean of the decoder before squashing."""
    return dec.mean(
        model.kernel,
        posterior.params.decoder,
        posterior.decoder,
        posterior.z,
        posterior.mask,
        z,
        dimension,
    )


def decoder_slopes(
    model: JointModel, posterior: JointPosterior, z: Float[Array, "m d"], dimension: int
) -> Float[Array, "m D d"]:
    """Return the Jacobian of μ at every z."""
    return dec.slopes(
        model.kernel,
        posterior.params.decoder,
        posterior.decoder,
        posterior.z,
        posterior.mask,
        z,
        dimension,
    )


def decoder_slope(
    model: JointModel,
    posterior: JointPosterior,
    z: Float[Array, " d"],
    output: Int[Array, ""],
    feature: Int[Array, ""],
) -> Float[Array, ""]:
    """Return one entry of the Jacobian of μ, at one z."""
    return dec.slope(
        model.kernel,
        posterior.params.decoder,
        posterior.decoder,
        posterior.z,
        posterior.mask,
        z,
        output,
        feature,
    )


def decode(
    model: JointModel, posterior: JointPosterior, z: Float[Array, "m d"], dimension: int
) -> tuple[Array, Array]:
    """Return mean and variance of x~ at z; `expected_squash` makes them the reconstruction."""
    return dec.mean_and_variance(
        model.kernel,
        posterior.params.decoder,
        posterior.decoder,
        posterior.z,
        posterior.mask,
        z,
        dimension,
    )
