"""The encoder h: a feed-forward network with sigmoid activations on every layer, so that features lie in [0, 1]^d.

| symbol | code | shape |
|--------|------|-------|
| x~ (or x), z | `inputs`, result | n D, n d |
| θ_h    | `EncoderParams` | per layer: in out, out |
"""

from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jaxtyping import Float

from infold import _checks
from infold._types import Array
from infold.models.joint.warp import probit


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """Settings of the encoder."""

    n_features: int
    """d, the dimension of the feature space."""
    hidden: tuple[int, ...] = (20,)
    """Units of each hidden layer."""
    orthogonal: bool = False
    """Orthonormalize every weight matrix in the forward pass."""
    warp_input: bool = True
    """Feed the network probit(x) instead of x."""

    def __post_init__(self) -> None:
        _checks.at_least("n_features", self.n_features, 1)
        for i, units in enumerate(self.hidden):
            _checks.at_least(f"hidden[{i}]", units, 1)

    def inputs(self, x: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n D"]:
        """What the network sees of points of the unit cube."""
        return probit(x) if self.warp_input else x


class EncoderParams(NamedTuple):
    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, " _"], ...]


def _orthonormal(w: Array, xp: ModuleType = jnp) -> Array:
    """The orthonormal factor of w (of its transpose where w is wide), with signs that make it continuous in w."""
    tall = w.shape[0] >= w.shape[1]
    q, r = xp.linalg.qr(w if tall else w.T)
    q = q * xp.where(xp.diagonal(r) < 0.0, -1.0, 1.0)
    return q if tall else q.T


def encode(
    encoder: Encoder, params: EncoderParams, inputs: Float[Array, "n D"], xp: ModuleType = jnp
) -> Float[Array, "n d"]:
    """z = h(x), x as `Encoder.inputs` returns it."""
    z, sigmoid = inputs, jax.nn.sigmoid if xp is jnp else scipy.special.expit
    for w, b in zip(params.weights, params.biases, strict=True):
        z = sigmoid(z @ (_orthonormal(w, xp) if encoder.orthogonal else w) + b)
    return z


def initial_params(encoder: Encoder, inputs: np.ndarray, rng: np.random.Generator) -> EncoderParams:
    """Random weights in the directions in which the data vary, scaled so that units' inputs have mean 0 and deviation 1.

    Each weight vector is a random combination of the centred data. Data on a bent surface then start unfolded more often
    than with isotropic weights, and never in a corner of the feature cube.
    """
    activation = inputs
    weights, biases = [], []
    for units in (*encoder.hidden, encoder.n_features):
        n, fan_in = activation.shape
        centred = activation - np.mean(activation, axis=0)
        w = centred.T @ rng.normal(size=(n, units)) + 1e-3 * rng.normal(
            size=(fan_in, units)
        )  # a single datum varies nowhere
        if encoder.orthogonal:
            w = _orthonormal(w, np)
        else:
            w = w / np.maximum(np.std(activation @ w, axis=0), 1e-3)
        b = -np.mean(activation @ w, axis=0)
        activation = 1.0 / (1.0 + np.exp(-(activation @ w + b)))
        weights.append(w)
        biases.append(b)
    return EncoderParams(tuple(weights), tuple(biases))
