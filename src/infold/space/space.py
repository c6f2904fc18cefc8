"""The user's parameters together, and the unit cube that everything else works in."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import Bounds

from infold.record import Rounding
from infold.space.parameters import Float, Parameter, from_fields, parameter_of

Point = np.ndarray | list | dict[str, Any]
"""A point as the user writes it: a dict where the space was given as one; else an array, or a list where not all are floats."""


class Space:
    """Parameters, named or numbered."""

    def __init__(self, parameters: Mapping[str, Parameter], *, named: bool = True) -> None:
        if not parameters:
            raise ValueError("space is empty: expected at least one parameter")
        for name, parameter in parameters.items():
            if not isinstance(parameter, Parameter):
                raise ValueError(
                    f"{name} = {parameter!r}: expected a Float, Int, Categorical or Bool"
                )
            parameter.check(name)
        self.parameters = dict(parameters)
        self.named = named
        self._ends = np.cumsum([parameter.width for parameter in self.parameters.values()])

    @classmethod
    def of(cls, space: object) -> "Space":
        """A Space from a Space, a dict or list of parameters or (low, high) pairs, or a SciPy `Bounds`."""
        if isinstance(space, Space):
            return space
        if isinstance(space, Mapping):
            for name in space:
                if not isinstance(name, str):
                    raise ValueError(
                        f"space has the key {name!r}: expected names of parameters as text"
                    )
            return cls(
                {name: parameter_of(f"space[{name!r}]", value) for name, value in space.items()}
            )
        if isinstance(space, Bounds):
            space = list(zip(np.ravel(space.lb), np.ravel(space.ub), strict=True))
        if isinstance(space, np.ndarray):
            space = space.tolist()
        if not isinstance(space, Sequence) or isinstance(space, str):
            raise ValueError(
                f"bounds = {space!r}: expected a list of (low, high) pairs, a dict or a SciPy Bounds"
            )
        for i, value in enumerate(space):
            parameter_of(f"bounds[{i}]", value).check(f"bounds[{i}]")
        return cls(
            {f"x{i}": parameter_of(f"bounds[{i}]", value) for i, value in enumerate(space)},
            named=False,
        )

    @classmethod
    def from_toml(cls, path: str | Path) -> "Space":
        """A space from a TOML file: one table per parameter, with its `type` and that type's fields."""
        try:
            tables = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} is not a TOML file: {error}") from error
        return cls({name: from_fields(name, fields) for name, fields in tables.items()})

    @property
    def dimension(self) -> int:
        """D, the dimension of the unit cube."""
        return int(self._ends[-1])

    def encode(self, point: object) -> np.ndarray:
        """The unit-cube coordinates of a point."""
        if isinstance(point, Mapping):
            for name in (*self.parameters, *point):
                if name not in point:
                    raise ValueError(
                        f"x has no {name!r}: expected the parameters {', '.join(self.parameters)}"
                    )
                if name not in self.parameters:
                    raise ValueError(
                        f"x has an unknown parameter {name!r}: expected {', '.join(self.parameters)}"
                    )
            values = [point[name] for name in self.parameters]
        else:
            values = (
                list(point)
                if isinstance(point, Sequence | np.ndarray) and not isinstance(point, str)
                else [point]
            )
            if len(values) != len(self.parameters):
                raise ValueError(
                    f"x has {len(values)} values: expected {len(self.parameters)}, one per parameter"
                )
        labels = self.parameters if self.named else [f"x[{i}]" for i in range(len(values))]
        parts = zip(labels, self.parameters.values(), values, strict=True)
        return np.concatenate([parameter.encode(label, value) for label, parameter, value in parts])

    def place(self, point: object) -> np.ndarray:
        """The coordinates of a point as they are after a round trip.

        Decoding and encoding again may move a float by a rounding error, once; comparing and saving need the place at rest.
        """
        return self.encode(self.decode(self.encode(point)))

    def decode(self, unit: np.ndarray) -> Point:
        """The point at unit-cube coordinates."""
        parts = np.split(unit, self._ends[:-1])
        values = [
            parameter.decode(part)
            for parameter, part in zip(self.parameters.values(), parts, strict=True)
        ]
        if self.named:
            return dict(zip(self.parameters, values, strict=True))
        return (
            np.array(values)
            if all(isinstance(p, Float) for p in self.parameters.values())
            else values
        )

    @property
    def rounding(self) -> Rounding | None:
        """Which coordinates are discrete, and the way to points that can be evaluated; None where all are continuous."""
        discrete = np.concatenate(
            [np.full(p.width, not isinstance(p, Float)) for p in self.parameters.values()]
        )
        return Rounding(discrete, self._snap) if np.any(discrete) else None

    def _snap(self, units: np.ndarray) -> np.ndarray:
        parts = zip(self.parameters.values(), np.split(units, self._ends[:-1], axis=1), strict=True)
        return np.concatenate([parameter.snap(part) for parameter, part in parts], axis=1)

    def to_json(self) -> dict[str, Any]:
        """Plain data from which `from_json` restores the space."""
        fields = {name: {"type": p.kind, **asdict(p)} for name, p in self.parameters.items()}  # type: ignore[call-overload]
        return {"named": self.named, "parameters": fields}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Space":
        """The inverse of `to_json`."""
        return cls(
            {name: from_fields(name, p) for name, p in data["parameters"].items()},
            named=data["named"],
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and (self.parameters, self.named) == (
            other.parameters,
            other.named,
        )

    __hash__ = None  # type: ignore[assignment]
