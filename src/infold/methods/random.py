"""Points without a model: a scrambled Sobol sequence, or uniform ones."""

import warnings
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from infold import _checks
from infold.learning.tried import SAME
from infold.methods.base import Cache, Key, Suggestion
from infold.methods.earlier import earlier_points
from infold.record import History, Proposal

DESIGNS = ("centre", "sobol", "uniform")
"""What the points are: a scrambled Sobol sequence, with or without the centre of the cube before
it, or uniform ones."""

_STREAM = 3  # of the random numbers of one suggestion, for points in place of others


@dataclass(frozen=True, kw_only=True)
class RandomSearch:
    """Random search: the seed chooses the sequence, the iteration the place in it."""

    name: ClassVar[str] = "random"
    design: str = "sobol"
    """One of `DESIGNS`."""

    def __post_init__(self) -> None:
        _checks.one_of("design", self.design, DESIGNS)

    def suggest(self, history: History, q: int, key: Key, cache: Cache | None = None) -> Suggestion:
        """Return the points number key[1] to key[1] + q - 1 of the sequence of key[0].

        Others, at random, take the place of those that violate known constraints.
        """
        made = self._suggest(history, q, key)
        if history.where is None:
            return made
        x = made.x if history.rounding is None else history.rounding.snap(made.x)
        others = history.where.sample(q, np.random.default_rng([*key, _STREAM]))
        x = np.where(history.where.contains(x)[:, None], x, others)
        return Suggestion(x, made.proposals)

    def _suggest(self, history: History, q: int, key: Key) -> Suggestion:
        seed, iteration = key
        earlier = earlier_points(history, q, seed) if history.lessons is not None else []
        if earlier:
            return self._with_earlier(history, earlier, q, key)
        if self.design == "centre":
            return self._with_centre(history, q, key)
        if self.design == "uniform":
            points = [
                np.random.default_rng([seed, iteration + i]).uniform(size=history.dimension)
                for i in range(q)
            ]
            return Suggestion(np.stack(points))
        from scipy.stats import qmc  # as much to load as everything else of SciPy that we use

        sequence = qmc.Sobol(history.dimension, scramble=True, rng=np.random.default_rng(seed))
        if iteration:  # SciPy cannot move on by nothing
            sequence.fast_forward(iteration)
        with warnings.catch_warnings():
            # Points come one by one; balance in powers of two is not ours to ask for.
            warnings.filterwarnings(
                "ignore", message="The balance properties of Sobol", category=UserWarning
            )
            return Suggestion(np.clip(sequence.random(q), 0.0, 1.0))

    def _with_earlier(
        self, history: History, earlier: list[np.ndarray], q: int, key: Key
    ) -> Suggestion:
        """Return points of earlier runs, then others of the sequence."""
        points = np.stack(earlier)
        proposals = (Proposal("earlier"),) * len(points)
        n_rest = q - len(points)
        if n_rest:
            history = replace(history.with_pending(points, proposals), lessons=None)
            rest = self.suggest(history, n_rest, (key[0], key[1] + len(points))).x
            points = np.concatenate([points, rest])
            proposals += (Proposal(),) * n_rest
        return Suggestion(points, proposals)

    def _with_centre(self, history: History, q: int, key: Key) -> Suggestion:
        """Return the centre of the cube if it is not known yet, then points of a Sobol sequence.

        Point number n of the run has number n - 1 of the sequence. Where the centre is known
        beforehand a uniform point takes its place.
        """
        seed, iteration = key
        centre = np.full((1, history.dimension), 0.5)
        if history.rounding is not None:
            centre = history.rounding.snap(centre)
        if history.where is not None:
            centre = history.where.nearest(centre)
        known = np.all(np.abs(history.everywhere - centre) < SAME, axis=1)
        if not np.any(known):
            first = centre
        elif iteration == 0:
            first = replace(self, design="uniform")._suggest(history, 1, key).x
        else:
            first = np.empty((0, history.dimension))
        n_rest = q - len(first)
        if not n_rest:
            return Suggestion(first)
        key = (seed, iteration - 1 + len(first))
        rest = replace(self, design="sobol")._suggest(history, n_rest, key).x
        return Suggestion(np.concatenate([first, rest]))
