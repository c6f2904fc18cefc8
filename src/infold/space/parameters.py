"""The kinds of parameters: how each maps to coordinates of the unit cube and back.

Rounding and one-hot coding happen here and nowhere else: `decode` takes any coordinates to a value that can be
evaluated, `encode` takes a value back to the one place that stands for it.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np


class Parameter(ABC):
    """One parameter of a space."""

    kind: ClassVar[str]

    @property
    def width(self) -> int:
        """How many coordinates of the unit cube it takes."""
        return 1

    @abstractmethod
    def check(self, name: str) -> None:
        """Raise when the definition makes no sense."""

    @abstractmethod
    def encode(self, name: str, value: Any) -> list[float]:
        """The coordinates of `value`."""

    @abstractmethod
    def decode(self, unit: np.ndarray) -> Any:
        """The value at coordinates `unit`, always a legal one."""

    @abstractmethod
    def snap(self, units: np.ndarray) -> np.ndarray:
        """For each row of coordinates those that its value is encoded to."""


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} = {value!r}: expected a number") from None
    if isinstance(value, str | bytes):
        raise ValueError(f"{name} = {value!r}: expected a number")
    return number


def _check_limits(name: str, low: float, high: float, log: bool) -> None:
    if not isinstance(log, bool):
        raise ValueError(f"{name}.log = {log!r}: expected True or False")
    pair = f"{name} = ({low}, {high})"
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"{pair}: expected finite limits")
    if not low < high:
        raise ValueError(f"{pair}: lower must be below upper")
    if log and low <= 0:
        raise ValueError(f"{pair}: a logarithmic scale needs a lower limit above 0")


def _between(name: str, number: float, low: float, high: float) -> None:
    slack = 1e-9 * (high - low)
    if not low - slack <= number <= high + slack:
        raise ValueError(f"{name} = {number}: expected a value in [{low}, {high}]")


def _to_unit(value: float, low: float, high: float, log: bool) -> float:
    if log:
        value, low, high = math.log(max(value, low)), math.log(low), math.log(high)
    return min(1.0, max(0.0, (value - low) / (high - low)))


def _from_unit(unit: float, low: float, high: float, log: bool) -> float:
    if unit in (0.0, 1.0):
        return high if unit else low
    value = (
        math.exp(math.log(low) + unit * (math.log(high) - math.log(low)))
        if log
        else low + unit * (high - low)
    )
    return min(high, max(low, value))


@dataclass(frozen=True)
class Float(Parameter):
    """A real number in [low, high], searched on a linear or logarithmic scale."""

    low: float
    high: float
    log: bool = False
    kind: ClassVar[str] = "float"

    def __post_init__(self) -> None:
        for field in ("low", "high"):
            object.__setattr__(self, field, _number(field, getattr(self, field)))

    def check(self, name: str) -> None:
        _check_limits(name, self.low, self.high, self.log)

    def encode(self, name: str, value: Any) -> list[float]:
        number = _number(name, value)
        _between(name, number, self.low, self.high)
        return [_to_unit(number, self.low, self.high, self.log)]

    def decode(self, unit: np.ndarray) -> float:
        return float(_from_unit(float(unit[0]), self.low, self.high, self.log))

    def snap(self, units: np.ndarray) -> np.ndarray:
        return units


@dataclass(frozen=True)
class Int(Parameter):
    """A whole number low, low + step, ... up to high. Each stands for an equal share of the scale."""

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
                or not math.isfinite(_number(f"{name}.{label}", value))
                or value != int(value)
                or value < least
            ):
                more = " of at least 1" if label == "step" else ""
                raise ValueError(f"{name}.{label} = {value!r}: expected a whole number{more}")
        _check_limits(name, self.low, self.high, self.log)
        if self.log and self.step != 1:
            raise ValueError(f"{name}.step = {self.step}: expected 1 on a logarithmic scale")
        if self.low + self.step > self.high:
            raise ValueError(
                f"{name}.step = {self.step}: expected at most high - low, {self.high - self.low}"
            )

    @property
    def _edges(self) -> tuple[float, float]:
        """The scale, half a step wider than the values."""
        last = self.low + (self.high - self.low) // self.step * self.step
        return self.low - self.step / 2, last + self.step / 2

    def encode(self, name: str, value: Any) -> list[float]:
        number = _number(name, value)
        _between(name, number, self.low, self.high)
        if abs(number - self._nearest(number)) > 1e-9 * max(1.0, abs(number)):
            steps = f" in steps of {self.step} from {self.low}" if self.step > 1 else ""
            raise ValueError(f"{name} = {value!r}: expected a whole number{steps}")
        return [_to_unit(self._nearest(number), *self._edges, self.log)]

    def _nearest(self, number: float) -> int:
        last = (self.high - self.low) // self.step
        return int(self.low + self.step * min(last, max(0, round((number - self.low) / self.step))))

    def decode(self, unit: np.ndarray) -> int:
        return self._nearest(_from_unit(float(unit[0]), *self._edges, self.log))

    def snap(self, units: np.ndarray) -> np.ndarray:
        scale = np.log if self.log else np.asarray
        first, last = scale(self._edges)
        value = first + units * (last - first)
        steps = np.round(((np.exp(value) if self.log else value) - self.low) / self.step)
        nearest = self.low + self.step * np.clip(steps, 0, (self.high - self.low) // self.step)
        return (scale(nearest) - first) / (last - first)


_OFF, _ON = 0.25, 0.75  # the middles of the two halves of [0, 1], as of an Int with two values


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
                    f"{name}.choices[{i}] = {choice!r}: expected text, a finite number, a bool or None"
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

    def encode(self, name: str, value: Any) -> list[float]:
        index = self._index(value.item() if isinstance(value, np.generic) else value)
        if index is None:
            raise ValueError(
                f"{name} = {value!r}: expected one of {', '.join(map(repr, self.choices))}"
            )
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

    def encode(self, name: str, value: Any) -> list[float]:
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} = {value!r}: expected True or False")
        return [_ON if value else _OFF]

    def decode(self, unit: np.ndarray) -> bool:
        return bool(unit[0] >= 0.5)

    def snap(self, units: np.ndarray) -> np.ndarray:
        return np.where(units >= 0.5, _ON, _OFF)


KINDS: dict[str, type[Parameter]] = {kind.kind: kind for kind in (Float, Int, Categorical, Bool)}


def parameter_of(name: str, value: object) -> Parameter:
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
    if not isinstance(fields, dict) or fields.get("type") not in KINDS:
        raise ValueError(
            f"{name} = {fields!r}: expected a table with type = {', '.join(map(repr, KINDS))}"
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
