"""What the page says in words: its head, and the notes under figures."""

from typing import Any

import numpy as np

from infold.models.features import LearnedFeatures
from infold.report.figures.constraints import Constraints
from infold.report.figures.convergence import Convergence
from infold.report.figures.features import FeatureMap
from infold.report.figures.front import Volume, hindrance
from infold.report.figures.model import Predictions
from infold.report.figures.record import Times
from infold.report.subject import FIRST_TRIALS, Subject


def subtitle(subject: Subject) -> str:
    """Return what kind of run it is."""
    parts = [", ".join(subject.directions), f"{len(subject.space.parameters)} parameters"]
    if subject.method_name:
        parts.insert(0, f"method {subject.method_name}")
    if subject.seed is not None:
        parts.append(f"seed {subject.seed}")
    return ", ".join(parts)


def summary(subject: Subject, timed: Times) -> list[tuple[str, Any]]:
    """Return the numbers that are asked for first, each with its name."""
    tiles: list[tuple[str, Any]] = [("evaluations", len(subject.evaluations)), *_found(subject)]
    if subject.n_constraints:
        tiles.append(("feasible", int(np.sum(subject.feasible))))
    tiles.append(("failed", int(np.sum(~subject.succeeded))))
    if subject.n_pending:
        tiles.append(("pending", subject.n_pending))
    spans = timed.told_at[np.isfinite(timed.told_at)]
    if len(spans) > 1:
        tiles.append(("from first to last", duration(float(np.max(spans) - np.min(spans)))))
    return tiles


def _found(subject: Subject) -> list[tuple[str, Any]]:
    """Return what is known of the best value, or of the front."""
    several = subject.n_objectives > 1
    tiles: list[tuple[str, Any]] = [("objectives", subject.n_objectives)] if several else []
    what = "points on the front" if several else "best value"
    if subject.best is None:
        return [*tiles, (what, "none yet")]
    if not np.any(subject.feasible):
        return [*tiles, (what, "no feasible point yet")]
    if several:
        return [*tiles, (what, len(subject.front))]
    if subject.n_constraints:
        what = "best feasible value"
    value = float(subject.values[subject.best, 0])
    return [(what, value), ("found at evaluation", subject.best + 1)]


def duration(seconds: float) -> str:
    """Return a time in words."""
    if seconds < 0.1:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def convergence_note(subject: Subject, converged: Convergence) -> str:
    """Return what the lines and marks of the figure are."""
    note = "The line is the best value so far. "
    if subject.n_constraints:
        note = (
            "The line is the best value so far among points that satisfy all constraints; open "
            "circles do not. "
        )
    if not np.all(np.isfinite(converged.value)):
        note += "Crosses at the top are failed evaluations. "
    random = converged.at_random
    if random is None and subject.n_constraints:
        return note.strip()
    if random is None:
        return note + "There are too few random points, or nothing else, to compare with."
    since = f"after its first {random.n_first} points" if random.n_first else "from the start"
    whose = "random points of the run itself"
    if any(e.proposed_by == FIRST_TRIALS for e in subject.evaluations):
        whose = "of the first trials, which most samplers choose at random"
    return note + (
        f"Dashed: the best value had the run gone on at random {since}, in the median, with a band "
        f"that holds 80 %. It is a rough estimate from {random.n_sample} {whose}; their values are "
        "taken for a sample of a normal distribution after a power transform."
    )


def front_note(subject: Subject) -> str:
    """Return what the marks of the front are."""
    if not np.any(subject.feasible):
        return (
            "There is no front yet: no point is feasible. Open circles violate a constraint; the "
            "table has the point that violates constraints least."
        )
    note = (
        "A point is on the front where no other is at least as good in every objective and better "
        "in one."
    )
    if subject.n_objectives == 2:
        note += " The line bounds what the front dominates."
    else:
        note += " It may look beaten where only two of the objectives are shown."
    return note + " Open circles violate a constraint." * bool(subject.n_constraints)


def volume_note(subject: Subject, found: Volume | None) -> str:
    """Return what the hypervolume is, or why it is not there."""
    if found is not None:
        return (
            "The hypervolume of the front so far: the share that it dominates of the box between "
            "the best value of each objective and a reference, which is a tenth of the front's "
            "reach beyond the worst values on the front as it is now."
        )
    return f"The hypervolume is left out: {hindrance(subject)}."


def constraint_states(found: Constraints) -> list[str]:
    """Return how each constraint stands at the best point, or on the front."""
    if len(found.best) != 1:
        return [f"active at {np.sum(column)} of {len(column)}" for column in found.active.T]
    values = found.values[found.best[0]]
    return [
        "active" if active else "satisfied" if value <= 0.0 else "violated" if value > 0.0 else ""
        for value, active in zip(values, found.active[0], strict=True)
    ]


def left_out_note(subject: Subject, found: Predictions) -> str:
    """Return how good predictions of each evaluation from all others are."""
    return predictions_note(found) + _caution(subject)


def predictions_note(found: Predictions) -> str:
    """Return how good predictions are."""
    return (
        f"{100 * found.coverage:.0f} % of the values are within 1.96 deviations, where an honest "
        f"model has 95 %. {_explained(found.explained)}"
    )


def _caution(subject: Subject) -> str:
    """Return a word of caution where what is left out has been seen all the same."""
    if not isinstance(getattr(subject.method, "model", None), LearnedFeatures):
        return ""
    return " The features were learned from all values, so this is too favourable."


def _explained(share: float) -> str:
    if not np.isfinite(share):
        return ""
    if share < 0:
        return "The mean of all values would have been the better prediction."
    return f"The predictions explain {100 * share:.0f} % of the variance."


def features_note(found: FeatureMap) -> str:
    """Return what the map of the feature space shows."""
    note = (
        f"The plane through the best point along the two principal directions of "
        f"{found.n_features} features, which hold {100 * found.shown:.0f} % of the data's "
        "variance. Dots are the evaluations, projected, the later the darker; the line joins "
        "them in order."
    )
    if found.discs is not None:
        note += (
            f" Circles are the Lipschitz balls that the plane cuts, {len(found.discs.radii)} of "
            f"{found.discs.n_balls}: the search stays within them."
        )
    return note


def times_note(timed: Times) -> str:
    """Return how long things took; empty where nothing was measured."""
    parts = []
    for what, seconds in (("evaluations", timed.evaluation), ("suggestions", timed.suggestion)):
        known = seconds[np.isfinite(seconds)]
        if len(known):
            parts.append(
                f"{len(known)} {what} took {duration(float(np.sum(known)))}, "
                f"in the median {duration(float(np.median(known)))}"
            )
    return "; ".join(parts) + "." if parts else ""
