"""What the record of a run says: times, the trust region, the experts."""

from typing import TYPE_CHECKING, Any

import numpy as np

from infold.plot.drawing import ACCENT, ORANGE, axes_of, needed, plain_text
from infold.report.figures import record as _record
from infold.report.subject import subject_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def times(run: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the seconds of each evaluation and of the suggestion before it."""
    found = _record.times(subject_of(run))
    ax = axes_of(ax)
    steps = np.arange(1, len(found.evaluation) + 1)
    ax.plot(steps, found.evaluation, ".", color=ACCENT, label="evaluation")
    ax.plot(steps, found.suggestion, ".", color=ORANGE, label="suggestion")
    ax.set(xlabel="evaluation", ylabel="seconds", yscale="log")
    ax.legend(frameon=False)
    return ax


def region(run: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the side of the trust region at each proposal."""
    found = needed(_record.region(subject_of(run)), "trust region")
    ax = axes_of(ax)
    ax.step(np.arange(1, len(found.side) + 1), found.side, where="post", color=ACCENT)
    ax.set_yscale("log", base=2)
    ax.set(xlabel="evaluation", ylabel="side of the trust region")
    return ax


def evidence(run: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the evidence for each expert at each proposal."""
    found = needed(_record.region(subject_of(run)), "experts")
    if not found.experts:
        raise ValueError("there is nothing to draw: the run has no experts")
    ax = axes_of(ax)
    steps = np.arange(1, len(found.evidence) + 1)
    for name, scores in zip(found.experts, found.evidence.T, strict=True):
        ax.plot(steps, scores, label=plain_text(name))
    ax.set(xlabel="evaluation", ylabel="mean log density")
    ax.legend(frameon=False)
    return ax
