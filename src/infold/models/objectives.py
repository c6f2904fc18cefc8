"""GPs of several objectives: one each, on the places of one surface."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from infold.gp.outputs import PowerTransform, without_outliers
from infold.models.base import State, Surface
from infold.models.together import FittedTogether, fit_together
from infold.objectives import Scalarization
from infold.record import History


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedObjectives(FittedTogether):
    """GPs of several objectives, fitted."""

    transforms: tuple[PowerTransform, ...]
    scalarization: Scalarization
    least: float
    """Least of the largest weighted objectives of evaluations that count."""

    def limits(self, t: Float[np.ndarray, " q"]) -> Float[np.ndarray, "k q"]:
        """Return up to which transformed value of each the largest weighted one is at most t."""
        rows = zip(self.transforms, self.scalarization.limits(t), strict=True)
        return np.stack([transform.apply(row) for transform, row in rows])

    def condition(self, places: Float[np.ndarray, "n d"]) -> "FittedObjectives":
        """Condition on pending places, with what is predicted there in place of values.

        Args:
            places: those of the evaluations, then of the pending points.
        """
        if len(places) == self.n_known:
            return self
        lies = self.pending(places)
        rows = zip(self.transforms, lies, strict=True)
        believed = np.stack([transform.invert(row) for transform, row in rows], axis=1)
        least = min(self.least, float(np.min(self.scalarization.worst(believed))))
        return replace(self, posterior=self.posterior_with(places, lies), least=least)


def fit_objectives(history: History, surface: Surface, state: State) -> FittedObjectives:
    """Fit one GP to each objective. Failed evaluations are as bad as the worst.

    Args:
        history: the evaluations, of which at least one succeeded, with a scalarization.
        surface: what is searched on; the objectives share its places.
        state: that of an earlier fit, or empty, or foreign.
    """
    assert history.scalarization is not None
    values = np.array(history.objectives)
    counted = history.feasible if np.any(history.feasible) else history.succeeded
    least = float(np.nanmin(history.scalarization.worst(values)[counted]))
    known = np.all(np.isfinite(values), axis=1)
    values[~known] = np.max(values[known], axis=0)
    columns = [without_outliers(column, keep=counted) for column in values.T]
    transforms = tuple(PowerTransform.of(column) for column in columns)
    y = np.stack([t.apply(column) for t, column in zip(transforms, columns, strict=True)])
    fitted = fit_together(y, np.ones(y.shape, dtype=bool), surface, state)
    return FittedObjectives(
        flat=fitted.flat,
        posterior=fitted.posterior,
        state=fitted.state,
        n_known=fitted.n_known,
        transforms=transforms,
        scalarization=history.scalarization,
        least=least,
    )
