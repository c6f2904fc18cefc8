"""Checks of arguments. Each error names the argument, what was given and what was expected."""

import math
import numbers
from collections.abc import Iterable

import numpy as np


def finite_array(name: str, value: object, shape: tuple[int | None, ...]) -> np.ndarray:
    """Return `value` as a float64 array, or raise ValueError when it is not finite or misshapen.

    Args:
        name: name of the argument, for the error.
        value: what the caller gave.
        shape: expected length of every axis; None where any length will do.
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} = {value!r}: expected an array of numbers") from error
    if not _has_shape(array, shape):
        expected = ", ".join("any" if n is None else str(n) for n in shape)
        raise ValueError(f"{name} has shape {array.shape}: expected ({expected})")
    finite = np.isfinite(array)
    if not np.all(finite):
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise ValueError(f"{name}{list(where)} = {array[where]}: expected finite numbers")
    return array


def _has_shape(array: np.ndarray, shape: tuple[int | None, ...]) -> bool:
    if array.ndim != len(shape):
        return False
    return all(n is None or n == m for n, m in zip(shape, array.shape, strict=True))


def unit_cube(name: str, value: object, dimension: int | None) -> np.ndarray:
    """Return `value` as an array of points in the unit cube, one per row, or raise ValueError.

    Args:
        name: name of the argument, for the error.
        value: what the caller gave.
        dimension: number of columns; None where any number will do.
    """
    array = finite_array(name, value, (None, dimension))
    outside = (array < 0.0) | (array > 1.0)
    if np.any(outside):
        i, j = np.argwhere(outside)[0]
        raise ValueError(f"{name}[{i}, {j}] = {array[i, j]}: expected values in [0, 1]")
    return array


def at_least(name: str, value: int, least: int) -> int:
    """Return `value` as an int, or raise ValueError unless it is whole and at least `least`."""
    whole = isinstance(value, numbers.Integral) or (is_number(value) and value % 1 == 0)
    if isinstance(value, bool) or not whole or value < least:
        raise ValueError(f"{name} = {value!r}: expected a whole number of at least {least}")
    return int(value)


def one_of(name: str, value: str, choices: Iterable[str]) -> str:
    """Return `value`, or raise ValueError when it is not one of `choices`."""
    known = list(choices)
    if value not in known:
        raise ValueError(f"{name} = {value!r}: expected one of {', '.join(known)}")
    return value


def positive(name: str, value: float) -> float:
    """Return `value` as a float, or raise ValueError unless it is a number above 0."""
    if not is_number(value) or not value > 0:
        raise ValueError(f"{name} = {value!r}: expected a number above 0")
    return float(value)


def finite(name: str, value: float) -> float:
    """Return `value` as a float, or raise ValueError unless it is a finite number."""
    if not is_number(value) or not math.isfinite(value):
        raise ValueError(f"{name} = {value!r}: expected a finite number")
    return float(value)


def is_number(value: object) -> bool:
    """Return whether `value` is a real number, which truth values are not."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
