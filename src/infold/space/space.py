"""The user's parameters together, and the unit cube that everything else works in."""

import hashlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import Bounds

from infold.record import Rounding
from infold.space.numbers import Float
from infold.space.parameter import Parameter
from infold.space.parameters import from_fields, parameter_of
from infold.space.scale import shown
from infold.space.scipy_constraints import from_json, listed
from infold.space.where import Where

Point = np.ndarray | list | dict[str, Any]
"""A point as the user writes it.

It is a dict where the space was given as one; else an array, or a list where not all are floats.
"""

_SHOWN = 6  # parameters that a printed space names


class Space:
    """Parameters, named or numbered, and the unit cube that stands for them."""

    def __init__(
        self, parameters: Mapping[str, Parameter], *, named: bool = True, where: object = None
    ) -> None:
        """
        Args:
            parameters: the parameters by their names.
            named: whether points are dicts.
            where: known constraints on points, `LinearConstraint` and `NonlinearConstraint` of
                SciPy: no point that violates them is ever suggested. Linear ones have one column
                per parameter; functions are called with a point as the user writes it.
        """
        if not parameters:
            raise ValueError("space is empty: expected at least one parameter")
        for name, parameter in parameters.items():
            if not isinstance(parameter, Parameter):
                raise ValueError(
                    f"{name} = {shown(parameter)}: expected a Float, Int, Categorical or Bool"
                )
            parameter.check(name)
        if all(parameter.fixed for parameter in parameters.values()):
            raise ValueError(
                f"every parameter is fixed ({_listed(list(parameters))}): "
                "expected at least one that has more than one value"
            )
        self.parameters = dict(parameters)
        self.named = named
        self._ends = np.cumsum([parameter.width for parameter in self.parameters.values()])
        self.where: Where | None = None
        """Known constraints; None where all points are allowed."""
        self.n_lost = 0
        """Number of functions among them that a run file could not hold, and that are missing."""
        if where is not None:
            made = Where(self, where)
            self.where = made if made.constraints else None

    @classmethod
    def of(cls, space: object, where: object = None) -> "Space":
        """Return a Space made from what users write.

        Args:
            space: a Space, a SciPy `Bounds`, or a dict or list of parameters or (low, high) pairs.
            where: known constraints, beside those that a Space has.
        """
        made = cls._of(space)
        if where is None:
            return made
        own = [] if made.where is None else made.where.constraints
        return cls(made.parameters, named=made.named, where=[*own, *listed(where)])

    @classmethod
    def _of(cls, space: object) -> "Space":
        if isinstance(space, Space):
            return space
        if isinstance(space, Mapping):
            for name in space:
                if not isinstance(name, str):
                    raise ValueError(
                        f"space has the key {shown(name)}: expected names of parameters as text"
                    )
            return cls(
                {
                    name: parameter_of(f"space[{shown(name)}]", value)
                    for name, value in space.items()
                }
            )
        if isinstance(space, Bounds):
            space = list(zip(np.ravel(space.lb), np.ravel(space.ub), strict=True))
        if isinstance(space, np.ndarray):
            space = space.tolist()
        if not isinstance(space, Sequence) or isinstance(space, str):
            raise ValueError(
                f"bounds = {shown(space)}: "
                "expected a list of (low, high) pairs, a dict or a SciPy Bounds"
            )
        for i, value in enumerate(space):
            parameter_of(f"bounds[{i}]", value).check(f"bounds[{i}]")
        return cls(
            {f"x{i}": parameter_of(f"bounds[{i}]", value) for i, value in enumerate(space)},
            named=False,
        )

    @classmethod
    def from_toml(cls, path: str | Path) -> "Space":
        """Read a space from a TOML file.

        It has one table per parameter, with its `type` and that type's fields.
        """
        try:
            tables = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} is not a TOML file: {error}") from error
        try:
            for name in tables:
                if not name.strip() or not name.isprintable():
                    raise ValueError(
                        f"a table is called {shown(name)}: expected a name on one line"
                    )
            return cls({name: from_fields(name, fields) for name, fields in tables.items()})
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    @property
    def dimension(self) -> int:
        """D, the dimension of the unit cube."""
        return int(self._ends[-1])

    def _labelled(self, point: object) -> Iterator[tuple[str, Parameter, Any]]:
        """Yield what errors call each parameter, the parameter and its value in `point`."""
        if hasattr(point, "to_dict") and not isinstance(point, Mapping):
            point = _from_pandas(point)
        if isinstance(point, Mapping):
            expected = ", ".join(self.parameters)
            for name in (*self.parameters, *point):
                if name not in point:
                    raise ValueError(f"x has no {shown(name)}: expected the parameters {expected}")
                if name not in self.parameters:
                    raise ValueError(
                        f"x has an unknown parameter {shown(name)}: expected {expected}"
                    )
            values = [point[name] for name in self.parameters]
        elif hasattr(point, "__array__"):
            values = list(np.atleast_1d(np.ma.asanyarray(point)))
        elif isinstance(point, Sequence) and not isinstance(point, str):
            values = list(point)
        else:
            values = [point]
            if len(self.parameters) > 1:
                raise ValueError(
                    f"x = {shown(point)}: expected {len(self.parameters)} values, one per parameter"
                )
        n_parameters = len(self.parameters)
        if len(values) != n_parameters:
            raise ValueError(
                f"x has {len(values)} values: expected {n_parameters}, one per parameter"
            )
        labels = self.parameters if self.named else [f"x[{i}]" for i in range(n_parameters)]
        yield from zip(labels, self.parameters.values(), values, strict=True)

    def _normalized(self, point: object) -> list:
        return [p.normalize(label, value) for label, p, value in self._labelled(point)]

    def normalize(self, point: object) -> Point:
        """Return `point` with each value in its parameter's own type; raise where one is illegal.

        Nothing else changes: a float stays the same float.
        """
        return self._assembled(self._normalized(point))

    def encode(self, point: object) -> np.ndarray:
        """Return the unit-cube coordinates of a point."""
        return self._coordinates(self._normalized(point))

    def _coordinates(self, values: list) -> np.ndarray:
        parts = zip(self.parameters.values(), values, strict=True)
        return np.array([unit for p, value in parts for unit in p.coordinates(value)])

    def place(self, point: object) -> np.ndarray:
        """Return the coordinates that stand for a point in a history: those of `encode`."""
        return self.encode(point)

    def identity(self, point: object) -> bytes:
        """Return a digest that two points share exactly where the user sees equal values."""
        return self._identity(self._normalized(point))

    def _identity(self, values: list) -> bytes:
        parts = zip(self.parameters.values(), values, strict=True)
        text = repr([p.identity(value) for p, value in parts if not p.fixed])
        return hashlib.blake2b(text.encode(), digest_size=16).digest()

    def resolve(self, point: object) -> tuple[Point, np.ndarray, bytes]:
        """Return the point normalized, its coordinates and its identity, checked only once."""
        values = self._normalized(point)
        return self._assembled(values), self._coordinates(values), self._identity(values)

    def decode(self, unit: np.ndarray) -> Point:
        """Return the point at unit-cube coordinates."""
        parts = zip(self.parameters.values(), np.split(unit, self._ends[:-1]), strict=True)
        return self._assembled([parameter.decode(part) for parameter, part in parts])

    def _assembled(self, values: list) -> Point:
        if self.named:
            return dict(zip(self.parameters, values, strict=True))
        if all(isinstance(parameter, Float) for parameter in self.parameters.values()):
            return np.array(values)
        return values

    @property
    def rounding(self) -> Rounding | None:
        """Which coordinates are discrete, and the way to points that can be evaluated.

        None where all coordinates are continuous.
        """
        discrete = np.concatenate([np.full(p.width, p.discrete) for p in self.parameters.values()])
        return Rounding(discrete, self._snap) if np.any(discrete) else None

    def _snap(self, units: np.ndarray) -> np.ndarray:
        parts = zip(self.parameters.values(), np.split(units, self._ends[:-1], axis=1), strict=True)
        return np.concatenate([parameter.snap(part) for parameter, part in parts], axis=1)

    def to_json(self) -> dict[str, Any]:
        """Return plain data from which `from_json` restores the space.

        Raise where there is no such form: choices that JSON cannot hold.
        """
        for name, parameter in self.parameters.items():
            parameter.check_file(name)
        fields = {
            name: {"type": parameter.kind, **_fields(parameter)}
            for name, parameter in self.parameters.items()
        }
        known = {} if self.where is None else {"where": self.where.to_json()}
        return {"named": self.named, "parameters": fields, **known}

    @classmethod
    def from_json(cls, data: Any) -> "Space":
        """Return the space that `to_json` described."""
        if not isinstance(data, dict) or not isinstance(data.get("parameters"), dict):
            raise ValueError(f"space = {shown(data)}: expected a table with named and parameters")
        if not isinstance(data.get("named"), bool):
            raise ValueError(f"space.named = {shown(data.get('named'))}: expected true or false")
        linear, n_lost = from_json(data["where"]) if "where" in data else (None, 0)
        space = cls(
            {name: from_fields(name, p) for name, p in data["parameters"].items()},
            named=data["named"],
            where=linear,
        )
        space.n_lost = n_lost
        return space

    def complete(self, where: object) -> "Space":
        """Return the space of a run file with all its known constraints.

        Raise where functions are among them that no file can hold, and that are not given.

        Args:
            where: the constraints of the run, as they were given when it began.
        """
        if where is None and self.n_lost:
            raise ValueError(
                f"the run has {self.n_lost} nonlinear constraints, which no file can hold: pass "
                "all constraints as where=..."
            )
        if where is None:
            return self
        given = Space(self.parameters, named=self.named, where=where)
        if given.to_json() != {**self.to_json(), "where": self._where_of_file()}:
            raise ValueError("where: the run has other constraints")
        return given

    def _where_of_file(self) -> dict[str, Any]:
        known: dict[str, Any] = {"linear": [], "n_nonlinear": 0}
        if self.where is not None:
            known = self.where.to_json()
        return {**known, "n_nonlinear": known["n_nonlinear"] + self.n_lost}

    def allows(self, point: object) -> bool:
        """Return whether a point satisfies all known constraints."""
        return self.where is None or self.where.violated(point) is None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Space)
            and (self.parameters, self.named) == (other.parameters, other.named)
            and self._where_of_file() == other._where_of_file()
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        n_parameters = len(self.parameters)
        words = [
            f"{name:.30} {'fixed ' if parameter.fixed else ''}{parameter.kind}"
            for name, parameter in self.parameters.items()
        ]
        plural = "" if n_parameters == 1 else "s"
        return f"Space({n_parameters} parameter{plural}, D = {self.dimension}: {_listed(words)})"


def _listed(words: list[str]) -> str:
    """Return the words in a line, the first few where there are many."""
    more = len(words) - _SHOWN
    return ", ".join([*words[:_SHOWN], *([f"and {more} more"] if more > 0 else [])])


def _fields(parameter: Parameter) -> dict[str, Any]:
    """Return the fields that a file needs: None stands for those that are left out."""
    fields = asdict(parameter)  # type: ignore[call-overload]
    return {name: value for name, value in fields.items() if value is not None}


def as_points(points: Any) -> list:
    """Return one point or several, as a user may give them, as a list; empty for None."""
    if points is None:
        return []
    if hasattr(points, "columns") and hasattr(points, "to_dict"):  # a table of pandas
        by_name = all(isinstance(name, str) for name in points.columns)
        return points.to_dict("records") if by_name else points.to_numpy().tolist()
    if not _holds_several(points) or hasattr(points, "to_dict"):
        return [points]
    several = len(points) == 0 or isinstance(points[0], Mapping) or _holds_several(points[0])
    return list(points) if several else [points]


def _holds_several(value: Any) -> bool:
    """Return whether a value is a list or an array; a text and a dict are none."""
    if hasattr(value, "ndim"):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _from_pandas(row: Any) -> Any:
    """Return a row of a table as a dict where its index are names, else as it is."""
    names = list(getattr(row, "index", ()))
    is_row = getattr(row, "ndim", 0) == 1 and names and all(isinstance(n, str) for n in names)
    return row.to_dict() if is_row else row
