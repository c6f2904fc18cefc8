"""A test problem: a function on the unit cube with a known minimum."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_NOISE = 1  # keeps this random stream apart from the optimizer's of the same seed


@dataclass(frozen=True)
class Problem:
    """A function on [0, 1]^D with a known minimum.

    Call it on one point, or on an array of points, one per row.
    """

    name: str
    dimension: int
    minimum: float
    minimizer: np.ndarray
    """A point at which the minimum is attained."""
    function: Callable[[np.ndarray], np.ndarray]
    """Function that returns the values at the rows of an array."""
    noise_variance: float = 1e-4
    """Variance of the noise that experiments add to the values."""

    def __call__(self, x: np.ndarray) -> np.ndarray | float:
        x = np.asarray(x, dtype=np.float64)
        if x.ndim not in (1, 2) or x.shape[-1] != self.dimension:
            raise ValueError(
                f"x has shape {x.shape}: "
                f"{self.name} expects ({self.dimension},) or (n, {self.dimension})"
            )
        values = self.function(np.atleast_2d(x))
        return values if x.ndim == 2 else float(values[0])

    def observe(self, x: np.ndarray, seed: int, trial: int) -> float:
        """Return the value at one point plus noise.

        The noise depends on seed and trial alone, so that a resumed run sees the same.
        """
        rng = np.random.default_rng([seed, _NOISE, trial])
        return float(self(x)) + float(np.sqrt(self.noise_variance) * rng.normal())
