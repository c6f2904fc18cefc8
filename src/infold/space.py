"""The user's parameters and the unit cube that everything else works in."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds

Point = np.ndarray | dict[str, Any]
"""A point as the user writes it: an array, or a dict where the space was given as one."""


@dataclass(frozen=True)
class Float:
    """A real number in [low, high], searched on a linear or logarithmic scale."""

    low: float
    high: float
    log: bool = False

    def check(self, name: str) -> None:
        """Raise when the limits make no sense."""
        pair = f"{name} = ({self.low}, {self.high})"
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            raise ValueError(f"{pair}: expected finite limits")
        if not self.low < self.high:
            raise ValueError(f"{pair}: lower must be below upper")
        if self.log and self.low <= 0:
            raise ValueError(f"{pair}: a logarithmic scale needs a lower limit above 0")

    def encode(self, name: str, value: Any) -> float:
        """The place of `value` in [0, 1]."""
        try:
            value = float(value)
        except (TypeError, ValueError):
            raise ValueError(f"{name} = {value!r}: expected a number") from None
        slack = 1e-9 * (self.high - self.low)
        if not self.low - slack <= value <= self.high + slack:
            raise ValueError(f"{name} = {value}: expected a value in [{self.low}, {self.high}]")
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log(max(value, low)), math.log(low), math.log(high)
        return min(1.0, max(0.0, (value - low) / (high - low)))

    def decode(self, unit: float) -> float:
        """The value at place `unit`, never outside the limits, which are met exactly."""
        if unit in (0.0, 1.0):
            return self.high if unit else self.low
        if self.log:
            value = math.exp(math.log(self.low) + unit * (math.log(self.high) - math.log(self.low)))
        else:
            value = self.low + unit * (self.high - self.low)
        return min(self.high, max(self.low, value))


class Space:
    """Named parameters. Points are dicts where the space was given as a dict, arrays otherwise."""

    def __init__(self, parameters: Mapping[str, Float], *, named: bool = True) -> None:
        if not parameters:
            raise ValueError("space is empty: expected at least one parameter")
        for name, parameter in parameters.items():
            parameter.check(name)
        self.parameters = dict(parameters)
        self.named = named

    @classmethod
    def of(cls, space: object) -> "Space":
        """A Space from a Space, a dict of parameters or (low, high) pairs, a list of such pairs, or a SciPy `Bounds`."""
        if isinstance(space, Space):
            return space
        if isinstance(space, Mapping):
            return cls({str(name): _parameter(f"space[{name!r}]", value) for name, value in space.items()})
        if isinstance(space, Bounds):
            space = list(zip(np.ravel(space.lb), np.ravel(space.ub), strict=True))
        if isinstance(space, np.ndarray):
            space = space.tolist()
        if not isinstance(space, Sequence) or isinstance(space, str):
            raise ValueError(f"bounds = {space!r}: expected a list of (low, high) pairs, a dict or a SciPy Bounds")
        pairs = {f"bounds[{i}]": _parameter(f"bounds[{i}]", value) for i, value in enumerate(space)}
        for name, parameter in pairs.items():
            parameter.check(name)
        return cls({f"x{i}": parameter for i, parameter in enumerate(pairs.values())}, named=False)

    @property
    def dimension(self) -> int:
        """D, the dimension of the unit cube."""
        return len(self.parameters)

    def encode(self, point: object) -> np.ndarray:
        """The unit-cube coordinates of a point."""
        if isinstance(point, Mapping):
            for name in (*self.parameters, *point):
                if name not in point:
                    raise ValueError(f"x has no {name!r}: expected the parameters {', '.join(self.parameters)}")
                if name not in self.parameters:
                    raise ValueError(f"x has an unknown parameter {name!r}: expected {', '.join(self.parameters)}")
            values = [point[name] for name in self.parameters]
        else:
            values = list(np.ravel(np.asarray(point, dtype=object)))
            if len(values) != self.dimension:
                raise ValueError(f"x has {len(values)} values: expected {self.dimension}, one per parameter")
        labels = self.parameters if self.named else [f"x[{i}]" for i in range(self.dimension)]
        pairs = zip(labels, self.parameters.values(), values, strict=True)
        return np.array([parameter.encode(label, value) for label, parameter, value in pairs])

    def decode(self, unit: np.ndarray) -> Point:
        """The point at unit-cube coordinates."""
        values = [p.decode(float(u)) for p, u in zip(self.parameters.values(), unit, strict=True)]
        return dict(zip(self.parameters, values, strict=True)) if self.named else np.array(values)

    def to_json(self) -> dict[str, Any]:
        """Plain data from which `from_json` restores the space."""
        return {"named": self.named, "parameters": {name: asdict(p) for name, p in self.parameters.items()}}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Space":
        """The inverse of `to_json`."""
        return cls({name: Float(**p) for name, p in data["parameters"].items()}, named=data["named"])


def _parameter(name: str, value: object) -> Float:
    if isinstance(value, Float):
        return value
    try:
        low, high = (float(limit) for limit in value)  # type: ignore[attr-defined]
        return Float(low, high)
    except (TypeError, ValueError):
        raise ValueError(f"{name} = {value!r}: expected a (low, high) pair or a Float") from None
