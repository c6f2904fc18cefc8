"""Spaces with finitely many points: how many there are, and one that is not known yet."""

import itertools
import math
from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from infold.space import Bool, Categorical, Float, Int, Point
from infold.space.fixed import Fixed

_MOST = 100_000  # points of a space that are looked through for one that is new: a second or so
_TRIES = 100  # random points that are tried first


def n_points(fixed: Fixed) -> float:
    """Return how many points have the fixed values; infinity where a float varies."""
    return math.prod(
        1 if name in fixed.values else _n_values(parameter)
        for name, parameter in fixed.space.parameters.items()
    )


def _n_values(parameter: Any) -> float:
    if isinstance(parameter, Float):
        if parameter.low == parameter.high:
            return 1
        step = getattr(parameter, "step", None)
        if not step:
            return math.inf
        return math.floor((parameter.high - parameter.low) / step * (1.0 + 1e-12)) + 1
    if isinstance(parameter, Int):
        return (parameter.high - parameter.low) // parameter.step + 1
    return len(parameter.choices) if isinstance(parameter, Categorical) else 2


def _values(parameter: Any) -> Sequence[Any]:
    """Return all values of a parameter that has finitely many."""
    if isinstance(parameter, Categorical):
        return parameter.choices
    if isinstance(parameter, Bool):
        return (False, True)
    step = getattr(parameter, "step", None) or 0
    return [parameter.low + i * step for i in range(int(_n_values(parameter)))]


def unknown_point(fixed: Fixed, known: Container[bytes], rng: np.random.Generator) -> Point | None:
    """Return a random point that has the fixed values and is not known.

    None where there is none, or where the space is large and a hundred random points were known.
    """
    space = fixed.space
    for _ in range(_TRIES):
        point = fixed.put(space.decode(rng.uniform(size=space.dimension)))
        if space.identity(point) not in known:
            return point
    if n_points(fixed) > _MOST:
        return None
    values = [
        (fixed.values[name],) if name in fixed.values else _values(parameter)
        for name, parameter in space.parameters.items()
    ]
    points = (space.normalize(list(chosen)) for chosen in itertools.product(*values))
    new = [point for point in points if space.identity(point) not in known]
    return new[rng.integers(len(new))] if new else None
