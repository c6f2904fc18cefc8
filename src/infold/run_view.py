"""What can be read of a run: its evaluations, what is pending, the best point."""

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from infold.models.base import IN_NOISE, NEGLIGIBLE_NOISE
from infold.record import Evaluation, History, Record, to_frame
from infold.space import Point, Space
from infold.space.finite import n_points
from infold.space.fixed import Fixed

if TYPE_CHECKING:
    import pandas

_FEW = 5  # suggestions, whose models may take turns in what they believe


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
        """Values of the evaluated points; NaN where the evaluation failed.

        With several objectives, one row for each point.
        """
        return self._record.values

    @property
    def pending(self) -> list[Point]:
        """Points that were asked for or expected, and not told yet."""
        return [pending.point for pending in self._record.pending]

    @property
    def best(self) -> Any:
        """The best point and its value; None before the first evaluation that succeeded.

        Where there are constraints it is the best that satisfies them all, and as long as there is
        none the one that violates them least, whose value is NaN where none came with any. With
        several objectives it is a list, the front: points, each with all its values, that no other
        point dominates.
        """
        index = self._record.best_index
        if index is None:
            return None
        if self._record.several:
            values = self.values
            return [(self._record.evaluations[i].point, values[i]) for i in self._record.front]
        best = self._record.evaluations[index]
        return best.point, best.value

    @property
    def best_index(self) -> int | None:
        """Number of the evaluation that `best` is of, from 0."""
        return self._record.best_index

    @property
    def front(self) -> list[int]:
        """Numbers of the evaluations that no other dominates, from 0."""
        return self._record.front

    @property
    def n_objectives(self) -> int:
        """How many objectives there are."""
        return int(np.size(self._record.sign))

    @property
    def feasible(self) -> np.ndarray:
        """Which evaluations succeeded and satisfy all constraints."""
        return self._record.feasible

    @property
    def noisy(self) -> bool:
        """Whether a model of the last few suggestions took much of what it saw for noise."""
        noises = (known["noise"] for known in self._last_diagnostics if "noise" in known)
        return self.in_noise or any(
            isinstance(noise, float) and noise >= NEGLIGIBLE_NOISE for noise in noises
        )

    @property
    def in_noise(self) -> bool:
        """Whether noise hid how the best evaluations differ, in one of the last few suggestions."""
        return any(known.get(IN_NOISE) is True for known in self._last_diagnostics)

    @property
    def _last_diagnostics(self) -> list[Mapping[str, Any]]:
        """Diagnostics of the last few suggestions by models of values."""
        if all(e.failed for e in self._record.evaluations):
            return []  # what the models saw were violations
        diagnostics = (e.diagnostics for e in reversed(self._record.evaluations))
        return list(itertools.islice((known for known in diagnostics if "noise" in known), _FEW))

    @property
    def exhausted(self) -> bool:
        """Whether every point of the space has been evaluated or is pending.

        Only points that known constraints allow count. Never where a float varies freely.
        """
        n_all = n_points(Fixed(self.space, {}))
        if len(self._record.known) < n_all or self.space.where is None:
            return len(self._record.known) >= n_all
        # Points that were told may be others.
        allowed = filter(self.space.allows, (*self.points, *self.pending))
        return len(set(map(self.space.identity, allowed))) >= n_all

    @property
    def history(self) -> History:
        """What the method sees."""
        return self._record.history

    def to_frame(self) -> "pandas.DataFrame":
        """Return the evaluations as a table, one per row: see `infold.record.to_frame`."""
        return to_frame(self._record.evaluations, self.space)
