"""Constraints in the acquisition function.

Once a feasible point is known, the logarithm of the probability that all constraints are satisfied
is added to that of the improvement. The constraints are taken for independent given what is known,
so that it is a product, Π_k Φ((t_k - μ_k) / σ_k), where t_k is what the transform of constraint k
makes of zero (J. Gardner et al., "Bayesian optimization with inequality constraints", ICML 2014).

Until then the expected improvement of the total violation V = Σ_k max(c_k - t_k, 0) is maximized,
V being taken for normal with its own mean and variance. The probability would not do: where it is
tiny everywhere, it is largest where least is known, far from all that nearly satisfies the
constraints. As the least violation known approaches zero the two become the same.

| symbol | code | meaning |
|--------|------|---------|
| μ, σ²  | `mean`, `variance` | posterior of the transformed constraints, one row each |
| a      | `a`  | (μ - t) / σ |
| v      |      | max(c - t, 0), with E v = σ (φ(a) + a Φ(a)), E v² = σ² ((1 + a²) Φ(a) + a φ(a)) |
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from infold.acquisition.functions import ExpectedImprovement, ProbabilityOfImprovement
from infold.models.constraints import FittedConstraints

_EDGE = 1e-8  # variance of where an edge is: with 1e-6 the last digits of optima were missed


class _Value(NamedTuple):
    """A function of the constraints, and its derivatives in mean and variance of each."""

    value: Float[np.ndarray, " m"]
    in_mean: Float[np.ndarray, "k m"]
    in_variance: Float[np.ndarray, "k m"]


@dataclass(frozen=True)
class Feasibility:
    """What is maximized for the sake of constraints."""

    constraints: FittedConstraints
    found: bool
    """Whether a feasible point is known; until then nothing else is searched for."""

    def value(self, z: Float[np.ndarray, "m d"]) -> Float[np.ndarray, " m"]:
        """Return the log probability at z, or the log improvement of the violation."""
        return self._evaluate(*self.constraints.predict(z)).value

    def value_and_gradient(
        self, z: Float[np.ndarray, "m d"]
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, "m d"]]:
        """Return the same and its gradient."""
        mean, variance, mean_gradient, variance_gradient = self.constraints.predict_with_gradients(
            z
        )
        found = self._evaluate(mean, variance)
        gradient = np.einsum("km,kmd->md", found.in_mean, mean_gradient)
        gradient += np.einsum("km,kmd->md", found.in_variance, variance_gradient)
        return found.value, gradient

    def log_probability(
        self, z: Float[np.ndarray, "m d"]
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, "m d"]]:
        """Return the log probability and its gradient, whatever is maximized."""
        return Feasibility(self.constraints, True).value_and_gradient(z)

    def _evaluate(
        self, mean: Float[np.ndarray, "k m"], variance: Float[np.ndarray, "k m"]
    ) -> _Value:
        margin = self.constraints.limits[:, None] - mean
        variance = variance + _EDGE
        least = self.constraints.least_violation
        if self.found or not math.isfinite(least):
            return _log_probability(margin, variance)
        return _log_improvement(-margin, variance, least)


def _log_probability(
    margin: Float[np.ndarray, "k m"], variance: Float[np.ndarray, "k m"]
) -> _Value:
    """Return the log probability that all constraints are satisfied, by t - μ and σ²."""
    each = ProbabilityOfImprovement().evaluate(-margin.ravel(), variance.ravel(), 0.0)
    value, in_mean, in_variance = (array.reshape(margin.shape) for array in each)
    return _Value(np.sum(value, axis=0), in_mean, in_variance)


def _log_improvement(
    excess: Float[np.ndarray, "k m"], variance: Float[np.ndarray, "k m"], least: float
) -> _Value:
    """Return log E[max(least - V, 0)], by μ - t and σ²."""
    sigma = np.sqrt(variance)
    a = excess / sigma
    cdf = ndtr(a)
    phi = np.exp(-0.5 * a**2) / math.sqrt(2.0 * math.pi)
    first = np.maximum(sigma * (phi + a * cdf), 0.0)  # E v; rounding may leave a negative number
    second = variance * ((1.0 + a**2) * cdf + a * phi)  # E v²
    total = np.sum(first, axis=0)
    spread = np.sum(np.maximum(second - first**2, 0.0), axis=0) + _EDGE
    outer = ExpectedImprovement().evaluate(total, spread, least)
    # Derivatives of E v and E v² in μ are Φ and 2 E v; in σ², φ / 2σ and Φ.
    in_mean = outer.in_mean * cdf + outer.in_variance * 2.0 * first * (1.0 - cdf)
    slope = 0.5 * phi / sigma
    in_variance = outer.in_mean * slope + outer.in_variance * (cdf - 2.0 * first * slope)
    return _Value(outer.value, in_mean, in_variance)
