"""A GP on a box of few dimensions that a fixed map takes into the unit cube: what REMBO and VAE-BO have in common."""

import dataclasses
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from infold import _checks
from infold.acquisition.functions import Acquisition
from infold.methods.base import Cache, Key, Suggestion, features
from infold.methods.full_space import FullSpace
from infold.methods.random import RandomSearch
from infold.record import History

_log = logging.getLogger(__name__)


class Embedding(NamedTuple):
    """Maps between places v of the box, which is scaled to the unit cube, and points x, one per row."""

    place: Callable[[Float[np.ndarray, "n D"]], Float[np.ndarray, "n d"]]
    point: Callable[[Float[np.ndarray, "n d"]], Float[np.ndarray, "n D"]]


@dataclass(frozen=True, kw_only=True)
class LowDimensional(ABC):
    """Bayesian optimization in the box: Matern-5/2 with ARD, values standardized, as the paper's baselines have it."""

    n_features: int | None = None
    """d; None: min(10, D // 2), at least 1."""
    acquisition: str = "ei"
    """One of `infold.acquisition.functions.NAMES`."""
    beta: float = Acquisition.beta
    """Weight of the standard deviation in UCB."""
    scaled_priors: bool = False
    """Priors on lengthscales and noise, unit variance and a constant mean; otherwise the most likely ones, and mean zero."""
    n_candidates: int = 5000
    """Points of the random search."""
    n_starts: int = 100
    """The best of them start a gradient search."""
    max_iterations: int = 30
    """Iterations of the gradient search."""

    def __post_init__(self) -> None:
        self._inside()  # checks the settings it shares
        if self.n_features is not None:
            _checks.at_least("n_features", self.n_features, 1)

    def _inside(self) -> FullSpace:
        return FullSpace(
            acquisition=self.acquisition,
            beta=self.beta,
            transform=False,
            clip_outliers=False,
            scaled_priors=self.scaled_priors,
            local=False,
            n_candidates=self.n_candidates,
            n_starts=self.n_starts,
            max_iterations=self.max_iterations,
        )

    @abstractmethod
    def n_parameters(self, dimension: int, n_features: int) -> int:
        """How many numbers `parameters` returns."""

    @abstractmethod
    def parameters(self, dimension: int, n_features: int, seed: int) -> Float[np.ndarray, " p"]:
        """The numbers that make the map of a run. They are computed once per run and kept in the cache."""

    @abstractmethod
    def embedding(
        self, parameters: Float[np.ndarray, " p"], dimension: int, n_features: int
    ) -> Embedding:
        """The map."""

    def suggest(self, history: History, q: int, key: Key, cache: Cache | None = None) -> Suggestion:
        """q points from the box. The cache remembers the map, and where in the box the points are."""
        d = features(self.n_features, history.dimension)
        cache = dict(cache or {})
        parameters = cache.get("embedding", np.empty(0))
        if parameters.shape != (self.n_parameters(history.dimension, d),) or not np.all(
            np.isfinite(parameters)
        ):
            try:
                parameters = self.parameters(history.dimension, d, key[0])
            except FloatingPointError as error:
                _log.warning("%s; suggesting random points instead", error)
                return dataclasses.replace(
                    RandomSearch().suggest(history, q, key), diagnostics={"fallback": "random"}
                )
        embedding = self.embedding(parameters, history.dimension, d)
        known = cache.get("places", np.empty(0))
        known = known.reshape(-1, d) if known.size % d == 0 else np.empty((0, d))
        inside = History(
            located(embedding, history.x, known),
            history.y,
            located(embedding, history.pending, known),
        )
        suggestion = self._inside().suggest(inside, q, key, cache)
        places = np.ravel(np.concatenate([known, suggestion.x]))
        kept = {**suggestion.cache, "embedding": parameters, "places": places}
        return dataclasses.replace(suggestion, x=embedding.point(suggestion.x), cache=kept)


def located(
    embedding: Embedding, x: Float[np.ndarray, "n D"], known: Float[np.ndarray, "m d"]
) -> Float[np.ndarray, "n d"]:
    """Places of x: one of the `known` ones where its point is x, since the way back may not find where a point came from."""
    v = embedding.place(x)
    if len(known) and len(x):
        distance = np.max(np.abs(x[:, None] - embedding.point(known)[None]), axis=2)
        nearest = np.argmin(distance, axis=1)
        found = distance[np.arange(len(x)), nearest] < 1e-9
        v[found] = known[nearest[found]]
    return v
