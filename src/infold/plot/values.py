"""Values of objectives and constraints over a run, and the points behind the best."""

from typing import TYPE_CHECKING, Any

import numpy as np

from infold.plot.drawing import ACCENT, LINES, ORANGE, SOFT, WARM, axes_of, needed, plain_text
from infold.report.figures import constraints as _constraints
from infold.report.figures import convergence as _convergence
from infold.report.figures import front as _front
from infold.report.figures import points as _points
from infold.report.subject import subject_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def convergence(run: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw all values, the best so far, and a rough estimate of what random search would find."""
    found = _convergence.convergence(subject_of(run))
    ax = axes_of(ax)
    steps = np.arange(1, len(found.value) + 1)
    random = found.at_random
    if random is not None:
        ax.fill_between(steps, random.low, random.high, color=SOFT, alpha=0.25, linewidth=0)
        ax.plot(steps, random.median, "--", color=SOFT, label="at random (estimate)")
    satisfies = found.feasible
    ax.plot(
        steps[satisfies], found.value[satisfies], ".", color=ACCENT, alpha=0.6, label="evaluations"
    )
    violates = np.isfinite(found.value) & ~satisfies
    if np.any(violates):
        ax.plot(
            steps[violates],
            found.value[violates],
            "o",
            mfc="none",
            ms=4,
            color=SOFT,
            label="not feasible",
        )
    ax.step(steps, found.best, where="post", color="black", label="best so far")
    failed = np.flatnonzero(~np.isfinite(found.value))
    if len(failed):
        top = ax.get_xaxis_transform()
        ax.plot(steps[failed], np.ones(len(failed)), "x", color=WARM, transform=top, label="failed")
    ax.set(xlabel="evaluation", ylabel="value")
    ax.legend(frameon=False)
    return ax


def front(run: Any, *, objectives: tuple[int, int] = (0, 1), ax: "Axes | None" = None) -> "Axes":
    """Draw two of several objectives: all evaluations, and those that no other dominates.

    Args:
        run: the run.
        objectives: numbers of the objectives on the two axes, from 0.
        ax: where to draw.
    """
    subject = subject_of(run)
    n = subject.n_objectives
    found = _front.front(subject)
    if found is None or not all(0 <= j < n for j in objectives):
        raise ValueError(f"objectives = {objectives}: the run has {n}, expected two of them")
    ax = axes_of(ax)
    kinds = np.array(found.kinds)
    marks: dict[str, dict[str, Any]] = {
        "infeasible": {"marker": "o", "mfc": "none", "color": SOFT, "label": "not feasible"},
        "dominated": {"marker": ".", "color": SOFT, "label": "dominated"},
        "front": {"marker": "o", "color": ACCENT, "label": "front"},
    }
    for kind, mark in marks.items():
        if kind in kinds:
            across, up = found.values[kinds == kind][:, objectives].T
            ax.plot(across, up, linestyle="none", **mark)
    a, b = (f"objective {j} ({subject.directions[j]})" for j in objectives)
    ax.set(xlabel=a, ylabel=b)
    ax.legend(frameon=False)
    return ax


def hypervolume(run: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the share of a box that the front dominates, after each evaluation.

    The box is between the best value of each objective and a reference, a tenth of the front's
    reach beyond the worst values on it. It needs moocore: `pip install 'infold[objectives]'`.
    """
    subject = subject_of(run)
    found = _front.volume(subject)
    if found is None:
        raise ValueError(f"there is no hypervolume to draw: {_front.hindrance(subject)}")
    ax = axes_of(ax)
    steps = np.arange(1, len(found.share) + 1)
    ax.step(steps, found.share, where="post", color="black")
    ax.plot(steps[found.grew], found.share[found.grew], ".", color=ACCENT)
    ax.set(xlabel="evaluation", ylabel="share dominated")
    return ax


def constraints(run: Any, *, constraint: int = 0, ax: "Axes | None" = None) -> "Axes":
    """Draw the values of a constraint, which is satisfied where they are at most 0.

    Args:
        run: the run.
        constraint: number of the constraint, from 0.
        ax: where to draw.
    """
    found = needed(_constraints.constraints(subject_of(run)), "constraints")
    n = len(found.names)
    if not 0 <= constraint < n:
        raise ValueError(f"constraint = {constraint}: the run has {n}, expected one of them")
    ax = axes_of(ax)
    values = found.values[:, constraint]
    steps = np.arange(1, len(values) + 1)
    ax.axhline(0.0, linestyle="--", color="black", linewidth=1)
    for label, rows, colour in (
        ("satisfied", values <= 0.0, ACCENT),
        ("violated", values > 0.0, ORANGE),
    ):
        ax.plot(steps[rows], values[rows], ".", color=colour, label=label)
    ax.set(xlabel="evaluation", ylabel=plain_text(found.names[constraint]))
    ax.legend(frameon=False)
    return ax


def best_tenth(run: Any, *, n_parameters: int = LINES, ax: "Axes | None" = None) -> "Axes":
    """Draw the best tenth of all points, each a line across the most relevant parameters.

    With several objectives it is the front, the best in the first of them darkest.
    """
    found = needed(_points.best_tenth(subject_of(run)), "evaluation that succeeded")
    names = found.names[:n_parameters]
    ax = axes_of(ax, 6.0, 1.0 + 0.3 * len(names))
    rows = np.arange(len(names))
    shades = np.linspace(0.0, 0.85, len(found.values))
    for line, shade in reversed(list(zip(found.positions, shades, strict=True))):
        ax.plot(line[: len(names)], rows, ".-", color=_colour(shade), alpha=0.7, linewidth=1)
    ax.set_yticks(rows, [plain_text(name) for name in names])
    ax.set(xlabel="place in the parameter's range, low to high", xlim=(-0.02, 1.02))
    ax.invert_yaxis()
    return ax


def _colour(shade: float) -> Any:
    from matplotlib import colormaps

    return colormaps["viridis"](shade)
