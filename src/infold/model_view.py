"""A fitted model in the user's terms: what `Optimizer.model()` returns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from infold._precision import float64
from infold.gp.padding import bucket_size
from infold.models.base import Fitted, MeanAndVariance, log_densities
from infold.record import History
from infold.space import Categorical, Point, Space
from infold.space.space import as_points

_N_POINTS = 64  # evaluations, the best first, around which relevance is measured
_N_LEVELS = 9  # values that a parameter takes there
_LOWERED = 1e-6  # of the range of values: less is rounding


@dataclass(frozen=True)
class LeaveOneOut:
    """What the model says of each evaluation when it is not shown its value."""

    mean: Float[np.ndarray, " n"]
    """Predictions in the order of the evaluations.

    NaN for those that failed, for those that the model was not fitted to, and for those with values
    so high that it takes them for lower ones.
    """
    deviation: Float[np.ndarray, " n"]
    """Their standard deviations, noise included."""
    log_density: Float[np.ndarray, " n"]
    """Logarithm of the density that was given to the value that came, in the user's units."""

    @property
    def log_score(self) -> float:
        """Mean logarithm of the density of what came: the larger the better the model predicts."""
        return float(np.nanmean(self.log_density))


class ModelView:
    """A model to ask."""

    def __init__(
        self,
        space: Space,
        fitted: Fitted,
        history: History,
        points: Sequence[Point],
        sign: float,
    ) -> None:
        """
        Args:
            space: the user's parameters.
            fitted: the model, in the unit cube.
            history: all evaluations; those that it was fitted to are `fitted.history`.
            points: where they were made, as the user writes them.
            sign: -1 where the user maximizes, and the model sees values with the other sign.
        """
        self.space = space
        self.fitted = fitted
        self._history = history
        self._points = points
        self._sign = sign

    def __repr__(self) -> str:
        n, d = self.fitted.history.x.shape
        return f"<{type(self.fitted).__name__} on {n} evaluations in {d} dimensions>"

    @float64
    def predict(
        self, points: Point | Sequence[Point]
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        """Return mean and standard deviation of the objective at one point or several.

        The deviation is that of the function itself, without the noise of an evaluation. Where
        values were transformed, the mean is a median, and the deviation that towards worse values.
        """
        if points is None:
            raise ValueError("points = None: expected a point, or a list of points")
        units = np.array([self.space.place(point) for point in as_points(points)])
        if not len(units):
            return np.empty(0), np.empty(0)
        return self._predict_units(units)

    def _predict_units(self, units: Float[np.ndarray, "m D"]) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = self._predict(units)
        return self._in_users_units(mean, np.sqrt(variance))

    def _predict(self, units: Float[np.ndarray, "m D"]) -> MeanAndVariance:
        """Return standardized predictions, without compiling for every number of points."""
        m = len(units)
        padded = np.concatenate([units, np.repeat(units[-1:], bucket_size(m) - m, axis=0)])
        mean, variance = self.fitted.predict(padded)
        return mean[:m], variance[:m]

    def _in_users_units(
        self, mean: np.ndarray, deviation: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        centre, spread = self.fitted.outputs.spread(mean, deviation)
        return self._sign * centre, spread

    @property
    def noise(self) -> float:
        """Variance of the noise of an evaluation; NaN where the model has none.

        Where values were transformed it is that of values around the median.
        """
        outputs = self.fitted.outputs
        median = outputs.invert(np.array([np.median(self.fitted.targets)]))
        with np.errstate(over="ignore", under="ignore"):
            return float(self.fitted.noise) * float(np.exp(-2.0 * outputs.log_slope(median)[0]))

    def best(self) -> tuple[Point, float]:
        """Return the evaluated point that is predicted to be the best, and the prediction."""
        history = self.fitted.history
        rows = np.arange(len(history.y)) if history.rows is None else history.rows
        mean, _ = self._predict_units(history.x[history.eligible])
        best = int(np.argmin(self._sign * mean))
        return self._points[rows[history.eligible][best]], float(mean[best])

    @float64
    def leave_one_out(self) -> LeaveOneOut:
        """Predict each evaluation from all others in closed form, hyper-parameters held."""
        mean, variance = self.fitted.leave_one_out()
        centre, deviation = self._in_users_units(mean, np.sqrt(variance))
        density = log_densities(self.fitted)
        fitted = self.fitted.history
        rows = np.arange(len(fitted.y)) if fitted.rows is None else fitted.rows
        seen = self.fitted.outputs.invert(self.fitted.targets)
        lowered = fitted.imputed - seen > _LOWERED * np.ptp(seen)
        told = fitted.succeeded & ~lowered

        def of_all(values: np.ndarray) -> np.ndarray:
            everywhere = np.full(len(self._history.y), np.nan)
            everywhere[rows] = np.where(told, values, np.nan)
            return everywhere

        return LeaveOneOut(of_all(centre), of_all(deviation), of_all(density))

    @float64
    def relevance(self) -> dict[str, float]:
        """Return for each parameter its share in how much the prediction varies around good points.

        One parameter at a time takes values all over its range, while the others stay as they are
        at the best evaluations, up to 64 of them. The shares are those of the variances of the
        predicted mean; they add up to 1. A fixed parameter has none.
        """
        history = self.fitted.history
        points = history.x[np.argsort(history.merit(history.imputed))[:_N_POINTS]]
        shares = {}
        start = 0
        for name, parameter in self.space.parameters.items():
            if parameter.fixed:
                shares[name] = 0.0
                continue
            columns = slice(start, start + parameter.width)
            start += parameter.width
            if isinstance(parameter, Categorical):
                levels = parameter.snap(np.eye(parameter.width))
            else:
                levels = parameter.snap(np.linspace(0.0, 1.0, _N_LEVELS)[:, None])
            varied = np.repeat(points[None], len(levels), axis=0)
            varied[:, :, columns] = levels[:, None]
            mean, _ = self._predict(varied.reshape(-1, points.shape[1]))
            shares[name] = float(np.mean(np.var(mean.reshape(len(levels), -1), axis=0)))
        total = sum(shares.values())
        return {name: share / total if total > 0 else 0.0 for name, share in shares.items()}

    @float64
    def encode(self, points: Point | Sequence[Point]) -> Float[np.ndarray, "m d"]:
        """Return the features of one point or several."""
        self._needs_features()
        units = np.array([self.space.place(point) for point in as_points(points)])
        return self.fitted.encode(units)[0]

    @float64
    def decode(self, features: Any) -> Point:
        """Return the point that features stand for."""
        self._needs_features()
        return self.space.decode(self.fitted.decode([np.asarray(features, dtype=np.float64)]))

    def _needs_features(self) -> None:
        if not self.fitted.has_features:
            raise ValueError(f"{type(self.fitted).__name__} has no features")
