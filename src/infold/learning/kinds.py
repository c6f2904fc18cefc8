"""Kinds of parameters under one name: whether they agree, and what holds the values of all."""

import logging
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from infold import _checks
from infold.learning.sources import Source
from infold.space import Bool, Categorical, Float, Int, Parameter

_log = logging.getLogger(__name__)
HERE = "the new run"
"""What errors call the run that learns from others."""


MISSING = object()
"""Stands for the value of a parameter that a point lacks; None may be a choice."""


class NothingShared(ValueError):
    """Two spaces have no parameter in common."""


def index_of(parameter: Categorical, choice: Any) -> int | None:
    """Return the number of a choice; None where there is no such choice."""
    try:
        return parameter.identity(parameter.normalize("", choice))
    except ValueError:
        return None


def check_kind(
    name: str, owner: str, parameter: Parameter, leader: str, leading: Parameter
) -> None:
    if parameter.kind == leading.kind or (_are_truths(parameter) and _are_truths(leading)):
        return
    raise ValueError(
        f"{name} is of the kind {parameter.kind} in {owner} and {leading.kind} in {leader}: "
        "expected the same kind; give one of them another name, or leave the source out. Where it "
        "was learned from a table, which has no kinds, learn again with the new run's parameters "
        "(space, --space, search_space)"
    )


def _are_truths(parameter: Parameter) -> bool:
    """Tell whether the values are True and False, as a bool or as choices."""
    if isinstance(parameter, Categorical):
        return all(isinstance(choice, bool) for choice in parameter.choices)
    return isinstance(parameter, Bool)


def may_be_none(parameter: Parameter) -> bool:
    return isinstance(parameter, Categorical) and index_of(parameter, None) is not None


def inferred(name: str, sources: Sequence[Source]) -> Parameter:
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


def typed_value(name: str, cell: Any, leading: Parameter, source: str) -> Any:
    """Return a value of a table as the kind that the parameter has elsewhere."""
    problem = f"{source}: {name} = {_checks.shown(cell)}: expected"
    if cell is MISSING:
        return cell
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
    """Return the choice that a cell stands for; the cell itself where it is a new one.

    Text stands for the choice that is written so, or else for the number that it is: 8.0 for 8.
    """
    equal = index_of(leading, cell)
    if equal is not None:
        return leading.choices[equal]
    if not isinstance(cell, str):
        return cell
    written = [choice for choice in leading.choices if str(choice) == cell]
    number = _number(cell)
    equal_numbers = [c for c in leading.choices if _checks.is_number(c) and c == number]
    return next(iter(written + equal_numbers), cell)


def hull(
    leading: Parameter, parameters: Sequence[Parameter], seen: Sequence[Any], name: str
) -> Parameter:
    """Return a parameter of the leading kind that has all values."""
    if isinstance(leading, Bool):
        return Bool()
    if isinstance(leading, Categorical):
        offered = [
            choice
            for parameter in parameters
            for choice in getattr(parameter, "choices", (False, True))
        ]
        joined = Categorical((offered[0],))
        for choice in (*offered, *seen):
            if index_of(joined, choice) is None:
                joined = Categorical((*joined.choices, choice))
        return joined
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
