"""Checks of arguments. Each error names the argument, what was given and what was expected."""

import math
import numbers
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

_SHOWN = 80  # characters of a value that an error shows


def finite_array(name: str, value: object, shape: tuple[int | None, ...]) -> np.ndarray:
    """Return `value` as a float64 array, or raise ValueError when it is not finite or misshapen.

    Args:
        name: name of the argument, for the error.
        value: what the caller gave.
        shape: expected length of every axis; None where any length will do.
    """
    array = array_of(name, value)
    if not _has_shape(array, shape):
        expected = ", ".join("any" if n is None else str(n) for n in shape)
        raise ValueError(f"{name} has shape {array.shape}: expected ({expected})")
    finite = np.isfinite(array)
    if not np.all(finite):
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise ValueError(f"{name}{list(where)} = {array[where]}: expected finite numbers")
    return array


def array_of(name: str, value: object) -> np.ndarray:
    """Return `value` as a float64 array of any shape, or raise ValueError where it is none."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} = {shown(value)}: expected an array of numbers") from error


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


def at_least(name: str, value: Any, least: int) -> int:
    """Return `value` as an int, or raise ValueError unless it is whole and at least `least`."""
    try:
        fits = np.ndim(value) == 0 and int(value) == value and value >= least
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits or _is_truth(value):
        raise ValueError(f"{name} = {shown(value)}: expected a whole number of at least {least}")
    return int(value)


def one_of(name: str, value: Any, choices: Iterable[str]) -> str:
    """Return `value`, or raise ValueError when it is not one of `choices`."""
    known = list(choices)
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} = {shown(value)}: expected one of {', '.join(known)}")
    return value


def positive(name: str, value: float) -> float:
    """Return `value` as a float, or raise ValueError unless it is a number above 0."""
    number = _double(value)
    if not number > 0:
        raise ValueError(f"{name} = {shown(value)}: expected a number above 0")
    return number


def finite(name: str, value: float) -> float:
    """Return `value` as a float, or raise ValueError unless it is a finite number."""
    number = _double(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} = {shown(value)}: expected a finite number")
    return number


def _double(value: Any) -> float:
    """Return a real number as a float; NaN where there is none, or no double can hold it."""
    try:
        return float(value) if is_number(value) else math.nan
    except OverflowError:
        return math.nan


def path_of(name: str, value: Any) -> Path:
    """Return `value` as a path, or raise ValueError where it cannot be the name of a file."""
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else ""
    if not isinstance(text, str) or not text or "\0" in text:
        raise ValueError(f"{name} = {shown(value)}: expected the path of a file")
    return Path(text)


def existing_storage(storage: Any) -> None:
    """Raise ValueError where an Optuna storage is a missing file, which Optuna would make."""
    beginning = "sqlite:///"
    if not isinstance(storage, str) or not storage.startswith(beginning):
        return
    path = storage.removeprefix(beginning).partition("?")[0]
    is_file = path and not path.startswith((":memory:", "file:"))
    if is_file and not Path(path).exists():
        raise ValueError(f"{shown(storage)}: there is no such file")


def is_number(value: object) -> bool:
    """Return whether `value` is a real number, which truth values are not."""
    return isinstance(value, numbers.Real) and not _is_truth(value)


def _is_truth(value: object) -> bool:
    return isinstance(value, bool | np.bool_)


def value_of(y: Any, name: str = "y") -> float:
    """Return what an objective gave as a float: NaN where it is None, NaN or infinite.

    Arrays of one element count as that element. Text, complex numbers and whatever else is no real
    number raise ValueError, and so do whole numbers that no double can hold.

    Args:
        y: what the objective gave, or the user told.
        name: what errors call it.
    """
    otherwise = "None for a failed evaluation"
    if isinstance(y, list | tuple | np.ndarray):
        otherwise += "; several objectives need a direction for each, direction=['minimize', ...]"
    return _number(y, name, otherwise)


def _number(y: Any, name: str, otherwise: str) -> float:
    """Return a real number as a float; NaN where it is None, NaN or infinite."""
    if y is None:
        return math.nan
    number = _only_element(y)
    refused = str | bytes | bytearray | complex | np.complexfloating
    try:
        if isinstance(number, refused):
            raise TypeError
        value = float(number)
    except OverflowError:
        raise ValueError(
            f"{name} = {shown(y)}: expected a number of at most 1.8e308, or {otherwise}"
        ) from None
    except (TypeError, ValueError):
        raise ValueError(f"{name} = {shown(y)}: expected a number, or {otherwise}") from None
    return value if math.isfinite(value) else math.nan


def constraints_of(values: Any, name: str = "constraints") -> tuple[float, ...]:
    """Return constraint values as floats: NaN where one is None, NaN or infinite.

    Truth values raise ValueError: True would count as 1, a violation.

    Args:
        values: a number, or a sequence of them; None for none.
        name: what errors call them.
    """
    if values is None:
        return ()
    if isinstance(values, set | frozenset | Mapping):
        raise ValueError(f"{name} = {shown(values)}: expected a list of numbers, in a fixed order")
    several = isinstance(values, Iterable) and not isinstance(values, str | bytes)
    if not several or getattr(values, "ndim", 1) == 0:
        values = [values]
    values = list(values)
    for i, value in enumerate(values):
        if _is_truth(_only_element(value)):
            raise ValueError(
                f"{name}[{i}] = {shown(value)}: expected a number that is at most 0 where the "
                "constraint is satisfied, such as 0.5 - x for x >= 0.5, and no truth value"
            )
    otherwise = "None or NaN where it is not known"
    return tuple(_number(value, f"{name}[{i}]", otherwise) for i, value in enumerate(values))


def _only_element(y: Any) -> Any:
    """Return the element of an array of one, of whatever library; else y itself."""
    if isinstance(y, np.ma.MaskedArray) and y.size == 1 and np.any(y.mask):
        return math.nan  # NumPy's way to say that there is no value
    dtype = getattr(y, "dtype", None)
    if dtype is None or getattr(dtype, "kind", "f") in "mM":  # times are no numbers
        return y if dtype is None else str(y)
    try:
        return y.item()
    except (AttributeError, TypeError, ValueError, RuntimeError):
        return None if np.ndim(y) else y


def seconds_of(seconds: Any) -> float | None:
    """Return how long an evaluation took, or raise ValueError where no time can be meant."""
    if seconds is None:
        return None
    try:
        number = float(seconds)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise ValueError(f"seconds = {shown(seconds)}: expected a number of at least 0, or None")
    return number


def variance_of(name: str, value: Any) -> float:
    """Return a variance as a float, or raise ValueError where it cannot be one."""
    number = _double(value)
    if not 0.0 <= number < math.inf:
        raise ValueError(f"{name} = {shown(value)}: expected a variance, 0 or more, or None")
    return number


def shown(value: object) -> str:
    """Return a short text that stands for a value in an error."""
    try:
        text = repr(value)
    except Exception:  # such as that of Python for whole numbers of more than 4300 digits
        return f"<{type(value).__name__}>"
    text = " ".join(text.split("\n"))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def text_of(value: object) -> str:
    """Return `str(value)` as text that can be printed and written, whatever the value does."""
    try:
        text = str(value)
    except Exception as error:
        return f"(its text cannot be had: {type(error).__name__})"
    return text.encode(errors="backslashreplace").decode()  # half of a surrogate pair
