"""Tables of points: CSV files, tables of pandas, arrays."""

import csv
import io
import itertools
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from infold import _checks
from infold.space.space import as_points

VALUES = ("value", "y")
"""Columns that hold values, the first of them that a table has."""
_USUAL = ("loss", "objective", "score", "target", "cost", "error_rate", "fitness", "result")
"""Names under which values are often kept, and parameters seldom."""
_log = logging.getLogger(__name__)


class Table(NamedTuple):
    """Points, and their values where there are some."""

    named: bool
    """Whether columns have names; otherwise they are called x0, x1, ..."""
    names: list[str]
    points: Sequence[Mapping[str, Any]]
    """Values as the table has them: those of a CSV file are text."""
    values: np.ndarray | None
    """NaN where an evaluation failed; None for designs without values."""


def from_csv(path: Path, known: Sequence[str], optional: Sequence[str] = ()) -> Table:
    """Return a CSV file whose first line names the columns.

    A column called `value` or `y` holds values, to be minimized unless the new run maximizes; an
    empty one there is a failed evaluation, and where all are empty these are designs without
    values. All other columns are parameters. In what `to_frame` made, these are the columns before
    the values, and where it has an error or constraints, empty values are failed evaluations.

    Args:
        path: the file.
        known: names of parameters of the new run.
        optional: those of them that may be None, which an empty cell stands for.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a CSV file: {error}") from error
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)]
    except csv.Error as error:
        raise ValueError(f"{path} is not a CSV file: {error}") from error
    lines = [(number, row) for number, row in enumerate(rows, start=1) if any(map(str.strip, row))]
    if not lines:
        raise ValueError(f"{path} is empty: expected the names of parameters in its first line")
    header = [name.strip() for name in lines[0][1]]
    for number, row in lines[1:]:
        if len(row) != len(header):
            raise ValueError(
                f"{path}, line {number}: {len(row)} values, expected {len(header)} as in line 1"
            )
    if all(_number(name) is not None for name in header if name):
        raise ValueError(f"{path}: expected the names of parameters in its first line, not numbers")
    twice = [name for name in header if name and header.count(name) > 1]
    if twice:
        raise ValueError(f"{path} has two columns {twice[0]!r}: expected one")
    columns: dict[str, list] = {
        name: [row[i].strip() for _, row in lines[1:]]
        for i, name in enumerate(header)
        if name and not name.startswith("Unnamed:")  # an index that pandas wrote
    }
    roles = _roles(list(columns), known, str(path))
    _warn_of_values(str(path), roles, columns, known)
    for name in roles.parameters:
        for (number, _), cell in zip(lines[1:], columns[name], strict=True):
            if not cell and name not in optional:
                raise ValueError(f"{path}, line {number}: {name} is empty: expected a value")

    def numbers(name: str) -> np.ndarray:
        cells = zip(lines[1:], columns[name], strict=True)
        return np.array([_value(cell, f"{path}, line {n}") for (n, _), cell in cells])

    has_error = roles.error is not None and any(columns[roles.error])
    values = _of_feasible(roles, numbers, has_error)
    for name in set(optional).intersection(roles.parameters):
        columns[name] = [cell or None for cell in columns[name]]
    return _named(str(path), roles, columns, values)


def from_frame(frame: Any, label: str, known: Sequence[str], optional: Sequence[str] = ()) -> Table:
    """Return a table of pandas; its columns as in `from_csv`."""
    if not all(isinstance(name, str) for name in frame.columns):
        return from_arrays(frame.to_numpy(), None, label)
    columns = {name: frame[name].tolist() for name in frame.columns}
    roles = _roles(list(columns), known, label)
    _warn_of_values(label, roles, columns, known)

    def with_none(name: str) -> list:
        cells = zip(columns[name], frame[name].isna(), strict=True)
        return [None if missing else cell for cell, missing in cells]

    def numbers(name: str) -> np.ndarray:
        return _values(with_none(name), f"{label}[{name!r}]")

    has_error = roles.error is not None and any(frame[roles.error].dropna())
    values = _of_feasible(roles, numbers, has_error)
    for name in set(optional).intersection(roles.parameters):
        columns[name] = with_none(name)
    return _named(label, roles, columns, values)


def from_arrays(x: Any, y: Any, label: str) -> Table:
    """Return points, one per row, and their values if any.

    Args:
        x: an array, a list of points, or a table of pandas.
        y: a value for each; None where there are none.
        label: what errors call them.
    """
    points, named = _points(x, f"X of {label}" if y is not None else label)
    values = None
    if y is not None:
        values = _values(y, f"y of {label}")
        if len(values) != len(points):
            raise ValueError(
                f"y of {label} has {len(values)} values: "
                f"expected one for each of the {len(points)} points"
            )
    names = list(points[0]) if points else []
    return Table(named, names, points, values)


def _points(x: Any, label: str) -> tuple[list[dict[str, Any]], bool]:
    if hasattr(x, "__array__") and not hasattr(x, "columns"):
        array = np.ma.asanyarray(x)
        if array.ndim != 2:
            raise ValueError(
                f"{label} has shape {array.shape}: expected (points, parameters); "
                "points with their values are a pair (X, y)"
            )
        if array.dtype.kind in "fiub":
            numbers = np.ma.filled(array.astype(float), np.nan)
            array = _checks.finite_array(label, numbers, (None, None))
        rows = array.tolist()
    else:
        rows = as_points(x)
    if rows and isinstance(rows[0], Mapping):
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping) or list(row) != list(rows[0]):
                raise ValueError(
                    f"{label}[{i}] = {_checks.shown(row)}: expected the parameters "
                    f"{', '.join(map(str, rows[0]))}"
                )
            _check_cells(row.values(), f"{label}[{i}]")
        return [dict(row) for row in rows], True
    named = []
    for i, row in enumerate(rows):
        values = row.tolist() if hasattr(row, "tolist") else row
        if not isinstance(values, Sequence) or isinstance(values, str):
            raise ValueError(f"{label}[{i}] = {_checks.shown(row)}: expected a point")
        if len(values) != len(rows[0]):
            raise ValueError(f"{label}[{i}] has {len(values)} values: expected {len(rows[0])}")
        _check_cells(values, f"{label}[{i}]")
        named.append({f"x{j}": value for j, value in enumerate(values)})
    return named, False


def _check_cells(cells: Any, label: str) -> None:
    for j, cell in enumerate(cells):
        if isinstance(cell, float) and not math.isfinite(cell):
            raise ValueError(f"{label}[{j}] = {cell}: expected finite numbers")


class _Roles(NamedTuple):
    """What the columns of a table hold."""

    parameters: list[str]
    values: str | None = None
    constraints: Sequence[str] = ()
    error: str | None = None


def _named(
    label: str, roles: _Roles, columns: Mapping[str, list], values: np.ndarray | None
) -> Table:
    names = roles.parameters
    if not names:
        raise ValueError(f"{label} has no column with a parameter")
    for name in names:
        for i, cell in enumerate(columns[name]):
            if not isinstance(cell, str | int | float | np.generic | None):
                raise ValueError(
                    f"{label}: {name} of row {i} = {_checks.shown(cell)}: "
                    "expected a number, a text or a truth value"
                )
    points = [
        dict(zip(names, row, strict=True))
        for row in zip(*(columns[name] for name in names), strict=True)
    ]
    for i, point in enumerate(points):
        _check_cells(point.values(), f"{label}: row {i}")
    return Table(True, names, points, values)


def _roles(columns: list[str], known: Sequence[str], label: str) -> _Roles:
    """Return which column holds values, if any, and which hold parameters.

    A table that `frames.to_frame` made has the parameters before the values, and after them
    constraints, then errors.
    """
    if "proposed_by" in columns:
        for name in ("evaluation.value", "value"):
            if name in columns:
                i = columns.index(name)
                after = columns[i + 1 :]
                before = itertools.takewhile(lambda c: not c.endswith("error"), after)
                error = next((c for c in after if c.endswith("error")), None)
                limits = [column for column in before if "constraint" in column]
                return _Roles(columns[:i], name, limits, error)
        if "failed" in columns and {"evaluation.value0", "value0"} & set(columns):
            raise ValueError(f"{label} has several objectives: expected a run with one")
    values = next((name for name in VALUES if name in columns and name not in known), None)
    return _Roles([name for name in columns if name != values], values)


def _warn_of_values(
    label: str, roles: _Roles, columns: Mapping[str, list], known: Sequence[str]
) -> None:
    """Say in the log which columns may hold the values that a table seems to lack.

    These are numbers that are no parameter of the new run, or where its parameters are not known,
    numbers under a usual name.
    """
    free = [name for name in VALUES if name not in known]
    if roles.values is not None or not free:
        return
    others = [
        name
        for name in roles.parameters
        if (name not in known if known else name.lower() in _USUAL) and _are_numbers(columns[name])
    ]
    if others:
        _log.warning(
            "%s has no column %s, so its rows are taken for designs without values. "
            "If %s holds their values, rename it to %s",
            label,
            " or ".join(free),
            " or ".join(others),
            free[0],
        )


def _are_numbers(cells: Sequence[Any]) -> bool:
    """Tell whether a column has numbers, and nothing else but empty cells."""
    texts = [str(cell) for cell in cells if cell is not None]
    filled = [text for text in texts if text]
    return bool(filled) and all(_number(text) is not None for text in filled)


def _of_feasible(
    roles: _Roles, numbers: Callable[[str], np.ndarray], has_error: bool
) -> np.ndarray | None:
    """Return the values, NaN where a constraint is broken or not known; None for designs.

    These are points without values, constraints and errors, as in `sources`.

    Args:
        roles: what the columns hold.
        numbers: function that returns the numbers of a column, NaN where it is empty.
        has_error: whether the table says of any evaluation what went wrong.
    """
    if roles.values is None:
        return None
    values = numbers(roles.values)
    for name in roles.constraints:
        values = np.where(numbers(name) <= 0.0, values, np.nan)
    evaluated = has_error or roles.constraints or not np.all(np.isnan(values))
    return values if evaluated else None


def _values(given: Any, label: str) -> np.ndarray:
    is_list = isinstance(given, Sequence) and not isinstance(given, str)
    if not is_list and np.ndim(given) == 0:
        raise ValueError(f"{label} = {_checks.shown(given)}: expected a list of values")
    if np.ndim(given) == 2 and 1 in np.shape(given):
        given = np.ravel(given)
    return np.array([_checks.value_of(one, f"{label}[{i}]") for i, one in enumerate(given)])


def _value(cell: str, label: str) -> float:
    if not cell or cell.lower() in ("nan", "none", "null", "inf", "-inf", "na"):
        return math.nan
    number = _number(cell)
    if number is None:
        raise ValueError(f"{label}: the value is {_checks.shown(cell)}, expected a number")
    return number if math.isfinite(number) else math.nan


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
