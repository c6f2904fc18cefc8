"""What was learned in the space of a family, seen from the space of a new run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from infold.learning.axes import Axis
from infold.learning.kinds import HERE, check_kind, index_of
from infold.learning.lessons import Lessons
from infold.learning.matching import nothing_shared, places_of
from infold.space import Categorical, Float, Int, Parameter, Space


def seen_from(lessons: Lessons, family: Space, space: Space, *, name: str) -> Lessons:
    """Return lessons in the unit cube of a new run.

    Args:
        lessons: what was learned, in the unit cube of the family.
        family: parameters of the family.
        space: parameters of the new run.
        name: what errors call the lessons.
    """
    if not family.named and len(family.parameters) != len(space.parameters):
        raise ValueError(
            f"{name} has {len(family.parameters)} parameters without names: "
            f"expected {len(space.parameters)}, as {HERE} has"
        )
    known = family.parameters
    if not family.named:
        known = dict(zip(space.parameters, family.parameters.values(), strict=True))
    shared = [n for n, p in space.parameters.items() if n in known and not p.fixed]
    for parameter_name, parameter in space.parameters.items():
        if parameter_name in known:
            check_kind(parameter_name, name, known[parameter_name], HERE, parameter)
    if not any(not known[parameter_name].fixed for parameter_name in shared):
        free = [n for n, p in space.parameters.items() if not p.fixed]
        raise nothing_shared(name, known, HERE, free)
    starts = _starts(known)
    held = np.full(lessons.dimension, 0.5)
    links = [
        link
        for parameter_name, parameter in space.parameters.items()
        for link in _links(parameter, known.get(parameter_name), starts.get(parameter_name, 0))
    ]
    for parameter_name, parameter in space.parameters.items():
        own = known.get(parameter_name)
        if own is not None and parameter.fixed and not own.fixed:
            value = parameter.decode(np.empty(0))
            place = places_of(own, [value], 1, np.full(own.width, 0.5))[0]
            held[starts[parameter_name] : starts[parameter_name] + own.width] = place
    moved = lessons.seen_from(
        np.array([link.column for link in links], dtype=int),
        np.array([link.scale for link in links]),
        np.array([link.shift for link in links]),
        held,
    )
    return _without_empty(_placed(moved, lessons, links))


def _starts(parameters: Mapping[str, Parameter]) -> dict[str, int]:
    """Return the first coordinate of each parameter."""
    widths = [parameter.width for parameter in parameters.values()]
    starts = np.cumsum([0, *widths[:-1]]).tolist()
    return dict(zip(parameters, starts, strict=True))


@dataclass(frozen=True)
class _Link:
    """One coordinate of the new run: which of the family it is, and how."""

    column: int = -1
    """Coordinate of the family whose scale it shares; -1 where it shares none."""
    scale: float = 1.0
    shift: float = 0.0
    place: Callable[[np.ndarray], np.ndarray] | None = None
    """Returns where points of the family are along it, where that is not a line."""


_SHORTEST = 1e-9  # part of the family's range; of less, nothing but points can be told


def _links(parameter: Parameter, own: Parameter | None, start: int) -> list[_Link]:
    """Return how the coordinates of a parameter follow from those that the family has."""
    if parameter.fixed:
        return []
    if own is None:
        return [_Link()] * parameter.width
    if own.fixed:
        value = own.decode(np.empty(0))
        if isinstance(parameter, Categorical) and index_of(parameter, value) is None:
            return [_Link()] * parameter.width
        places = places_of(parameter, [value], 1, np.full(parameter.width, 0.5))[0]
        return [_Link(place=partial(_everywhere, place)) for place in places]
    if isinstance(parameter, Float | Int):
        assert isinstance(own, Float | Int)
        here, there = Axis.of(own), Axis.of(parameter)
        if here == there:
            return [_Link(start)]
        first, last = here.place(there.value(np.array([0.0, 1.0])))
        if here.log and not there.log:
            first = max(first, 0.0)  # a line comes to 0 or close to it, a logarithm never does
        exact = partial(_along, start, here, there)
        if abs(last - first) < _SHORTEST:
            return [_Link(place=exact)]
        return [_Link(start, last - first, first, None if here.log == there.log else exact)]
    # A bool has one coordinate, which is that of the choice True.
    known = own if isinstance(own, Categorical) else Categorical((True,))
    choices = parameter.choices if isinstance(parameter, Categorical) else (True,)
    indices = [index_of(known, choice) for choice in choices]
    return [_Link() if index is None else _Link(start + index) for index in indices]


def _everywhere(place: float, x: np.ndarray) -> np.ndarray:
    return np.full(len(x), place)


def _along(column: int, own: Axis, new: Axis, x: np.ndarray) -> np.ndarray:
    return np.clip(new.place(own.value(x[:, column])), 0.0, 1.0)


def _placed(moved: Lessons, lessons: Lessons, links: Sequence[_Link]) -> Lessons:
    """Return lessons whose points are right too along coordinates that follow by no line."""
    places = [(i, link.place) for i, link in enumerate(links) if link.place is not None]
    if not places:
        return moved

    def exact(there: np.ndarray, here: np.ndarray) -> np.ndarray:
        there = there.copy()
        for i, place in places:
            there[:, i] = place(here)
        return there

    centre = moved.centre
    if centre is not None and lessons.centre is not None:
        centre = exact(centre[None], lessons.centre[None])[0]
    manifold = moved.manifold
    if manifold is not None and lessons.manifold is not None:
        manifold = replace(manifold, x=exact(manifold.x, lessons.manifold.x))
    points = moved.points
    if len(points):
        points = exact(points, lessons.points)
    return replace(moved, points=points, centre=centre, manifold=manifold)


def _without_empty(lessons: Lessons) -> Lessons:
    """Return lessons without designs that have all come to one point, outside of the new range."""
    manifold = lessons.manifold
    if manifold is None or np.max(np.std(manifold.x, axis=0)) >= _SHORTEST:
        return lessons
    return replace(lessons, manifold=None)
