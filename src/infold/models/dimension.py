"""How many features there are: what predicts the next evaluations best.

A network that has more features fits any data better, and the likelihood of those data does not
warn. So a model with each number of features is shown the first four fifths of the evaluations, and
asked for the rest. The question is asked anew whenever the number of evaluations has doubled.
"""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from infold.models.base import State, features, kept_array
from infold.record import History

if TYPE_CHECKING:
    from infold.models.features import LearnedFeatures

AUTO = "auto"
_FIRST = 20  # evaluations from which on it is worth asking
_CANDIDATES = (2, 5, 10, 20)
_SHOWN = 0.8  # part of the evaluations that a model is shown


def n_features_for(
    model: "LearnedFeatures", history: History, seed: int, state: State
) -> tuple[int, np.ndarray]:
    """Return the number of features, and what to keep of the choice: when it was made, and it.

    Args:
        model: the model that wants features.
        history: the evaluations.
        seed: seed of the training.
        state: that of an earlier fit; it saves time and changes nothing.
    """
    n = len(history.y)
    default = features(None, history.dimension)
    if n < _FIRST:
        return default, np.array([0.0, default])
    asked = _FIRST * 2 ** int(np.log2(n / _FIRST))
    kept = kept_array(state, "choice")
    if kept is not None and kept.shape == (2,) and kept[0] == asked:
        return int(kept[1]), kept
    candidates = [d for d in _CANDIDATES if d <= max(default, history.dimension // 2)] or [default]
    known = history.part(np.arange(asked))
    scores = {d: _score(model, known, (seed, asked), d) for d in candidates}
    best = max(scores, key=lambda d: scores[d])
    return best, np.array([asked, best], dtype=float)


def _score(
    model: "LearnedFeatures", history: History, key: tuple[int, int], n_features: int
) -> float:
    """Return the mean log density that a model of the first evaluations gives to the later ones."""
    n = len(history.y)
    n_shown = int(_SHOWN * n)
    later = history.part(np.arange(n_shown, n))
    later = later.part(np.flatnonzero(later.succeeded))
    if not len(later.y):
        return -np.inf
    try:
        fixed = dataclasses.replace(model, n_features=n_features)
        fitted = fixed.fit(history.part(np.arange(n_shown)), key, {})
        mean, variance = fitted.predict(later.x)
    except (FloatingPointError, np.linalg.LinAlgError):
        return -np.inf
    variance = variance + float(fitted.noise)
    y = fitted.outputs.apply(later.y)
    density = -0.5 * ((y - mean) ** 2 / variance + np.log(2.0 * np.pi * variance))
    score = float(np.mean(density + fitted.outputs.log_slope(later.y)))
    return score if np.isfinite(score) else -np.inf
