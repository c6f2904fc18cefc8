"""What can be read of a run: its evaluations, what is pending, the best point."""

from typing import TYPE_CHECKING

import numpy as np

from infold.models.base import NEGLIGIBLE_NOISE
from infold.record import Evaluation, History, Record, to_frame
from infold.space import Point, Space
from infold.space.finite import n_points
from infold.space.fixed import Fixed

if TYPE_CHECKING:
    import pandas


class RunView:
    """The record of a run, for people to read."""

    space: Space
    """The user's parameters."""
    _record: Record

    def __len__(self) -> int:
        """Return how many evaluations have been told."""
        return len(self._record.evaluations)

    @property
    def evaluations(self) -> list[Evaluation]:
        """All evaluations, in the order they were told."""
        return list(self._record.evaluations)

    @property
    def points(self) -> list[Point]:
        """All evaluated points, in the order they were told."""
        return [evaluation.point for evaluation in self._record.evaluations]

    @property
    def values(self) -> np.ndarray:
        """Values of the evaluated points; NaN where the evaluation failed."""
        return np.array([evaluation.value for evaluation in self._record.evaluations])

    @property
    def pending(self) -> list[Point]:
        """Points that were asked for or expected, and not told yet."""
        return [pending.point for pending in self._record.pending]

    @property
    def best(self) -> tuple[Point, float] | None:
        """The best point and its value; None before the first evaluation that succeeded."""
        values = self._record.sign * self.values
        if not np.any(np.isfinite(values)):
            return None
        best = self._record.evaluations[int(np.nanargmin(values))]
        return best.point, best.value

    @property
    def noisy(self) -> bool:
        """Whether the model of the last suggestion takes much of what it sees for noise."""
        diagnostics = (e.diagnostics for e in reversed(self._record.evaluations))
        noise = next((known["noise"] for known in diagnostics if "noise" in known), None)
        return isinstance(noise, float) and noise >= NEGLIGIBLE_NOISE

    @property
    def exhausted(self) -> bool:
        """Whether every point of the space has been evaluated or is pending.

        Never where a parameter is a float that varies.
        """
        return len(self._record.known) >= n_points(Fixed(self.space, {}))

    @property
    def history(self) -> History:
        """What the method sees."""
        return self._record.history

    def to_frame(self) -> "pandas.DataFrame":
        """Return the evaluations as a table, one per row: see `infold.record.to_frame`."""
        return to_frame(self._record.evaluations, self.space)
