"""REMBO: a GP on a random low-dimensional subspace (Z. Wang et al., "Bayesian optimization in a billion dimensions", 2016).

| symbol | code | shape |
|--------|------|-------|
| A      | `embedding`, orthonormal columns | D d |
| z      | in [-5/√d, 5/√d]^d; searched as v in the unit cube | d |
| x      | clip((A z + 1)/2, 0, 1) | D |
"""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from infold import _checks
from infold.acquisition.functions import Acquisition
from infold.history import History
from infold.methods.base import Cache, Key, Suggestion, features
from infold.methods.full_space import FullSpace


@dataclass(frozen=True, kw_only=True)
class Rembo:
    """Bayesian optimization in a random subspace, as the paper's baseline: Matern-5/2 with ARD, values standardized."""

    n_features: int | None = None
    """d; None: min(10, D // 2), at least 1."""
    acquisition: str = "ei"
    """One of `infold.acquisition.functions.NAMES`."""
    beta: float = Acquisition.beta
    """Weight of the standard deviation in UCB."""
    n_candidates: int = 5000
    """Points of the random search."""
    n_starts: int = 100
    """The best of them start a gradient search."""
    max_iterations: int = 30
    """Iterations of the gradient search."""

    def __post_init__(self) -> None:
        self._low_dimensional()  # checks the settings it shares
        if self.n_features is not None:
            _checks.at_least("n_features", self.n_features, 1)

    def _low_dimensional(self) -> FullSpace:
        return FullSpace(
            acquisition=self.acquisition,
            beta=self.beta,
            transform=False,
            scaled_priors=False,
            local=False,
            n_candidates=self.n_candidates,
            n_starts=self.n_starts,
            max_iterations=self.max_iterations,
        )

    def suggest(self, history: History, q: int, key: Key, cache: Cache | None = None) -> Suggestion:
        """q points of the subspace that the seed chooses. The cache remembers where in it they are."""
        a = embedding(history.dimension, features(self.n_features, history.dimension), key[0])
        known = (cache or {}).get("rembo", np.empty(0))
        known = known.reshape(-1, a.shape[1]) if known.size % a.shape[1] == 0 else np.empty((0, a.shape[1]))
        inside = History(_located(a, history.x, known), history.y, _located(a, history.pending, known))
        suggestion = self._low_dimensional().suggest(inside, q, key, cache)
        places = np.concatenate([known, suggestion.x])
        return dataclasses.replace(
            suggestion, x=from_subspace(a, suggestion.x), cache={**suggestion.cache, "rembo": np.ravel(places)}
        )


def embedding(dimension: int, n_features: int, seed: int) -> Float[np.ndarray, "D d"]:
    """A random A."""
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(dimension, n_features)))[0]


def from_subspace(a: Float[np.ndarray, "D d"], v: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n D"]:
    """x at v."""
    z = (2.0 * v - 1.0) * 5.0 / math.sqrt(a.shape[1])
    return np.clip(0.5 * (z @ a.T + 1.0), 0.0, 1.0)


def to_subspace(a: Float[np.ndarray, "D d"], x: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n d"]:
    """v at x: exactly where x came from the subspace and enough of its coordinates were not clipped, nearest otherwise."""
    d = a.shape[1]
    u, interior = 2.0 * x - 1.0, (x > 0.0) & (x < 1.0)
    z = u @ a  # the pseudo-inverse of A is Aᵀ
    for i in np.flatnonzero(~np.all(interior, axis=1)):
        rows = interior[i]
        if np.sum(rows) >= d and np.linalg.matrix_rank(a[rows]) == d:
            z[i] = np.linalg.lstsq(a[rows], u[i, rows], rcond=None)[0]
    return np.clip(0.5 * (z * math.sqrt(d) / 5.0 + 1.0), 0.0, 1.0)


def _located(a: np.ndarray, x: np.ndarray, known: np.ndarray) -> np.ndarray:
    """v at x: one of the `known` places where its image is x, since clipping may have hidden where a point came from."""
    v = to_subspace(a, x)
    if len(known) and len(x):
        distance = np.max(np.abs(x[:, None] - from_subspace(a, known)[None]), axis=2)
        nearest = np.argmin(distance, axis=1)
        found = distance[np.arange(len(x)), nearest] < 1e-9
        v[found] = known[nearest[found]]
    return v
