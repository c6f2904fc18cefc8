"""Bayesian optimization in a learned feature space: the paper's method and its variants.

One suggestion: train the joint model, build the Lipschitz region, maximize the acquisition function over features, decode.
"""

import dataclasses
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
from infold._threads import one_blas_thread_when_small
from infold._types import Array
from infold.acquisition import lipschitz, search
from infold.acquisition.functions import Acquisition
from infold.acquisition.lipschitz import Region, Survey
from infold.gp.outputs import without_outliers
from infold.methods.base import Cache, Key, Stopwatch, Suggestion, features, with_lies
from infold.methods.full_space import FullSpace
from infold.methods.random import RandomSearch
from infold.models.joint import Decoder, Encoder, Fit, FitSettings, JointModel, Priors, fit, joint
from infold.models.joint.fit import evaluate
from infold.models.joint.joint import Posterior
from infold.models.joint.warp import expected_squash
from infold.record import History, Rounding

_log = logging.getLogger(__name__)
_BATCH = 25  # points per compiled evaluation of a gradient
_SURVEY_BATCH = 50  # points per compiled evaluation of the decoder's Jacobian
_N_BEST, _N_VARIATIONS = 5, 50  # data whose discrete coordinates are tried, and variations of each
_REACH = (
    100.0  # of values above the others; less would hide high values that tell about the features
)
_DIGITS = 9  # in which points differ that are not the same
_GROWTH = 1.1  # fresh starts are rarer where they cost more
SOLVERS = ("projected", "trust-constr")
_FIT, _FIT_AGAIN, _SEARCH = 1, 2, 3  # streams of randomness within one suggestion


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
    clip_outliers: bool = True
    """Take values very far above the others, as penalties are, for less bad than they are."""
    max_iterations: int = 50
    """Training iterations from a fresh start."""
    max_warm_iterations: int = 2
    """Training iterations from the last suggestion's parameters."""
    restart_every: int = 10
    """A fresh start competes with the warm one each time this many evaluations, and a tenth of all, have been added."""
    n_candidates: int = 5000
    """Points of the random search."""
    n_starts: int = 100
    """The best of them start a gradient search."""
    max_search_iterations: int = 30
    """Iterations of the gradient search."""
    n_slopes: int | None = None
    """The constraint's L is the largest slope at so many of the data, 10 in the paper's code; None: over the feature space."""
    solver: str = "projected"
    """How the constrained search is done: "projected", or "trust-constr" for the paper's interior-point route."""

    def __post_init__(self) -> None:
        Acquisition(name=self.acquisition, beta=self.beta)
        Decoder(kind=self.decoder)
        _checks.one_of("solver", self.solver, SOLVERS)
        if self.solver == "trust-constr" and not self.constrained:
            raise ValueError(
                "solver = 'trust-constr': expected 'projected', as there is no constraint"
            )
        if self.weight_deviation is not None and not self.weight_deviation > 0:
            raise ValueError(
                f"weight_deviation = {self.weight_deviation}: expected a positive number or None"
            )
        for name in ("max_iterations", "max_warm_iterations", "max_search_iterations"):
            _checks.at_least(name, getattr(self, name), 1)
        for name in ("n_features", "n_slopes"):
            if getattr(self, name) is not None:
                _checks.at_least(name, getattr(self, name), 1)
        object.__setattr__(self, "hidden", tuple(self.hidden))
        _checks.at_least("n_starts", self.n_starts, 1)
        _checks.at_least("n_candidates", self.n_candidates, self.n_starts)
        _checks.at_least("restart_every", self.restart_every, 1)

    def model(self, dimension: int) -> JointModel:
        """The joint model for D = `dimension`."""
        return JointModel(
            encoder=Encoder(
                n_features=features(self.n_features, dimension),
                hidden=self.hidden,
                orthogonal=self.orthogonal,
            ),
            decoder=Decoder(kind=self.decoder),
            separate_noise=self.separate_noise,
            priors=Priors(weight_deviation=self.weight_deviation),
        )

    @float64
    @one_blas_thread_when_small
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
            cache["feature_space"], cache["feature_space_curvature"] = (
                fitted.training.flat,
                fitted.training.curvature,
            )
            for i in range(q):
                rng = np.random.default_rng([*key, _SEARCH, i])
                x, diagnostics = self._suggest_one(fitted, history, rng, clock)
                diagnostics["fallback"] = fallback
                points.append(x)
                history = history.with_pending(x)
        except (FloatingPointError, np.linalg.LinAlgError) as error:
            _log.warning("feature space: %s; falling back to the full-space GP", error)
            full_space = FullSpace(acquisition=self.acquisition, beta=self.beta)
            return full_space.finish(points, history, q, key, cache)
        return Suggestion(np.stack(points), diagnostics, cache)

    def _fit(
        self, model: JointModel, history: History, key: Key, cache: Cache
    ) -> tuple[Fit, str | None]:
        """Train from the cached parameters, at times from fresh ones too, and from fresh ones alone where that fails."""
        warm, curvature = cache.get("feature_space"), cache.get("feature_space_curvature")
        expected = (joint.n_parameters(model, history.dimension),)
        if warm is not None and not (warm.shape == expected and np.all(np.isfinite(warm))):
            warm = None
        n, last = len(history.y), cache.get("restarted", np.full(1, -np.inf))
        due = (
            warm is None
            or last.shape != (1,)
            or not last[0] <= n < max(last[0] + self.restart_every, _GROWTH * last[0])
        )
        if due:
            cache["restarted"] = np.array([float(n)])
        settings = FitSettings(
            n_restarts=1 if due else 0,
            max_iterations=self.max_iterations,
            max_warm_iterations=self.max_warm_iterations,
        )
        values = self._values(history)
        try:
            return fit(
                history.x,
                values,
                model,
                key=(*key, _FIT),
                warm=warm,
                curvature=curvature,
                settings=settings,
            ), None
        except FloatingPointError as error:
            _log.warning("feature space: %s; training again from a fresh start", error)
            again = FitSettings(n_restarts=2, max_iterations=self.max_iterations)
            return fit(
                history.x, values, model, key=(*key, _FIT_AGAIN), settings=again
            ), "fresh start"

    def _values(self, history: History) -> np.ndarray:
        return without_outliers(history.values, _REACH) if self.clip_outliers else history.values

    def _suggest_one(
        self, fitted: Fit, history: History, rng: np.random.Generator, clock: Stopwatch
    ) -> tuple[np.ndarray, dict]:
        model, dimension = fitted.model, history.dimension
        posterior = fitted.posterior
        with clock("condition"):
            y = fitted.standardization.apply(self._values(history))
            y_min = np.min(y[np.isfinite(history.y)])
            if len(
                history.pending
            ):  # the decoder takes them as they are, the response surface with a lie
                data = joint.make_data(model, *with_lies(history, y))
                posterior = evaluate(model, fitted.training.flat, data)[2]
            z_data = np.asarray(posterior.z)[: len(history.y) + len(history.pending)]
        constant, region = np.nan, None
        if self.constrained:
            with clock("lipschitz"):
                constant, region = lipschitz_region(
                    model, posterior, z_data, dimension, rng, self.n_slopes
                )
        objective = search_objective(
            model, posterior, Acquisition(name=self.acquisition, beta=self.beta), y_min
        )
        with clock("search"):
            found = self._search(objective, region, model.encoder.n_features, rng)
            if not np.isfinite(found.value):
                raise FloatingPointError("the acquisition function is not finite at any start")
        with clock("decode"):
            x = expected_squash(
                *map(np.asarray, _decode(model, posterior, found.point[None], dimension))
            )
            if not np.all(np.isfinite(x)):
                raise FloatingPointError("the decoder's output is not finite")
            if history.rounding is not None:
                # Rounding moves a point away from the features that were searched for. What it is worth there, and what others
                # would be, is known without the decoder and its constraint.
                candidates = rounded_variations(x[0], history, history.rounding, rng)
                features = fitted.encode(candidates)
                worth = objective.value(features)
                # First what is a number and not known, then the larger.
                best = int(
                    np.lexsort((worth, ~is_known(candidates, history), np.isfinite(worth)))[-1]
                )
                x, found = candidates[[best]], search.Found(features[best], float(worth[best]))
            reencoded = fitted.encode(x)[0]
            at = objective.predictions(found.point[None])
        everywhere = Region(z_data, np.full(len(z_data), np.inf)) if region is None else region
        index, distance = lipschitz.nearest(everywhere, found.point[None])
        diagnostics = {
            "log_likelihood": fitted.log_likelihood,
            "converged": fitted.converged,
            "start": fitted.training.start,
            "n_evaluations": fitted.training.n_evaluations,
            "acquisition": found.value,
            "mean": float(fitted.standardization.invert(at.mean)[0]),
            "deviation": float(fitted.standardization.deviation * np.sqrt(at.variance[0])),
            "L": float(constant),
            "radius": float(everywhere.radii[index[0]]),
            "distance": float(distance[0]),
            "reencoding_error": float(np.linalg.norm(reencoded - found.point)),
            "feature_spread": float(np.mean(np.std(z_data, axis=0))),
            "noise": float(np.exp(fitted.params.log_noise[0])),
            "seconds": dict(clock.seconds),
        }
        return x[0], diagnostics

    def _search(
        self, objective: search.Objective, region: Region | None, d: int, rng: np.random.Generator
    ) -> search.Found:
        candidates = rng.uniform(size=(self.n_candidates, d))
        project: Callable[[np.ndarray], np.ndarray] = functools.partial(
            np.clip, a_min=0.0, a_max=1.0
        )
        if region is not None:
            project = functools.partial(lipschitz.project, region)
            half = self.n_candidates // 2
            candidates = np.concatenate(
                [
                    project(candidates[:half]),
                    lipschitz.sample(region, self.n_candidates - half, rng),
                ]
            )
        starts = search.best_starts(objective.value, candidates, self.n_starts)
        if region is not None and self.solver == "trust-constr":
            one_by_one = dataclasses.replace(objective, batch=1)
            return search.trust_constr(one_by_one.value_and_gradient, region, starts)
        return search.projected_ascent(
            objective.value_and_gradient, project, starts, max_iterations=self.max_search_iterations
        )


def rounded_variations(
    x: np.ndarray, history: History, rounding: Rounding, rng: np.random.Generator
) -> np.ndarray:
    """x where it can be evaluated; with the discrete coordinates of the best data; with one to three of them replaced."""
    discrete = rounding.coordinates
    best = history.x[np.argsort(history.values)[:_N_BEST]]
    varied = np.repeat(
        np.concatenate([x[None], np.where(discrete, best, x)]), _N_VARIATIONS, axis=0
    )
    order = (
        np.where(discrete, rng.uniform(size=varied.shape), np.inf).argsort(axis=1).argsort(axis=1)
    )
    replaced = discrete & (order < rng.integers(1, 4, size=(len(varied), 1)))
    replaced[::_N_VARIATIONS] = False
    return rounding.snap(np.where(replaced, rng.uniform(size=varied.shape), varied))


def is_known(x: np.ndarray, history: History) -> np.ndarray:
    """Which rows have been or are being evaluated."""
    known = {row.tobytes() for row in np.round([*history.x, *history.pending], _DIGITS)}
    return np.array([row.tobytes() in known for row in np.round(x, _DIGITS)])


def search_objective(
    model: JointModel, posterior: Posterior, acquisition: Acquisition, y_min: float
) -> search.Objective:
    """The acquisition function on the response surface."""
    return search.Objective(
        acquisition,
        y_min,
        functools.partial(_predict, model, posterior),
        functools.partial(_predict_with_gradients, model, posterior),
        _BATCH,
    )


def lipschitz_region(
    model: JointModel,
    posterior: Posterior,
    z_data: np.ndarray,
    dimension: int,
    rng: np.random.Generator,
    n_slopes: int | None = None,
) -> tuple[float, Region]:
    """L and the balls around the data."""

    def survey(z: np.ndarray) -> Survey:
        columns = np.asarray(_survey(model, posterior, z, dimension))
        return Survey(slope=columns[:, 0], output=columns[:, 1], slope_gradient=columns[:, 2:])

    return lipschitz.around(survey, z_data, rng, _SURVEY_BATCH, n_slopes=n_slopes)


_predict = jax.jit(
    lambda model, posterior, z: jnp.stack(joint.predict(model, posterior, z)), static_argnums=0
)
_predict_with_gradients = jax.jit(joint.predict_with_gradients, static_argnames="model")
_decode = jax.jit(joint.decode, static_argnames=("model", "dimension"))


@functools.partial(jax.jit, static_argnames=("model", "dimension"))
def _survey(
    model: JointModel, posterior: Posterior, z: Float[Array, "m d"], dimension: int
) -> Float[Array, "m 2+d"]:
    """The parts of a `Survey`: the largest absolute slope at each z, Eq. (18), the largest output, and the slope's gradient."""
    jacobian = joint.decoder_slopes(model, posterior, z, dimension)
    flat = jacobian.reshape(len(z), -1)
    largest = jnp.argmax(jnp.abs(flat), axis=1)
    value = jnp.take_along_axis(flat, largest[:, None], axis=1)[:, 0]

    def entry(z: Array, index: Array) -> Array:
        output, feature = index // z.shape[0], index % z.shape[0]
        return joint.decoder_slope(model, posterior, z, output, feature)

    gradient = jnp.sign(value)[:, None] * jax.vmap(jax.grad(entry))(z, largest)
    output = jnp.max(jnp.abs(joint.decoder_mean(model, posterior, z, dimension)), axis=1)
    return jnp.concatenate([jnp.abs(value)[:, None], output[:, None], gradient], axis=1)
