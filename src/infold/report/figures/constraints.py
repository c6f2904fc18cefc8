"""Constraints: how often each was violated, and which hold the best point back."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from infold.report.subject import Subject

_NEAR = 0.02  # of a constraint's size: where it has less than that left, it is active
_USUAL = 0.9  # share of the values below the size: a few are often far away, and many at the limit


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """Values of constraints, which are satisfied where they are at most 0."""

    names: list[str]
    values: Float[np.ndarray, "n k"]
    """NaN where one is not known."""
    known: Int[np.ndarray, " k"]
    """Evaluations of which each constraint is known."""
    violated: Int[np.ndarray, " k"]
    """Evaluations that violate each constraint."""
    best: Int[np.ndarray, " b"]
    """Numbers of the best evaluations, from 0: one, or those of the front."""
    active: Bool[np.ndarray, "b k"]
    """Which constraints are satisfied there by less than 2 % of their size.

    Nine in ten values of a constraint are below its size, without regard to sign.
    """


def constraints(subject: Subject) -> Constraints | None:
    """Return the constraints of a run; None where there are none."""
    values = subject.constraints
    if not values.size:
        return None
    best = np.array(subject.front, dtype=np.int64)
    known = [np.abs(column[np.isfinite(column)]) for column in values.T]
    sizes = np.array([np.quantile(column, _USUAL) if len(column) else 0.0 for column in known])
    at_best = values[best]
    return Constraints(
        names=subject.constraint_names,
        values=values,
        known=np.array([len(column) for column in known]),
        violated=np.sum(values > 0.0, axis=0),
        best=best,
        active=(at_best <= 0.0) & (at_best >= -_NEAR * sizes),
    )
