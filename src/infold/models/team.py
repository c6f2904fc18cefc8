"""Several models of the same evaluations, of which honest evidence chooses one.

The evidence is how well a model predicts each evaluation from all others, in closed form. Models
make different assumptions, such as how much of what they see is noise; which of them hold is a
question to the data, asked anew for every suggestion. It is never the likelihood of the data that a
model was fitted to: a flexible model always finds those likely.

Models that know earlier runs have few parameters left to fit, the others many, which makes leaving
one out kinder to these. Between the two what counts is what they said of points before they were
evaluated. These forecasts are kept with the proposals; how well runs were predicted that learning
left out stands in for them in the beginning. And lessons must predict better than the same lessons
about shuffled coordinates: any map of the inputs explains something. Where all coordinates matter
about alike shuffling changes nothing; there points of earlier runs that carry over say that the
runs are related.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from infold.learning.lessons import Lessons
from infold.learning.tried import carry_over
from infold.models.base import (
    FORECASTS,
    Fitted,
    MeanAndVariance,
    Model,
    State,
    Surface,
    kept_array,
    kept_state,
    log_densities,
)
from infold.record import History


@runtime_checkable
class Conditional(Protocol):
    """A model that takes part only where it knows something."""

    def applies(self, history: History) -> bool:
        """Tell whether it can be fitted to this history."""
        ...


@runtime_checkable
class Shuffled(Conditional, Protocol):
    """A model that can be asked what its knowledge would be worth if it were about nothing."""

    def shuffled(self, history: History, number: int) -> History:
        """Return the history with lessons about other coordinates."""
        ...

    def plainly_related(self, history: History) -> bool:
        """Tell whether the run is so plainly like earlier ones that nothing has to be shuffled."""
        ...

    def fit(self, history: History, key: Sequence[int], state: State) -> Fitted:
        """Fit to the history."""
        ...


@dataclass(frozen=True, kw_only=True)
class Team:
    """Models by their names; of those that predict equally well the first is taken."""

    names: tuple[str, ...]
    models: tuple[Model, ...]

    def __post_init__(self) -> None:
        if not self.models or len(self.names) != len(self.models):
            raise ValueError(
                f"names = {self.names!r}: expected one for each of {len(self.models)} models"
            )

    def fit(self, history: History, key: Sequence[int], state: State) -> "FittedTeam":
        """Fit all models and take the one with the best evidence."""
        members: dict[str, Fitted] = {}
        scores: dict[str, float] = {}
        states: State = {}
        trouble: Exception | None = None
        for name, model in zip(self.names, self.models, strict=True):
            if isinstance(model, Conditional) and not model.applies(history):
                continue
            if history.scalarization is not None and members:
                break  # each objective has a model of its own: this one only shapes the region
            try:
                fitted = model.fit(history, key, kept_state(state, name))
            except (FloatingPointError, np.linalg.LinAlgError) as error:
                trouble = error
                continue
            members[name] = fitted
            states[name] = fitted.state
            scores[name] = _evidence(fitted)
        if not members:
            assert trouble is not None
            raise trouble
        taught = [name for name in members if self._is_taught(name)]
        related = {name: self._relation(name, history, key, state, states) for name in taught}
        untaught = [name for name in members if name not in taught] or taught
        best = max(untaught, key=lambda name: scores[name])
        trust: dict[str, float] = {}
        forecasters: dict[str, Fitted] = {}
        if taught:
            forecasters = {SCRATCH: members[best]} | {name: members[name] for name in taught}
            trust = _trust(history, taught)
            usable = [
                name
                for name in taught
                if trust[name] > _LEAST_TRUST and related[name] > _LEAST_RELATION
            ]
            best = max(usable, key=lambda name: trust[name], default=best)
        return FittedTeam(
            member=members[best],
            by=best,
            scores=scores,
            states=states,
            trust=trust,
            related=related,
            forecasters=forecasters,
        )

    def _is_taught(self, name: str) -> bool:
        return isinstance(self.models[self.names.index(name)], Conditional)

    def _relation(
        self,
        name: str,
        history: History,
        key: Sequence[int],
        state: State,
        states: State,
    ) -> float:
        """Return how much better lessons predict than the same lessons of shuffled coordinates.

        The log density of all values given the others, beside the mean of shuffled lessons, which
        have as many parameters: where lessons have nothing to do with the run it is about 0. Of
        many values it is divided by the root of their number.
        Minus infinity where there are too few evaluations to tell, infinite where there is nothing
        to shuffle or to ask.
        """
        model = self.models[self.names.index(name)]
        if not isinstance(model, Shuffled) or model.plainly_related(history):
            return math.inf
        count = _n_compared(len(history.y))
        part = history.part(np.arange(count))
        if part.n_succeeded < _FEWEST:
            return -math.inf
        place = f"{name}-relation"
        same = np.array([count, np.sum(part.y[part.succeeded]), np.sum(part.x)])
        known = kept_array(state, place)
        if known is not None and known.shape == (4,) and np.array_equal(known[:3], same):
            states[place] = known
            return float(known[3])
        whose = [part] + [model.shuffled(part, number) for number in range(_N_SHUFFLED)]
        try:
            own, *others = (_evidence(model.fit(one, key, {})) for one in whose)
        except (FloatingPointError, np.linalg.LinAlgError):
            return -math.inf
        relation = part.n_succeeded * (own - float(np.mean(others)))
        relation = relation if math.isfinite(relation) else -math.inf
        relation /= math.sqrt(part.n_succeeded / _FEWEST)
        states[place] = np.append(same, relation)
        return relation


def _n_compared(n: int) -> int:
    """Return how many of n evaluations lessons are compared on: not all, to compare but rarely."""
    count = _FEWEST
    while _GROWTH * count <= n:
        count = math.ceil(_GROWTH * count)
    return min(count, n)


SCRATCH = "scratch"
"""Name, among forecasts, of the best of the models that know nothing of earlier runs."""

_N_SHUFFLED = 2
_FEWEST = 13  # evaluations that can tell lessons from shuffled ones: see docs/notes.md
_GROWTH = 1.15  # of their number from one comparison to the next
_LEAST_RELATION = 4.5  # log density; unrelated lessons rarely have as much
_PRIOR = 6.0  # evaluations that what learning left out counts for
_LEAST_TRUST = 1.0  # below, it may be chance
_MOST_GAIN = 1.0  # log density of a value, by which it may speak for a model
_MEMORY = 0.93  # weight of a forecast beside the one after it
_MOST_DIFFERENCE = 3.0  # between log densities of one value: a single surprise must not decide


def _trust(history: History, taught: Sequence[str]) -> dict[str, float]:
    """Return the evidence for each model that knows earlier runs, beside those that do not."""
    lessons = history.lessons
    trust = {name: _PRIOR * _gain(lessons, name) for name in taught}
    for proposal, y in zip(history.proposals, history.y, strict=False):
        forecasts = proposal.diagnostics.get(FORECASTS)
        if not isinstance(forecasts, Mapping) or not math.isfinite(y):
            continue
        scratch = _forecast_density(forecasts.get(SCRATCH), y)
        for name in taught:
            known = _forecast_density(forecasts.get(name), y)
            if scratch is not None and known is not None:
                difference = np.clip(known - scratch, -_MOST_DIFFERENCE, _MOST_DIFFERENCE)
                trust[name] = _MEMORY * trust[name] + float(difference)
    return trust


def _gain(lessons: Lessons | None, name: str) -> float:
    """Return how much better a run left out was predicted than from scratch, 0 where unknown."""
    if lessons is None:
        return 0.0
    if name == "designs":
        return _MOST_GAIN  # nothing was left out, but people made them so
    score = lessons.evidence.metric
    if name == "features" and lessons.features is not None:
        score = lessons.evidence.features.get(lessons.features.number, math.nan)
    gain = score - lessons.evidence.scratch
    return float(np.clip(gain, -_MOST_GAIN, _MOST_GAIN)) if math.isfinite(gain) else 0.0


def _forecast_density(forecast: Any, y: float) -> float | None:
    """Return the log density of y under a forecast's mean and deviation; None where unusable."""
    if not isinstance(forecast, list | tuple) or len(forecast) != 2:
        return None
    mean, deviation = forecast
    if not all(isinstance(value, float | int) for value in forecast) or not deviation > 0.0:
        return None
    density = -0.5 * ((y - mean) / deviation) ** 2 - math.log(deviation)
    return density if math.isfinite(density) else None


def _evidence(fitted: Fitted) -> float:
    """Return the mean log density of each value that came, given all others."""
    densities = log_densities(fitted)[fitted.history.succeeded]
    score = float(np.mean(densities))
    return score if math.isfinite(score) else -math.inf


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedTeam(Fitted):
    """The model that was chosen."""

    member: Fitted
    by: str
    scores: dict[str, float]
    """Evidence for each model that could be fitted."""
    states: State
    trust: dict[str, float] = field(default_factory=dict)
    """Evidence for each model that knows earlier runs, beside those that do not."""
    related: dict[str, float] = field(default_factory=dict)
    """How much better their lessons predict than shuffled ones."""
    forecasters: dict[str, Fitted] = field(default_factory=dict)
    """Models whose forecasts are compared later."""

    @property
    def history(self) -> History:  # type: ignore[override]
        return self.member.history

    @property
    def outputs(self) -> Any:  # type: ignore[override]
        return self.member.outputs

    @property
    def state(self) -> State:
        return self.states

    @property
    def taught(self) -> bool:
        return self.by in self.trust

    @property
    def noise(self) -> Any:
        return self.member.noise

    @property
    def targets(self) -> Float[np.ndarray, " n"]:
        return self.member.targets

    @property
    def surfaces(self) -> Sequence[Surface]:
        return self.member.surfaces

    def predict(self, x: Float[np.ndarray, "m D"]) -> MeanAndVariance:
        return self.member.predict(x)

    def condition(self, history: History) -> Fitted:
        """Return the chosen model alone: the choice is made."""
        return self.member.condition(history)

    def believe(self, history: History) -> Fitted:
        return self.member.believe(history)

    def leave_one_out(self) -> MeanAndVariance:
        return self.member.leave_one_out()

    def describe(self) -> dict[str, Any]:
        said: dict[str, Any] = {"evidence": dict(self.scores)}
        if self.trust:
            said["trust"] = dict(self.trust)
            said["relation"] = {
                name: value for name, value in self.related.items() if math.isfinite(value)
            }
            said["carried"] = carry_over(self.history)
        return {**self.member.describe(), **said}

    def forecasts(self, x: Float[np.ndarray, " D"]) -> dict[str, list[float]]:
        said = {}
        for name, fitted in self.forecasters.items():
            (mean,), (variance,) = fitted.predict_few(x[None])
            noise = float(fitted.noise)
            deviation = np.sqrt(variance + (noise if math.isfinite(noise) else 0.0))
            centre, spread = fitted.outputs.spread(np.array([mean]), np.array([deviation]))
            said[name] = [float(centre[0]), float(spread[0])]
        return said
