"""The best point with its neighbours, and the best tenth of all points, or the front."""

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from infold.report.figures.front import front
from infold.report.subject import Subject
from infold.space import Categorical, Parameter

_N_NEIGHBOURS = 4
_FEWEST = 5  # points of the best tenth, where there are so many


@dataclass(frozen=True, kw_only=True)
class BestPoint:
    """The best evaluation, then those nearest to it in the unit cube."""

    evaluations: Int[np.ndarray, " k"]
    """Their numbers, from 0."""
    values: Float[np.ndarray, " k"]
    distances: Float[np.ndarray, " k"]
    """Distance from the best one in the unit cube."""
    names: list[str]
    """Names of the parameters."""
    settings: list[list[Any]]
    """For each parameter its values in these evaluations, in the user's units."""


@dataclass(frozen=True, kw_only=True)
class BestTenth:
    """The best tenth of all points, each a line across the parameters.

    With several objectives it is the front.
    """

    evaluations: Int[np.ndarray, " k"]
    """Their numbers, from 0, the best first; on a front, the best in the first objective."""
    values: Float[np.ndarray, "k m"]
    """Their objectives."""
    names: list[str]
    """Names of the parameters that vary, the most relevant first where that is known."""
    positions: Float[np.ndarray, "k p"]
    """Where each value is between the lowest (0) and the highest (1)."""
    settings: list[list[Any]]
    """For each parameter its values in these evaluations, in the user's units."""


def best_point(subject: Subject) -> BestPoint | None:
    """Return the best point and its neighbours; None where there is no one best point."""
    best = subject.best
    if best is None or subject.n_objectives > 1:
        return None
    units = np.array([e.unit for e in subject.evaluations])
    loss = subject.loss
    gaps = np.linalg.norm(units - units[best], axis=1)
    order = [i for i in np.argsort(gaps, kind="stable") if np.isfinite(loss[i]) and i != best]
    chosen = np.array([best, *order[:_N_NEIGHBOURS]])
    names = list(subject.space.parameters)
    return BestPoint(
        evaluations=chosen,
        values=subject.sign * loss[chosen],
        distances=gaps[chosen],
        names=names,
        settings=[[subject.setting(i, name) for i in chosen] for name in names],
    )


def best_tenth(subject: Subject) -> BestTenth | None:
    """Return the best tenth, or the front; None where no evaluation returned a value."""
    found = front(subject)
    chosen = _best(subject) if found is None else found.evaluations
    chosen = chosen[subject.succeeded[chosen]]
    if not len(chosen):
        return None
    names = subject.ranked
    settings = [[subject.setting(i, name) for i in chosen] for name in names]
    positions = [
        [position(subject.space.parameters[name], value) for value in values]
        for name, values in zip(names, settings, strict=True)
    ]
    return BestTenth(
        evaluations=chosen,
        values=subject.values[chosen],
        names=names,
        positions=np.array(positions, dtype=np.float64).reshape(len(names), len(chosen)).T,
        settings=settings,
    )


def _best(subject: Subject) -> Int[np.ndarray, " k"]:
    """Return the numbers of the best tenth, of feasible points where there are any."""
    loss = subject.counted if np.any(subject.feasible) else subject.loss
    succeeded = int(np.sum(np.isfinite(loss)))
    count = min(succeeded, max(ceil(succeeded / 10), _FEWEST))
    return np.argsort(loss, kind="stable")[:count]  # NaN comes last


def position(parameter: Parameter, value: Any) -> float:
    """Return where a value is between the lowest (0) and the highest (1), on the scale searched."""
    coordinates = parameter.coordinates(value)
    if not isinstance(parameter, Categorical):
        return coordinates[0]
    return (int(np.argmax(coordinates)) + 0.5) / len(coordinates)
