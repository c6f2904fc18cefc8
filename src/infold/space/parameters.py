"""Kinds of parameters, and how each maps to coordinates of the unit cube and back.

Rounding and one-hot coding happen here and nowhere else: `decode` takes any coordinates to a value
that can be evaluated, `encode` takes a value to the one place that stands for it.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from infold.space.scale import check_between, check_limits, from_unit, number_of, to_unit


class Parameter(ABC):
    """One parameter of a space."""

    kind: ClassVar[str]

    @property
    def width(self) -> int:
        """Number of coordinates in the unit cube."""
        return 1

    @abstractmethod
    def check(self, name: str) -> None:
        """Raise where the definition makes no sense."""

    @abstractmethod
    def normalize(self, name: str, value: Any) -> Any:
        """Return `value` in the parameter's own type; raise where it is not a legal value."""

    @abstractmethod
    def coordinates(self, value: Any) -> list[float]:
        """Return the coordinates of a value that `normalize` gave."""

    def encode(self, name: str, value: Any) -> list[float]:
        """Return the coordinates of `value`; raise where it is not a legal value."""
        return self.coordinates(self.normalize(name, value))

    @abstractmethod
    def decode(self, unit: np.ndarray) -> Any:
        """Return the value at the coordinates `unit`: always a legal one."""

    @abstractmethod
    def snap(self, units: np.ndarray) -> np.ndarray:
        """Return, for each row of coordinates, the place of the value that it decodes to.

        For discrete parameters this equals `encode(decode(row))` to the last bit.
        """


@dataclass(frozen=True)
class Float(Parameter):
    """A real number in [low, high], searched on a linear or logarithmic scale."""

    low: float
    high: float
    log: bool = False
    kind: ClassVar[str] = "float"

    def __post_init__(self) -> None:
        for field in ("low", "high"):
            object.__setattr__(self, field, number_of(field, getattr(self, field)))

    def check(self, name: str) -> None:
        check_limits(name, self.low, self.high, self.log)

    def normalize(self, name: str, value: Any) -> float:
        number = number_of(name, value)
        check_between(name, number, self.low, self.high)
        return min(self.high, max(self.low, number))

    def coordinates(self, value: float) -> list[float]:
        return [to_unit(value, self.low, self.high, self.log)]

    def decode(self, unit: np.ndarray) -> float:
        return float(from_unit(float(unit[0]), self.low, self.high, self.log))

    def snap(self, units: np.ndarray) -> np.ndarray:
        return units


@dataclass(frozen=True)
class Int(Parameter):
    """A whole number: low, low + step, ... up to high. Each has an equal share of the scale."""

    low: int
    high: int
    log: bool = False
    step: int = 1
    kind: ClassVar[str] = "int"

    def __post_init__(self) -> None:
        for field in ("low", "high", "step"):
            if isinstance(getattr(self, field), np.integer):
                object.__setattr__(self, field, int(getattr(self, field)))

    def check(self, name: str) -> None:
        for label, value, least in (
            ("low", self.low, -math.inf),
            ("high", self.high, -math.inf),
            ("step", self.step, 1),
        ):
            if (
                isinstance(value, bool)
                or not math.isfinite(number_of(f"{name}.{label}", value))
                or value != int(value)
                or value < least
            ):
                more = " of at least 1" if label == "step" else ""
                raise ValueError(f"{name}.{label} = {value!r}: expected a whole number{more}")
        check_limits(name, self.low, self.high, self.log)
        if self.log and self.step != 1:
            raise ValueError(f"{name}.step = {self.step}: expected 1 on a logarithmic scale")
        if self.low + self.step > self.high:
            raise ValueError(
                f"{name}.step = {self.step}: expected at most high - low, {self.high - self.low}"
            )

    @property
    def _edges(self) -> tuple[float, float]:
        """Ends of the scale, half a step beyond the first and the last value."""
        last = self.low + (self.high - self.low) // self.step * self.step
        return self.low - self.step / 2, last + self.step / 2

    def normalize(self, name: str, value: Any) -> int:
        number = number_of(name, value)
        check_between(name, number, self.low, self.high)
        nearest = self._nearest(number)
        if abs(number - nearest) > 1e-9 * max(1.0, abs(number)):
            steps = f" in steps of {self.step} from {self.low}" if self.step > 1 else ""
            raise ValueError(f"{name} = {value!r}: expected a whole number{steps}")
        return nearest

    def coordinates(self, value: float) -> list[float]:
        return [to_unit(value, *self._edges, self.log)]

    def _nearest(self, number: float) -> int:
        last = (self.high - self.low) // self.step
        return int(self.low + self.step * min(last, max(0, round((number - self.low) / self.step))))

    def decode(self, unit: np.ndarray) -> int:
        return self._nearest(from_unit(float(unit[0]), *self._edges, self.log))

    def snap(self, units: np.ndarray) -> np.ndarray:
        first, last = self._edges
        if self.log:
            values = np.exp(math.log(first) + units * (math.log(last) - math.log(first)))
        else:
            values = first + units * (last - first)
        exact_steps = (values - self.low) / self.step
        steps = np.clip(np.round(exact_steps), 0, (self.high - self.low) // self.step)
        nearest = self.low + self.step * steps
        if not self.log:
            return np.clip((nearest - first) / (last - first), 0.0, 1.0)
        # NumPy's exp and log may differ from those of `decode` and `encode` in the last bit: where
        # that could matter, between two numbers, `decode` decides; logarithms are all `encode`'s.
        ties = np.abs(exact_steps - np.floor(exact_steps) - 0.5) < 1e-12 * values
        nearest[ties] = [self.decode(np.array([unit])) for unit in units[ties]]
        numbers, which = np.unique(nearest, return_inverse=True)
        places = np.array([self.coordinates(number)[0] for number in numbers.tolist()])
        return places[which].reshape(units.shape)


# Middles of the two halves of [0, 1], where an Int with two values has its places.
_OFF = 0.25
_ON = 0.75


@dataclass(frozen=True)
class Categorical(Parameter):
    """One of several choices without an order, one coordinate each."""

    choices: tuple[Any, ...]
    kind: ClassVar[str] = "categorical"

    def __post_init__(self) -> None:
        if isinstance(self.choices, str) or not isinstance(self.choices, Sequence):
            raise ValueError(f"choices = {self.choices!r}: expected a list of choices")
        plain = (
            choice.item() if isinstance(choice, np.generic) else choice for choice in self.choices
        )
        object.__setattr__(self, "choices", tuple(plain))

    @property
    def width(self) -> int:
        return len(self.choices)

    def check(self, name: str) -> None:
        if len(self.choices) < 2:
            raise ValueError(
                f"{name}.choices = {list(self.choices)}: expected at least two choices"
            )
        for i, choice in enumerate(self.choices):
            if not isinstance(choice, str | int | float | bool | None) or (
                isinstance(choice, float) and not math.isfinite(choice)
            ):
                raise ValueError(
                    f"{name}.choices[{i}] = {choice!r}: "
                    "expected text, a finite number, a bool or None"
                )
            if self._index(choice) != i:
                raise ValueError(f"{name}.choices[{i}] = {choice!r}: expected every choice once")

    def _index(self, value: Any) -> int | None:
        matches = (
            i
            for i, c in enumerate(self.choices)
            if c == value and isinstance(c, bool) == isinstance(value, bool)
        )
        return next(matches, None)

    def normalize(self, name: str, value: Any) -> Any:
        index = self._index(value.item() if isinstance(value, np.generic) else value)
        if index is None:
            raise ValueError(
                f"{name} = {value!r}: expected one of {', '.join(map(repr, self.choices))}"
            )
        return self.choices[index]

    def coordinates(self, value: Any) -> list[float]:
        index = self._index(value)
        return [_ON if i == index else _OFF for i in range(self.width)]

    def decode(self, unit: np.ndarray) -> Any:
        return self.choices[int(np.argmax(unit))]

    def snap(self, units: np.ndarray) -> np.ndarray:
        return np.where(np.arange(self.width) == np.argmax(units, axis=1)[:, None], _ON, _OFF)


@dataclass(frozen=True)
class Bool(Parameter):
    """True or False."""

    kind: ClassVar[str] = "bool"

    def check(self, name: str) -> None:
        pass

    def normalize(self, name: str, value: Any) -> bool:
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} = {value!r}: expected True or False")
        return bool(value)

    def coordinates(self, value: bool) -> list[float]:
        return [_ON if value else _OFF]

    def decode(self, unit: np.ndarray) -> bool:
        return bool(unit[0] >= 0.5)

    def snap(self, units: np.ndarray) -> np.ndarray:
        return np.where(units >= 0.5, _ON, _OFF)


KINDS: dict[str, type[Parameter]] = {kind.kind: kind for kind in (Float, Int, Categorical, Bool)}


def parameter_of(name: str, value: object) -> Parameter:
    """Return `value` as a parameter: it may be one, or a (low, high) pair."""
    if isinstance(value, Parameter):
        return value
    try:
        low, high = (float(limit) for limit in value)  # type: ignore[attr-defined]
        return Float(low, high)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} = {value!r}: expected a (low, high) pair or a Float, Int, Categorical or Bool"
        ) from None


def from_fields(name: str, fields: object) -> Parameter:
    """Return the parameter that a table of a TOML or JSON file describes."""
    kinds = list(KINDS)
    if not isinstance(fields, dict) or fields.get("type") not in kinds:
        raise ValueError(
            f"{name} = {fields!r}: expected a table with type = {', '.join(map(repr, kinds))}"
        )
    kind = KINDS[fields["type"]]
    try:
        return kind(**{key: value for key, value in fields.items() if key != "type"})
    except TypeError:
        known = ", ".join(kind.__dataclass_fields__)  # type: ignore[attr-defined]
        given = ", ".join(key for key in fields if key != "type")
        raise ValueError(
            f"{name} has the fields {given or 'none'}: a {kind.kind} takes {known or 'none'}"
        ) from None
