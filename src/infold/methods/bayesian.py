"""Bayesian optimization: the one loop of all methods that have a model.

One suggestion: fit the model; condition it on pending points; build the region; maximize the
acquisition function on each of the model's surfaces; decode. Where the model fails the next one is
tried: a fresh start of training, the full-space GP, a random point. Each step is logged and named
in the proposal.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from infold import _checks
from infold._precision import float64
from infold._threads import one_blas_thread_when_small
from infold.acquisition import discrete
from infold.acquisition.feasibility import Feasibility
from infold.acquisition.functions import Acquisition, ExpectedImprovement, UpperConfidenceBound
from infold.acquisition.lipschitz import LipschitzConstraint
from infold.acquisition.regions import Place, Region, RegionSettings, WholeCube, Within
from infold.acquisition.search import Found, Objective, Search
from infold.acquisition.several import ChebyshevImprovement
from infold.methods.base import Cache, Key, Suggestion
from infold.methods.random import DESIGNS, RandomSearch
from infold.models.base import FORECASTS, IN_NOISE, Fitted, Model, Surface, kept_state
from infold.models.constraints import FittedConstraints, fit_constraints
from infold.models.full_space import FullSpaceGP
from infold.models.objectives import FittedObjectives, fit_objectives
from infold.record import History, Proposal

_FIT = 1  # streams of random numbers within one suggestion; `Fitted.stream` is that of the search
_FIT_AGAIN = 2
# In noise the model is soon sure that all is equal around the best point, and expected improvement
# never leaves it (docs/notes.md).
_IN_NOISE = UpperConfidenceBound(beta=2.0)
_TROUBLE = (FloatingPointError, np.linalg.LinAlgError)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class BayesianOptimization:
    """A model, a region and an acquisition function put together."""

    name: str = ""
    """What records and messages call it."""
    model: Model = field(default_factory=FullSpaceGP)
    """What is fitted to the evaluations."""
    region: RegionSettings = field(default_factory=WholeCube)
    """Where the acquisition function is maximized."""
    acquisition: Acquisition = field(default_factory=ExpectedImprovement)
    """What is maximized."""
    search: Search = field(default_factory=Search)
    """How hard to search."""
    initial: str = "sobol"
    """How the initial points are chosen where the caller does not say, one of `DESIGNS`."""

    def __post_init__(self) -> None:
        expected = {
            "model": Model,
            "region": RegionSettings,
            "acquisition": Acquisition,
            "search": Search,
        }
        for name, kind in expected.items():
            if not isinstance(getattr(self, name), kind):
                raise ValueError(f"{name} = {getattr(self, name)!r}: expected a {kind.__name__}")
        _checks.one_of("initial", self.initial, DESIGNS)
        if isinstance(self.region, LipschitzConstraint) and not getattr(
            self.model, "has_decoder", False
        ):
            raise ValueError(
                f"region = {self.region!r}: expected a model with a decoder, such as "
                f"LearnedFeatures, and not {type(self.model).__name__}"
            )

    @property
    def _label(self) -> str:
        return self.name or type(self.model).__name__

    @float64
    @one_blas_thread_when_small
    def suggest(self, history: History, q: int, key: Key, cache: Cache | None = None) -> Suggestion:
        """Return q points, one after the other: each is pending for the next."""
        if history.n_succeeded == 0 and not np.any(np.isfinite(history.constraints)):
            return _random_points(history, q, key, cache)
        history = _with_values(history)
        cache = dict(cache or {})
        clock = Stopwatch()
        n_known = len(history.y)
        whole = history
        if not isinstance(self.acquisition, ExpectedImprovement):
            history = replace(history, scalarization=None)  # one value is all that is modelled
        place = self.region.at(history)
        history = place.history
        points: list[np.ndarray] = []
        proposals: list[Proposal] = []
        fitted = None
        try:
            with clock("fit"):
                place, fitted, fallback = self._fit(place, key, cache)
            history = place.history
            constraints = self._fit_constraints(fitted, history, cache, clock)
            several = self._fit_objectives(fitted, history, cache, clock)
            training = {**fitted.describe(), "fallback": fallback, "known": n_known}
            if place.noisy:
                training[IN_NOISE] = True
            for i in range(q):
                if i > 0:
                    clock = Stopwatch()
                rng = np.random.default_rng([*key, *fitted.stream, i])
                x, diagnostics = self._choose(
                    fitted, constraints, several, history, whole, place, rng, clock
                )
                forecasts = fitted.forecasts(x)
                if forecasts:
                    diagnostics[FORECASTS] = forecasts
                diagnostics = {**training, **diagnostics, "seconds": dict(clock.seconds)}
                proposal = Proposal(fitted.by, diagnostics)
                points.append(x)
                proposals.append(proposal)
                history = history.with_pending(x, (proposal,))
                whole = whole.with_pending(x, (proposal,))
        except _TROUBLE as error:
            rest = self._fall_back(error, history, q - len(points), key, cache)
            points += list(rest.x)
            proposals += rest.proposals
            fitted = rest.fitted if fitted is None else fitted
        return Suggestion(np.stack(points), tuple(proposals), cache, fitted)

    @float64
    @one_blas_thread_when_small
    def fit(self, history: History, key: Key, cache: Cache | None = None) -> Fitted:
        """Return the model fitted to the history, as the next suggestion would use it."""
        return self._fit(self.region.at(history), key, dict(cache or {}))[1]

    def _fit(self, place: Place, key: Key, cache: Cache) -> tuple[Place, Fitted, str | None]:
        """Fit the model where the run has got to, and again where it then turns out to look."""
        fitted, fallback = self._fit_to(place.history, key, kept_state(cache, "model"))
        cache["model"] = fitted.state
        elsewhere = place.given(fitted)
        if elsewhere is place:
            return place, fitted, fallback
        fitted, fallback = self._fit_to(elsewhere.history, key, kept_state(cache, "elsewhere"))
        cache["elsewhere"] = fitted.state
        return elsewhere, fitted, fallback

    def _fit_to(self, history: History, key: Key, state: dict) -> tuple[Fitted, str | None]:
        """Fit the model, from a fresh start where that fails, and say so."""
        try:
            return self.model.fit(history, (*key, _FIT), state), None
        except _TROUBLE as error:
            _log.warning("%s: %s; training again from a fresh start", self._label, error)
            return self.model.fit(history, (*key, _FIT_AGAIN), {}), "fresh start"

    def _fit_constraints(
        self, fitted: Fitted, history: History, cache: Cache, clock: "Stopwatch"
    ) -> list[FittedConstraints]:
        """Fit the constraints on each surface of the model; none where there are none."""
        if not history.n_constraints:
            return []
        known = kept_state(cache, "constraints")
        with clock("constraints"):
            constraints = [
                fit_constraints(history, surface, kept_state(known, str(i)))
                for i, surface in enumerate(fitted.surfaces)
            ]
        cache["constraints"] = {str(i): each.state for i, each in enumerate(constraints)}
        return constraints

    def _fit_objectives(
        self, fitted: Fitted, history: History, cache: Cache, clock: "Stopwatch"
    ) -> FittedObjectives | None:
        """Fit each of several objectives; None where their scalarization is all that is modelled.

        That is so with other acquisition functions, and where a model is a sum of several, none of
        which is improved alone.
        """
        if history.scalarization is None or len(fitted.surfaces) > 1:
            return None
        with clock("objectives"):
            found = fit_objectives(history, fitted.surfaces[0], kept_state(cache, "objectives"))
        cache["objectives"] = found.state
        return found

    def _fall_back(
        self, error: Exception, history: History, q: int, key: Key, cache: Cache
    ) -> Suggestion:
        """Let the full-space GP choose, or chance where it is the full-space GP that failed."""
        if isinstance(self.model, FullSpaceGP):
            _log.warning("%s: %s; suggesting random points instead", self._label, error)
            return _random_points(history, q, key, cache)
        _log.warning("%s: %s; falling back to the full-space GP", self._label, error)
        rest = full_space(acquisition=self.acquisition).suggest(
            history, q, key, kept_state(cache, "fallback")
        )
        cache["fallback"] = rest.cache
        proposals = tuple(
            Proposal(
                proposal.by or "full_space",
                {**proposal.diagnostics, "fallback": proposal.by or "full_space"},
            )
            for proposal in rest.proposals
        )
        return Suggestion(rest.x, proposals, cache, rest.fitted)

    def _acquisition(self, place: Place) -> Acquisition:
        """Return what is maximized there."""
        in_noise = isinstance(self.acquisition, ExpectedImprovement) and place.noisy
        return _IN_NOISE if in_noise else self.acquisition

    def _choose(
        self,
        fitted: Fitted,
        constraints: list[FittedConstraints],
        several: FittedObjectives | None,
        history: History,
        whole: History,
        place: Place,
        rng: np.random.Generator,
        clock: "Stopwatch",
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Choose one point that is not in the whole history, and describe the choice."""
        with clock("condition"):
            fitted = fitted.believe(history) if place.noisy else fitted.condition(history)
        regions: list[Region] = []
        objectives: list[Objective] = []
        found: list[Found] = []
        for i, surface in enumerate(fitted.surfaces):
            with clock("region"):
                regions.append(_within(place.around(surface, rng), surface, history, rng))
            feasibility = None
            if constraints:
                with clock("condition"):
                    known = constraints[i].condition(surface.data)
                feasibility = Feasibility(known, bool(np.any(history.feasible)))
            improvement = None
            if several is not None:
                with clock("condition"):
                    improvement = ChebyshevImprovement(several.condition(surface.data))
            objectives.append(
                self.search.objective(self._acquisition(place), surface, feasibility, improvement)
            )
            with clock("search"):
                places = whole.everywhere if _over_inputs(surface, history) else None
                found.append(self.search.maximize(objectives[-1], regions[-1], rng, places))
            if not np.isfinite(found[-1].value):
                raise FloatingPointError("the acquisition function is not finite at any start")
        with clock("decode"):
            tried: list[_Decoded] = []
            for best in _by_value(found):
                tried.append(_decoded(fitted, objectives, best, history, rng))
                if not whole.knows(tried[-1].x):
                    break
            else:
                tried.append(tried[0])
            chosen = tried[-1]
            diagnostics: dict[str, Any] = {"acquisition": float(chosen.value)}
            diagnostics |= _describe(fitted, objectives, regions, chosen.places, chosen.x)
            if constraints:
                diagnostics["feasibility"] = _probability(objectives, chosen.places)
            if len(tried) > 1:
                diagnostics["passed_over"] = len(tried) - 1
        return chosen.x, diagnostics


class _Decoded(NamedTuple):
    """A point that can be evaluated, where it is on each surface, and what it is worth."""

    x: Float[np.ndarray, " D"]
    places: list[np.ndarray]
    value: float


def _by_value(found: Sequence[Found]) -> Iterator[list[Found]]:
    """Give the best point of each surface, then others in place of one, the best first."""
    best = list(found)
    yield best
    others = [
        (other.value - best[i].value, i, other)
        for i in range(len(best))
        for other in best[i].others
    ]
    for _, i, other in sorted(others, key=lambda each: -each[0]):
        yield [*best[:i], other, *best[i + 1 :]]


def _decoded(
    fitted: Fitted,
    objectives: list[Objective],
    found: list[Found],
    history: History,
    rng: np.random.Generator,
) -> _Decoded:
    """Return the input that stands for one point on each surface, as it can be evaluated."""
    where = history.where
    places = [best.point for best in found]
    x = fitted.decode(places)
    if not np.all(np.isfinite(x)):
        raise FloatingPointError("the decoded point is not finite")
    value = sum(best.value for best in found)
    if history.rounding is not None and objectives[0].surface.rounding is None:

        def worth(x: np.ndarray) -> np.ndarray:
            parts = zip(objectives, fitted.encode(x), strict=True)
            worth = sum((objective.value(z) for objective, z in parts), np.zeros(len(x)))
            return worth if where is None else np.where(where.contains(x), worth, -np.inf)

        x, value = discrete.choose(x, history, history.rounding, worth, rng)
        places = [z[0] for z in fitted.encode(x[None])]
    if where is not None and not where.contains(x[None])[0]:
        x = where.nearest(x[None])[0]
        places = [z[0] for z in fitted.encode(x[None])]
    return _Decoded(x, places, value)


def _within(region: Region, surface: Surface, history: History, rng: np.random.Generator) -> Region:
    """Return what known constraints leave of a region, where it is one of inputs."""
    if history.where is None or not _over_inputs(surface, history):
        return region
    return Within.of(region, history.where, surface.promising, rng)


def _over_inputs(surface: Surface, history: History) -> bool:
    """Tell whether the places of a surface are the inputs themselves."""
    return np.array_equal(surface.data, history.everywhere)


def _with_values(history: History) -> History:
    """Return the history, or one with violations for values where there are no values at all."""
    if history.n_succeeded:
        return history
    return replace(history, y=history.violation)


def _probability(objectives: list[Objective], places: list[np.ndarray]) -> float:
    """Return how likely the chosen point satisfies all constraints."""
    parts = zip(objectives, places, strict=True)
    return float(np.exp(np.mean([objective.log_feasibility(z[None]) for objective, z in parts])))


def _describe(
    fitted: Fitted,
    objectives: list[Objective],
    regions: list[Region],
    places: list[np.ndarray],
    x: np.ndarray,
) -> dict[str, Any]:
    """Say what the model predicts at the chosen point, and where on its surfaces that is."""
    alone = len(objectives) == 1
    mean, variance = objectives[0].predict(places[0][None]) if alone else fitted.predict(x[None])
    centre, deviation = fitted.outputs.spread(mean, np.sqrt(variance))
    diagnostics: dict[str, Any] = {"mean": float(centre[0]), "deviation": float(deviation[0])}
    if alone:
        gaps = np.linalg.norm(objectives[0].surface.data - places[0], axis=1)
        diagnostics |= {**regions[0].describe(places[0]), "distance": float(np.min(gaps))}
    if fitted.has_features:
        (again,) = fitted.encode(x[None])
        error = np.linalg.norm(again[0] - places[0])
        diagnostics |= {"features": places[0].tolist(), "reencoding_error": float(error)}
    return diagnostics


def _random_points(history: History, q: int, key: Key, cache: Cache | None) -> Suggestion:
    points = RandomSearch().suggest(history, q, key).x
    return Suggestion(points, (Proposal("random", {"fallback": "random"}),) * q, dict(cache or {}))


def full_space(*, acquisition: Acquisition | None = None) -> BayesianOptimization:
    """Return the method on all inputs: log EI maximized from 8 starts among 1000 candidates."""
    return BayesianOptimization(
        name="full_space",
        model=FullSpaceGP(),
        acquisition=acquisition or ExpectedImprovement(),
        search=Search(n_candidates=1000, n_starts=8, search_iterations=100, vary_best=True),
    )


class Stopwatch:
    """Seconds spent in named stages."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - began
