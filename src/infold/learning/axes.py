"""Numbers and choices in the unit cube, column by column, whatever range a run had."""

import math
from dataclasses import dataclass

import numpy as np

from infold.space import Float, Int, Parameter


@dataclass(frozen=True)
class Axis:
    """The scale of a parameter that is a number: what 0 and 1 stand for."""

    low: float
    high: float
    log: bool

    @classmethod
    def of(cls, parameter: Parameter) -> "Axis":
        """Return the scale of a number; discrete ones have half a step more at both ends."""
        assert isinstance(parameter, Float | Int)
        low, high, step = float(parameter.low), float(parameter.high), parameter.step
        if step is not None and not parameter.fixed:
            n_steps = math.floor((high - low) / step * (1.0 + 1e-12))
            low, high = low - step / 2, low + (n_steps + 0.5) * step
        return cls(low, high, parameter.log)

    def _scaled(self, values: np.ndarray) -> np.ndarray:
        # Halves, since finite limits may be further apart than floats reach.
        return np.log(np.where(values > 0.0, values, self.low)) if self.log else values / 2

    @property
    def _ends(self) -> np.ndarray:
        return self._scaled(np.array([self.low, self.high]))

    def place(self, values: np.ndarray) -> np.ndarray:
        """Return where values are between low (0) and high (1); those beyond are outside.

        On a logarithmic scale, values of 0 or less count as low.
        """
        first, last = self._ends
        return (self._scaled(np.asarray(values, dtype=np.float64)) - first) / (last - first)

    def value(self, units: np.ndarray) -> np.ndarray:
        """Return the values at places between low (0) and high (1)."""
        first, last = self._ends
        scaled = first + np.asarray(units, dtype=np.float64) * (last - first)
        return np.exp(scaled) if self.log else 2 * scaled
