"""REMBO: a GP on a random low-dimensional subspace (Z. Wang et al., "Bayesian optimization in a billion dimensions", 2016).

| symbol | code | shape |
|--------|------|-------|
| A      | `random_basis`, orthonormal columns | D d |
| z      | in [-5/√d, 5/√d]^d; searched as v in the unit cube | d |
| x      | clip((A z + 1)/2, 0, 1) | D |
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from infold.methods.low_dimensional import Embedding, LowDimensional


@dataclass(frozen=True, kw_only=True)
class Rembo(LowDimensional):
    """Bayesian optimization in the random subspace that the seed chooses."""

    def n_parameters(self, dimension: int, n_features: int) -> int:
        return dimension * n_features

    def parameters(self, dimension: int, n_features: int, seed: int) -> Float[np.ndarray, " p"]:
        return np.ravel(random_basis(dimension, n_features, seed))

    def embedding(
        self, parameters: Float[np.ndarray, " p"], dimension: int, n_features: int
    ) -> Embedding:
        a = parameters.reshape(dimension, n_features)
        return Embedding(functools.partial(to_subspace, a), functools.partial(from_subspace, a))


def random_basis(dimension: int, n_features: int, seed: int) -> Float[np.ndarray, "D d"]:
    """A random A."""
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(dimension, n_features)))[0]


def from_subspace(
    a: Float[np.ndarray, "D d"], v: Float[np.ndarray, "n d"]
) -> Float[np.ndarray, "n D"]:
    """x at v."""
    z = (2.0 * v - 1.0) * 5.0 / math.sqrt(a.shape[1])
    return np.clip(0.5 * (z @ a.T + 1.0), 0.0, 1.0)


def to_subspace(
    a: Float[np.ndarray, "D d"], x: Float[np.ndarray, "n D"]
) -> Float[np.ndarray, "n d"]:
    """v at x: exactly where x came from the subspace and enough of its coordinates were not clipped, nearest otherwise."""
    d = a.shape[1]
    u, interior = 2.0 * x - 1.0, (x > 0.0) & (x < 1.0)
    z = u @ a  # the pseudo-inverse of A is Aᵀ
    for i in np.flatnonzero(~np.all(interior, axis=1)):
        rows = interior[i]
        if np.sum(rows) >= d and np.linalg.matrix_rank(a[rows]) == d:
            z[i] = np.linalg.lstsq(a[rows], u[i, rows], rcond=None)[0]
    return np.clip(0.5 * (z * math.sqrt(d) / 5.0 + 1.0), 0.0, 1.0)
