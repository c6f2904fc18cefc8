"""What is learned from earlier runs, one part after the other."""

from collections.abc import Sequence

import numpy as np

from infold.history import Rounding
from infold.learning.lessons import Lessons, Progress, Run


def learn(
    runs: Sequence[Run],
    *,
    rounding: Rounding | None,
    seed: int,
    n_features: int | str,
    progress: Progress | None,
) -> Lessons:
    """See `infold.learning.lessons.learn`."""
    if not runs:
        raise ValueError("runs is empty: expected at least one run, or designs")
    dimension = runs[0].x.shape[1]
    for run in runs:
        if run.x.shape[1] != dimension:
            raise ValueError(
                f"x of {run.name} has shape {run.x.shape}: expected {dimension} columns, "
                f"as x of {runs[0].name} has"
            )
    valued = [run for run in runs if run.y is not None and np.any(np.isfinite(run.y))]
    if not valued:
        return Lessons.none(dimension)
    return Lessons(
        dimension=dimension,
        points=np.stack([run.x[np.nanargmin(run.y)] for run in valued if run.y is not None]),
        centre=np.mean([run.x[np.nanargmin(run.y)] for run in valued if run.y is not None], axis=0),
        n_runs=len(valued),
        n_evaluations=sum(len(run.x) for run in valued),
    )
