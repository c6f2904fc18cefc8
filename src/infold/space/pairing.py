"""Points that come back rounded: told as single-precision numbers, or read from text.

A value counts as a rounding of another where it is what a float32 or a text of six or more digits
makes of it, to the last bit. Values that are merely close are different values.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from infold.record import Pending
    from infold.space import Space

_DIGITS = range(6, 18)  # of a text; a double has no more than 17
_LARGEST = 5.1e-6  # what the sixth digit and a float32 can move a value by, relative to its size


def unrounded(point: Any, pending: "Iterable[Pending]", space: "Space") -> "Pending | None":
    """Return the pending point that `point` is a rounding of, the nearest where there are several.

    Args:
        point: what was told, as `Space.normalize` gives it.
        pending: the points that are waited for.
        space: the parameters of both.
    """
    told = _values(point)
    parameters = list(space.parameters.values())
    found = []
    for candidate in pending:
        asked = _values(candidate.point)
        if all(map(_is_rounding, told, asked, parameters)):
            found.append(candidate)
    if len(found) < 2:
        return found[0] if found else None
    place = space.encode(point)
    return min(found, key=lambda candidate: float(np.max(np.abs(candidate.unit - place))))


def within_limits(x: Any, space: "Space") -> Any:
    """Return x with values just outside of the space, that are a limit rounded, at that limit."""
    parameters = space.parameters
    if isinstance(x, Mapping):
        return {
            name: _limited(value, parameters[name]) if name in parameters else value
            for name, value in x.items()
        }
    is_list = isinstance(x, Sequence) and not isinstance(x, str)
    if is_list or (isinstance(x, np.ndarray) and x.ndim > 0):
        if len(x) == len(parameters):
            return [_limited(value, p) for value, p in zip(x, parameters.values(), strict=True)]
        return x
    return _limited(x, next(iter(parameters.values()))) if len(parameters) == 1 else x


def is_batch(x: Any, space: "Space") -> bool:
    """Return whether x is no point, but a list of points, as `ask(n)` returns them."""
    if not isinstance(x, list | tuple) or not x:
        return False
    # Most points are lists of numbers and text: they are not looked at twice.
    if not all(isinstance(each, Mapping | list | tuple | np.ndarray) for each in x):
        return False
    return not _is_point(x, space) and all(_is_point(each, space) for each in x)


def _is_point(x: Any, space: "Space") -> bool:
    try:
        space.normalize(within_limits(x, space))
    except Exception:  # x may be anything
        return False
    return True


def _limited(value: Any, parameter: Any) -> Any:
    if parameter.kind != "float" or not isinstance(value, float | np.floating):
        return value
    number = float(value)
    for limit, is_outside in (
        (parameter.low, number < parameter.low),
        (parameter.high, number > parameter.high),
    ):
        if is_outside and number in _roundings(limit):
            return limit
    return value


def _values(point: Any) -> list:
    return list(point.values()) if isinstance(point, dict) else list(point)


def _is_rounding(told: Any, asked: Any, parameter: Any) -> bool:
    if told == asked:
        return isinstance(told, bool) == isinstance(asked, bool)
    if parameter.kind != "float":
        return False
    # Six digits behind the point are few for small numbers: they must say enough here.
    size = abs(asked) if parameter.log else max(abs(asked), parameter.high - parameter.low)
    if not abs(told - asked) <= _LARGEST * size:
        return False
    low, high = parameter.low, parameter.high
    return any(told == min(high, max(low, rounding)) for rounding in _roundings(asked))


def _roundings(value: float) -> Iterator[float]:
    with np.errstate(over="ignore"):
        single = np.float32(value)
    yield float(str(single))
    for number in (float(single), value):
        yield number
        for digits in _DIGITS:
            yield float(f"{number:.{digits}g}")
            yield float(f"{number:.{digits}f}")
