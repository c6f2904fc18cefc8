"""Intervals of numbers, linear or logarithmic, and their places between 0 and 1."""

import math
from typing import Any


def number_of(name: str, value: Any) -> float:
    """Return `value` as a float; raise where it is not a number."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} = {value!r}: expected a number") from None
    if isinstance(value, str | bytes):
        raise ValueError(f"{name} = {value!r}: expected a number")
    return number


def check_limits(name: str, low: float, high: float, log: bool) -> None:
    """Raise where no interval of numbers is described."""
    if not isinstance(log, bool):
        raise ValueError(f"{name}.log = {log!r}: expected True or False")
    pair = f"{name} = ({low}, {high})"
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"{pair}: expected finite limits")
    if not low < high:
        raise ValueError(f"{pair}: lower must be below upper")
    if log and low <= 0:
        raise ValueError(f"{pair}: a logarithmic scale needs a lower limit above 0")


def check_between(name: str, number: float, low: float, high: float) -> None:
    """Raise where a number is outside of the limits by more than a rounding error."""
    slack = 1e-9 * (high - low)
    if not low - slack <= number <= high + slack:
        raise ValueError(f"{name} = {number}: expected a value in [{low}, {high}]")


def to_unit(value: float, low: float, high: float, log: bool) -> float:
    """Return where a value is between low (0) and high (1)."""
    if log:
        value = math.log(max(value, low))
        low = math.log(low)
        high = math.log(high)
    return min(1.0, max(0.0, (value - low) / (high - low)))


def from_unit(unit: float, low: float, high: float, log: bool) -> float:
    """Return the value at a place between low (0) and high (1)."""
    if unit in (0.0, 1.0):
        return high if unit else low
    value = (
        math.exp(math.log(low) + unit * (math.log(high) - math.log(low)))
        if log
        else low + unit * (high - low)
    )
    return min(high, max(low, value))
