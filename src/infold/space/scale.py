"""Intervals of numbers, linear or logarithmic, and their places between 0 and 1."""

import math
from typing import Any

from infold import _checks


def number_of(name: str, value: Any) -> float:
    """Return `value` as a float; raise where it is not a number."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} = {shown(value)}: expected a number") from None
    if isinstance(value, str | bytes):
        raise ValueError(f"{name} = {shown(value)}: expected a number")
    return number


def shown(value: Any) -> str:
    """Return a value in words that fit into an error's line."""
    if isinstance(value, int) and value.bit_length() > 200:  # Python refuses to print longer ones
        return f"a whole number of {value.bit_length()} bits"
    return _checks.shown(value)[:60]


def check_limits(name: str, low: float, high: float, log: bool) -> None:
    """Raise where neither an interval of numbers nor a single number is described."""
    if not isinstance(log, bool):
        raise ValueError(f"{name}.log = {shown(log)}: expected True or False")
    pair = f"{name} = ({shown(low)}, {shown(high)})"
    if not (-math.inf < low < math.inf and -math.inf < high < math.inf):
        raise ValueError(f"{pair}: expected finite limits")
    if low > high:
        raise ValueError(f"{pair}: lower must be below upper, or equal to fix the parameter")
    if log and low <= 0:
        raise ValueError(f"{pair}: a logarithmic scale needs a lower limit above 0")
    if log and low < high and math.log(low) == math.log(high):
        raise ValueError(f"{pair}: the limits are too close for a logarithmic scale")


def check_between(name: str, number: float, low: float, high: float, log: bool) -> None:
    """Raise where a number is outside of the limits by more than a rounding error."""
    if low == high:
        if not abs(number - low) <= 1e-9 * abs(low):
            raise ValueError(f"{name} = {number}: expected {low}, its only value")
        return
    below, above = (low, high) if log else (_width(low, high), _width(low, high))
    if not low - 1e-9 * below <= number <= high + 1e-9 * above:
        raise ValueError(f"{name} = {number}: expected a value in [{low}, {high}]")


def _width(low: float, high: float) -> float:
    return min(high - low, 1e308)  # finite limits may be further apart than floats reach


def to_unit(value: float, low: float, high: float, log: bool) -> float:
    """Return where a value is between low (0) and high (1)."""
    if log:
        value = math.log(max(value, low))
        low = math.log(low)
        high = math.log(high)
    elif math.isinf(high - low):
        value, low, high = value / 2, low / 2, high / 2
    return min(1.0, max(0.0, (value - low) / (high - low)))


def from_unit(unit: float, low: float, high: float, log: bool) -> float:
    """Return the value at a place between low (0) and high (1)."""
    if unit in (0.0, 1.0):
        return high if unit else low
    if log:
        last = math.log(high)
        value = math.exp(min(last, math.log(low) + unit * (last - math.log(low))))
    elif math.isinf(high - low):
        value = 2 * (low / 2 + unit * (high / 2 - low / 2))
    else:
        value = low + unit * (high - low)
    return min(high, max(low, value))
