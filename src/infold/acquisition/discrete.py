"""Discrete parameters of models that search a space of features: decoded points are rounded, and
vary.

Models on the inputs themselves search discrete coordinates directly (`infold.acquisition.search`).
Elsewhere rounding moves a point away from the features that were searched for. What it is worth
there, and what others would be, the model can tell: `choose` compares.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from infold.record import History, Rounding

_N_BEST = 5  # data whose discrete coordinates are tried
_N_VARIATIONS = 50  # of each of them


def choose(
    x: Float[np.ndarray, " D"],
    history: History,
    rounding: Rounding,
    worth: Callable[[np.ndarray], np.ndarray],
    rng: np.random.Generator,
) -> tuple[Float[np.ndarray, " D"], float]:
    """Return the variation of x that can be evaluated and is worth most, and how much.

    A point that is known already is chosen only where all variations are known.
    """
    candidates = rounded_variations(x, history, rounding, rng)
    values = worth(candidates)
    # First what is a number, then what is not known, then the larger.
    order = np.lexsort((values, ~history.knows(candidates), np.isfinite(values)))
    return candidates[order[-1]], float(values[order[-1]])


def rounded_variations(
    x: Float[np.ndarray, " D"], history: History, rounding: Rounding, rng: np.random.Generator
) -> Float[np.ndarray, "m D"]:
    """Return x rounded, with discrete coordinates of the best data, and with some replaced."""
    discrete = rounding.coordinates
    best = history.x[np.argsort(history.imputed)[:_N_BEST]]
    originals = np.concatenate([x[None], np.where(discrete, best, x)])
    varied = np.repeat(originals, _N_VARIATIONS, axis=0)
    rank = (
        np.where(discrete, rng.uniform(size=varied.shape), np.inf).argsort(axis=1).argsort(axis=1)
    )
    replaced = discrete & (rank < rng.integers(1, 4, size=(len(varied), 1)))
    replaced[::_N_VARIATIONS] = False
    return rounding.snap(np.where(replaced, rng.uniform(size=varied.shape), varied))
