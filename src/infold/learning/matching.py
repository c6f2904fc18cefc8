"""Earlier runs side by side in one space, that of the family, and what it is in a new one.

Parameters are matched by name. The family has every parameter that some run has, from the least to
the largest value that any run allows, with the kinds and scales of the new run.
"""

import logging
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from infold import _checks
from infold.learning.axes import Axis
from infold.learning.lessons import Lessons, Run
from infold.learning.sources import Source
from infold.space import Bool, Categorical, Float, Int, Parameter, Space

_log = logging.getLogger(__name__)
_HERE = "the new run"


@dataclass(frozen=True, eq=False)
class Family:
    """Runs in one space."""

    space: Space
    """All parameters, each in the range that holds those of all runs."""
    runs: list[Run]


def family_of(
    sources: Sequence[Source], *, space: Space | None = None, direction: str = "minimize"
) -> Family:
    """Return the runs in one space.

    Args:
        sources: earlier runs, one at least.
        space: parameters of the new run, whose kinds and scales the family has; None: those of the
            first run that has them, in the order of their names.
        direction: whether values of a source that does not say are minimized or maximized.
    """
    sources = _by_position(sources, space)
    _check_shared(sources, space)
    names = list(space.parameters) if space is not None else []
    found = {name for source in sources for name in source.parameters}
    names += sorted(found - set(names), key=_natural)
    family: dict[str, Parameter] = {}
    columns: list[dict[str, list]] = [{} for _ in sources]
    for name in names:
        given = [(_HERE, space.parameters[name])] if space and name in space.parameters else []
        family[name] = _joined(name, given, sources, columns)
    joined = Space(family, named=space.named if space is not None else _any_named(sources))
    fill = _centres(joined, space)
    runs = []
    for source, values in zip(sources, columns, strict=True):
        parts = [
            _places(parameter, values.get(name), len(source.points), fill[name])
            for name, parameter in family.items()
        ]
        losses = source.losses
        if losses is not None and source.direction is None and direction == "maximize":
            losses = -losses
        runs.append(Run(source.name, np.concatenate(parts, axis=1), losses))
    return Family(joined, runs)


def _natural(name: str) -> list:
    """Return a key that sorts x2 before x10."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _any_named(sources: Iterable[Source]) -> bool:
    return any(source.named for source in sources)


def _by_position(sources: Sequence[Source], space: Space | None) -> list[Source]:
    """Return the sources with the names of the new run where they have numbers only."""
    matched = []
    first = next((source for source in sources if not source.named), None)
    for source in sources:
        if source.named or not source.parameters:
            matched.append(source)
            continue
        assert first is not None
        names = list(first.parameters) if space is None else list(space.parameters)
        owner = first.name if space is None else _HERE
        if len(source.parameters) != len(names):
            raise ValueError(
                f"{source.name} has {len(source.parameters)} parameters without names: "
                f"expected {len(names)}, as {owner} has"
            )
        new = dict(zip(source.parameters, names, strict=True))
        matched.append(
            replace(
                source,
                parameters={new[name]: p for name, p in source.parameters.items()},
                points=[{new[n]: value for n, value in point.items()} for point in source.points],
            )
        )
    return matched


def _check_shared(sources: Sequence[Source], space: Space | None) -> None:
    """Raise where a source has no parameter in common with the new run, or with the others."""
    if space is not None:
        known = {name for name, p in space.parameters.items() if not p.fixed}
        owner = _HERE
    else:
        known = set(sources[0].parameters)
        owner = sources[0].name if len(sources) == 2 else "the others"
    for source in sources if space is not None else sources[1:]:
        if source.parameters and known and not known & set(source.parameters):
            raise ValueError(nothing_shared(source.name, source.parameters, owner, known))
        if space is None:
            known |= set(source.parameters)


def nothing_shared(name: str, has: Iterable[str], owner: str, known: Iterable[str]) -> str:
    """Return the words that say that two have no parameter in common."""
    return (
        f"{name} has no parameter in common with {owner}: it has {_few(has)}; "
        f"expected some of {_few(known)}"
    )


def _few(names: Iterable[str]) -> str:
    listed = sorted(names, key=_natural)
    more = f", and {len(listed) - 6} more" if len(listed) > 6 else ""
    return ", ".join(listed[:6]) + more


def _joined(
    name: str,
    given: list[tuple[str, Parameter]],
    sources: Sequence[Source],
    columns: list[dict[str, list]],
) -> Parameter:
    """Return the parameter of the family; put the values of each source into its columns.

    Args:
        name: name of the parameter.
        given: what the new run has, and whose it is.
        sources: the earlier runs.
        columns: for each source, values by the names of parameters; None where a point lacks one.
    """
    typed = list(given)
    for source in sources:
        parameter = source.parameters.get(name)
        if parameter is not None:
            typed.append((source.name, parameter))
            typed.extend((source.name, other) for other in source.hull.get(name, ()))
    if not typed:
        holders = [source for source in sources if name in source.parameters]
        typed = [(holders[0].name, _inferred(name, holders))]
    leader, leading = typed[0]
    for owner, parameter in typed[1:]:
        _check_kind(name, owner, parameter, leader, leading)
    seen: list[Any] = []
    for source, column in zip(sources, columns, strict=True):
        if name not in source.parameters:
            continue
        values = [point.get(name) for point in source.points]
        if source.parameters[name] is None:
            values = [_typed(name, v, leading, source.name) for v in values]
        column[name] = values
        seen.extend(value for value in values if value is not None)
    return _hull(leading, [parameter for _, parameter in typed], seen, name)


def _check_kind(
    name: str, owner: str, parameter: Parameter, leader: str, leading: Parameter
) -> None:
    if parameter.kind == leading.kind or _are_truths(parameter) and _are_truths(leading):
        return
    raise ValueError(
        f"{name} is of the kind {parameter.kind} in {owner} and {leading.kind} in {leader}: "
        "expected the same kind; give one of them another name, or leave the source out"
    )


def _are_truths(parameter: Parameter) -> bool:
    """Tell whether the values are True and False, as a bool or as choices."""
    if isinstance(parameter, Categorical):
        return all(isinstance(choice, bool) for choice in parameter.choices)
    return isinstance(parameter, Bool)


def _inferred(name: str, sources: Sequence[Source]) -> Parameter:
    """Return what the values of tables look like: numbers, truth values, or else choices."""
    cells = [point[name] for source in sources for point in source.points if name in point]
    if cells and all(_truth(cell) is not None and not _is_plain_number(cell) for cell in cells):
        return Bool()
    numbers = [_number(cell) for cell in cells]
    if all(number is not None for number in numbers):
        finite = [number for number in numbers if number is not None]
        return Float(min(finite, default=0.0), max(finite, default=1.0))
    return Categorical(tuple(dict.fromkeys(cells)))


def _is_plain_number(cell: Any) -> bool:
    return not isinstance(cell, bool) and _number(cell) is not None


def _number(cell: Any) -> float | None:
    if isinstance(cell, bool):
        return None
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _truth(cell: Any) -> bool | None:
    if isinstance(cell, bool | np.bool_):
        return bool(cell)
    text = str(cell).strip().lower()
    if text in ("true", "1", "1.0"):
        return True
    return False if text in ("false", "0", "0.0") else None


def _typed(name: str, cell: Any, leading: Parameter, source: str) -> Any:
    """Return a value of a table as the kind that the parameter has elsewhere."""
    problem = f"{source}: {name} = {_checks.shown(cell)}: expected"
    if cell is None:
        return None
    if isinstance(leading, Bool):
        truth = _truth(cell)
        if truth is None:
            raise ValueError(f"{problem} True or False")
        return truth
    if isinstance(leading, Categorical):
        return _choice(cell, leading)
    number = _number(cell)
    if number is None:
        raise ValueError(f"{problem} a finite number")
    if isinstance(leading, Int):
        if abs(number - round(number)) > 1e-6:
            raise ValueError(f"{problem} a whole number")
        return round(number)
    return number


def _choice(cell: Any, leading: Categorical) -> Any:
    """Return the choice that a cell stands for; the cell itself where it is a new one."""
    equal = leading._index(cell)
    if equal is not None:
        return leading.choices[equal]
    if not isinstance(cell, str):
        return cell
    return next((choice for choice in leading.choices if str(choice) == cell), cell)


def _hull(
    leading: Parameter, parameters: Sequence[Parameter], seen: Sequence[Any], name: str
) -> Parameter:
    """Return a parameter of the leading kind that has all values."""
    if isinstance(leading, Bool):
        return Bool()
    if isinstance(leading, Categorical):
        choices: list[Any] = []
        offered = [
            choice
            for parameter in parameters
            for choice in (parameter.choices if isinstance(parameter, Categorical) else (False, True))
        ]
        for choice in (*offered, *seen):
            if Categorical(tuple(choices) or (choice,))._index(choice) is None or not choices:
                choices.append(choice)
        return Categorical(tuple(choices))
    assert isinstance(leading, Float | Int)
    numbers = [p for p in parameters if isinstance(p, Float | Int)]
    limits = [float(limit) for p in numbers for limit in (p.low, p.high)]
    limits += [float(value) for value in seen]
    if leading.log and min(limits) <= 0.0:
        _log.warning("%s has a logarithmic scale: earlier values of 0 or less count as small", name)
        limits = [limit for limit in limits if limit > 0.0]
    low, high = min(limits), max(limits)
    if isinstance(leading, Int):
        return Int(math.floor(low), math.ceil(high), log=leading.log)
    return Float(low, high, log=leading.log)


def _centres(family: Space, space: Space | None) -> dict[str, np.ndarray]:
    """Return where a parameter is put that a run lacks: the middle of the new run's range."""
    places = {}
    for name, parameter in family.parameters.items():
        own = parameter if space is None else space.parameters.get(name, parameter)
        value = own.decode(np.full(own.width, 0.5))
        if isinstance(parameter, Float | Int) and not parameter.fixed:
            places[name] = np.clip(Axis.of(parameter).place(np.array([value])), 0.0, 1.0)
        else:
            places[name] = np.array(parameter.coordinates(_same_kind(value, parameter)))
    return places


def _same_kind(value: Any, parameter: Parameter) -> Any:
    return bool(value) if isinstance(parameter, Bool) else value


def _places(
    parameter: Parameter, values: Sequence[Any] | None, count: int, fill: np.ndarray
) -> np.ndarray:
    """Return the coordinates of one parameter, one row per point."""
    places = np.tile(fill, (count, 1))
    if values is None or parameter.fixed:
        return places
    there = np.array([value is not None for value in values], dtype=bool)
    present = [value for value in values if value is not None]
    if not present:
        return places
    if isinstance(parameter, Float | Int):
        numbers = np.array([float(value) for value in present])
        places[there] = np.clip(Axis.of(parameter).place(numbers), 0.0, 1.0)[:, None]
    else:
        places[there] = [parameter.coordinates(_same_kind(v, parameter)) for v in present]
    return places


def coordinate_names(space: Space) -> list[str]:
    """Return what the coordinates of the unit cube are called: rate, kind=a, kind=b, ..."""
    names = []
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Categorical):
            names += [f"{name}={choice}" for choice in parameter.choices[: parameter.width]]
        else:
            names += [name] * parameter.width
    return names


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
            f"expected {len(space.parameters)}, as {_HERE} has"
        )
    known = family.parameters
    if not family.named:
        known = dict(zip(space.parameters, family.parameters.values(), strict=True))
    shared = [n for n, p in space.parameters.items() if n in known and not p.fixed]
    for parameter_name, parameter in space.parameters.items():
        if parameter_name in known:
            _check_kind(parameter_name, name, known[parameter_name], _HERE, parameter)
    if not any(not known[parameter_name].fixed for parameter_name in shared):
        raise ValueError(nothing_shared(name, known, _HERE, space.parameters))
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
            place = _places(own, [value], 1, np.full(own.width, 0.5))[0]
            held[starts[parameter_name] : starts[parameter_name] + own.width] = place
    moved = lessons.seen_from(
        np.array([link.column for link in links], dtype=int),
        np.array([link.scale for link in links]),
        np.array([link.shift for link in links]),
        held,
    )
    return _bent(moved, lessons, links)


def _starts(parameters: Mapping[str, Parameter]) -> dict[str, int]:
    """Return the first coordinate of each parameter."""
    widths = [parameter.width for parameter in parameters.values()]
    starts = np.cumsum([0, *widths[:-1]]).tolist()
    return dict(zip(parameters, starts, strict=True))


@dataclass(frozen=True)
class _Link:
    """One coordinate of the new run: which of the family it is, and how."""

    column: int = -1
    scale: float = 1.0
    shift: float = 0.0
    axes: tuple[Axis, Axis] | None = None
    """Scales of the family and of the new run where one is logarithmic and the other is not."""


def _links(parameter: Parameter, own: Parameter | None, start: int) -> list[_Link]:
    """Return how the coordinates of a parameter follow from those that the family has."""
    if parameter.fixed:
        return []
    if own is None or own.fixed:
        return [_Link()] * parameter.width
    if isinstance(parameter, Float | Int):
        assert isinstance(own, Float | Int)
        here, there = Axis.of(own), Axis.of(parameter)
        ends = there.value(np.array([0.0, 1.0]))
        first, last = here.place(ends)
        if here.log == there.log:
            return [_Link(start, last - first, first)]
        if abs(last - first) < 1e-9:
            return [_Link()]
        return [_Link(start, last - first, first, (here, there))]
    choices = own.choices if isinstance(own, Categorical) else (True,)
    if isinstance(parameter, Bool):
        index = Categorical(tuple(choices))._index(True)
        return [_Link() if index is None else _Link(start + index)]
    assert isinstance(parameter, Categorical)
    places = [Categorical(tuple(choices))._index(choice) for choice in parameter.choices]
    return [_Link() if index is None else _Link(start + index) for index in places]


def _bent(moved: Lessons, lessons: Lessons, links: Sequence[_Link]) -> Lessons:
    """Return lessons whose points are right too where one scale is logarithmic, the other not."""
    bent = [(i, link) for i, link in enumerate(links) if link.axes is not None]
    if not bent:
        return moved

    def exact(there: np.ndarray, here: np.ndarray) -> np.ndarray:
        there = there.copy()
        for i, link in bent:
            assert link.axes is not None
            own, new = link.axes
            there[:, i] = np.clip(new.place(own.value(here[:, link.column])), 0.0, 1.0)
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
