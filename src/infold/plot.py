"""The figures of a report as matplotlib axes, for notebooks and papers.

Each function takes a result of `minimize`, an `Optimizer`, the path of a run file or an Optuna
study. It draws into the axes `ax`, or into a new figure, and returns the axes.

>>> infold.plot.convergence(result).figure.savefig("convergence.pdf")
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from infold.report.figures import constraints as _constraints
from infold.report.figures import convergence as _convergence
from infold.report.figures import features as _features
from infold.report.figures import front as _front
from infold.report.figures import model as _model
from infold.report.figures import points as _points
from infold.report.figures import record as _record
from infold.report.subject import Subject, subject_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SOFT = "#8894a0"
_ACCENT = "#1f6fb2"
_WARM = "#d1495b"
_ORANGE = "#e08e2b"
_LINES = 16  # parameters that a figure has room for
_LAYERS = ("mean", "deviation", "acquisition")


def _axes(ax: "Axes | None", width: float = 6.0, height: float = 4.0) -> "Axes":
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("infold.plot needs matplotlib: pip install 'infold[plot]'") from error
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def _needed(figure: Any, what: str) -> Any:
    if figure is None:
        raise ValueError(f"there is nothing to draw: the run has no {what}")
    return figure


def _part(run: Any, objective: int) -> Subject:
    """Return one objective of a run."""
    parts = subject_of(run).parts
    if not 0 <= objective < len(parts):
        raise ValueError(f"objective = {objective}: the run has {len(parts)}, numbered from 0")
    return parts[objective]


def convergence(run: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw all values, the best so far, and a rough estimate of what random search would find."""
    found = _convergence.convergence(subject_of(run))
    ax = _axes(ax)
    steps = np.arange(1, len(found.value) + 1)
    random = found.at_random
    if random is not None:
        ax.fill_between(steps, random.low, random.high, color=_SOFT, alpha=0.25, linewidth=0)
        ax.plot(steps, random.median, "--", color=_SOFT, label="at random (estimate)")
    satisfies = found.feasible
    ax.plot(
        steps[satisfies], found.value[satisfies], ".", color=_ACCENT, alpha=0.6, label="evaluations"
    )
    violates = np.isfinite(found.value) & ~satisfies
    if np.any(violates):
        ax.plot(
            steps[violates],
            found.value[violates],
            "o",
            mfc="none",
            ms=4,
            color=_SOFT,
            label="not feasible",
        )
    ax.step(steps, found.best, where="post", color="black", label="best so far")
    failed = np.flatnonzero(~np.isfinite(found.value))
    if len(failed):
        top = ax.get_xaxis_transform()
        ax.plot(
            steps[failed], np.ones(len(failed)), "x", color=_WARM, transform=top, label="failed"
        )
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
    if n < 2 or not all(0 <= j < n for j in objectives):
        raise ValueError(f"objectives = {objectives}: the run has {n}, expected two of them")
    found = _needed(_front.front(subject), "evaluation")
    ax = _axes(ax)
    kinds = np.array(found.kinds)
    marks = {
        "infeasible": {"marker": "o", "mfc": "none", "color": _SOFT, "label": "not feasible"},
        "dominated": {"marker": ".", "color": _SOFT, "label": "dominated"},
        "front": {"marker": "o", "color": _ACCENT, "label": "front"},
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
    found = _needed(_front.volume(subject_of(run)), "hypervolume that can be told")
    ax = _axes(ax)
    steps = np.arange(1, len(found.share) + 1)
    ax.step(steps, found.share, where="post", color="black")
    ax.plot(steps[found.grew], found.share[found.grew], ".", color=_ACCENT)
    ax.set(xlabel="evaluation", ylabel="share dominated")
    return ax


def constraints(run: Any, *, constraint: int = 0, ax: "Axes | None" = None) -> "Axes":
    """Draw the values of a constraint, which is satisfied where they are at most 0.

    Args:
        run: the run.
        constraint: number of the constraint, from 0.
        ax: where to draw.
    """
    found = _needed(_constraints.constraints(subject_of(run)), "constraints")
    n = len(found.names)
    if not 0 <= constraint < n:
        raise ValueError(f"constraint = {constraint}: the run has {n}, expected one of them")
    ax = _axes(ax)
    values = found.values[:, constraint]
    steps = np.arange(1, len(values) + 1)
    ax.axhline(0.0, linestyle="--", color="black", linewidth=1)
    for label, rows, colour in (
        ("satisfied", values <= 0.0, _ACCENT),
        ("violated", values > 0.0, _ORANGE),
    ):
        ax.plot(steps[rows], values[rows], ".", color=colour, label=label)
    ax.set(xlabel="evaluation", ylabel=found.names[constraint])
    ax.legend(frameon=False)
    return ax


def best_tenth(run: Any, *, n_parameters: int = _LINES, ax: "Axes | None" = None) -> "Axes":
    """Draw the best tenth of all points, each a line across the most relevant parameters.

    With several objectives it is the front, the best in the first of them darkest.
    """
    found = _needed(_points.best_tenth(subject_of(run)), "evaluation that succeeded")
    names = found.names[:n_parameters]
    ax = _axes(ax, 6.0, 1.0 + 0.3 * len(names))
    rows = np.arange(len(names))
    shades = np.linspace(0.0, 0.85, len(found.values))
    for line, shade in reversed(list(zip(found.positions, shades, strict=True))):
        ax.plot(line[: len(names)], rows, ".-", color=_colour(shade), alpha=0.7, linewidth=1)
    ax.set_yticks(rows, [_plain_text(name) for name in names])
    ax.set(xlabel="place in the parameter's range, low to high", xlim=(-0.02, 1.02))
    ax.invert_yaxis()
    return ax


def slices(run: Any, *, n_parameters: int = 6, columns: int = 3, objective: int = 0) -> np.ndarray:
    """Draw the model through the best point along the most relevant parameters, with 95 % bands.

    Args:
        run: the run.
        n_parameters: how many parameters are shown.
        columns: how many axes stand side by side.
        objective: number of the objective that the model is of, where there are several.

    Returns:
        An array of axes, one for each parameter.
    """
    found = _model.slices(_part(run, objective))[:n_parameters]
    if not found:
        raise ValueError("there is nothing to draw: the run has no model")
    first = _axes(None, 3.0 * min(columns, len(found)), 2.2 * -(-len(found) // columns))
    figure = first.figure
    first.remove()
    grid = figure.subplots(-(-len(found) // columns), min(columns, len(found)), squeeze=False)
    for ax in grid.ravel()[len(found) :]:
        ax.remove()
    for ax, each in zip(grid.ravel(), found, strict=False):
        levels = each.levels if each.is_number else [str(level) for level in each.levels]
        at = each.at if each.is_number else str(each.at)
        if each.is_number:
            ax.fill_between(levels, each.low, each.high, color=_ACCENT, alpha=0.2, linewidth=0)
            ax.plot(levels, each.mean, color=_ACCENT)
        else:
            ax.errorbar(levels, each.mean, each.high - each.mean, fmt="o", color=_ACCENT)
        ax.plot([at], [each.value], "o", color=_WARM)
        ax.set_xscale("log" if each.log else ax.get_xscale())
        ax.set_xlabel(_plain_text(each.name))
    return grid.ravel()[: len(found)]


def importance(
    run: Any, *, n_parameters: int = _LINES, objective: int = 0, ax: "Axes | None" = None
) -> "Axes":
    """Draw the share of each parameter in what the model predicts around good points.

    Args:
        run: the run.
        n_parameters: how many parameters are shown.
        objective: number of the objective that the model is of, where there are several.
        ax: where to draw.
    """
    found = _needed(_model.importance(_part(run, objective)), "model")
    names = [_plain_text(name) for name in found.names[:n_parameters]]
    ax = _axes(ax, 6.0, 1.0 + 0.25 * len(names))
    ax.barh(np.arange(len(names)), found.shares[: len(names)], color=_ACCENT)
    ax.set_yticks(np.arange(len(names)), names)
    ax.set_xlabel("share")
    ax.invert_yaxis()
    return ax


def predictions(
    run: Any, *, ahead: bool = False, objective: int = 0, ax: "Axes | None" = None
) -> "Axes":
    """Draw what the model predicts against what came, with 95 % bands.

    Args:
        run: the run.
        ahead: whether to draw what was said of proposals before they were evaluated, and not
            predictions of each evaluation from all others; with one objective only.
        objective: number of the objective that the model is of, where there are several.
        ax: where to draw.
    """
    subject = _part(run, objective)
    said = _model.ahead(subject) if ahead else _model.left_out(subject)
    found = _needed(said, "predictions of this kind")
    ax = _axes(ax, 4.5, 4.5)
    ends = [min(found.actual.min(), found.mean.min()), max(found.actual.max(), found.mean.max())]
    ax.plot(ends, ends, "--", color=_SOFT)
    ax.errorbar(
        found.actual,
        found.mean,
        1.96 * found.deviation,
        fmt=".",
        color=_ACCENT,
        elinewidth=0.5,
        alpha=0.7,
    )
    margin = 0.05 * (ends[1] - ends[0]) or 1.0
    ax.set_ylim(ends[0] - margin, ends[1] + margin)
    ax.set(xlabel="value that came", ylabel="prediction")
    return ax


def features(
    run: Any, *, layer: str = "mean", near: bool = False, ax: "Axes | None" = None
) -> "Axes":
    """Draw the feature space: data, path and balls over the model in two principal directions.

    Args:
        run: a run whose method has features, such as `mgpc`.
        layer: what the colours show: "mean", "deviation" or "acquisition".
        near: whether to draw only what is around the best point.
        ax: where to draw.
    """
    from infold import _checks

    _checks.one_of("layer", layer, _LAYERS)
    found = _needed(_features.feature_map(subject_of(run)), "features")
    ax = _axes(ax, 6.0, 4.5)
    window = found.near if near else found.whole
    values = _needed(getattr(window, layer), layer)
    finite = values[np.isfinite(values)]
    # An acquisition function falls for ever where nothing is to be gained.
    least = np.median(finite) if layer == "acquisition" else np.min(finite)
    mesh = ax.pcolormesh(window.a, window.b, values, vmin=least, rasterized=True)
    ax.figure.colorbar(mesh, ax=ax, label=layer)
    if found.discs is not None:
        from matplotlib.patches import Circle

        for centre, radius in zip(found.discs.centres, found.discs.radii, strict=True):
            ax.add_patch(Circle(tuple(centre), radius, fill=False, color="white", linewidth=0.8))
    a, b = found.places.T
    ax.plot(a, b, color="black", alpha=0.3, linewidth=0.6)
    ax.scatter(a, b, c=found.evaluations, cmap="Oranges", s=14, edgecolors="black")
    ax.set(xlabel="first principal direction", ylabel="second principal direction")
    ax.set(xlim=(window.a[0], window.a[-1]), ylim=(window.b[0], window.b[-1]))
    return ax


def times(run: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the seconds of each evaluation and of the suggestion before it."""
    found = _record.times(subject_of(run))
    ax = _axes(ax)
    steps = np.arange(1, len(found.evaluation) + 1)
    ax.plot(steps, found.evaluation, ".", color=_ACCENT, label="evaluation")
    ax.plot(steps, found.suggestion, ".", color=_ORANGE, label="suggestion")
    ax.set(xlabel="evaluation", ylabel="seconds", yscale="log")
    ax.legend(frameon=False)
    return ax


def region(run: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the side of the trust region at each proposal."""
    found = _needed(_record.region(subject_of(run)), "trust region")
    ax = _axes(ax)
    ax.step(np.arange(1, len(found.side) + 1), found.side, where="post", color=_ACCENT)
    ax.set_yscale("log", base=2)
    ax.set(xlabel="evaluation", ylabel="side of the trust region")
    return ax


def evidence(run: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the evidence for each expert at each proposal."""
    found = _needed(_record.region(subject_of(run)), "experts")
    if not found.experts:
        raise ValueError("there is nothing to draw: the run has no experts")
    ax = _axes(ax)
    steps = np.arange(1, len(found.evidence) + 1)
    for name, scores in zip(found.experts, found.evidence.T, strict=True):
        ax.plot(steps, scores, label=_plain_text(name))
    ax.set(xlabel="evaluation", ylabel="mean log density")
    ax.legend(frameon=False)
    return ax


def _colour(shade: float) -> Any:
    from matplotlib import colormaps

    return colormaps["viridis"](shade)


def _plain_text(name: str) -> str:
    """Return a name that matplotlib does not read as mathematics."""
    return name.replace("$", r"\$")
