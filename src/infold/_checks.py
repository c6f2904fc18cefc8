"""Checks of what callers pass in. Each error names the argument, what came and what was expected."""

from collections.abc import Iterable

import numpy as np


def finite_array(name: str, value: object, shape: tuple[int | None, ...]) -> np.ndarray:
    """`value` as a float64 array of the given shape (None: any length) without NaN or infinity."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} = {value!r}: expected an array of numbers") from error
    wanted = ", ".join("any" if n is None else str(n) for n in shape)
    if array.ndim != len(shape) or any(
        n is not None and n != m for n, m in zip(shape, array.shape, strict=True)
    ):
        raise ValueError(f"{name} has shape {array.shape}: expected ({wanted})")
    if not np.all(np.isfinite(array)):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name}{list(where)} = {array[where]}: expected finite numbers")
    return array


def unit_cube(name: str, value: object, dimension: int | None) -> np.ndarray:
    """`value` as an array of points in [0, 1]^dimension, one per row."""
    array = finite_array(name, value, (None, dimension))
    outside = (array < 0.0) | (array > 1.0)
    if np.any(outside):
        i, j = (int(k) for k in np.argwhere(outside)[0])
        raise ValueError(f"{name}[{i}, {j}] = {array[i, j]}: expected values in [0, 1]")
    return array


def at_least(name: str, value: int, least: int) -> int:
    """`value` as an int that is no smaller than `least`."""
    if isinstance(value, bool) or int(value) != value or value < least:
        raise ValueError(f"{name} = {value!r}: expected a whole number of at least {least}")
    return int(value)


def one_of(name: str, value: str, choices: Iterable[str]) -> str:
    """`value`, which must be one of `choices`."""
    choices = list(choices)
    if value not in choices:
        raise ValueError(f"{name} = {value!r}: expected one of {', '.join(choices)}")
    return value
