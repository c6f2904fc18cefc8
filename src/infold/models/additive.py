"""The additive GP as a model to search: a surface for every group of inputs.

ADD-BO (K. Kandasamy et al., "High dimensional Bayesian optimisation", 2015) maximizes the
acquisition function of each group's component by itself, over the inputs of that group alone.
Improvement is over the component's mean at the best evaluation so far: the components' own values
are never seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from infold import _checks
from infold.gp import exact, padding
from infold.gp.outputs import Standardization
from infold.gp.training import Trained
from infold.models import additive_gp
from infold.models.additive_gp import AdditivePosterior
from infold.models.base import (
    Fitted,
    Predictions,
    SmoothSurface,
    State,
    features,
    kept_array,
    with_lies,
)
from infold.models.full_space import describe_training, split_columns
from infold.record import History


@dataclass(frozen=True, kw_only=True)
class AdditiveGP:
    """Settings of the additive GP of the paper's baseline: Matern-5/2, values standardized."""

    n_features: int | None = None
    """Inputs per group; None: min(10, D // 2), at least 1."""

    def __post_init__(self) -> None:
        if self.n_features is not None:
            _checks.at_least("n_features", self.n_features, 1)

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
class FittedAdditive(Fitted):
    """A fitted additive GP, searched group by group."""

    history: History
    outputs: Standardization
    y: Float[np.ndarray, " n"]
    group_size: int
    trained: Trained
    posterior: AdditivePosterior

    @property
    def targets(self) -> np.ndarray:
        return self.y

    @property
    def state(self) -> State:
        return {"parameters": self.trained.flat, "curvature": self.trained.curvature}

    def condition(self, history: History) -> "FittedAdditive":
        if not len(history.pending):
            return self
        rows = padding.bucket_size(len(self.y) + len(history.pending))
        rows = max(rows, len(self.trained.posterior.data.y))
        data = additive_gp.make_data(*with_lies(history, self.y), self.group_size, rows)
        posterior = additive_gp.evaluate(self.trained.flat, data)[2]
        return replace(self, history=history, posterior=posterior)

    @property
    def surfaces(self) -> "list[ComponentSurface]":
        history = self.history
        best = history.x[np.nanargmin(history.y)]
        upper = self.encode(np.ones((1, history.dimension)))  # padding stays zero
        incumbents = self.encode(best[None])
        data = self.encode(history.everywhere)
        means = np.asarray(_component_means(self.posterior, np.stack(incumbents, axis=1)))
        return [
            ComponentSurface(
                posterior=self.posterior,
                group=np.asarray(group),
                upper=upper[group][0],
                data=data[group],
                promising=incumbents[group],
                y_min=float(means[group]),
            )
            for group in range(len(data))
        ]

    def predict(
        self, x: Float[np.ndarray, "m D"]
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        """Return mean and variance of the sum of all components."""
        grouped = additive_gp.grouped(x, self.group_size)
        mean, variance = np.asarray(_predict_sum(self.posterior, grouped))
        return mean, variance

    def encode(self, x: Float[np.ndarray, "m D"]) -> list[np.ndarray]:
        return list(np.moveaxis(additive_gp.grouped(x, self.group_size), 1, 0))

    def decode(self, places: Sequence[np.ndarray]) -> Float[np.ndarray, " D"]:
        return np.concatenate(places)[: self.history.dimension]

    def leave_one_out(self) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = additive_gp.leave_one_out(self.trained.posterior)
        return np.asarray(mean)[: len(self.y)], np.asarray(variance)[: len(self.y)]

    def describe(self) -> dict[str, Any]:
        return {**describe_training(self.trained), "noise": float(self.posterior.params.noise)}


@dataclass(eq=False, kw_only=True)
class ComponentSurface(SmoothSurface):
    """The posterior of one component over the inputs of its group."""

    posterior: AdditivePosterior
    group: np.ndarray
    upper: Float[np.ndarray, " d"]
    data: Float[np.ndarray, "n d"]
    promising: Float[np.ndarray, "k d"]
    y_min: float

    def predict(
        self, z: Float[np.ndarray, "m d"]
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        mean, variance = np.asarray(_predict(self.posterior, self.group, z))
        return mean, variance

    def predict_with_gradients(self, z: Float[np.ndarray, "m d"]) -> Predictions:
        return split_columns(_predict_with_gradients(self.posterior, self.group, z))


@jax.jit
def _predict(
    posterior: AdditivePosterior, group: jax.Array, x: Float[jax.Array, "m s"]
) -> Float[jax.Array, "2 m"]:
    return jnp.stack(additive_gp.predict(posterior, group, x))


def _k_star(posterior: AdditivePosterior, x: Float[jax.Array, "m G s"]) -> jax.Array:
    """Return the covariance of every component at x with the data, G x m x n."""
    k = additive_gp.components(posterior.params, x, posterior.data.x)
    return jnp.where(posterior.data.mask, k, 0.0)


@jax.jit
def _predict_sum(
    posterior: AdditivePosterior, x: Float[jax.Array, "m G s"]
) -> Float[jax.Array, "2 m"]:
    k_star = jnp.sum(_k_star(posterior, x), axis=0)
    return jnp.stack(exact.predict(posterior.exact, k_star, jnp.sum(posterior.params.variance)))


@jax.jit
def _component_means(
    posterior: AdditivePosterior, x: Float[jax.Array, "1 G s"]
) -> Float[jax.Array, " G"]:
    return (_k_star(posterior, x) @ posterior.exact.alpha)[:, 0]


_predict_with_gradients = jax.jit(additive_gp.predict_with_gradients)
