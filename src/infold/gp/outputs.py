"""Transforms of values to what a GP models well: zero mean, unit deviation, light tails."""

from dataclasses import dataclass

import numpy as np
import scipy.optimize

_LARGEST = 1e300  # transformed values are clipped to it, far inside the range of floats


@dataclass(frozen=True)
class Standardization:
    """A shift and a scale: y = mean + deviation * standardized."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, y: np.ndarray) -> "Standardization":
        """Return the standardization of the values y; constant values get a deviation of 1."""
        scale = max(float(np.max(np.abs(y))), np.finfo(float).tiny)
        mean = scale * float(np.mean(y / scale))
        deviation = scale * float(np.std(y / scale))
        return cls(mean, deviation if deviation > 1e-13 * scale else 1.0)

    def apply(self, y: np.ndarray) -> np.ndarray:
        """Return y standardized."""
        return (y - self.mean) / self.deviation

    def invert(self, s: np.ndarray) -> np.ndarray:
        """Return standardized values in the caller's units."""
        return self.mean + self.deviation * s

    def log_slope(self, y: np.ndarray) -> np.ndarray:
        """Return the logarithm of the derivative of `apply` at each y."""
        return np.full(np.shape(y), -np.log(self.deviation))

    def spread(self, mean: np.ndarray, deviation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return centre and deviation, in the caller's units, of a standardized prediction."""
        return self.invert(mean), self.deviation * deviation


def without_outliers(
    y: np.ndarray, reach: float = 11.0, keep: np.ndarray | None = None
) -> np.ndarray:
    """Return y clipped at a limit above the median.

    The limit is `reach` times as far above the median as the lower quartile is below it. Next to
    a penalty of 1e6, values of order one all look alike to a model, while a search for the
    smallest value need not know how bad the bad ones are. The lower half sets the scale because
    nearly half of the values may be penalties. For symmetric values the default limit is five
    interquartile ranges above the upper quartile.

    Args:
        y: values, of which small ones are good.
        reach: how far the limit is.
        keep: which values matter most, such as those of feasible points; the limit is never below
            their median.
    """
    smallest, lower, middle = np.quantile(y, [0.0, 0.25, 0.5])
    with np.errstate(over="ignore"):  # an infinite limit clips nothing
        spread = middle - (lower if lower < middle else smallest)
        limit = middle + reach * spread
        if keep is not None and np.any(keep):
            limit = max(limit, float(np.median(y[keep])))
        return np.minimum(y, limit) if spread > 0 else y


_STRAIGHT = 3.0  # scales up to which it is nearly a line: three quarters of the values and more


@dataclass(frozen=True)
class AsinhTransform:
    """asinh(c / 3 scale), standardized: a line near zero, a logarithm far from it.

    It keeps the sign, which is all that matters of a constraint, and lightens both tails. D.
    Eriksson and M. Poloczek ("Scalable constrained Bayesian optimization", AISTATS 2021) take the
    logarithm of 1 + |c|, whose curvature jumps at zero: where a constraint is smooth, a GP that has
    to follow the jump knows its edge up to a hundred times less well.
    """

    scale: float
    after: Standardization

    @classmethod
    def of(cls, c: np.ndarray) -> "AsinhTransform":
        """Return the transform of the values c; the scale is the upper quartile of their sizes."""
        sizes = np.abs(c)
        largest = float(np.max(sizes)) or 1.0
        scale = largest * float(np.quantile(sizes / largest, 0.75)) or largest
        unit = cls(scale, Standardization(0.0, 1.0))
        return cls(scale, Standardization.of(unit.apply(c)))

    def apply(self, c: np.ndarray) -> np.ndarray:
        """Return c transformed."""
        with np.errstate(over="ignore"):
            sizes = np.minimum(np.abs(c) / self.scale, _LARGEST)
        return self.after.apply(np.sign(c) * np.arcsinh(sizes / _STRAIGHT))

    @property
    def limit(self) -> float:
        """What zero becomes."""
        return float(self.apply(np.zeros(1))[0])


def _yeo_johnson(s: np.ndarray, power: float) -> np.ndarray:
    """Return the Yeo-Johnson transform of s, for powers in (0, 2)."""
    positive = s >= 0
    magnitude = np.log1p(np.abs(s))
    p = np.where(positive, power, 2.0 - power)
    return np.where(positive, 1.0, -1.0) * np.expm1(p * magnitude) / p


@dataclass(frozen=True)
class PowerTransform:
    """Standardization, the Yeo-Johnson transform of the most likely power, standardization."""

    before: Standardization
    power: float
    after: Standardization

    @classmethod
    def of(cls, y: np.ndarray) -> "PowerTransform":
        """Return the transform under which the values y are most likely to be normal."""
        before = Standardization.of(y)
        s = before.apply(y)

        def negative_log_likelihood(power: float) -> float:
            deviation = np.std(_yeo_johnson(s, power))
            return len(s) * np.log(max(deviation, 1e-300)) - (power - 1.0) * np.sum(
                np.sign(s) * np.log1p(np.abs(s))
            )

        # Powers near 0 and 2 are logarithms: further out the transform has an asymptote.
        power = scipy.optimize.minimize_scalar(
            negative_log_likelihood, bounds=(0.01, 1.99), method="bounded"
        ).x
        return cls(before, float(power), Standardization.of(_yeo_johnson(s, power)))

    def apply(self, y: np.ndarray) -> np.ndarray:
        """Return y transformed."""
        return self.after.apply(_yeo_johnson(self.before.apply(y), self.power))

    def invert(self, s: np.ndarray) -> np.ndarray:
        """Return transformed values in the caller's units.

        Medians map to medians. Values beyond the range of the transform are clipped to it.
        """
        t = self.after.invert(s)
        p = np.where(t >= 0, self.power, 2.0 - self.power)
        magnitude = np.log1p(np.minimum(p * np.abs(t), _LARGEST)) / p
        return self.before.invert(np.sign(t) * np.expm1(np.minimum(magnitude, 600.0)))

    def log_slope(self, y: np.ndarray) -> np.ndarray:
        """Return the logarithm of the derivative of `apply` at each y.

        That of Yeo-Johnson is (1 + |s|)^(power - 1) for s >= 0, (1 + |s|)^(1 - power) below.
        Finite for all finite y: standardized values are clipped to 1e300.
        """
        with np.errstate(over="ignore"):
            s = self.before.apply(y)
        exponent = np.where(s >= 0, self.power - 1.0, 1.0 - self.power)
        inner = exponent * np.log1p(np.minimum(np.abs(s), _LARGEST))
        return self.before.log_slope(y) + inner + self.after.log_slope(y)

    def spread(self, mean: np.ndarray, deviation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return centre and deviation, in the caller's units, of a transformed prediction.

        The centre is the median; the deviation reaches from it to the value that lies one
        transformed deviation higher.
        """
        centre = self.invert(mean)
        return centre, self.invert(mean + deviation) - centre
