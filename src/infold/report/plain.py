"""Figures as plain data that JSON holds: six digits, None in place of what is not finite."""

import dataclasses
import json
import math
from typing import Any

import numpy as np

from infold.space.scale import shown

_LONGEST = 2000  # characters of one text: messages may be whole logs


def plain(value: Any) -> Any:
    """Return a figure, an array, a list or a value as plain data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value[:_LONGEST] if isinstance(value, str) else repr(value)[:_LONGEST]


def setting(value: Any) -> Any:
    """Return the value of a parameter for people: a number, or a text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        return value if abs(value) < 2**53 else shown(value)  # JavaScript's numbers end there
    if isinstance(value, float):
        return plain(value) if math.isfinite(value) else str(value)
    return plain(value if isinstance(value, str) else repr(value))


def for_script(data: Any) -> str:
    """Return data as JSON that may stand in a script element: no text in it can end the element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))  # ASCII: U+2028 is escaped too
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
