"""How likely it is that all constraints are satisfied.

The constraints are taken for independent given what is known, so that the probability is a product,
Π_k Φ((t_k - μ_k) / σ_k), where t_k is what the transform of constraint k makes of zero (J. Gardner
et al., "Bayesian optimization with inequality constraints", ICML 2014). Its logarithm is added to
that of the improvement.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from infold.acquisition.functions import ProbabilityOfImprovement
from infold.models.constraints import FittedConstraints

_EDGE = 1e-6  # variance of where an edge is: a sharper one is a cliff that no gradient climbs


@dataclass(frozen=True)
class Feasibility:
    """The logarithm of the probability that all constraints are satisfied."""

    constraints: FittedConstraints
    found: bool
    """Whether a feasible point is known; until then nothing else is searched for."""

    def log_probability(self, z: Float[np.ndarray, "m d"]) -> Float[np.ndarray, " m"]:
        """Return the logarithm at z."""
        mean, variance = self.constraints.predict(z)
        return np.sum(self._each(mean, variance)[0], axis=0)

    def log_probability_with_gradient(
        self, z: Float[np.ndarray, "m d"]
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, "m d"]]:
        """Return the logarithm at z and its gradient."""
        mean, variance, mean_gradient, variance_gradient = self.constraints.predict_with_gradients(
            z
        )
        value, in_mean, in_variance = self._each(mean, variance)
        gradient = np.einsum("km,kmd->md", in_mean, mean_gradient)
        return np.sum(value, axis=0), gradient + np.einsum(
            "km,kmd->md", in_variance, variance_gradient
        )

    def _each(
        self, mean: Float[np.ndarray, "k m"], variance: Float[np.ndarray, "k m"]
    ) -> list[np.ndarray]:
        """Return log probabilities and their derivatives in mean and variance, by constraint."""
        margin = (self.constraints.limits[:, None] - mean).ravel()
        each = ProbabilityOfImprovement().evaluate(-margin, variance.ravel() + _EDGE, 0.0)
        return [array.reshape(mean.shape) for array in each]
