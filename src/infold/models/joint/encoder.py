"""The encoder h: a feed-forward network from inputs to features in [0, 1]^d.

Activations are sigmoids on every layer, the last one included.

| symbol     | code               | shape                  |
|------------|--------------------|------------------------|
| x~ (or x)  | `inputs`           | n D                    |
| z          | result of `encode` | n d                    |
| θ_h        | `EncoderParams`    | per layer: in out, out |
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
        """Return what the network is fed for points of the unit cube."""
        return probit(x) if self.warp_input else x


class EncoderParams(NamedTuple):
    """Weights and biases of every layer."""

    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, " _"], ...]


def _orthonormal(w: Array, xp: ModuleType = jnp) -> Array:
    """Return the orthonormal factor of w, or of its transpose if w is wide.

    Signs are chosen so that the factor is continuous in w.
    """
    tall = w.shape[0] >= w.shape[1]
    q, r = xp.linalg.qr(w if tall else w.T)
    q = q * xp.where(xp.diagonal(r) < 0.0, -1.0, 1.0)
    return q if tall else q.T


def encode(
    encoder: Encoder, params: EncoderParams, inputs: Float[Array, "n D"], xp: ModuleType = jnp
) -> Float[Array, "n d"]:
    """Return features z = h(x) of inputs as `Encoder.inputs` returns them.

    `xp` is the module to compute with, `jax.numpy` or `numpy`.
    """
    sigmoid = jax.nn.sigmoid if xp is jnp else scipy.special.expit
    z = inputs
    for w, b in zip(params.weights, params.biases, strict=True):
        z = sigmoid(z @ (_orthonormal(w, xp) if encoder.orthogonal else w) + b)
    return z


def initial_params(encoder: Encoder, inputs: np.ndarray, rng: np.random.Generator) -> EncoderParams:
    """Return random weights, scaled so that the input of each unit has mean 0 and deviation 1.

    Each weight vector is a random combination of the centred data, so it points where the data
    vary. Data on a bent surface then start unfolded more often than with isotropic weights, and
    never in a corner of the feature cube.
    """
    activation = inputs
    weights = []
    biases = []
    for units in (*encoder.hidden, encoder.n_features):
        n, fan_in = activation.shape
        centred = activation - np.mean(activation, axis=0)
        w = centred.T @ rng.normal(size=(n, units))
        w = w + 1e-3 * rng.normal(size=(fan_in, units))  # a single datum varies nowhere
        if encoder.orthogonal:
            w = _orthonormal(w, np)
        else:
            w = w / np.maximum(np.std(activation @ w, axis=0), 1e-3)
        b = -np.mean(activation @ w, axis=0)
        activation = 1.0 / (1.0 + np.exp(-(activation @ w + b)))
        weights.append(w)
        biases.append(b)
    return EncoderParams(tuple(weights), tuple(biases))
