"""A GP on all D inputs: the modern baseline, and what other methods fall back on.

Matern-5/2 with ARD and lengthscale priors that grow with √D (C. Hvarfner et al., "Vanilla Bayesian
optimization performs great in high dimensions", ICML 2024), and a Yeo-Johnson transform of the
values.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from infold import _checks
from infold.gp import padding
from infold.gp.outputs import PowerTransform, Standardization, without_outliers
from infold.gp.training import Trained
from infold.models import regression
from infold.models.base import (
    Fitted,
    Predictions,
    SmoothSurface,
    State,
    best_first,
    kept_array,
    with_lies,
)
from infold.models.regression import Regression, RegressionPosterior
from infold.record import History, Rounding


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

    def __post_init__(self) -> None:
        _checks.at_least("warm_training_iterations", self.warm_training_iterations, 1)

    @property
    def gp(self) -> Regression:
        """Settings of the GP itself."""
        return Regression(scaled_priors=self.scaled_priors, learn_variance=not self.scaled_priors)

    def fit(self, history: History, key: Sequence[int], state: State) -> "FittedGP":
        """Train from the last parameters, or from the modes of the priors where there are none."""
        values = without_outliers(history.imputed) if self.clip_outliers else history.imputed
        outputs = PowerTransform.of(values) if self.transform else Standardization.of(values)
        y = outputs.apply(values)
        size = padding.bucket_size(len(y) + len(history.pending))
        data = jax.device_put(regression.make_data(history.x, y, size))
        trained = regression.fit(
            self.gp,
            data,
            warm=kept_array(state, "parameters"),
            curvature=kept_array(state, "curvature"),
            warm_iterations=self.warm_training_iterations,
        )
        return FittedGP(
            gp=self.gp,
            history=history,
            outputs=outputs,
            y=y,
            trained=trained,
            posterior=trained.posterior,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedGP(Fitted):
    """A fitted GP on the inputs."""

    gp: Regression
    history: History
    outputs: PowerTransform | Standardization
    y: Float[np.ndarray, " n"]
    """Standardized values of the evaluations."""
    trained: Trained
    posterior: RegressionPosterior

    @property
    def targets(self) -> np.ndarray:
        return self.y

    @property
    def state(self) -> State:
        return {"parameters": self.trained.flat, "curvature": self.trained.curvature}

    def condition(self, history: History) -> "FittedGP":
        if not len(history.pending):
            return self
        size = padding.bucket_size(len(self.y) + len(history.pending))
        size = max(size, len(self.trained.posterior.data.y))
        data = regression.make_data(*with_lies(history, self.y), size)
        posterior = regression.evaluate(self.gp, self.trained.flat, data)[2]
        return replace(self, history=history, posterior=posterior)

    @property
    def surfaces(self) -> "list[GPSurface]":
        return [self.surface]

    @functools.cached_property
    def surface(self) -> "GPSurface":
        """The GP over its inputs."""
        history = self.history
        return GPSurface(
            gp=self.gp,
            posterior=self.posterior,
            upper=np.ones(history.dimension),
            data=history.everywhere,
            promising=history.x[best_first(self.y)],
            y_min=float(np.min(self.y[history.succeeded])),
            rounding=history.rounding,
        )

    def predict(
        self, x: Float[np.ndarray, "m D"]
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        return self.surface.predict(x)

    def leave_one_out(self) -> tuple[np.ndarray, np.ndarray]:
        posterior = self.trained.posterior
        mean, variance = regression.leave_one_out(self.gp, posterior)
        return np.asarray(mean)[: len(self.y)], np.asarray(variance)[: len(self.y)]

    def describe(self) -> dict[str, Any]:
        return {**describe_training(self.trained), "noise": float(self.posterior.params.noise)}


@dataclass(eq=False, kw_only=True)
class GPSurface(SmoothSurface):
    """The predictions of the GP over its inputs."""

    gp: Regression
    posterior: RegressionPosterior
    upper: Float[np.ndarray, " d"]
    data: Float[np.ndarray, "n d"]
    promising: Float[np.ndarray, "k d"]
    y_min: float
    rounding: Rounding | None = None

    def predict(
        self, z: Float[np.ndarray, "m d"]
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        mean, variance = np.asarray(_predict(self.gp, self.posterior, z))
        return mean, variance

    def predict_with_gradients(self, z: Float[np.ndarray, "m d"]) -> Predictions:
        return split_columns(_predict_with_gradients(self.gp, self.posterior, z))


def describe_training(trained: Trained) -> dict[str, Any]:
    """Say how training went."""
    return {
        "log_likelihood": trained.log_likelihood,
        "converged": trained.converged,
        "start": trained.start,
        "n_likelihoods": trained.n_likelihoods,
    }


def split_columns(columns: Float[jax.Array, "m c"]) -> Predictions:
    """Split the columns of `exact.predict_with_gradients`: one copy from the device."""
    array = np.asarray(columns)
    d = (array.shape[1] - 2) // 2
    return Predictions(array[:, 0], array[:, 1], array[:, 2 : 2 + d], array[:, 2 + d :])


@functools.partial(jax.jit, static_argnums=0)
def _predict(
    settings: Regression, posterior: RegressionPosterior, x: Float[jax.Array, "m D"]
) -> Float[jax.Array, "2 m"]:
    return jnp.stack(regression.predict(settings, posterior, x))


_predict_with_gradients = jax.jit(regression.predict_with_gradients, static_argnames="settings")
