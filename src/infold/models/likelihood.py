"""What all models trained by maximum likelihood have in common."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from infold._precision import float64
from infold._types import Array
from infold.gp import padding
from infold.gp.outputs import PowerTransform, Standardization
from infold.gp.training import Trained
from infold.models.base import (
    FEW,
    Fitted,
    MeanAndVariance,
    Predictions,
    SmoothSurface,
    State,
    best_first,
)
from infold.record import History, Rounding


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedByLikelihood(Fitted):
    """A model whose parameters are the most likely ones."""

    history: History
    outputs: Standardization | PowerTransform
    y: Float[np.ndarray, " n"]
    """Standardized values of the evaluations."""
    trained: Trained
    """The parameters, and the posterior given the evaluations."""
    posterior: Any
    """The posterior given the pending points too."""

    @property
    def targets(self) -> np.ndarray:
        return self.y

    @property
    def state(self) -> State:
        return {"parameters": self.trained.flat, "curvature": self.trained.curvature}

    @property
    def values(self) -> Float[np.ndarray, " n"]:
        """What is known of the evaluations, standardized: as observed."""
        return self.y

    @property
    def y_min(self) -> float:
        """The best value so far, standardized."""
        return float(np.min(self.values[self.history.eligible]))

    def condition(self, history: History) -> "FittedByLikelihood":
        """Condition on pending points, with the best of all values in place of theirs.

        This is the constant liar of Ginsbourger et al. (2010). The lie takes the promise out of the
        pending points and leaves that of the places beyond them. `docs/notes.md` compares it with
        the values that the model predicts.
        """
        if not len(history.pending):
            return self
        best = np.min(self.y[history.eligible])
        return self._with_pending(history, np.full(len(history.pending), best))

    def believe(self, history: History) -> "FittedByLikelihood":
        if not len(history.pending) or len(self.surfaces) > 1:
            return self.condition(history)
        parts = np.array_split(history.pending, -(-len(history.pending) // FEW))
        means = [self.predict_few(part)[0] for part in parts]
        return self._with_pending(history, np.concatenate(means))

    @float64
    def _with_pending(
        self, history: History, values: Float[np.ndarray, " q"]
    ) -> "FittedByLikelihood":
        """Condition on pending points with these standardized values."""
        size = padding.bucket_size(len(self.y) + len(values))
        y = np.append(self.y, values)
        posterior = self._infer(history.everywhere, y, max(size, self._size))
        return replace(self, history=history, posterior=posterior)

    @property
    @abstractmethod
    def _size(self) -> int:
        """Rows that the evaluations were padded to."""

    @abstractmethod
    def _infer(self, x: Float[np.ndarray, "n D"], y: Float[np.ndarray, " n"], size: int) -> Any:
        """Return the posterior given these data, padded to `size` rows, parameters held."""

    @abstractmethod
    def _leave_one_out(self) -> tuple[Array, Array]:
        """Return mean and variance of each value given all others, padded."""

    @float64
    def leave_one_out(self) -> MeanAndVariance:
        mean, variance = self._leave_one_out()
        n = len(self.y)
        return np.asarray(mean)[:n], np.asarray(variance)[:n]

    @property
    @abstractmethod
    def noise(self) -> Any:
        """Variance of the noise, standardized."""

    def describe(self) -> dict[str, Any]:
        return {
            "log_likelihood": self.trained.log_likelihood,
            "converged": self.trained.converged,
            "start": self.trained.start,
            "n_likelihoods": self.trained.n_likelihoods,
            "noise": float(self.noise),
        }

    def surface_over(
        self,
        data: Float[np.ndarray, "n d"],
        predictions: Callable[[np.ndarray], Array],
        gradients: Callable[[np.ndarray], Array],
        rounding: Rounding | None = None,
        lengthscale: Float[np.ndarray, " d"] | None = None,
    ) -> "GPSurface":
        """Return the surface on which the evaluated and pending points are at `data`."""
        return GPSurface(
            upper=np.ones(data.shape[1]),
            data=data,
            promising=data[best_first(self.history.merit(self.values))],
            y_min=self.y_min,
            rounding=rounding,
            lengthscale=lengthscale,
            predictions=predictions,
            gradients=gradients,
        )


@dataclass(eq=False, kw_only=True)
class GPSurface(SmoothSurface):
    """The predictions of a GP, by compiled programs that take the places alone."""

    upper: Float[np.ndarray, " d"]
    data: Float[np.ndarray, "n d"]
    promising: Float[np.ndarray, "k d"]
    y_min: float
    rounding: Rounding | None = None
    lengthscale: Float[np.ndarray, " d"] | None = None
    predictions: Callable[[np.ndarray], Array]
    """Mean and variance as two rows."""
    gradients: Callable[[np.ndarray], Array]
    """The columns of `exact.predict_with_gradients`: one copy from the device."""

    @float64
    def predict(self, z: Float[np.ndarray, "m d"]) -> MeanAndVariance:
        mean, variance = np.asarray(self.predictions(z))
        return mean, variance

    @float64
    def predict_with_gradients(self, z: Float[np.ndarray, "m d"]) -> Predictions:
        array = np.asarray(self.gradients(z))
        d = z.shape[1]
        return Predictions(array[:, 0], array[:, 1], array[:, 2 : 2 + d], array[:, 2 + d :])
