"""The encoder h: a feed-forward network with sigmoid activations on every layer, so that features lie in [0, 1]^d.

| symbol | code | shape |
|--------|------|-------|
| x, z   | `x`, result | n D, n d |
| θ_h    | `EncoderParams` | per layer: in out, out |
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from infold import _checks
from infold.surrogate.warp import probit


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


class EncoderParams(NamedTuple):
    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, "_"], ...]


def _orthonormal(w: Array) -> Array:
    """The orthonormal factor of w (of its transpose where w is wide), with signs that make it continuous in w."""
    tall = w.shape[0] >= w.shape[1]
    q, r = jnp.linalg.qr(w if tall else w.T)
    q = q * jnp.where(jnp.diagonal(r) < 0.0, -1.0, 1.0)
    return q if tall else q.T


def encode(encoder: Encoder, params: EncoderParams, x: Float[Array, "n D"]) -> Float[Array, "n d"]:
    """z = h(x)."""
    z = probit(x) if encoder.warp_input else x
    for w, b in zip(params.weights, params.biases, strict=True):
        z = jax.nn.sigmoid(z @ (_orthonormal(w) if encoder.orthogonal else w) + b)
    return z


def initial_params(encoder: Encoder, x: np.ndarray, rng: np.random.Generator) -> EncoderParams:
    """Random weights, scaled layer by layer so that every unit's input has mean 0 and deviation 1 over the data.

    Without the scaling all data start in a small part of the feature cube.
    """
    activation = np.asarray(probit(x)) if encoder.warp_input else x
    weights, biases = [], []
    for units in (*encoder.hidden, encoder.n_features):
        w = rng.normal(size=(activation.shape[1], units)) / np.sqrt(activation.shape[1])
        if encoder.orthogonal:
            w = np.asarray(_orthonormal(w))
        else:
            spread = np.std(activation @ w, axis=0)
            w = w / np.where(spread > 1e-8, spread, 1.0)
        b = -np.mean(activation @ w, axis=0)
        activation = 1.0 / (1.0 + np.exp(-(activation @ w + b)))
        weights.append(w)
        biases.append(b)
    return EncoderParams(tuple(weights), tuple(biases))
