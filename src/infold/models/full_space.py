"""A GP on all D inputs: the modern baseline, and what other methods fall back on.

Matern-5/2 with ARD and lengthscale priors that grow with √D (C. Hvarfner et al., "Vanilla Bayesian
optimization performs great in high dimensions", ICML 2024), and a Yeo-Johnson transform of the
values.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from infold import _checks
from infold._precision import float64
from infold._types import Array
from infold.gp import padding
from infold.gp.outputs import PowerTransform, Standardization, without_outliers
from infold.models import regression
from infold.models.base import NEGLIGIBLE_NOISE, MeanAndVariance, State, kept_array
from infold.models.likelihood import FittedByLikelihood, GPSurface
from infold.models.regression import Regression, RegressionPosterior
from infold.record import History


@dataclass(frozen=True, kw_only=True)
class FullSpaceGP:
    """Settings of a GP on all inputs."""

    transform: bool = True
    """Apply a Yeo-Johnson transform to the values, refitted every time."""
    clip_outliers: bool = True
    """Lower values far above the others, such as penalties, which would hide the rest."""
    scaled_priors: bool = True
    """Priors on lengthscales and noise, unit variance, constant mean; else none, mean zero."""
    warm_training_iterations: int = 3
    """Training iterations from the last suggestion's parameters."""
    noise_prior: tuple[float, float] = (-4.0, 1.0)
    """Location and scale of the log-normal prior on the noise variance."""
    least_noise: float = 1e-6
    """Least noise variance, of values of unit variance."""
    smooths: bool = False
    """Measure improvement from the best prediction, not the best value, where the noise matters."""
    local: bool = False
    """Measure lengthscales by how far the inputs reach from the best one, not by the cube."""
    retrain: bool = False
    """Train from a fresh start too where the data are others than the last time."""
    spread: float | None = None
    """Deviation of log lengthscales from their mean, by a prior that draws them together, which
    takes the place of a wide one on each of them. Where evaluations are few, so many free numbers
    explain chance. None: the wide one."""
    noise: float | None = None
    """Variance of the noise of an evaluation where it is known, 0 for none; learned when None."""

    def __post_init__(self) -> None:
        _checks.at_least("warm_training_iterations", self.warm_training_iterations, 1)
        if self.noise is not None:
            _checks.variance_of("noise", self.noise)
        if self.spread is not None and not self.spread > 0.0:
            raise ValueError(f"spread = {self.spread}: expected a deviation above 0, or None")

    @property
    def gp(self) -> Regression:
        """Settings of the GP itself."""
        return Regression(
            scaled_priors=self.scaled_priors,
            learn_variance=not self.scaled_priors,
            least_noise=self.least_noise,
        )

    @float64
    def fit(self, history: History, key: Sequence[int], state: State) -> "FittedGP":
        """Train from the last parameters, or from the modes of the priors where there are none."""
        values = history.imputed
        if self.clip_outliers:
            values = without_outliers(values, keep=history.feasible)
        outputs = PowerTransform.of(values) if self.transform else Standardization.of(values)
        y = outputs.apply(values)
        size = padding.bucket_size(len(y) + len(history.pending))
        extent, spread = self._lengthscales(history)
        data = regression.make_data(
            history.x, y, size, extent=extent, noise_prior=self.noise_prior, spread=spread
        )
        data = jax.device_put(data)
        trained = regression.fit(
            self.gp,
            data,
            warm=kept_array(state, "parameters"),
            curvature=kept_array(state, "curvature"),
            # Where each objective has a model of its own, this one only shapes the region.
            warm_iterations=self.warm_training_iterations if history.scalarization is None else 1,
            noise=standardized_noise(self.noise, outputs, values),
            anew=self.retrain
            and history.n_objectives == 1  # else every suggestion has other values, by its weights
            and _is_other(kept_array(state, "data"), y, outputs),
        )
        return FittedGP(
            gp=self.gp,
            history=history,
            outputs=outputs,
            y=y,
            trained=trained,
            posterior=trained.posterior,
            smooths=self.smooths,
        )

    def _lengthscales(self, history: History) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return the unit of lengthscales, and how far from it they may be: None, as they like."""
        extent = self._extent(history)
        if self.spread is None:
            return extent, None
        dimension = history.dimension
        usual = regression.usual_lengthscale(dimension)
        spread = np.append(np.full(dimension, self.spread), _ALL)
        return np.full(dimension, usual) if extent is None else usual * extent, spread

    def _extent(self, history: History) -> np.ndarray | None:
        """Return how far the inputs reach from the best one; discrete ones as far as they can."""
        if not self.local:
            return None
        extent = np.ones(history.dimension)
        free = np.ones(history.dimension, dtype=bool)
        if history.rounding is not None:
            free = ~history.rounding.coordinates
        if np.any(free):
            best = np.argmin(history.merit(history.imputed))
            way = history.x[:, free] - history.x[best, free]
            # Two points anywhere in the cube are √(1/6) apart along a coordinate.
            extent[free] = np.clip(np.sqrt(6.0 * np.mean(way**2)), _LEAST_EXTENT, 1.0)
        return extent


def standardized_noise(
    noise: float | None, outputs: PowerTransform | Standardization, values: np.ndarray
) -> float | None:
    """Return the known variance of the noise as the transform leaves it around the median."""
    if noise is None:
        return None
    slope = np.exp(outputs.log_slope(np.array([np.median(values)])))
    return noise * float(slope[0]) ** 2


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedGP(FittedByLikelihood):
    """A fitted GP on the inputs."""

    gp: Regression
    smooths: bool = False
    """Whether improvement is measured from what it predicts, where the noise matters."""

    @functools.cached_property
    def values(self) -> Float[np.ndarray, " n"]:
        """What is known of the evaluations: as observed or, where noise matters, as predicted."""
        noise = float(self.trained.posterior.params.noise)
        if not self.smooths or noise < NEGLIGIBLE_NOISE:
            return self.y
        alpha = np.asarray(self.trained.posterior.exact.alpha)[: len(self.y)]
        return self.y - noise * alpha

    @property
    def state(self) -> State:
        return {**super().state, "data": _summary(self.y, self.outputs)}

    @functools.cached_property
    def surface(self) -> GPSurface:
        """The GP over its inputs."""
        return self.surface_over(
            self.history.everywhere,
            functools.partial(_predict, self.gp, self.posterior),
            functools.partial(_predict_with_gradients, self.gp, self.posterior),
            self.history.rounding,
            np.asarray(self.posterior.params.lengthscale),
        )

    @property
    def surfaces(self) -> list[GPSurface]:
        return [self.surface]

    def predict(self, x: Float[np.ndarray, "m D"]) -> MeanAndVariance:
        return self.surface.predict(x)

    @property
    def _size(self) -> int:
        return len(self.trained.posterior.data.y)

    def _infer(self, x: np.ndarray, y: np.ndarray, size: int) -> RegressionPosterior:
        before = self.trained.posterior.data
        data = regression.make_data(
            x,
            y,
            size,
            extent=before.extent,
            noise_prior=before.noise_prior,
            spread=before.spread,
        )
        return regression.evaluate(self.gp, self.trained.flat, data)[2]

    def _leave_one_out(self) -> tuple[Array, Array]:
        return regression.leave_one_out(self.gp, self.trained.posterior)

    @property
    def noise(self) -> Array:
        return self.posterior.params.noise


@functools.partial(jax.jit, static_argnums=0)
def _predict(
    settings: Regression, posterior: RegressionPosterior, x: Float[jax.Array, "m D"]
) -> Float[jax.Array, "2 m"]:
    return jnp.stack(regression.predict(settings, posterior, x))


_predict_with_gradients = jax.jit(regression.predict_with_gradients, static_argnames="settings")


_LEAST_EXTENT = 1e-6
_ALL = 1.5  # deviation of the mean of log lengthscales, where a prior draws them together
_OTHER = 1.3  # factor between the numbers, or the deviations, of data that are others than before


def _summary(y: np.ndarray, outputs: PowerTransform | Standardization) -> np.ndarray:
    """Return the number of values and their deviation."""
    inner = outputs.before if isinstance(outputs, PowerTransform) else outputs
    return np.array([len(y), inner.deviation])


def _is_other(
    known: np.ndarray | None, y: np.ndarray, outputs: PowerTransform | Standardization
) -> bool:
    """Tell whether the data are fewer, or vary more or less, than those of the last fit."""
    if known is None or known.shape != (2,):
        return False
    n, deviation = _summary(y, outputs)
    return bool(_OTHER * n < known[0] or not 1.0 / _OTHER < deviation / known[1] < _OTHER)
