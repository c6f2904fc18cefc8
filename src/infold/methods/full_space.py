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
from infold._threads import one_blas_thread_when_small
from infold.acquisition import search
from infold.acquisition.functions import Acquisition
from infold.gp import padding
from infold.gp.outputs import PowerTransform, Standardization, without_outliers
from infold.gp.training import Trained
from infold.methods.base import Cache, Key, Stopwatch, Suggestion, with_lies
from infold.methods.random import RandomSearch
from infold.models import regression
from infold.models.regression import Data, Posterior, Regression
from infold.record import History

_BATCH = 25  # points per compiled evaluation of a gradient
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class FullSpace:
    """Bayesian optimization with a GP on all inputs."""

    acquisition: str = "ei"
    """One of `infold.acquisition.functions.NAMES`."""
    beta: float = Acquisition.beta
    """Weight of the standard deviation in UCB."""
    transform: bool = True
    """Apply a Yeo-Johnson transform to the values, refitted every time."""
    clip_outliers: bool = True
    """Take values far above the others for less bad than they are, as penalties may be."""
    scaled_priors: bool = True
    """Priors on lengthscales and noise, unit variance and a constant mean; otherwise the most likely ones, and mean zero."""
    local: bool = True
    """Half the candidates are perturbations of the best points; otherwise all are uniform."""
    n_candidates: int = 1000
    """Points among which the starts of the search are chosen."""
    n_starts: int = 8
    """Starts of the gradient search."""
    max_iterations: int = 100
    """Iterations of the gradient search."""
    max_warm_iterations: int = 3
    """Training iterations from the last suggestion's parameters."""

    def __post_init__(self) -> None:
        Acquisition(name=self.acquisition, beta=self.beta)
        for name in ("max_iterations", "max_warm_iterations"):
            _checks.at_least(name, getattr(self, name), 1)
        _checks.at_least("n_starts", self.n_starts, 1)
        _checks.at_least("n_candidates", self.n_candidates, self.n_starts)

    @property
    def gp(self) -> Regression:
        """Settings of the GP."""
        return Regression(scaled_priors=self.scaled_priors, learn_variance=not self.scaled_priors)

    @float64
    @one_blas_thread_when_small
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
                values = without_outliers(history.values) if self.clip_outliers else history.values
                outputs = (
                    PowerTransform.of(values) if self.transform else Standardization.of(values)
                )
                y = outputs.apply(values)
                size = padding.bucket_size(len(y) + len(history.pending) + q - 1)
                data = jax.device_put(regression.make_data(history.x, y, size))
                trained, fallback = self._fit(data, cache)
            cache["full_space"], cache["full_space_curvature"] = trained.flat, trained.curvature
            for _ in range(q):
                posterior = trained.extra
                if len(history.pending):
                    data = regression.make_data(*with_lies(history, y), size)
                    posterior = regression.evaluate(self.gp, trained.flat, data)[2]
                objective = self._objective(posterior, np.min(y[np.isfinite(history.y)]))
                with clock("search"):
                    found = self._search(objective, history, y, rng)
                if not np.isfinite(found.value):
                    raise FloatingPointError("the acquisition function is not finite at any start")
                points.append(found.point)
                at = objective.predictions(found.point[None])
                centre, upper = outputs.invert(
                    np.array([at.mean[0], at.mean[0] + np.sqrt(at.variance[0])])
                )
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

    def finish(
        self, points: list[np.ndarray], history: History, q: int, key: Key, cache: Cache
    ) -> Suggestion:
        """A suggestion of q points that another method began with `points` and cannot go on with."""
        rest = self.suggest(history, q - len(points), key, cache)
        diagnostics = {
            **rest.diagnostics,
            "fallback": rest.diagnostics.get("fallback") or "full_space",
        }
        return Suggestion(np.stack([*points, *rest.x]), diagnostics, {**cache, **rest.cache})

    def _fit(self, data: Data, cache: Cache) -> tuple[Trained, str | None]:
        """Train from the cached parameters, and from the priors' modes where that fails."""
        try:
            return regression.fit(
                self.gp,
                data,
                warm=cache.get("full_space"),
                curvature=cache.get("full_space_curvature"),
                max_warm_iterations=self.max_warm_iterations,
            ), None
        except FloatingPointError as error:
            _log.warning("full_space: %s; training again from a fresh start", error)
            return regression.fit(self.gp, data), "fresh start"

    def _objective(self, posterior: Posterior, y_min: float) -> search.Objective:
        return search.Objective(
            Acquisition(name=self.acquisition, beta=self.beta),
            y_min,
            functools.partial(_predict, self.gp, posterior),
            functools.partial(_predict_with_gradients, self.gp, posterior),
            min(self.n_starts, _BATCH),
        )

    def _search(
        self, objective: search.Objective, history: History, y: np.ndarray, rng: np.random.Generator
    ) -> search.Found:
        candidates = self._candidates(history, y, rng)
        value_and_gradient: search.ValueAndGradient = objective.value_and_gradient
        if history.rounding is not None:
            # Between points that can be evaluated the acquisition function says nothing, and a maximum there, rounded to a
            # known point, would be found again and again. So discrete coordinates are searched among the candidates alone.
            candidates = history.rounding.snap(candidates)
            value_and_gradient = search.fixing(value_and_gradient, history.rounding.coordinates)
        starts = search.best_starts(objective.value, candidates, self.n_starts)
        project = functools.partial(np.clip, a_min=0.0, a_max=1.0)
        return search.projected_ascent(
            value_and_gradient, project, starts, max_iterations=self.max_iterations
        )

    def _candidates(self, history: History, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Uniform ones and, where that is set, as many variations of the best points.

        Half of these move a few coordinates a little, the others give one to three of them any value: the gradient search does
        not get from one choice of a categorical parameter to another.
        """
        d = history.dimension
        if not self.local:
            return rng.uniform(size=(self.n_candidates, d))
        half = self.n_candidates // 2
        best = history.x[np.argsort(y)[: min(5, len(y))]]
        varied = best[rng.integers(len(best), size=self.n_candidates - half)]
        near, far = np.array_split(varied, 2)
        moved = rng.uniform(size=near.shape) < min(1.0, 20.0 / d)
        near = np.clip(near + moved * 0.1 * rng.normal(size=near.shape), 0.0, 1.0)
        replaced = rng.uniform(size=far.shape).argsort(axis=1) < rng.integers(
            1, 4, size=(len(far), 1)
        )
        far = np.where(replaced, rng.uniform(size=far.shape), far)
        return np.concatenate([rng.uniform(size=(half, d)), near, far])


_predict = jax.jit(
    lambda settings, posterior, x: jnp.stack(regression.predict(settings, posterior, x)),
    static_argnums=0,
)
_predict_with_gradients = jax.jit(regression.predict_with_gradients, static_argnames="settings")
