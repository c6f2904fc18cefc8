"""GPs of the constraints: one each, on the places of one surface.

| symbol | code     | meaning                                             | shape |
|--------|----------|-----------------------------------------------------|-------|
| t      | `limits` | what the transforms make of zero: feasible up to it | k     |
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from infold.gp.outputs import AsinhTransform
from infold.models.base import State, Surface
from infold.models.together import FittedTogether, fit_together
from infold.record import History


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedConstraints(FittedTogether):
    """GPs of the constraints, fitted."""

    limits: Float[np.ndarray, " k"]
    """Transformed zeros: constraint k is satisfied up to limits[k]."""
    least_violation: float
    """Least sum of what evaluations are above the limits, transformed; infinite if not known."""
    found: bool
    """Whether one of them is feasible."""

    def condition(self, places: Float[np.ndarray, "n d"]) -> "FittedConstraints":
        """Condition on pending places, with what is predicted there in place of values.

        While nothing is feasible a pending point counts as not better than at the limit, and its
        violation as known: otherwise the next would be searched right beside it.

        Args:
            places: those of the evaluations, then of the pending points.
        """
        if len(places) == self.n_known:
            return self
        lies = self.pending(places)
        least = self.least_violation
        if not self.found:
            lies = np.maximum(lies, self.limits[:, None])
            least = min(least, float(np.min(np.sum(lies - self.limits[:, None], axis=0))))
        return replace(self, posterior=self.posterior_with(places, lies), least_violation=least)


def fit_constraints(history: History, surface: Surface, state: State) -> FittedConstraints:
    """Fit one GP to each constraint.

    Args:
        history: the evaluations, with constraints.
        surface: what the objective is searched on; the constraints share its places.
        state: that of an earlier fit, or empty, or foreign.
    """
    values, mask = _known_values(history)
    transforms = [AsinhTransform.of(c[known]) for c, known in zip(values, mask, strict=True)]
    y = np.stack([t.apply(c) for t, c in zip(transforms, values, strict=True)])
    y = np.where(mask, y, 0.0)
    limits = np.array([transform.limit for transform in transforms])
    violations = np.sum(np.maximum(y - limits[:, None], 0.0), axis=0)
    complete = np.all(mask, axis=0)
    fitted = fit_together(y, mask, surface, state)
    return FittedConstraints(
        flat=fitted.flat,
        posterior=fitted.posterior,
        state=fitted.state,
        n_known=fitted.n_known,
        limits=limits,
        least_violation=float(np.min(violations[complete], initial=np.inf)),
        found=bool(np.any(history.feasible)),
    )


def _known_values(
    history: History,
) -> tuple[Float[np.ndarray, "k n"], Bool[np.ndarray, "k n"]]:
    """Return the constraint values, and which of them count as known.

    Where an evaluation failed and left nothing behind, the worst values seen stand for it: models
    turn away from it. Beside a value, a violation stands for a constraint that is not known, as
    large as any seen, unless wherever it is not known another one is violated: that is enough to
    turn away, and the model keeps its smooth edge. A constraint of which nothing is known is a
    single zero.
    """
    values = np.array(history.constraints.T)
    lost = ~history.succeeded & np.all(np.isnan(values), axis=0)
    unknown = history.succeeded & np.isnan(values)
    violated = np.any(values > 0.0, axis=0)
    for row, missing in zip(values, unknown, strict=True):
        known = row[np.isfinite(row)]
        if not len(known):
            row[0] = 0.0
            continue
        worst = np.max(known)
        row[lost] = worst
        if np.any(missing & ~violated):
            row[missing] = max(worst, np.median(np.abs(known)) or 1.0)
    return values, np.isfinite(values)
