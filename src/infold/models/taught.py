"""GPs that know what earlier runs taught: the metric of the inputs, or features of them.

Both see A x. For a metric A is diagonal and learned again within the run, close to what earlier
runs say; for features A has d rows, and the run learns how much each counts. Values of the run are
its own, and so is the factor of all lengthscales: close to an optimum everything changes faster.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from infold import _checks
from infold._precision import float64
from infold._types import Array
from infold.gp import padding
from infold.gp.outputs import PowerTransform, without_outliers
from infold.learning.lessons import FeatureMap, Metric
from infold.learning.tried import carry_over
from infold.models import regression
from infold.models.base import State, kept_array
from infold.models.full_space import FittedGP, standardized_noise
from infold.models.likelihood import GPSurface
from infold.models.regression import Regression, RegressionPosterior
from infold.record import History

KINDS = ("metric", "features")
_OWN = {"metric": 0.5, "features": 0.3}  # deviation of a log lengthscale from what was learned
_ALL = 1.0  # deviation of the logarithm of their common factor
_UNKNOWN = 1.5  # deviation where earlier runs say nothing of a coordinate
_LEAST_REACH = 1e-6


@dataclass(frozen=True, kw_only=True)
class TaughtGP:
    """Settings of a GP that knows lessons; it takes part where the history has them."""

    knows: str = "metric"
    """One of `KINDS`."""
    noise_prior: tuple[float, float] = (-9.0, 2.0)
    """Location and scale of the log-normal prior on the noise variance."""
    least_noise: float = 1e-10
    """Least noise variance, of values of unit variance."""
    warm_training_iterations: int = 2
    """Training iterations from the last suggestion's parameters."""
    noise: float | None = None
    """Variance of the noise of an evaluation where it is known, 0 for none; learned when None."""

    def __post_init__(self) -> None:
        _checks.one_of("knows", self.knows, KINDS)
        _checks.at_least("warm_training_iterations", self.warm_training_iterations, 1)

    def applies(self, history: History) -> bool:
        """Tell whether there are lessons of this kind; features make the metric superfluous."""
        lessons = history.lessons
        if lessons is None or (self.knows == "metric" and lessons.features is not None):
            return False
        return getattr(lessons, self.knows) is not None

    def shuffled(self, history: History, number: int) -> History:
        """Return the history with lessons that say the same of other coordinates, drawn anew."""
        lessons = history.lessons
        assert lessons is not None
        order = np.random.default_rng([number, history.dimension]).permutation(history.dimension)
        if self.knows == "features":
            assert lessons.features is not None
            features = FeatureMap(weights=lessons.features.weights[:, order])
            return replace(history, lessons=replace(lessons, features=features))
        assert lessons.metric is not None
        metric = Metric(
            log_lengthscale=lessons.metric.log_lengthscale[order],
            known=lessons.metric.known[order],
        )
        return replace(history, lessons=replace(lessons, metric=metric))

    def plainly_related(self, history: History) -> bool:
        """Tell whether points of earlier runs carry over, and with them a metric."""
        return self.knows == "metric" and carry_over(history)

    @property
    def gp(self) -> Regression:
        """Settings of the GP itself."""
        return Regression(scaled_priors=True, learn_variance=False, least_noise=self.least_noise)

    @float64
    def fit(self, history: History, key: Sequence[int], state: State) -> "FittedTaughtGP":
        """Train from the last parameters, or from what earlier runs say where there are none."""
        weights, spread = self._map(history)
        values = without_outliers(history.imputed)
        outputs = PowerTransform.of(values)
        y = outputs.apply(values)
        z = history.x @ weights.T
        data = regression.make_data(
            z,
            y,
            padding.bucket_size(len(y) + len(history.pending)),
            extent=np.full(len(weights), _reach(z, weights, history)),
            noise_prior=self.noise_prior,
            spread=spread,
        )
        trained = regression.fit(
            self.gp,
            jax.device_put(data),
            warm=kept_array(state, "parameters"),
            curvature=kept_array(state, "curvature"),
            warm_iterations=self.warm_training_iterations,
            noise=standardized_noise(self.noise, outputs, values),
        )
        return FittedTaughtGP(
            gp=self.gp,
            history=history,
            outputs=outputs,
            y=y,
            trained=trained,
            posterior=trained.posterior,
            smooths=True,
            weights=weights,
            knows=self.knows,
        )

    def _map(self, history: History) -> tuple[np.ndarray, np.ndarray]:
        """Return A, and how far lengthscales may be from 1 then."""
        lessons = history.lessons
        assert lessons is not None
        own = _OWN[self.knows]
        if self.knows == "features":
            assert lessons.features is not None
            weights = lessons.features.weights
            return weights, np.append(np.full(len(weights), own), _ALL)
        assert lessons.metric is not None
        spread = np.where(lessons.metric.known, own, _UNKNOWN)
        return lessons.metric.weights, np.append(spread, _ALL)


def _reach(z: np.ndarray, weights: np.ndarray, history: History) -> float:
    """Return how far the data reach from the best, relative to points anywhere in the cube."""
    way = z - z[np.argmin(history.merit(history.imputed))]
    usual = np.sum(weights**2) / 6.0
    mean = np.sum(way**2) / max(len(z) - 1, 1)
    return float(np.clip(np.sqrt(mean / usual), _LEAST_REACH, 1.0)) if mean > 0.0 else 1.0


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedTaughtGP(FittedGP):
    """A fitted GP on A x, searched over the inputs."""

    weights: Float[np.ndarray, "e D"]
    """A."""
    knows: str

    @functools.cached_property
    def surface(self) -> GPSurface:
        lengthscale = None
        if self.knows == "metric":
            scaled = np.asarray(self.posterior.params.lengthscale)
            lengthscale = scaled / np.diagonal(self.weights)
        return self.surface_over(
            self.history.everywhere,
            functools.partial(_predict, self.gp, self.posterior, self.weights),
            functools.partial(_predict_with_gradients, self.gp, self.posterior, self.weights),
            self.history.rounding,
            lengthscale,
        )

    def _infer(self, x: np.ndarray, y: np.ndarray, size: int) -> RegressionPosterior:
        before = self.trained.posterior.data
        data = regression.make_data(
            x @ self.weights.T,
            y,
            size,
            extent=before.extent,
            noise_prior=before.noise_prior,
            spread=before.spread,
        )
        return regression.evaluate(self.gp, self.trained.flat, data)[2]


@functools.partial(jax.jit, static_argnums=0)
def _predict(
    settings: Regression,
    posterior: RegressionPosterior,
    weights: Float[jax.Array, "e D"],
    x: Float[jax.Array, "m D"],
) -> Float[jax.Array, "2 m"]:
    return jnp.stack(regression.predict(settings, posterior, x @ weights.T))


@functools.partial(jax.jit, static_argnums=0)
def _predict_with_gradients(
    settings: Regression,
    posterior: RegressionPosterior,
    weights: Float[jax.Array, "e D"],
    x: Float[jax.Array, "m D"],
) -> Float[Array, "m 2+2*D"]:
    columns = regression.predict_with_gradients(settings, posterior, x @ weights.T)
    mean, variance = jnp.split(columns[:, 2:], 2, axis=1)
    return jnp.concatenate([columns[:, :2], mean @ weights, variance @ weights], axis=1)
