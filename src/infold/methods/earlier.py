"""Points of earlier runs in the design of a new one: which come next, and when they stop."""

import numpy as np

from infold.learning import tried
from infold.record import History

_MOST = 9  # points of earlier runs: one of a usual design is left for another
_UNTRIED = 2  # of them that are evaluated at once before anything is known of their worth
_JUDGED = 2  # of them that have a value before they may wait: the first may be bad luck
_NO_WORSE = 0.5  # share of pairs in which they are better, below which they wait


def earlier_points(history: History, q: int, seed: int) -> list[np.ndarray]:
    """Return at most q points of earlier runs that are worth a try; none where they do not help.

    The first of them comes before an ordinary point of the design. While one of them is the best
    point others follow. Where they are about as good as ordinary ones the two take turns, and where
    they are worse they wait, once two are known.
    """
    lessons = history.lessons
    rows, untried = tried.tried_and_untried(history, seed)
    # Designs without values are unlike each other, so that one is worse says nothing of the next.
    if lessons is None or (lessons.manifold is not None and not lessons.n_runs):
        return untried[:q]
    if not rows:
        return untried[: min(q, _UNTRIED)]
    earlier, others = tried.values_of_both(history, rows)
    if not len(earlier) or not len(others):
        return []
    if len(earlier) >= _JUDGED and tried.share_better(earlier, others) < _NO_WORSE:
        return []
    ahead = np.min(earlier) < np.min(others)
    in_turn = 2 * len(rows) <= len(history.everywhere)
    return untried[: max(min(q, _MOST - len(rows)), 0)] if ahead or in_turn else []
