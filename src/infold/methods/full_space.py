"""A GP on all D inputs: the modern baseline, the fallback of the feature-space methods, and the bar to beat.

Matern-5/2 with ARD and lengthscale priors that grow with √D (C. Hvarfner et al., "Vanilla Bayesian optimization performs
great in high dimensions", ICML 2024), a Yeo-Johnson transform of the values, log EI maximized from 8 starts.
"""

import functools
import logging
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from infold import _checks
from infold._precision import float64
from infold._types import Array
from infold.acquisition import functions, search
from infold.acquisition.functions import Acquisition
from infold.gp import padding, regression
from infold.gp.outputs import PowerTransform, Standardization
from infold.gp.regression import Data, Posterior, Regression
from infold.gp.training import Trained
from infold.history import History
from infold.methods.base import Cache, Key, Stopwatch, Suggestion, with_lies
from infold.methods.random import RandomSearch

_log = logging.getLogger(__name__)
_GP = Regression(scaled_priors=True, learn_variance=False)


@dataclass(frozen=True, kw_only=True)
class FullSpace:
    """Bayesian optimization with a GP on all inputs."""

    acquisition: str = "ei"
    """One of `infold.acquisition.functions.NAMES`."""
    beta: float = Acquisition.beta
    """Weight of the standard deviation in UCB."""
    transform: bool = True
    """Apply a Yeo-Johnson transform to the values, refitted every time."""
    n_candidates: int = 1000
    """Points among which the starts of the search are chosen."""
    n_starts: int = 8
    """Starts of the gradient search."""
    max_iterations: int = 100
    """Iterations of the gradient search."""

    def __post_init__(self) -> None:
        Acquisition(name=self.acquisition, beta=self.beta)
        _checks.at_least("max_iterations", self.max_iterations, 1)
        _checks.at_least("n_starts", self.n_starts, 1)
        _checks.at_least("n_candidates", self.n_candidates, self.n_starts)

    @float64
    def suggest(self, history: History, q: int, key: Key, cache: Cache | None = None) -> Suggestion:
        """q points, one after the other: each is pending for the next."""
        if history.n_succeeded == 0:
            return RandomSearch().suggest(history, q, key)
        rng = np.random.default_rng(key)
        points: list[np.ndarray] = []
        diagnostics: dict[str, Any] = {}
        cache = dict(cache or {})
        clock = Stopwatch()
        try:
            with clock("fit"):
                outputs = PowerTransform.of(history.values) if self.transform else Standardization.of(history.values)
                y = outputs.apply(history.values)
                data = regression.make_data(history.x, y, padding.bucket_size(len(y) + len(history.pending) + q - 1))
                trained, fallback = _fit(data, cache.get("full_space"))
                observed = regression.condition(_GP, trained.flat, data)
            cache["full_space"] = trained.flat
            for _ in range(q):
                posterior = observed
                if len(history.pending):
                    data = regression.make_data(*with_lies(history, y), len(data.mask))
                    posterior = regression.condition(_GP, trained.flat, data)
                with clock("search"):
                    found = self._search(posterior, history, y, rng)
                if not np.isfinite(found.value):
                    raise FloatingPointError("the acquisition function is not finite at any start")
                points.append(found.point)
                mean, variance = (np.asarray(a)[0] for a in _predict(posterior, found.point[None]))
                centre, upper = outputs.invert(np.array([mean, mean + np.sqrt(variance)]))
                diagnostics = {
                    "log_likelihood": trained.log_likelihood,
                    "converged": trained.converged,
                    "n_evaluations": trained.n_evaluations,
                    "acquisition": found.value,
                    "mean": float(centre),
                    "deviation": float(upper - centre),
                    "distance": float(np.min(np.linalg.norm(history.x - found.point, axis=1))),
                    "fallback": fallback,
                    "seconds": dict(clock.seconds),
                }
                history = history.with_pending(found.point)
        except (FloatingPointError, np.linalg.LinAlgError) as error:
            _log.warning("full_space: %s; suggesting random points instead", error)
            points += list(RandomSearch().suggest(history, q - len(points), key).x)
            diagnostics = {**diagnostics, "fallback": "random"}
        return Suggestion(np.stack(points), diagnostics, cache)

    def _search(self, posterior: Posterior, history: History, y: np.ndarray, rng: np.random.Generator) -> search.Found:
        acquisition = Acquisition(name=self.acquisition, beta=self.beta)
        y_min = np.min(y[np.isfinite(history.y)])
        candidates = self._candidates(history, y, rng)

        def value_and_gradient(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            value, gradient = _acquisition_gradient(acquisition, posterior, x, y_min)
            return np.asarray(value), np.asarray(gradient)

        return search.projected_ascent(
            value_and_gradient,
            lambda x: np.clip(x, 0.0, 1.0),
            search.best_starts(lambda x: np.asarray(_acquisition(acquisition, posterior, x, y_min)), candidates, self.n_starts),
            max_iterations=self.max_iterations,
        )

    def _candidates(self, history: History, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Half uniform, half perturbations of the best points in a few coordinates."""
        half = self.n_candidates // 2
        d = history.dimension
        best = history.x[np.argsort(y)[: min(5, len(y))]]
        centre = best[rng.integers(len(best), size=self.n_candidates - half)]
        moved = rng.uniform(size=centre.shape) < min(1.0, 20.0 / d)
        perturbed = np.clip(centre + moved * 0.1 * rng.normal(size=centre.shape), 0.0, 1.0)
        return np.concatenate([rng.uniform(size=(half, d)), perturbed])


def _fit(data: Data, warm: np.ndarray | None) -> tuple[Trained, str | None]:
    """Train from the cached parameters, and from the priors' modes where that fails."""
    try:
        return regression.fit(_GP, data, warm=warm), None
    except FloatingPointError as error:
        _log.warning("full_space: %s; training again from a fresh start", error)
        return regression.fit(_GP, data), "fresh start"


@jax.jit
def _predict(posterior: Posterior, x: Array) -> tuple[Array, Array]:
    return regression.predict(_GP, posterior, x)


def _evaluate(acquisition: Acquisition, posterior: Posterior, x: Array, y_min: Array) -> Array:
    return functions.evaluate(acquisition, *regression.predict(_GP, posterior, x), y_min)


_acquisition = jax.jit(_evaluate, static_argnames="acquisition")


@functools.partial(jax.jit, static_argnames="acquisition")
def _acquisition_gradient(acquisition: Acquisition, posterior: Posterior, x: Array, y_min: Array) -> tuple[Array, Array]:
    def total(x: Array) -> tuple[Array, Array]:
        values = _evaluate(acquisition, posterior, x, y_min)
        return jnp.sum(values), values

    (_, values), gradient = jax.value_and_grad(total, has_aux=True)(x)
    return values, gradient
