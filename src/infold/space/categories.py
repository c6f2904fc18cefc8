"""Parameters without an order, and their one-hot coordinates in the unit cube.

One-hot coding happens here and nowhere else.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, ClassVar

import numpy as np

from infold.space.parameter import Parameter
from infold.space.scale import shown

# Middles of the two halves of [0, 1], where an Int with two values has its places.
_OFF = 0.25
_ON = 0.75

_IN_FILES = (str, int, float, bool, NoneType)  # what JSON gives back as it was


@dataclass(frozen=True)
class Categorical(Parameter):
    """One of several choices without an order, one coordinate each.

    A choice may be anything that can be hashed. Run files hold text, finite numbers, bools and None
    only.
    """

    choices: tuple[Any, ...]
    kind: ClassVar[str] = "categorical"

    def __post_init__(self) -> None:
        listed = isinstance(self.choices, Sequence) or np.ndim(self.choices) == 1
        if isinstance(self.choices, str | bytes) or not listed:
            raise ValueError(f"choices = {shown(self.choices)}: expected a list of choices")
        plain = (
            choice.item() if isinstance(choice, np.generic) else choice for choice in self.choices
        )
        object.__setattr__(self, "choices", tuple(plain))

    @property
    def fixed(self) -> bool:
        return len(self.choices) == 1

    @property
    def width(self) -> int:
        return 0 if self.fixed else len(self.choices)

    def check(self, name: str) -> None:
        if not self.choices:
            raise ValueError(f"{name}.choices = []: expected at least one choice")
        for i, choice in enumerate(self.choices):
            label = f"{name}.choices[{i}] = {shown(choice)}"
            if not _is_hashable(choice):
                raise ValueError(
                    f"{label}: expected a value that can be hashed, such as text, a number or a "
                    "tuple"
                )
            index = self._index(choice)
            if index is None:
                raise ValueError(f"{label}: expected a value that equals itself")
            if index != i:
                raise ValueError(f"{label}: expected every choice once")

    def check_file(self, name: str) -> None:
        for i, choice in enumerate(self.choices):
            if type(choice) not in _IN_FILES or (
                isinstance(choice, float) and not math.isfinite(choice)
            ):
                raise ValueError(
                    f"{name}.choices[{i}] = {shown(choice)} cannot be written to a run file: "
                    "expected text, a finite number, a bool or None"
                )

    def _index(self, value: Any) -> int | None:
        return next((i for i, c in enumerate(self.choices) if _is_same(c, value)), None)

    def normalize(self, name: str, value: Any) -> Any:
        index = self._index(value.item() if isinstance(value, np.generic) else value)
        if index is None:
            expected = f"{shown(self.choices[0])}, its only choice"
            if not self.fixed:
                expected = f"one of {', '.join(map(shown, self.choices))}"
            raise ValueError(f"{name} = {shown(value)}: expected {expected}")
        return self.choices[index]

    def identity(self, value: Any) -> int:
        """Return the choice's number: what it prints may change, or be the same for others."""
        index = self._index(value)
        assert index is not None
        return index

    def coordinates(self, value: Any) -> list[float]:
        index = self._index(value)
        return [_ON if i == index else _OFF for i in range(self.width)]

    def decode(self, unit: np.ndarray) -> Any:
        return self.choices[0 if self.fixed else int(np.argmax(unit))]

    def snap(self, units: np.ndarray) -> np.ndarray:
        if self.fixed:
            return units
        return np.where(np.arange(self.width) == np.argmax(units, axis=1)[:, None], _ON, _OFF)


def _is_hashable(value: Any) -> bool:
    """Tell whether a value can be hashed: a tuple may hold what cannot."""
    try:
        hash(value)
    except Exception:
        return False
    return isinstance(value, Hashable)


def _is_same(choice: Any, value: Any) -> bool:
    """Tell whether a value is the choice: 1 and 1.0 are the same, 1 and True are not."""
    if isinstance(choice, bool) != isinstance(value, bool):
        return False
    try:
        return bool(choice == value)
    except Exception:  # such as an array, whose equality is no truth value
        return False


@dataclass(frozen=True)
class Bool(Parameter):
    """True or False."""

    kind: ClassVar[str] = "bool"

    @property
    def fixed(self) -> bool:
        return False

    def check(self, name: str) -> None:
        pass

    def normalize(self, name: str, value: Any) -> bool:
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} = {shown(value)}: expected True or False")
        return bool(value)

    def coordinates(self, value: bool) -> list[float]:
        return [_ON if value else _OFF]

    def decode(self, unit: np.ndarray) -> bool:
        return bool(unit[0] >= 0.5)

    def snap(self, units: np.ndarray) -> np.ndarray:
        return np.where(units >= 0.5, _ON, _OFF)
