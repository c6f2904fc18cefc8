"""The additive GP as a model to search: a surface for every group of inputs.

ADD-BO (K. Kandasamy et al., "High dimensional Bayesian optimisation", 2015) maximizes the
acquisition function of each group's component by itself, over the inputs of that group alone.
Improvement is over the component's mean at the best evaluation so far: the components' own values
are never seen.
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
from infold.gp import exact, padding
from infold.gp.outputs import Standardization
from infold.models import additive_gp
from infold.models.additive_gp import AdditivePosterior
from infold.models.base import MeanAndVariance, State, features, kept_array
from infold.models.likelihood import FittedByLikelihood, GPSurface
from infold.record import History


@dataclass(frozen=True, kw_only=True)
class AdditiveGP:
    """Settings of the additive GP of the paper's baseline: Matern-5/2, values standardized."""

    n_features: int | None = None
    """Inputs per group; None: min(10, D // 2), at least 1."""

    def __post_init__(self) -> None:
        if self.n_features is not None:
            _checks.at_least("n_features", self.n_features, 1)

    @float64
    def fit(self, history: History, key: Sequence[int], state: State) -> "FittedAdditive":
        """Train from the last parameters, or from fresh ones where there are none."""
        outputs = Standardization.of(history.imputed)
        y = outputs.apply(history.imputed)
        group_size = features(self.n_features, history.dimension)
        rows = padding.bucket_size(len(y) + len(history.pending))
        data = jax.device_put(additive_gp.make_data(history.x, y, group_size, rows))
        trained = additive_gp.fit(
            data, warm=kept_array(state, "parameters"), curvature=kept_array(state, "curvature")
        )
        return FittedAdditive(
            history=history,
            outputs=outputs,
            y=y,
            group_size=group_size,
            trained=trained,
            posterior=trained.posterior,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedAdditive(FittedByLikelihood):
    """A fitted additive GP, searched group by group."""

    group_size: int

    @property
    @float64
    def surfaces(self) -> list[GPSurface]:
        history = self.history
        merit = np.where(history.succeeded, history.merit(history.imputed), np.inf)
        best = history.x[np.argmin(merit)]
        upper = self.encode(np.ones((1, history.dimension)))  # padding stays zero
        incumbents = self.encode(best[None])
        data = self.encode(history.everywhere)
        means = np.asarray(_component_means(self.posterior, np.stack(incumbents, axis=1)))
        return [
            GPSurface(
                upper=upper[group][0],
                data=data[group],
                promising=incumbents[group],
                y_min=float(means[group]),
                predictions=functools.partial(_predict, self.posterior, np.asarray(group)),
                gradients=functools.partial(
                    _predict_with_gradients, self.posterior, np.asarray(group)
                ),
            )
            for group in range(len(data))
        ]

    @float64
    def predict(self, x: Float[np.ndarray, "m D"]) -> MeanAndVariance:
        """Return mean and variance of the sum of all components."""
        grouped = additive_gp.grouped(x, self.group_size)
        mean, variance = np.asarray(_predict_sum(self.posterior, grouped))
        return mean, variance

    def encode(self, x: Float[np.ndarray, "m D"]) -> list[np.ndarray]:
        return list(np.moveaxis(additive_gp.grouped(x, self.group_size), 1, 0))

    def decode(self, places: Sequence[np.ndarray]) -> Float[np.ndarray, " D"]:
        return np.concatenate(places)[: self.history.dimension]

    @property
    def _size(self) -> int:
        return len(self.trained.posterior.data.y)

    def _infer(self, x: np.ndarray, y: np.ndarray, size: int) -> AdditivePosterior:
        data = additive_gp.make_data(x, y, self.group_size, size)
        return additive_gp.evaluate(self.trained.flat, data)[2]

    def _leave_one_out(self) -> tuple[Array, Array]:
        return additive_gp.leave_one_out(self.trained.posterior)

    @property
    def noise(self) -> Array:
        return self.posterior.params.noise


@jax.jit
def _predict(
    posterior: AdditivePosterior, group: Array, x: Float[Array, "m s"]
) -> Float[Array, "2 m"]:
    return jnp.stack(additive_gp.predict(posterior, group, x))


def _k_star(posterior: AdditivePosterior, x: Float[Array, "m G s"]) -> Array:
    """Return the covariance of every component at x with the data, G x m x n."""
    k = additive_gp.components(posterior.params, x, posterior.data.x)
    return jnp.where(posterior.data.mask, k, 0.0)


@jax.jit
def _predict_sum(posterior: AdditivePosterior, x: Float[Array, "m G s"]) -> Float[Array, "2 m"]:
    k_star = jnp.sum(_k_star(posterior, x), axis=0)
    return jnp.stack(exact.predict(posterior.exact, k_star, jnp.sum(posterior.params.variance)))


@jax.jit
def _component_means(posterior: AdditivePosterior, x: Float[Array, "1 G s"]) -> Float[Array, " G"]:
    return (_k_star(posterior, x) @ posterior.exact.alpha)[:, 0]


_predict_with_gradients = jax.jit(additive_gp.predict_with_gradients)
