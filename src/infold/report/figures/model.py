"""What the model says: slices through the best point, importance, how well it predicts."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from infold.report.figures.record import number
from infold.report.subject import Subject
from infold.space import Categorical, Parameter

_MOST = 100  # slices: with thousands of parameters most are flat, and nobody looks at all
_N_LEVELS = 41  # values of a parameter in a slice
_IN_BAND = 1.96  # deviations to either side that hold 95 % of a normal distribution


@dataclass(frozen=True, kw_only=True)
class Slice:
    """What the model predicts while one parameter varies and the others stay as at the best."""

    name: str
    levels: list[Any]
    """Values of the parameter in the user's units, in order."""
    mean: Float[np.ndarray, " l"]
    low: Float[np.ndarray, " l"]
    """Lower end of the band that holds 95 %."""
    high: Float[np.ndarray, " l"]
    at: Any
    """Value of the parameter at the best point."""
    value: float
    """What was observed there."""
    log: bool
    """Whether the parameter is searched on a logarithmic scale."""
    is_number: bool


@dataclass(frozen=True, kw_only=True)
class Importance:
    """Share of each parameter in how much the prediction varies around good points."""

    names: list[str]
    """The largest share first."""
    shares: Float[np.ndarray, " p"]


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """What the model said of evaluations, and what came; in the user's units."""

    evaluations: Int[np.ndarray, " n"]
    """Their numbers, from 0."""
    actual: Float[np.ndarray, " n"]
    mean: Float[np.ndarray, " n"]
    deviation: Float[np.ndarray, " n"]

    @property
    def coverage(self) -> float:
        """Share of the values that are within 1.96 deviations; 0.95 for an honest model."""
        return float(np.mean(np.abs(self.actual - self.mean) <= _IN_BAND * self.deviation))

    @property
    def explained(self) -> float:
        """Share of the variance that is predicted: 1 for a perfect model, below 0 for a bad one."""
        actual, mean = np.array([self.actual, self.mean]) / (np.max(np.abs(self.actual)) or 1.0)
        rest = float(np.sum((actual - mean) ** 2))
        total = float(np.sum((actual - np.mean(actual)) ** 2))
        return 1.0 - rest / total if total > 0 else np.nan


def slices(subject: Subject) -> list[Slice]:
    """Return slices along the parameters, the 100 most relevant; none where there is no model."""
    best = subject.best
    model = subject.model
    if best is None or model is None:
        return []
    names = subject.ranked[:_MOST]
    levels = [_levels(subject.space.parameters[name]) for name in names]
    points = [
        _changed(subject, best, name, level)
        for name, values in zip(names, levels, strict=True)
        for level in values
    ]
    mean, deviation = model.predict(points)
    ends = np.cumsum([len(values) for values in levels])
    value = float(subject.evaluations[best].value)
    made = []
    for name, values, end in zip(names, levels, ends, strict=True):
        parameter = subject.space.parameters[name]
        rows = slice(end - len(values), end)
        reach = _IN_BAND * deviation[rows]
        made.append(
            Slice(
                name=name,
                levels=values,
                mean=mean[rows],
                low=mean[rows] - reach,
                high=mean[rows] + reach,
                at=subject.setting(best, name),
                value=value,
                log=bool(getattr(parameter, "log", False)),
                is_number=parameter.kind in ("float", "int"),
            )
        )
    return made


def _levels(parameter: Parameter) -> list[Any]:
    if isinstance(parameter, Categorical):
        return list(parameter.choices)
    places = np.linspace(0.0, 1.0, _N_LEVELS)[:, None]
    return list(dict.fromkeys(parameter.decode(place) for place in places))


def _changed(subject: Subject, evaluation: int, name: str, level: Any) -> Any:
    """Return the point of an evaluation with another value of one parameter."""
    point = subject.evaluations[evaluation].point
    if subject.space.named:
        return {**point, name: level}
    index = list(subject.space.parameters).index(name)
    return [*point[:index], level, *point[index + 1 :]]


def importance(subject: Subject) -> Importance | None:
    """Return how much each parameter matters to the model; None where there is none."""
    relevance = subject.relevance
    if not relevance:
        return None
    return Importance(names=list(relevance), shares=np.array(list(relevance.values())))


def left_out(subject: Subject) -> Predictions | None:
    """Return what the model says of each evaluation when it is not shown its value.

    None where there is no model, or none that can say.
    """
    if subject.model is None:
        return None
    try:
        found = subject.model.leave_one_out()
    except ValueError:  # a model without predictions of this kind
        return None
    actual = subject.sign * subject.loss
    known = np.isfinite(actual) & np.isfinite(found.mean) & np.isfinite(found.deviation)
    return _predictions(actual, found.mean, found.deviation, known)


def ahead(subject: Subject) -> Predictions | None:
    """Return what was said of each proposal before it was evaluated; None where nothing was.

    The deviation is that of the objective itself, without noise.
    """
    said = [(number(e, "mean"), number(e, "deviation")) for e in subject.evaluations]
    mean, deviation = np.array(said).reshape(-1, 2).T
    actual = subject.sign * subject.loss
    known = np.isfinite(actual) & np.isfinite(mean) & np.isfinite(deviation) & (deviation >= 0)
    return _predictions(actual, subject.sign * mean, deviation, known)


def _predictions(
    actual: np.ndarray, mean: np.ndarray, deviation: np.ndarray, known: np.ndarray
) -> Predictions | None:
    rows = np.flatnonzero(known)
    if len(rows) < 2:
        return None
    return Predictions(
        evaluations=rows, actual=actual[rows], mean=mean[rows], deviation=deviation[rows]
    )
