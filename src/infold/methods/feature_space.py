"""Bayesian optimization in a learned feature space: the paper's method and its variants.

One suggestion: train the joint model, build the Lipschitz region, maximize the acquisition function over features, decode.
"""

import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from infold import _checks
from infold._precision import float64
from infold._types import Array
from infold.acquisition import functions, lipschitz, search
from infold.acquisition.functions import Acquisition
from infold.acquisition.lipschitz import Region
from infold.history import History
from infold.methods.base import Cache, Key, Stopwatch, Suggestion, with_lies
from infold.methods.full_space import FullSpace
from infold.methods.random import RandomSearch
from infold.surrogate import Decoder, Encoder, Fit, FitSettings, JointModel, Priors, fit, joint
from infold.surrogate.fit import condition
from infold.surrogate.joint import Posterior

_log = logging.getLogger(__name__)
_SLOPE_BATCH = 100  # points per evaluation of the decoder's Jacobian
SOLVERS = ("projected", "trust-constr")
_FIT, _FIT_AGAIN, _SEARCH = 1, 2, 3  # streams of randomness within one suggestion


def default_features(dimension: int) -> int:
    """min(10, D // 2), at least 1."""
    return max(1, min(10, dimension // 2))


@dataclass(frozen=True, kw_only=True)
class FeatureSpace:
    """Settings of the feature-space methods. `infold.methods.by_name` has the paper's six variants.

    The defaults depart from the paper in the prior on the encoder's weights; `weight_deviation=None` is its objective.
    """

    decoder: str = "full"
    """full, hierarchical or shared."""
    constrained: bool = True
    """Maximize the acquisition function under the Lipschitz constraint."""
    n_features: int | None = None
    """d; None: min(10, D // 2), at least 1."""
    acquisition: str = "ei"
    """One of `infold.acquisition.functions.NAMES`."""
    beta: float = Acquisition.beta
    """Weight of the standard deviation in UCB."""
    hidden: tuple[int, ...] = (20,)
    """Units of the encoder's hidden layers."""
    orthogonal: bool = False
    """Orthonormalize the encoder's weights."""
    separate_noise: bool = False
    """Give the decoder a noise variance of its own."""
    weight_deviation: float | None = 1.0
    """Deviation of a normal prior on the encoder's weights, which overfit without it; None: none, as in the paper."""
    max_iterations: int = 100
    """Training iterations from a fresh start."""
    max_warm_iterations: int = 3
    """Training iterations from the last suggestion's parameters."""
    restart_every: int = 10
    """A fresh start competes with the warm one each time this many further evaluations have been made."""
    n_candidates: int = 5000
    """Points of the random search."""
    n_starts: int = 100
    """The best of them start a gradient search."""
    max_search_iterations: int = 30
    """Iterations of the gradient search."""
    solver: str = "projected"
    """How the constrained search is done: "projected", or "trust-constr" for the paper's interior-point route."""

    def __post_init__(self) -> None:
        Acquisition(name=self.acquisition, beta=self.beta)
        Decoder(kind=self.decoder)
        _checks.one_of("solver", self.solver, SOLVERS)
        if self.solver == "trust-constr" and not self.constrained:
            raise ValueError("solver = 'trust-constr': expected 'projected', as there is no constraint")
        if self.weight_deviation is not None and not self.weight_deviation > 0:
            raise ValueError(f"weight_deviation = {self.weight_deviation}: expected a positive number or None")
        for name in ("max_iterations", "max_warm_iterations", "max_search_iterations"):
            _checks.at_least(name, getattr(self, name), 1)
        if self.n_features is not None:
            _checks.at_least("n_features", self.n_features, 1)
        object.__setattr__(self, "hidden", tuple(self.hidden))
        _checks.at_least("n_starts", self.n_starts, 1)
        _checks.at_least("n_candidates", self.n_candidates, self.n_starts)
        _checks.at_least("restart_every", self.restart_every, 1)

    def model(self, dimension: int) -> JointModel:
        """The joint model for D = `dimension`."""
        n_features = self.n_features or default_features(dimension)
        if n_features > dimension:
            raise ValueError(f"n_features = {n_features}: expected at most the dimension of the space, {dimension}")
        return JointModel(
            encoder=Encoder(n_features=n_features, hidden=self.hidden, orthogonal=self.orthogonal),
            decoder=Decoder(kind=self.decoder),
            separate_noise=self.separate_noise,
            priors=Priors(weight_deviation=self.weight_deviation),
        )

    @float64
    def suggest(self, history: History, q: int, key: Key, cache: Cache | None = None) -> Suggestion:
        """q points, one after the other: each is pending for the next."""
        model = self.model(history.dimension)
        if history.n_succeeded == 0:
            return RandomSearch().suggest(history, q, key)
        cache = dict(cache or {})
        points: list[np.ndarray] = []
        diagnostics: dict[str, Any] = {}
        try:
            clock = Stopwatch()
            with clock("fit"):
                fitted, fallback = self._fit(model, history, key, cache)
            cache["feature_space"] = joint.flatten(fitted.params)
            for i in range(q):
                rng = np.random.default_rng([*key, _SEARCH, i])
                x, diagnostics = self._suggest_one(fitted, history, rng, clock)
                diagnostics["fallback"] = fallback
                points.append(x)
                history = history.with_pending(x)
        except (FloatingPointError, np.linalg.LinAlgError) as error:
            _log.warning("feature space: %s; falling back to the full-space GP", error)
            rest = FullSpace(acquisition=self.acquisition, beta=self.beta).suggest(history, q - len(points), key, cache)
            points += list(rest.x)
            diagnostics = {**rest.diagnostics, "fallback": rest.diagnostics.get("fallback") or "full_space"}
            cache.update(rest.cache)
        return Suggestion(np.stack(points), diagnostics, cache)

    def _fit(self, model: JointModel, history: History, key: Key, cache: Cache) -> tuple[Fit, str | None]:
        """Train from the cached parameters, at times from fresh ones too, and from fresh ones alone where that fails."""
        warm = cache.get("feature_space")
        expected = (joint.n_parameters(model, history.dimension),)
        if warm is not None and not (warm.shape == expected and np.all(np.isfinite(warm))):
            warm = None
        turn = np.array([len(history.y) // self.restart_every], dtype=np.float64)
        due = warm is None or not np.array_equal(cache.get("restarted", np.empty(0)), turn)
        cache["restarted"] = turn
        settings = FitSettings(
            n_restarts=1 if due else 0,
            max_iterations=self.max_iterations,
            max_warm_iterations=self.max_warm_iterations,
        )
        try:
            return fit(history.x, history.values, model, key=(*key, _FIT), warm=warm, settings=settings), None
        except FloatingPointError as error:
            _log.warning("feature space: %s; training again from a fresh start", error)
            again = FitSettings(n_restarts=2, max_iterations=self.max_iterations)
            return fit(history.x, history.values, model, key=(*key, _FIT_AGAIN), settings=again), "fresh start"

    def _suggest_one(
        self, fitted: Fit, history: History, rng: np.random.Generator, clock: Stopwatch
    ) -> tuple[np.ndarray, dict]:
        model, dimension = fitted.model, history.dimension
        posterior = fitted.posterior
        with clock("condition"):
            y = fitted.standardization.apply(history.values)
            y_min = np.min(y[np.isfinite(history.y)])
            if len(history.pending):  # the decoder takes them as they are, the response surface with a lie
                data = joint.make_data(model, *with_lies(history, y))
                posterior = condition(model, joint.flatten(fitted.params), data)
            z_data = np.asarray(posterior.z)[: len(history.y) + len(history.pending)]
        constant, region = np.nan, None
        if self.constrained:
            with clock("lipschitz"):
                constant, region = _region(model, posterior, z_data, dimension, rng)
        with clock("search"):
            found = self._search(model, posterior, region, y_min, rng)
            if not np.isfinite(found.value):
                raise FloatingPointError("the acquisition function is not finite at any start")
        with clock("decode"):
            x, mean, variance = (np.asarray(a) for a in _decode(model, posterior, found.point[None], dimension))
            if not np.all(np.isfinite(x)):
                raise FloatingPointError("the decoder's output is not finite")
            reencoded = fitted.encode(x)[0]
        everywhere = Region(z_data, np.full(len(z_data), np.inf)) if region is None else region
        index, distance = lipschitz.nearest(everywhere, found.point[None])
        diagnostics = {
            "log_likelihood": fitted.log_likelihood,
            "converged": fitted.converged,
            "start": fitted.training.start,
            "n_evaluations": fitted.training.n_evaluations,
            "acquisition": found.value,
            "mean": float(fitted.standardization.invert(mean)[0]),
            "deviation": float(fitted.standardization.deviation * np.sqrt(variance[0])),
            "L": float(constant),
            "radius": float(everywhere.radii[index[0]]),
            "distance": float(distance[0]),
            "reencoding_error": float(np.linalg.norm(reencoded - found.point)),
            "feature_spread": float(np.mean(np.std(z_data, axis=0))),
            "noise": float(fitted.params.response_noise),
            "seconds": dict(clock.seconds),
        }
        return x[0], diagnostics

    def _search(
        self, model: JointModel, posterior: Posterior, region: Region | None, y_min: float, rng: np.random.Generator
    ) -> search.Found:
        acquisition = Acquisition(name=self.acquisition, beta=self.beta)
        d = model.encoder.n_features

        def value_and_gradient(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            value, gradient = _acquisition_gradient(model, acquisition, posterior, z, y_min)
            return np.asarray(value), np.asarray(gradient)

        candidates = rng.uniform(size=(self.n_candidates, d))
        project: Callable[[np.ndarray], np.ndarray] = functools.partial(np.clip, a_min=0.0, a_max=1.0)
        if region is not None:
            project = functools.partial(lipschitz.project, region)
            half = self.n_candidates // 2
            candidates = np.concatenate([project(candidates[:half]), lipschitz.sample(region, self.n_candidates - half, rng)])
        starts = search.best_starts(
            lambda z: np.asarray(_acquisition(model, acquisition, posterior, z, y_min)), candidates, self.n_starts
        )
        if region is not None and self.solver == "trust-constr":
            return search.trust_constr(value_and_gradient, region, starts)
        return search.projected_ascent(value_and_gradient, project, starts, max_iterations=self.max_search_iterations)


def _region(
    model: JointModel, posterior: Posterior, z_data: np.ndarray, dimension: int, rng: np.random.Generator
) -> tuple[float, Region]:
    """L and the balls around the data."""

    def largest_slope(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, gradient = _largest_slope(model, posterior, z, dimension)
        return np.asarray(value), np.asarray(gradient)

    constant = lipschitz.constant(largest_slope, z_data, rng, _SLOPE_BATCH)
    reach = np.asarray(_largest_output(model, posterior, dimension))[: len(z_data)]
    if not (np.isfinite(constant) and np.all(np.isfinite(reach))):
        raise FloatingPointError("the decoder's slope is not finite")
    return constant, Region(z_data, reach / max(constant, 1e-300))


def _evaluate(model: JointModel, acquisition: Acquisition, posterior: Posterior, z: Array, y_min: Array) -> Array:
    return functions.evaluate(acquisition, *joint.predict(model, posterior, z), y_min)


_acquisition = jax.jit(_evaluate, static_argnames=("model", "acquisition"))


@functools.partial(jax.jit, static_argnames=("model", "acquisition"))
def _acquisition_gradient(
    model: JointModel, acquisition: Acquisition, posterior: Posterior, z: Array, y_min: Array
) -> tuple[Array, Array]:
    def total(z: Array) -> tuple[Array, Array]:
        values = _evaluate(model, acquisition, posterior, z, y_min)
        return jnp.sum(values), values

    (_, values), gradient = jax.value_and_grad(total, has_aux=True)(z)
    return values, gradient


@functools.partial(jax.jit, static_argnames=("model", "dimension"))
def _largest_slope(model: JointModel, posterior: Posterior, z: Float[Array, "m d"], dimension: int) -> tuple[Array, Array]:
    """The largest absolute entry of the Jacobian of the decoder's mean at each z, Eq. (18), and that entry's gradient."""

    def largest(z: Array) -> Array:
        jacobian = jax.jacfwd(lambda z: joint.decoder_mean(model, posterior, z[None], dimension)[0])(z)
        return jnp.max(jnp.abs(jacobian))

    return jax.vmap(jax.value_and_grad(largest))(z)


@functools.partial(jax.jit, static_argnames=("model", "dimension"))
def _largest_output(model: JointModel, posterior: Posterior, dimension: int) -> Float[Array, "n"]:
    """μ_max at every datum."""
    return jnp.max(jnp.abs(joint.decoder_mean(model, posterior, posterior.z, dimension)), axis=1)


@functools.partial(jax.jit, static_argnames=("model", "dimension"))
def _decode(model: JointModel, posterior: Posterior, z: Float[Array, "m d"], dimension: int) -> tuple[Array, Array, Array]:
    """The reconstruction and the response surface's mean and variance at z."""
    return joint.decode(model, posterior, z, dimension), *joint.predict(model, posterior, z)
