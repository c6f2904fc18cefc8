"""A GP on a box of few dimensions that a fixed map takes into the unit cube: REMBO and VAE-BO.

REMBO is a GP on a random subspace (Z. Wang et al., "Bayesian optimization in a billion dimensions",
2016).

| symbol | code | shape |
|--------|------|-------|
| A      | `random_basis`, orthonormal columns | D d |
| z      | in [-5/√d, 5/√d]^d; searched as v in the unit cube | d |
| x      | clip((A z + 1)/2, 0, 1) | D |
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from infold import _checks
from infold._precision import float64
from infold.gp.outputs import PowerTransform, Standardization
from infold.models.base import (
    Fitted,
    MeanAndVariance,
    State,
    Surface,
    features,
    kept_array,
    kept_state,
)
from infold.models.full_space import FullSpaceGP
from infold.models.likelihood import FittedByLikelihood
from infold.record import History

_SAME = 1e-9  # a place that was searched belongs to a point no further than this from its image


class Maps(NamedTuple):
    """Maps between places v of the box, scaled to the unit cube, and points x, one per row."""

    place: Callable[[Float[np.ndarray, "n D"]], Float[np.ndarray, "n d"]]
    point: Callable[[Float[np.ndarray, "n d"]], Float[np.ndarray, "n D"]]


@runtime_checkable
class Embedding(Protocol):
    """How the box lies in the unit cube: a frozen dataclass of settings."""

    def n_parameters(self, dimension: int, n_features: int) -> int:
        """Return how many numbers `parameters` returns."""
        ...

    def parameters(self, dimension: int, n_features: int, seed: int) -> Float[np.ndarray, " p"]:
        """Return the numbers that make the maps of a run; they are computed once and kept."""
        ...

    def maps(self, parameters: Float[np.ndarray, " p"], dimension: int, n_features: int) -> Maps:
        """Return the maps."""
        ...


@dataclass(frozen=True, kw_only=True)
class RandomSubspace:
    """The random subspace that the seed of the run chooses."""

    def n_parameters(self, dimension: int, n_features: int) -> int:
        return dimension * n_features

    def parameters(self, dimension: int, n_features: int, seed: int) -> Float[np.ndarray, " p"]:
        return np.ravel(random_basis(dimension, n_features, seed))

    def maps(self, parameters: Float[np.ndarray, " p"], dimension: int, n_features: int) -> Maps:
        a = parameters.reshape(dimension, n_features)
        return Maps(functools.partial(to_subspace, a), functools.partial(from_subspace, a))


@dataclass(frozen=True, kw_only=True)
class EmbeddedGP:
    """Settings of a GP in a box, as the paper's baselines have it: values standardized."""

    embedding: Embedding = field(default_factory=RandomSubspace)
    """How the box lies in the unit cube."""
    n_features: int | None = None
    """d; None: min(10, D // 2), at least 1."""
    gp: FullSpaceGP = field(
        default_factory=lambda: FullSpaceGP(
            transform=False, clip_outliers=False, scaled_priors=False
        )
    )
    """The GP on the box."""

    def __post_init__(self) -> None:
        if self.n_features is not None:
            _checks.at_least("n_features", self.n_features, 1)

    @float64
    def fit(self, history: History, key: Sequence[int], state: State) -> "FittedEmbedding":
        """Fit the GP to the places of the evaluations."""
        dimension = history.dimension
        d = features(self.n_features, dimension)
        parameters = kept_array(state, "embedding")
        expected = (self.embedding.n_parameters(dimension, d),)
        usable = parameters is not None and parameters.shape == expected
        if parameters is None or not usable or not np.all(np.isfinite(parameters)):
            parameters = self.embedding.parameters(dimension, d, key[0])
        maps = self.embedding.maps(parameters, dimension, d)
        inner = self.gp.fit(located(maps, history), key, kept_state(state, "gp"))
        return FittedEmbedding(
            history=history,
            outputs=inner.outputs,
            maps=maps,
            parameters=parameters,
            inner=inner,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedEmbedding(Fitted):
    """A fitted GP in a box."""

    history: History
    outputs: Standardization | PowerTransform
    maps: Maps
    parameters: Float[np.ndarray, " p"]
    inner: FittedByLikelihood

    has_features: ClassVar[bool] = True

    @property
    def targets(self) -> np.ndarray:
        return self.inner.targets

    @property
    def state(self) -> State:
        return {"embedding": self.parameters, "gp": self.inner.state}

    def condition(self, history: History) -> "FittedEmbedding":
        if not len(history.pending):
            return self
        inner = self.inner.condition(located(self.maps, history))
        return replace(self, history=history, inner=inner)

    @property
    def surfaces(self) -> Sequence[Surface]:
        return self.inner.surfaces

    def predict(self, x: Float[np.ndarray, "m D"]) -> MeanAndVariance:
        return self.inner.predict(self.maps.place(x))

    def encode(self, x: Float[np.ndarray, "m D"]) -> list[np.ndarray]:
        return [self.maps.place(x)]

    def decode(self, places: Sequence[np.ndarray]) -> Float[np.ndarray, " D"]:
        return self.maps.point(places[0][None])[0]

    def leave_one_out(self) -> MeanAndVariance:
        return self.inner.leave_one_out()

    def describe(self) -> dict[str, Any]:
        return self.inner.describe()


def located(maps: Maps, history: History) -> History:
    """Return the history in the box.

    A point that was searched in the box belongs where it was searched, which its proposal says: the
    way back from the point may not find that place, where clipping hides it.
    """
    x = history.everywhere
    d = maps.place(x[:0]).shape[1]
    v = np.full((len(x), d), np.nan)
    for i, proposal in enumerate(history.proposals):
        place = proposal.diagnostics.get("features")
        if place is not None and np.shape(place) == (d,):
            v[i] = np.clip(np.asarray(place, dtype=np.float64), 0.0, 1.0)
    error = np.max(np.abs(maps.point(v) - x), axis=1)
    searched = error < _SAME  # NaN is not
    v[~searched] = maps.place(x[~searched])
    n = len(history.y)
    return History(v[:n], history.y, v[n:])


def random_basis(dimension: int, n_features: int, seed: int) -> Float[np.ndarray, "D d"]:
    """Draw a random A."""
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(dimension, n_features)))[0]


def from_subspace(
    a: Float[np.ndarray, "D d"], v: Float[np.ndarray, "n d"]
) -> Float[np.ndarray, "n D"]:
    """Return x at v."""
    z = (2.0 * v - 1.0) * 5.0 / math.sqrt(a.shape[1])
    return np.clip(0.5 * (z @ a.T + 1.0), 0.0, 1.0)


def to_subspace(
    a: Float[np.ndarray, "D d"], x: Float[np.ndarray, "n D"]
) -> Float[np.ndarray, "n d"]:
    """Return v at x.

    It is exact where x came from the subspace and enough of its coordinates were not clipped, and
    the nearest place otherwise.
    """
    d = a.shape[1]
    u = 2.0 * x - 1.0
    interior = (x > 0.0) & (x < 1.0)
    z = u @ a  # the pseudo-inverse of A is Aᵀ
    for i in np.flatnonzero(~np.all(interior, axis=1)):
        rows = interior[i]
        if np.sum(rows) >= d and np.linalg.matrix_rank(a[rows]) == d:
            z[i] = np.linalg.lstsq(a[rows], u[i, rows], rcond=None)[0]
    return np.clip(0.5 * (z * math.sqrt(d) / 5.0 + 1.0), 0.0, 1.0)
