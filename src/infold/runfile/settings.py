"""Types of settings that were read from a file: a text in place of a number is found at once."""

import dataclasses
import math
import types
import typing
from typing import Any

from infold import _checks


def check_types(settings: Any) -> None:
    """Raise ValueError where a setting, or one inside, is not of the type that its class says."""
    hints = typing.get_type_hints(type(settings))
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            check_types(value)
        elif not _fits(value, hints[field.name]):
            hint = hints[field.name]
            expected = hint.__name__ if isinstance(hint, type) else str(hint)
            raise ValueError(f"{field.name} = {_checks.shown(value)}: expected {expected}")


def _fits(value: Any, hint: Any) -> bool:
    arguments = typing.get_args(hint)
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, argument) for argument in arguments)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if arguments[-1] is Ellipsis:
            return all(_fits(item, arguments[0]) for item in value)
        return len(value) == len(arguments) and all(map(_fits, value, arguments))
    if hint in (int, float):
        kinds = int if hint is int else (int, float)
        return isinstance(value, kinds) and not isinstance(value, bool) and math.isfinite(value)
    if hint in (bool, str, type(None)):
        return isinstance(value, hint)
    return not isinstance(value, str | int | float | tuple | None)  # settings of their own
