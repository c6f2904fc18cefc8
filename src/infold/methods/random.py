"""Points without a model: a scrambled Sobol sequence, or uniform ones."""

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from infold import _checks
from infold.methods.base import Cache, Key, Suggestion
from infold.record import History

DESIGNS = ("sobol", "uniform")


@dataclass(frozen=True, kw_only=True)
class RandomSearch:
    """Random search: the seed chooses the sequence, the iteration the place in it."""

    name: ClassVar[str] = "random"
    design: str = "sobol"
    """One of `DESIGNS`."""

    def __post_init__(self) -> None:
        _checks.one_of("design", self.design, DESIGNS)

    def suggest(self, history: History, q: int, key: Key, cache: Cache | None = None) -> Suggestion:
        """Return the points number key[1] to key[1] + q - 1 of the sequence of key[0]."""
        seed, iteration = key
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
