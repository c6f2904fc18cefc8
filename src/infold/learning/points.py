"""Good points of earlier runs: the best of each, and their centre."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from infold.history import Rounding
from infold.learning.lessons import Run

_MOST = 30  # points that are kept, as many as there are runs that lengthscales are learned from


def good_points(
    runs: Sequence[Run], rounding: Rounding | None
) -> tuple[Float[np.ndarray, "k D"], Float[np.ndarray, " D"]]:
    """Return the best points of the runs, those that stand for the most others first; their centre.

    Each run has its own units, so its best point counts as much as any other's. The first is the
    one closest to all; each that follows is closest to those that are far from the ones before.

    Args:
        runs: runs with at least one value each.
        rounding: which coordinates are discrete; None: none is.
    """
    best = np.stack([run.x[np.nanargmin(run.y)] for run in runs if run.y is not None])
    distance = np.sum((best[:, None] - best) ** 2, axis=2)
    nearest = np.full(len(best), np.inf)
    order: list[int] = []
    while len(order) < min(_MOST, len(best)):
        # How far every best point would be from the nearest one chosen, squared.
        left = np.sum(np.minimum(nearest, distance), axis=1)
        left[order] = np.inf
        chosen = int(np.argmin(left))
        if order and nearest[chosen] < 1e-12:
            break
        order.append(chosen)
        nearest = np.minimum(nearest, distance[chosen])
    centre = np.median(best, axis=0) if len(best) > 2 else np.mean(best, axis=0)
    if rounding is not None:
        centre = rounding.snap(centre[None])[0]
    return best[order], centre
