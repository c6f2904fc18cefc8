"""The paper's joint model as a model to search: features, response surface, decoder."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from infold import _checks
from infold._precision import float64
from infold._types import Array
from infold.gp import padding
from infold.gp.outputs import without_outliers
from infold.models.base import (
    DecodedSurface,
    MeanAndVariance,
    Slopes,
    State,
    features,
    kept_array,
)
from infold.models.dimension import AUTO, n_features_for
from infold.models.joint import Decoder, Encoder, Fit, FitSettings, JointModel, Priors, fit, joint
from infold.models.joint.fit import decode, evaluate
from infold.models.joint.joint import JointPosterior
from infold.models.likelihood import FittedByLikelihood, GPSurface
from infold.record import History

_REACH = 100.0  # limit of values; a lower one would hide high values that tell of the features
_GROWTH = 1.1  # fresh starts are rarer where they cost more


@dataclass(frozen=True, kw_only=True)
class LearnedFeatures:
    """Settings of the joint model and its training.

    `docs/reproduction.md` lists where they depart from the paper; `weight_deviation=None` is its
    objective.
    """

    has_decoder: ClassVar[bool] = True
    decoder: str = "full"
    """full, hierarchical or shared."""
    n_features: int | str | None = None
    """d; None: min(10, D // 2), at least 1; "auto": what predicts the next evaluations best."""
    hidden: tuple[int, ...] = (20,)
    """Units of the encoder's hidden layers."""
    orthogonal: bool = False
    """Orthonormalize the encoder's weights."""
    separate_noise: bool = False
    """Give the decoder a noise variance of its own."""
    weight_deviation: float | None = 1.0
    """Deviation of a normal prior on the weights, which overfit without it; None: no prior."""
    clip_outliers: bool = True
    """Lower values that are very far above the others, such as penalties."""
    training_iterations: int = 50
    """Training iterations from a fresh start."""
    warm_training_iterations: int = 2
    """Training iterations from the last suggestion's parameters."""
    restart_every: int = 10
    """Evaluations from one fresh start of training to the next, or a tenth of all if more."""

    def __post_init__(self) -> None:
        Decoder(kind=self.decoder)
        if self.weight_deviation is not None and not self.weight_deviation > 0:
            raise ValueError(
                f"weight_deviation = {self.weight_deviation}: expected a positive number or None"
            )
        for name in ("training_iterations", "warm_training_iterations", "restart_every"):
            _checks.at_least(name, getattr(self, name), 1)
        if self.n_features is not None and self.n_features != AUTO:
            _checks.at_least("n_features", self.n_features, 1)
        object.__setattr__(self, "hidden", tuple(self.hidden))

    def joint_model(self, dimension: int) -> JointModel:
        """Return the joint model for D = `dimension`."""
        return JointModel(
            encoder=Encoder(
                n_features=features(self.n_features, dimension),
                hidden=self.hidden,
                orthogonal=self.orthogonal,
            ),
            decoder=Decoder(kind=self.decoder),
            separate_noise=self.separate_noise,
            priors=Priors(weight_deviation=self.weight_deviation),
        )

    @float64
    def fit(self, history: History, key: Sequence[int], state: State) -> "FittedFeatures":
        """Train from the last parameters, at times from fresh ones too; the likelier win."""
        if self.n_features == AUTO:
            d, choice = n_features_for(self, history, key[0], state)
            return replace(replace(self, n_features=d).fit(history, key, state), choice=choice)
        model = self.joint_model(history.dimension)
        warm = kept_array(state, "parameters")
        expected = (joint.n_parameters(model, history.dimension),)
        if warm is not None and not (warm.shape == expected and np.all(np.isfinite(warm))):
            warm = None
        kept = kept_array(state, "restarted")
        restarted = np.nan if kept is None or kept.size != 1 else kept.item()
        due = warm is None or self._due(len(history.y), restarted)
        values = history.imputed
        if self.clip_outliers:
            values = without_outliers(values, _REACH, history.feasible)
        fitted = fit(
            history.x,
            values,
            model,
            key=key,
            warm=warm,
            curvature=kept_array(state, "curvature"),
            settings=FitSettings(
                n_restarts=1 if due else 0,
                iterations=self.training_iterations,
                warm_iterations=self.warm_training_iterations,
            ),
        )
        y = fitted.standardization.apply(values)
        last = float(len(history.y)) if due else restarted
        return FittedFeatures(
            fit=fitted,
            trained=fitted.training,
            history=history,
            outputs=fitted.standardization,
            y=y,
            posterior=fitted.posterior,
            restarted=last,
        )

    def _due(self, n: int, last: float) -> bool:
        """Tell whether a fresh start is due; the last one was at `last` evaluations, NaN: never."""
        return not last <= n < max(last + self.restart_every, _GROWTH * last)


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedFeatures(FittedByLikelihood):
    """A fitted joint model, searched in its feature space."""

    fit: Fit
    restarted: float
    """Evaluations there were at the last fresh start."""
    choice: Float[np.ndarray, " 2"] | None = None
    """When the number of features was chosen, and which it is, where it was chosen."""

    stream: ClassVar[tuple[int, ...]] = (3,)
    has_features: ClassVar[bool] = True

    @property
    def state(self) -> State:
        state = {**super().state, "restarted": np.asarray(self.restarted)}
        return state if self.choice is None else {**state, "choice": self.choice}

    @functools.cached_property
    def surface(self) -> "FeatureSurface":
        """The response surface over the features."""
        model = self.fit.model
        plain = self.surface_over(
            np.asarray(self.posterior.z)[: len(self.history.everywhere)],
            functools.partial(_predict, model, self.posterior),
            functools.partial(_predict_with_gradients, model, self.posterior),
        )
        dimension = self.history.dimension
        columns = functools.partial(_slopes, model, self.posterior, dimension=dimension)
        return FeatureSurface(**vars(plain), slope_columns=columns)

    @property
    def surfaces(self) -> "list[FeatureSurface]":
        return [self.surface]

    def predict(self, x: Float[np.ndarray, "m D"]) -> MeanAndVariance:
        return self.surface.predict(self.fit.encode(x))

    def encode(self, x: Float[np.ndarray, "m D"]) -> list[np.ndarray]:
        return [self.fit.encode(x)]

    def decode(self, places: Sequence[np.ndarray]) -> Float[np.ndarray, " D"]:
        """Return the expected input, Φ(μ / √(1 + σ²)), at one place."""
        dimension = self.history.dimension
        return decode(self.fit.model, self.posterior, places[0][None], dimension)[0]

    @property
    def _size(self) -> int:
        return len(self.trained.posterior.z)

    def _infer(self, x: np.ndarray, y: np.ndarray, size: int) -> JointPosterior:
        """Condition both GPs: the decoder on all inputs, the response surface on all values."""
        data = joint.make_data(self.fit.model, x, y, size)
        return evaluate(self.fit.model, self.trained.flat, data)[2]

    def _leave_one_out(self) -> tuple[Array, Array]:
        """Leave out values. The encoder has seen all of them, so this is too optimistic."""
        padded = padding.pad_rows(self.y, self._size)
        return joint.leave_one_out(self.trained.posterior, padded)

    @property
    def noise(self) -> Array:
        return self.trained.posterior.params.response_noise

    def describe(self) -> dict[str, Any]:
        spread = float(np.mean(np.std(self.surface.data, axis=0)))
        n_features = self.surface.data.shape[1]
        return {**super().describe(), "feature_spread": spread, "n_features": n_features}


@dataclass(eq=False, kw_only=True)
class FeatureSurface(GPSurface, DecodedSurface):
    """The response surface over the features, and the decoder's slopes."""

    slope_columns: Callable[[np.ndarray], Array]
    """Largest slope, largest output and gradient of the slope as columns."""

    @float64
    def slopes(self, z: Float[np.ndarray, "m d"]) -> Slopes:
        columns = np.asarray(self.slope_columns(z))
        return Slopes(slope=columns[:, 0], output=columns[:, 1], gradient=columns[:, 2:])


@functools.partial(jax.jit, static_argnums=0)
def _predict(
    model: JointModel, posterior: JointPosterior, z: Float[Array, "m d"]
) -> Float[Array, "2 m"]:
    return jnp.stack(joint.predict(model, posterior, z))


_predict_with_gradients = jax.jit(joint.predict_with_gradients, static_argnames="model")


@functools.partial(jax.jit, static_argnames=("model", "dimension"))
def _slopes(
    model: JointModel, posterior: JointPosterior, z: Float[Array, "m d"], dimension: int
) -> Float[Array, "m 2+d"]:
    """Return the largest absolute slope at each z, Eq. (18), largest output, slope's gradient."""
    jacobian = joint.decoder_slopes(model, posterior, z, dimension)
    flat = jacobian.reshape(len(z), -1)
    largest = jnp.argmax(jnp.abs(flat), axis=1)
    value = jnp.take_along_axis(flat, largest[:, None], axis=1)[:, 0]

    def entry(z: Array, index: Array) -> Array:
        output = index // z.shape[0]
        feature = index % z.shape[0]
        return joint.decoder_slope(model, posterior, z, output, feature)

    gradient = jnp.sign(value)[:, None] * jax.vmap(jax.grad(entry))(z, largest)
    output = jnp.max(jnp.abs(joint.decoder_mean(model, posterior, z, dimension)), axis=1)
    return jnp.concatenate([jnp.abs(value)[:, None], output[:, None], gradient], axis=1)
