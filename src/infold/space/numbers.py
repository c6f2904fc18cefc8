"""Parameters that are numbers, and how each maps to a coordinate of the unit cube and back.

Rounding happens here and nowhere else.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from infold.space.parameter import Parameter
from infold.space.scale import check_between, check_limits, from_unit, number_of, shown, to_unit

_LARGEST = 2**53  # beyond it, floats do not tell neighbouring whole numbers apart
_MOST_STEPS = 2**50  # so many places in [0, 1] survive rounding: see tests/space/test_numbers.py
_NEAR = 1e-6  # share of a step by which a number may miss it: rounding through text or float32


@dataclass(frozen=True)
class Float(Parameter):
    """A real number in [low, high], searched on a linear or logarithmic scale.

    With a step it is one of low, low + step, ... up to high, as the decimal numbers that were
    written: Float(0.0, 1.0, step=0.1) has 0.3, and not 0.30000000000000004.
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None
    kind: ClassVar[str] = "float"

    def __post_init__(self) -> None:
        for field in ("low", "high", "step"):
            value = getattr(self, field)
            if field != "step" or value is not None:
                if isinstance(value, bool | np.bool_):
                    raise ValueError(f"{field} = {shown(value)}: expected a number")
                object.__setattr__(self, field, number_of(field, value))

    @property
    def fixed(self) -> bool:
        return self.low == self.high

    @property
    def discrete(self) -> bool:
        return self.step is not None

    def check(self, name: str) -> None:
        check_limits(name, self.low, self.high, self.log)
        if self.step is None:
            return
        if not 0.0 < self.step < math.inf:
            raise ValueError(f"{name}.step = {self.step}: expected a finite number above 0")
        if self.log:
            raise ValueError(f"{name}.step = {self.step}: a logarithmic scale has no steps")
        if self.fixed:
            return
        if self.n_values < 2:
            width = self.high - self.low
            raise ValueError(f"{name}.step = {self.step}: expected at most high - low, {width}")
        if self.n_values > _MOST_STEPS:
            raise ValueError(
                f"{name}.step = {self.step}: expected at most 2**50 steps from {self.low} "
                f"to {self.high}; leave the step out"
            )

    @cached_property
    def _first_and_step(self) -> tuple[Fraction, Fraction]:
        """Low and step as they are written: 0.1 is a tenth."""
        return Fraction(repr(self.low)), Fraction(repr(self.step))

    @cached_property
    def n_values(self) -> int:
        """Number of values, where there is a step."""
        first, step = self._first_and_step
        steps = (Fraction(repr(self.high)) - first) / step
        return math.floor(steps + Fraction(1, 10**9)) + 1

    def _nearest_step(self, number: float) -> int:
        first, step = self._first_and_step
        return min(self.n_values - 1, max(0, round((Fraction(number) - first) / step)))

    def at_step(self, index: int) -> float:
        """Return the value of that number, from 0 on, where there is a step."""
        first, step = self._first_and_step
        return min(self.high, float(first + index * step))

    def normalize(self, name: str, value: Any) -> float:
        number = number_of(name, value)
        check_between(name, number, self.low, self.high, self.log)
        number = min(self.high, max(self.low, number))
        if self.step is None or self.fixed:
            return number
        nearest = self.at_step(self._nearest_step(number))
        if abs(number - nearest) > max(_NEAR * self.step, 4 * math.ulp(number)):
            raise ValueError(
                f"{name} = {shown(value)}: "
                f"expected a number in steps of {self.step} from {self.low}"
            )
        return nearest

    def identity(self, value: float) -> float:
        return value + 0.0  # makes one of the two zeros

    def coordinates(self, value: float) -> list[float]:
        if self.fixed:
            return []
        if self.step is not None:
            return [(self._nearest_step(value) + 0.5) / self.n_values]
        return [to_unit(value, self.low, self.high, self.log)]

    def decode(self, unit: np.ndarray) -> float:
        if self.fixed:
            return self.low
        if self.step is not None:
            index = math.floor(float(unit[0]) * self.n_values)
            return self.at_step(min(self.n_values - 1, max(0, index)))
        return float(from_unit(float(unit[0]), self.low, self.high, self.log))

    def snap(self, units: np.ndarray) -> np.ndarray:
        if self.fixed or self.step is None:
            return units
        index = np.clip(np.floor(units * self.n_values), 0, self.n_values - 1)
        return (index + 0.5) / self.n_values


@dataclass(frozen=True)
class Int(Parameter):
    """A whole number: low, low + step, ... up to high. Each has an equal share of the scale.

    Numbers keep all their digits: limits beyond `2**53` are refused. Each number has a place of its
    own where there are up to `2**52` of them; on a logarithmic scale, up to `10**14`.
    """

    low: int
    high: int
    log: bool = False
    step: int = 1
    kind: ClassVar[str] = "int"

    def __post_init__(self) -> None:
        for field in ("low", "high", "step"):
            value = getattr(self, field)
            number = isinstance(value, np.integer | np.floating | float) and math.isfinite(value)
            if number and value == int(value):
                object.__setattr__(self, field, int(value))

    @property
    def fixed(self) -> bool:
        return self.low == self.high

    def check(self, name: str) -> None:
        for label, value, least in (
            ("low", self.low, -math.inf),
            ("high", self.high, -math.inf),
            ("step", self.step, 1),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                more = " of at least 1" if label == "step" else ""
                raise ValueError(f"{name}.{label} = {shown(value)}: expected a whole number{more}")
        if not self.fixed and max(abs(self.low), abs(self.high)) > _LARGEST:
            raise ValueError(
                f"{name} = ({shown(self.low)}, {shown(self.high)}): expected whole numbers from "
                "-2**53 to 2**53; use another unit, or a Float"
            )
        check_limits(name, self.low, self.high, self.log)
        if self.log and self.step != 1:
            raise ValueError(f"{name}.step = {shown(self.step)}: expected 1 on a logarithmic scale")
        if not self.fixed and self.low + self.step > self.high:
            raise ValueError(
                f"{name}.step = {shown(self.step)}: expected at most high - low, "
                f"{self.high - self.low}"
            )

    @property
    def _edges(self) -> tuple[float, float]:
        """Ends of the scale, half a step beyond the first and the last value."""
        last = self.low + (self.high - self.low) // self.step * self.step
        return self.low - self.step / 2, last + self.step / 2

    def normalize(self, name: str, value: Any) -> int:
        exact = self._exact(name, value)
        if not self.low <= exact <= self.high:
            raise ValueError(
                f"{name} = {shown(value)}: expected "
                + (
                    f"{shown(self.low)}, its only value"
                    if self.fixed
                    else f"a value in {self._interval}"
                )
            )
        if (exact - self.low) % self.step:
            raise ValueError(
                f"{name} = {shown(value)}: expected a whole number in steps of {self.step} "
                f"from {self.low}"
            )
        return exact

    @property
    def _interval(self) -> str:
        return f"[{self.low}, {self.high}]"

    def _exact(self, name: str, value: Any) -> int:
        """Return a value as the whole number that it is, but for rounding."""
        if isinstance(value, int | np.integer):
            return int(value)
        number = number_of(name, value)
        if not math.isfinite(number):
            raise ValueError(f"{name} = {number}: expected a value in {self._interval}")
        if abs(number - round(number)) > _NEAR:
            steps = f" in steps of {self.step} from {self.low}" if self.step > 1 else ""
            raise ValueError(f"{name} = {shown(value)}: expected a whole number{steps}")
        return round(number)

    def coordinates(self, value: float) -> list[float]:
        return [] if self.fixed else [to_unit(value, *self._edges, self.log)]

    def _nearest(self, number: float) -> int:
        last = (self.high - self.low) // self.step
        return int(self.low + self.step * min(last, max(0, round((number - self.low) / self.step))))

    def decode(self, unit: np.ndarray) -> int:
        if self.fixed:
            return self.low
        return self._nearest(from_unit(float(unit[0]), *self._edges, self.log))

    def snap(self, units: np.ndarray) -> np.ndarray:
        if self.fixed:
            return units
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
