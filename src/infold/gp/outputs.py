"""Values as a GP likes them: zero mean, unit deviation and, where asked for, no heavy tails."""

from dataclasses import dataclass

import numpy as np
import scipy.optimize


@dataclass(frozen=True)
class Standardization:
    """y = mean + deviation * standardized."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, y: np.ndarray) -> "Standardization":
        """Of the values y; constant values keep a deviation of 1."""
        scale = max(float(np.max(np.abs(y))), np.finfo(float).tiny)
        deviation = scale * float(np.std(y / scale))
        return cls(
            scale * float(np.mean(y / scale)), deviation if deviation > 1e-13 * scale else 1.0
        )

    def apply(self, y: np.ndarray) -> np.ndarray:
        return (y - self.mean) / self.deviation

    def invert(self, s: np.ndarray) -> np.ndarray:
        return self.mean + self.deviation * s


def without_outliers(y: np.ndarray, reach: float = 11.0) -> np.ndarray:
    """y with nothing further above the median than `reach` times what the lower quartile is below it.

    What is worse is taken for that bad. Beside a penalty of 1e6 values of order one look all the same to a model, and how bad
    the bad ones are matters little to a search for the smallest. The lower half sets the scale, as nearly half of the values
    may be penalties. Where values are symmetric the default limit is five interquartile ranges above the upper quartile.
    """
    smallest, lower, middle = np.quantile(y, [0.0, 0.25, 0.5])
    with np.errstate(over="ignore"):  # the limit is infinite then
        spread = middle - (lower if lower < middle else smallest)
        return np.minimum(y, middle + reach * spread) if spread > 0 else y


def _yeo_johnson(s: np.ndarray, power: float) -> np.ndarray:
    """The Yeo-Johnson transform, for powers in (0, 2)."""
    positive = s >= 0
    magnitude = np.log1p(np.abs(s))
    p = np.where(positive, power, 2.0 - power)
    return np.where(positive, 1.0, -1.0) * np.expm1(p * magnitude) / p


@dataclass(frozen=True)
class PowerTransform:
    """Standardize, apply Yeo-Johnson with the most likely power, standardize again."""

    before: Standardization
    power: float
    after: Standardization

    @classmethod
    def of(cls, y: np.ndarray) -> "PowerTransform":
        before = Standardization.of(y)
        s = before.apply(y)

        def negative_log_likelihood(power: float) -> float:
            deviation = np.std(_yeo_johnson(s, power))
            return len(s) * np.log(max(deviation, 1e-300)) - (power - 1.0) * np.sum(
                np.sign(s) * np.log1p(np.abs(s))
            )

        # Powers near 0 and 2 are logarithms: further out the transform has a horizontal asymptote.
        power = scipy.optimize.minimize_scalar(
            negative_log_likelihood, bounds=(0.01, 1.99), method="bounded"
        ).x
        return cls(before, float(power), Standardization.of(_yeo_johnson(s, power)))

    def apply(self, y: np.ndarray) -> np.ndarray:
        return self.after.apply(_yeo_johnson(self.before.apply(y), self.power))

    def invert(self, s: np.ndarray) -> np.ndarray:
        """Medians map to medians; values beyond the reach of the transform are clipped to it."""
        t = self.after.invert(s)
        p = np.where(t >= 0, self.power, 2.0 - self.power)
        magnitude = np.log1p(np.minimum(p * np.abs(t), 1e300)) / p
        return self.before.invert(np.sign(t) * np.expm1(np.minimum(magnitude, 600.0)))
