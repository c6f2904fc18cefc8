"""Expected improvement with several objectives, each with a GP of its own.

What is improved is the largest weighted objective, V = max_j w_j u_j, whose least known value is t₀
(the sum that `infold.objectives` adds to it only tells equal points apart). V is at most t where
every objective is at most its limit, and the objectives are taken for independent given what is
known, so

    E max(t₀ - V, 0) = ∫ P(V <= t₀ - δ) dδ = ∫ Π_j Φ((l_j(t₀ - δ) - μ_j) / σ_j) dδ,  δ from 0,

where l_j(t) is what the transform makes of that limit. The kink of the maximum, which a GP of V
itself could not follow, is never modelled (compare S. Daulton et al., qNParEGO, NeurIPS 2020, who
sample). The integral is a sum over a grid that is even in log δ: it resolves improvements of any
size, and its logarithm is finite everywhere. An improvement beyond 1 counts as 1.

| symbol | code | meaning |
|--------|------|---------|
| μ, σ²  | `mean`, `variance` | posterior of the transformed objectives, one row each |
| δ      | `_STEPS` | sizes of improvement, in units of how far values reach |
| l      | `limits` | transformed limits, one row per objective, one column per δ |
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import erfcx, log_ndtr, logsumexp

from infold.models.objectives import FittedObjectives

_STEPS = np.geomspace(1e-7, 1.0, 97)  # a cell is a sixth of δ: finer than what is worth finding
_COARSE = slice(None, None, 3)  # of these, to choose among candidates
_FARTHEST = 1e5  # deviations: the logarithm of Φ stays finite
_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True)
class ChebyshevImprovement:
    """Logarithm of the expected improvement of the largest weighted objective."""

    objectives: FittedObjectives

    def value(self, z: Float[np.ndarray, "m d"]) -> Float[np.ndarray, " m"]:
        """Return the log expected improvement at z, good enough to choose among many points."""
        return logsumexp(self._coarse.log_terms(*self.objectives.predict(z)).terms, axis=0)

    def value_and_gradient(
        self, z: Float[np.ndarray, "m d"]
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, "m d"]]:
        """Return the same and its gradient."""
        mean, variance, mean_gradient, variance_gradient = self.objectives.predict_with_gradients(z)
        terms, u, sigma = self._fine.log_terms(mean, variance)
        value = logsumexp(terms, axis=0)
        share = np.exp(terms - value)  # of each δ in the integral
        slope = math.sqrt(2.0 / math.pi) / erfcx(-u / math.sqrt(2.0))  # φ/Φ
        in_mean = -np.einsum("qm,kqm->km", share, slope) / sigma
        in_variance = -0.5 * np.einsum("qm,kqm,kqm->km", share, slope, u) / sigma**2
        gradient = np.einsum("km,kmd->md", in_mean, mean_gradient)
        gradient += np.einsum("km,kmd->md", in_variance, variance_gradient)
        return value, gradient

    @cached_property
    def _coarse(self) -> "_Grid":
        return _Grid.of(self.objectives, _STEPS[_COARSE])

    @cached_property
    def _fine(self) -> "_Grid":
        return _Grid.of(self.objectives, _STEPS)


class _Terms(NamedTuple):
    """The sum that stands for the integral, by its terms."""

    terms: Float[np.ndarray, "q m"]
    """Their logarithms."""
    u: Float[np.ndarray, "k q m"]
    """(l - μ) / σ."""
    sigma: Float[np.ndarray, "k m"]


class _Grid(NamedTuple):
    """Sizes of improvement over which the integral is a sum."""

    limits: Float[np.ndarray, "k q"]
    log_widths: Float[np.ndarray, " q"]

    @classmethod
    def of(cls, objectives: FittedObjectives, steps: Float[np.ndarray, " q"]) -> "_Grid":
        widths = steps * np.gradient(np.log(steps))
        widths[[0, -1]] *= 0.5  # ends of the trapezoidal rule;
        widths[0] += steps[0]  # what lies below the least step is as likely as that step
        return cls(objectives.limits(objectives.least - steps), np.log(widths))

    def log_terms(
        self, mean: Float[np.ndarray, "k m"], variance: Float[np.ndarray, "k m"]
    ) -> _Terms:
        sigma = np.sqrt(np.maximum(variance, _LEAST_VARIANCE))
        u = (self.limits[:, :, None] - mean[:, None]) / sigma[:, None]
        u = np.clip(u, -_FARTHEST, _FARTHEST)
        return _Terms(np.sum(log_ndtr(u), axis=0) + self.log_widths[:, None], u, sigma)
