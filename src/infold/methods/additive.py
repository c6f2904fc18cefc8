"""ADD-BO: an additive GP over groups of inputs (K. Kandasamy et al., "High dimensional Bayesian optimisation", 2015).

The acquisition function of each group's component is maximized by itself, over the inputs of that group alone. Improvement is
over the component's mean at the best evaluation so far: the components' own values are never seen.
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
from infold._threads import one_blas_thread_when_small
from infold.acquisition import search
from infold.acquisition.functions import Acquisition
from infold.gp import padding
from infold.gp.outputs import Standardization
from infold.gp.training import Trained
from infold.methods.base import Cache, Key, Stopwatch, Suggestion, features, with_lies
from infold.methods.full_space import FullSpace
from infold.methods.random import RandomSearch
from infold.models import additive_gp as additive
from infold.models.additive_gp import Data, Posterior
from infold.record import History

_log = logging.getLogger(__name__)
_BATCH = 25  # points per compiled evaluation of a gradient


@dataclass(frozen=True, kw_only=True)
class Additive:
    """Bayesian optimization with an additive GP, as the paper's baseline: Matern-5/2 with ARD, values standardized."""

    n_features: int | None = None
    """Inputs per group; None: min(10, D // 2), at least 1."""
    acquisition: str = "ei"
    """One of `infold.acquisition.functions.NAMES`."""
    beta: float = Acquisition.beta
    """Weight of the standard deviation in UCB."""
    n_candidates: int = 5000
    """Points of the random search, per group."""
    n_starts: int = 100
    """The best of them start a gradient search."""
    max_iterations: int = 30
    """Iterations of the gradient search."""

    def __post_init__(self) -> None:
        Acquisition(name=self.acquisition, beta=self.beta)
        if self.n_features is not None:
            _checks.at_least("n_features", self.n_features, 1)
        for name in ("max_iterations", "n_starts"):
            _checks.at_least(name, getattr(self, name), 1)
        _checks.at_least("n_candidates", self.n_candidates, self.n_starts)

    @float64
    @one_blas_thread_when_small
    def suggest(self, history: History, q: int, key: Key, cache: Cache | None = None) -> Suggestion:
        """q points, one after the other: each is pending for the next."""
        if history.n_succeeded == 0:
            return RandomSearch().suggest(history, q, key)
        size = features(self.n_features, history.dimension)
        rng, clock, cache = np.random.default_rng(key), Stopwatch(), dict(cache or {})
        points: list[np.ndarray] = []
        diagnostics: dict[str, Any] = {}
        try:
            with clock("fit"):
                y = Standardization.of(history.values).apply(history.values)
                rows = padding.bucket_size(len(y) + len(history.pending) + q - 1)
                data = jax.device_put(additive.make_data(history.x, y, size, rows))
                trained, fallback = _fit(data, cache)
            cache["additive"], cache["additive_curvature"] = trained.flat, trained.curvature
            best = history.x[np.nanargmin(history.y)]
            for _ in range(q):
                posterior = trained.extra
                if len(history.pending):
                    everything = additive.make_data(*with_lies(history, y), size, rows)
                    posterior = additive.evaluate(trained.flat, everything)[2]
                with clock("search"):
                    x, value = self._search(posterior, best, size, rng)
                if not np.isfinite(value):
                    raise FloatingPointError("the acquisition function is not finite at any start")
                points.append(x)
                history = history.with_pending(points[-1])
                diagnostics = {
                    "log_likelihood": trained.log_likelihood,
                    "converged": trained.converged,
                    "n_evaluations": trained.n_evaluations,
                    "acquisition": value,
                    "fallback": fallback,
                    "seconds": dict(clock.seconds),
                }
        except (FloatingPointError, np.linalg.LinAlgError) as error:
            _log.warning("additive: %s; falling back to the full-space GP", error)
            full_space = FullSpace(acquisition=self.acquisition, beta=self.beta)
            return full_space.finish(points, history, q, key, cache)
        return Suggestion(np.stack(points), diagnostics, cache)

    def _search(
        self, posterior: Posterior, best: np.ndarray, size: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, float]:
        """The best values of every group's inputs, and the sum of the acquisition values."""
        acquisition, total = Acquisition(name=self.acquisition, beta=self.beta), 0.0
        incumbents, upper = (
            additive.grouped(row[None], size)[0] for row in (best, np.ones_like(best))
        )  # padding stays zero
        x = np.empty_like(incumbents)
        for group, incumbent in enumerate(incumbents):
            predict = functools.partial(_predict, posterior, np.asarray(group))
            project = functools.partial(np.clip, a_min=0.0, a_max=upper[group])
            candidates = upper[group] * rng.uniform(size=(self.n_candidates, size))
            candidates[0] = incumbent
            objective = search.Objective(
                acquisition,
                float(predict(candidates)[0, 0]),
                predict,
                functools.partial(_predict_with_gradients, posterior, np.asarray(group)),
                min(self.n_starts, _BATCH),
            )
            starts = search.best_starts(objective.value, candidates, self.n_starts)
            found = search.projected_ascent(
                objective.value_and_gradient, project, starts, max_iterations=self.max_iterations
            )
            x[group] = found.point
            total += found.value
        return x.reshape(-1)[: len(best)], total


def _fit(data: Data, cache: Cache) -> tuple[Trained, str | None]:
    """Train from the cached parameters, and from the initial ones where that fails."""
    try:
        return additive.fit(
            data, warm=cache.get("additive"), curvature=cache.get("additive_curvature")
        ), None
    except FloatingPointError as error:
        _log.warning("additive: %s; training again from a fresh start", error)
        return additive.fit(data), "fresh start"


_predict = jax.jit(lambda posterior, group, x: jnp.stack(additive.predict(posterior, group, x)))
_predict_with_gradients = jax.jit(additive.predict_with_gradients)
