"""The contract between models and whoever asks them.

A `Model` is a frozen dataclass of settings. `fit` returns a `Fitted`: predictions, and one or more
`Surface`s on which the next point is searched. Points x are rows in the unit cube [0, 1]^D; z are
places on a surface, features where the model has some and inputs otherwise. Values are standardized
inside.

A model of your own needs `fit`, and a subclass of `Fitted` with `predict`; the rest has defaults.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from infold.gp.outputs import PowerTransform, Standardization
from infold.record import History, Rounding

State = dict[str, Any]
"""Warm start of a model: arrays by name, and the states of models inside."""


def kept_array(state: State, name: str) -> np.ndarray | None:
    """Return an array of the state; None where it is missing, or something else."""
    value = state.get(name)
    return value if isinstance(value, np.ndarray) else None


def kept_state(state: State | None, name: str) -> State:
    """Return the state of a model or method inside; empty where it is missing."""
    value = (state or {}).get(name)
    return value if isinstance(value, dict) else {}


FORECASTS = "forecasts"
"""Where a proposal's diagnostics have `Fitted.forecasts`."""
FEW = 8  # points of one prediction with gradients, as the default method's search has them
N_PROMISING = 5  # of the best evaluations, around which candidates are drawn


MeanAndVariance = tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]


class Predictions(NamedTuple):
    """Mean and variance of a response surface at m places, and their gradients there."""

    mean: Float[np.ndarray, " m"]
    variance: Float[np.ndarray, " m"]
    mean_gradient: Float[np.ndarray, "m d"]
    variance_gradient: Float[np.ndarray, "m d"]


NEGLIGIBLE_NOISE = 0.01  # variance, of values of unit variance: a deviation of a tenth
IN_NOISE = "in_noise"
"""Where a proposal's diagnostics say that noise hid how the best evaluations differ."""


class Surface(ABC):
    """A response surface over a box, as the search for the next point sees it."""

    upper: Float[np.ndarray, " d"]
    """Upper limits of the box; the lower ones are 0."""
    data: Float[np.ndarray, "n d"]
    """Places of the evaluated and then of the pending points."""
    promising: Float[np.ndarray, "k d"]
    """Places of the best evaluations, the best first."""
    y_min: float
    """What improvement is measured from."""
    rounding: Rounding | None = None
    """Where z are inputs of which some are discrete: the way to those that can be evaluated."""
    lengthscale: Float[np.ndarray, " d"] | None = None
    """How far the surface reaches along each coordinate before it changes, where it knows."""

    @abstractmethod
    def predict(self, z: Float[np.ndarray, "m d"]) -> MeanAndVariance:
        """Return mean and variance at z."""


class SmoothSurface(Surface):
    """A response surface that knows its slopes; others are searched without."""

    @abstractmethod
    def predict_with_gradients(self, z: Float[np.ndarray, "m d"]) -> Predictions:
        """Return mean, variance and their gradients at z."""


class Slopes(NamedTuple):
    """How steep the decoder's mean is at m places, and how large."""

    slope: Float[np.ndarray, " m"]
    """Largest absolute entry of the Jacobian."""
    gradient: Float[np.ndarray, "m d"]
    """Gradient of that entry."""
    output: Float[np.ndarray, " m"]
    """Largest absolute output, μ_max."""


class DecodedSurface(SmoothSurface):
    """A response surface over features that a decoder takes back to inputs."""

    @abstractmethod
    def slopes(self, z: Float[np.ndarray, "m d"]) -> Slopes:
        """Return how steep the decoder is at z."""


class Fitted(ABC):
    """A model that has been fitted to a history."""

    history: History
    """The evaluations it was fitted to."""
    outputs: Standardization | PowerTransform = Standardization(0.0, 1.0)
    """The way between the caller's values and standardized ones."""

    @property
    def state(self) -> State:
        """Warm start for the next fit."""
        return {}

    stream: ClassVar[tuple[int, ...]] = ()
    """Stream of the suggestion's random numbers that is left for the search."""
    by: str = ""
    """Which of several models it is; empty where there is one."""
    has_features: ClassVar[bool] = False
    """Whether it is searched in a space of features, with `encode` and `decode`."""

    @property
    def taught(self) -> bool:
        """Whether it knows earlier runs."""
        return False

    @property
    def noise(self) -> Any:
        """Variance of the noise of an evaluation, standardized; NaN where it has none."""
        return np.nan

    @abstractmethod
    def predict(self, x: Float[np.ndarray, "m D"]) -> MeanAndVariance:
        """Return mean and variance of f at inputs x, in standardized units."""

    @property
    def targets(self) -> Float[np.ndarray, " n"]:
        """Standardized values that it was fitted to."""
        return self.outputs.apply(self.history.imputed)

    def condition(self, history: History) -> "Fitted":
        """Return the model conditioned on the pending points of `history`, without training it.

        By default pending points change nothing.
        """
        return self

    def believe(self, history: History) -> "Fitted":
        """Return the model conditioned on what it predicts at the pending points, where it can."""
        return self.condition(history)

    @property
    def surfaces(self) -> Sequence[Surface]:
        """What is searched: by default the predictions over all inputs."""
        return [InputSurface(self)]

    def encode(self, x: Float[np.ndarray, "m D"]) -> list[np.ndarray]:
        """Return the places of inputs x on each surface."""
        return [x]

    def decode(self, places: Sequence[np.ndarray]) -> Float[np.ndarray, " D"]:
        """Return the input that stands for one place on each surface."""
        return places[0]

    def leave_one_out(self) -> MeanAndVariance:
        """Return mean and variance of each value given all others, noise included, standardized."""
        raise ValueError(f"{type(self).__name__} has no leave-one-out predictions in closed form")

    def describe(self) -> dict[str, Any]:
        """Say how training went."""
        return {}

    def predict_few(self, x: Float[np.ndarray, "m D"]) -> MeanAndVariance:
        """Return mean and variance at a few inputs, by a program that is compiled already."""
        (surface,) = self.surfaces
        if not isinstance(surface, SmoothSurface):
            return self.predict(x)
        (z,) = self.encode(x)
        missing = FEW - len(z)
        rows = surface.predict_with_gradients(np.concatenate([z, np.repeat(z[-1:], missing, 0)]))
        return rows.mean[: len(x)], rows.variance[: len(x)]

    def forecasts(self, x: Float[np.ndarray, " D"]) -> dict[str, list[float]]:
        """Return mean and deviation at x by each model whose forecasts count, in caller's units."""
        return {}


@runtime_checkable
class Model(Protocol):
    """What can be fitted to evaluations: a frozen dataclass of settings."""

    def fit(self, history: History, key: Sequence[int], state: State) -> Fitted:
        """Fit to the evaluations of `history`, at least one of which succeeded.

        `key` seeds everything random. `state` is that of an earlier fit, or empty, or foreign.
        Raises FloatingPointError where the data cannot be fitted.
        """
        ...


@dataclass(eq=False)
class InputSurface(Surface):
    """The predictions of a fitted model over all its inputs."""

    fitted: Fitted

    def __post_init__(self) -> None:
        history = self.fitted.history
        y = self.fitted.targets
        self.upper = np.ones(history.dimension)
        self.data = history.everywhere
        self.promising = history.x[best_first(history.merit(y))]
        self.y_min = float(np.min(y[history.eligible]))
        self.rounding = history.rounding

    def predict(self, z: Float[np.ndarray, "m d"]) -> MeanAndVariance:
        return self.fitted.predict(z)


def log_densities(fitted: Fitted) -> Float[np.ndarray, " n"]:
    """Return the log density of each value, in the caller's units, given all others."""
    mean, variance = fitted.leave_one_out()
    targets = fitted.targets
    density = -0.5 * ((targets - mean) ** 2 / variance + np.log(2.0 * np.pi * variance))
    return density + fitted.outputs.log_slope(fitted.outputs.invert(targets))


def best_first(y: Float[np.ndarray, " n"]) -> np.ndarray:
    """Return the indices of the few smallest values."""
    return np.argsort(y)[:N_PROMISING]


def features(n_features: int | str | None, dimension: int) -> int:
    """Return the dimension of the feature space: as asked for, or min(10, D // 2), at least 1.

    Where it is to be chosen by what the evaluations say, this is the number before they do.
    """
    if not isinstance(n_features, int):
        return max(1, min(10, dimension // 2))
    if n_features > dimension:
        raise ValueError(
            f"n_features = {n_features}: expected at most the dimension of the space, {dimension}"
        )
    return n_features
