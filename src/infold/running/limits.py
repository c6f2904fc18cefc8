"""When a run ends."""

from dataclasses import dataclass

import numpy as np

from infold import _checks, objectives
from infold.optimizer import Optimizer


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What ends a run before all its evaluations are done."""

    max_failures: int = 10
    """Number of failed evaluations in a row; those that violate a constraint are none."""
    max_seconds: float | None = None
    """Seconds after which no further evaluation begins; those under way are finished."""
    target: float | None = None
    """Value that is good enough."""
    patience: int | None = None
    """Number of evaluations in a row that bring no better value."""

    def __post_init__(self) -> None:
        _checks.at_least("max_failures", self.max_failures, 1)
        if self.max_seconds is not None:
            _checks.positive("max_seconds", self.max_seconds)
        if self.target is not None:
            _checks.finite("target", self.target)
        if self.patience is not None:
            _checks.at_least("patience", self.patience, 1)

    def reached(self, optimizer: Optimizer, seconds: float) -> str | None:
        """Return which limit has been reached, in words; None where none has.

        Failures in a row are not among them: only those of this call count.

        Args:
            optimizer: the run.
            seconds: how long it has been going on.
        """
        n = len(optimizer)
        if self.target is not None and optimizer.n_objectives > 1:
            raise ValueError(
                f"target = {self.target}: expected none where there are several objectives"
            )
        if self.target is not None and optimizer.best is not None and np.any(optimizer.feasible):
            value = optimizer.best[1]
            good = value <= self.target if _minimizes(optimizer) else value >= self.target
            if good:
                return f"target {self.target:g} reached: {value:.6g} after {n} evaluations"
        if self.patience is not None and _evaluations_since_best(optimizer) >= self.patience:
            return f"no better value in {self.patience} evaluations (patience), {n} in all"
        if self.max_seconds is not None and seconds >= self.max_seconds:
            return f"time is up: max_seconds = {self.max_seconds:g}, {n} evaluations done"
        return None


def _minimizes(optimizer: Optimizer) -> bool:
    return optimizer.direction == "minimize"


def _evaluations_since_best(optimizer: Optimizer) -> int:
    """Return how many evaluations came after the best, or the last that made the front better.

    That is 0 where nothing is known of any.
    """
    best = optimizer.best_index
    feasible = optimizer.feasible
    if optimizer.n_objectives > 1 and np.any(feasible):
        losses = np.where(feasible[:, None], optimizer.history.objectives, np.nan)
        # Points that equal one of the front are on it too, and make it no better.
        best = int(np.flatnonzero(objectives.enters_front(losses))[-1])
    return 0 if best is None else len(optimizer) - 1 - best
