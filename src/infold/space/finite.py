"""Spaces with finitely many points: how many there are, and one that is not known yet."""

import itertools
import math
from collections.abc import Container, Iterator, Sequence
from typing import Any

import numpy as np

from infold.space import Bool, Categorical, Float, Int, Point
from infold.space.fixed import Fixed
from infold.space.scipy_constraints import limits_of

_MOST = 100_000  # points of a space that are looked through for one that is new: a second or so
_TRIES = 100  # random points that are tried first


def n_points(fixed: Fixed) -> float:
    """Return how many points have the fixed values; infinity where a float varies freely.

    Where there are known constraints, those that satisfy them, unless they are too many to count.
    """
    chosen = _chosen(fixed)
    count = math.prod(
        1 if name in chosen else _n_values(parameter)
        for name, parameter in fixed.space.parameters.items()
    )
    if fixed.space.where is None or count > _most(fixed):
        return count
    known: dict[Any, int] = fixed.space.__dict__.setdefault("_n_allowed", {})
    key = repr(fixed.values)
    if key not in known:
        known[key] = sum(1 for _ in _points(fixed))
    return known[key]


def _settled(fixed: Fixed) -> frozenset[str]:
    """Return which floats known constraints leave no choice, given all other parameters."""
    return frozenset() if fixed.where is None else fixed.where.settled


def _most(fixed: Fixed) -> int:
    """Return how many points are looked through: fewer where floats have to be solved for."""
    return _MOST // 100 if _settled(fixed) else _MOST


def _chosen(fixed: Fixed) -> dict[str, Any]:
    """Return the fixed values, and any value of floats that have no choice."""
    low = {name: limits_of(fixed.space.parameters[name])[0] for name in _settled(fixed)}
    return {**low, **fixed.values}


def _points(fixed: Fixed) -> Iterator[Point]:
    """Give all points that have the fixed values and satisfy the known constraints."""
    space, given = fixed.space, _chosen(fixed)
    values = [
        (given[name],) if name in given else _values(parameter)
        for name, parameter in space.parameters.items()
    ]
    points = (space.normalize(list(chosen)) for chosen in itertools.product(*values))
    where = fixed.where
    if where is not None and where.settled:
        points = (fixed.put(where.completed(point)) for point in points)
    return (point for point in points if space.allows(point))


def _n_values(parameter: Any) -> float:
    if isinstance(parameter, Float):
        if parameter.low == parameter.high:
            return 1
        return math.inf if parameter.step is None else parameter.n_values
    if isinstance(parameter, Int):
        return (parameter.high - parameter.low) // parameter.step + 1
    return len(parameter.choices) if isinstance(parameter, Categorical) else 2


def _values(parameter: Any) -> Sequence[Any]:
    """Return all values of a parameter that has finitely many."""
    if isinstance(parameter, Categorical):
        return parameter.choices
    if isinstance(parameter, Bool):
        return (False, True)
    count = int(_n_values(parameter))
    if isinstance(parameter, Float) and count > 1:
        return [parameter.at_step(i) for i in range(count)]
    step = getattr(parameter, "step", None) or 0
    return [parameter.low + i * step for i in range(count)]


def unknown_point(fixed: Fixed, known: Container[bytes], rng: np.random.Generator) -> Point | None:
    """Return a random point that has the fixed values and is not known.

    None where there is none, or where the space is large and a hundred random points were known.
    """
    space = fixed.space
    is_short = bool(_settled(fixed)) and n_points(fixed) <= _most(fixed)
    for _ in range(0 if is_short else _TRIES):  # a list is sooner made than a hundred samples
        unit = rng.uniform(size=space.dimension)
        if fixed.where is not None:
            unit = fixed.where.sample(1, rng)[0]
        point = fixed.put(space.decode(unit))
        if space.identity(point) not in known and space.allows(point):
            return point
    if n_points(fixed) > _most(fixed):
        return None
    new = [point for point in _points(fixed) if space.identity(point) not in known]
    return new[rng.integers(len(new))] if new else None
