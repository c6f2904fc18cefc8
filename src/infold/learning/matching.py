"""Earlier runs side by side in one space, that of the family, and what it is in a new one.

Parameters are matched by name. The family has every parameter that some run has, from the least to
the largest value that any run allows, with the kinds and scales of the new run.
"""

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from infold.learning.axes import Axis
from infold.learning.kinds import (
    HERE,
    MISSING,
    NothingShared,
    check_kind,
    hull,
    inferred,
    typed_value,
)
from infold.learning.lessons import Run
from infold.learning.sources import Source
from infold.space import Bool, Categorical, Float, Int, Parameter, Space

_log = logging.getLogger(__name__)


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
        given = [(HERE, space.parameters[name])] if space and name in space.parameters else []
        family[name] = _joined(name, given, sources, columns)
    joined = Space(family, named=space.named if space is not None else _any_named(sources))
    fill = _centres(joined, space)
    runs = []
    for source, values in zip(sources, columns, strict=True):
        parts = [
            places_of(parameter, values.get(name), len(source.points), fill[name])
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
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


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
        owner = first.name if space is None else HERE
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
    for i, source in reversed(list(enumerate(sources))):
        owner = HERE
        if space is None:
            others = [*sources[:i], *sources[i + 1 :]]
            known = {name for other in others for name in other.parameters}
            owner = others[0].name if len(others) == 1 else "the others"
        if source.parameters and known and not known & set(source.parameters):
            raise nothing_shared(source.name, source.parameters, owner, known)


def nothing_shared(
    name: str, has: Iterable[str], owner: str, known: Iterable[str]
) -> NothingShared:
    """Return the error that says that two have no parameter in common."""
    return NothingShared(
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
        columns: for each source, values by the names of parameters; `MISSING` where a point lacks
            one.
    """
    typed = list(given)
    for source in sources:
        parameter = source.parameters.get(name)
        if parameter is not None:
            typed.append((source.name, parameter))
            typed.extend((source.name, other) for other in source.hull.get(name, ()))
    if not typed:
        holders = [source for source in sources if name in source.parameters]
        typed = [(holders[0].name, inferred(name, holders))]
    leader, leading = typed[0]
    for owner, parameter in typed[1:]:
        check_kind(name, owner, parameter, leader, leading)
    seen: list[Any] = []
    for source, column in zip(sources, columns, strict=True):
        if name not in source.parameters:
            continue
        values = [point.get(name, MISSING) for point in source.points]
        if source.parameters[name] is None:
            values = [typed_value(name, v, leading, source.name) for v in values]
        column[name] = values
        seen.extend(value for value in values if value is not MISSING)
    return hull(leading, [parameter for _, parameter in typed], seen, name)


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


def places_of(
    parameter: Parameter, values: Sequence[Any] | None, count: int, fill: np.ndarray
) -> np.ndarray:
    """Return the coordinates of one parameter, one row per point."""
    places = np.tile(fill, (count, 1))
    if values is None or parameter.fixed:
        return places
    there = np.array([value is not MISSING for value in values], dtype=bool)
    present = [value for value in values if value is not MISSING]
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
