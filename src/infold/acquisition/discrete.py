"""Discrete parameters: what is searched can be evaluated, and what is known is not searched again.

Between discrete values the acquisition function says nothing, and a maximum there, rounded to a
known point, would be found again and again. So models on the inputs themselves are searched among
rounded candidates that are new (`new_candidates`), along continuous coordinates alone. Models with
features decode a point, and rounding moves it away from the features that were searched for. What
it is worth there, and what others would be, the model can tell: `choose` compares.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float

from infold.record import History, Rounding

_N_BEST = 5  # data whose discrete coordinates are tried
_N_VARIATIONS = 50  # of each of them


def known(x: Float[np.ndarray, "m D"], data: Float[np.ndarray, "n D"]) -> Bool[np.ndarray, " m"]:
    """Tell which rows of x are rows of the data, compared exactly."""
    rows = {row.tobytes() for row in np.ascontiguousarray(data)}
    return np.array([row.tobytes() in rows for row in np.ascontiguousarray(x)], dtype=bool)


def new_candidates(
    candidates: Float[np.ndarray, "m D"], data: Float[np.ndarray, "n D"]
) -> Float[np.ndarray, "k D"]:
    """Return the candidates without those among the data, unless all are."""
    new = ~known(candidates, data)
    return candidates[new] if np.any(new) else candidates


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
    order = np.lexsort((values, ~known(candidates, history.everywhere), np.isfinite(values)))
    return candidates[order[-1]], float(values[order[-1]])


def rounded_variations(
    x: Float[np.ndarray, " D"], history: History, rounding: Rounding, rng: np.random.Generator
) -> Float[np.ndarray, "m D"]:
    """Return x rounded, with discrete coordinates of the best data, and with some replaced."""
    discrete = rounding.coordinates
    best = history.x[np.argsort(history.merit(history.imputed))[:_N_BEST]]
    originals = np.concatenate([x[None], np.where(discrete, best, x)])
    varied = np.repeat(originals, _N_VARIATIONS, axis=0)
    rank = (
        np.where(discrete, rng.uniform(size=varied.shape), np.inf).argsort(axis=1).argsort(axis=1)
    )
    replaced = discrete & (rank < rng.integers(1, 4, size=(len(varied), 1)))
    replaced[::_N_VARIATIONS] = False
    return rounding.snap(np.where(replaced, rng.uniform(size=varied.shape), varied))
