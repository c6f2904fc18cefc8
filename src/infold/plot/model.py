"""What the model of a run says."""

from typing import TYPE_CHECKING, Any

import numpy as np

from infold.plot.drawing import ACCENT, LINES, SOFT, WARM, axes_of, needed, plain_text
from infold.report.figures import features as _features
from infold.report.figures import model as _model
from infold.report.subject import Subject, subject_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LAYERS = ("mean", "deviation", "acquisition")


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
    first = axes_of(None, 3.0 * min(columns, len(found)), 2.2 * -(-len(found) // columns))
    figure = first.figure
    first.remove()
    grid = figure.subplots(-(-len(found) // columns), min(columns, len(found)), squeeze=False)
    for ax in grid.ravel()[len(found) :]:
        ax.remove()
    for ax, each in zip(grid.ravel(), found, strict=False):
        levels = each.levels if each.is_number else [str(level) for level in each.levels]
        at = each.at if each.is_number else str(each.at)
        if each.is_number:
            ax.fill_between(levels, each.low, each.high, color=ACCENT, alpha=0.2, linewidth=0)
            ax.plot(levels, each.mean, color=ACCENT)
        else:
            ax.errorbar(levels, each.mean, each.high - each.mean, fmt="o", color=ACCENT)
        ax.plot([at], [each.value], "o", color=WARM, zorder=3)
        if each.log:
            ax.set_xscale("log")
        ax.set_xlabel(plain_text(each.name))
    return grid.ravel()[: len(found)]


def importance(
    run: Any, *, n_parameters: int = LINES, objective: int = 0, ax: "Axes | None" = None
) -> "Axes":
    """Draw the share of each parameter in what the model predicts around good points.

    Args:
        run: the run.
        n_parameters: how many parameters are shown.
        objective: number of the objective that the model is of, where there are several.
        ax: where to draw.
    """
    found = needed(_model.importance(_part(run, objective)), "model")
    names = [plain_text(name) for name in found.names[:n_parameters]]
    ax = axes_of(ax, 6.0, 1.0 + 0.25 * len(names))
    ax.barh(np.arange(len(names)), found.shares[: len(names)], color=ACCENT)
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
    found = needed(said, "predictions of this kind")
    ax = axes_of(ax, 4.5, 4.5)
    ends = [min(found.actual.min(), found.mean.min()), max(found.actual.max(), found.mean.max())]
    ax.plot(ends, ends, "--", color=SOFT)
    ax.errorbar(
        found.actual,
        found.mean,
        1.96 * found.deviation,
        fmt=".",
        color=ACCENT,
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
    found = needed(_features.feature_map(subject_of(run)), "features")
    ax = axes_of(ax, 6.0, 4.5)
    window = found.near if near else found.whole
    values = needed(getattr(window, layer), layer)
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


def _part(run: Any, objective: int) -> Subject:
    """Return one objective of a run."""
    parts = subject_of(run).parts
    if not 0 <= objective < len(parts):
        raise ValueError(f"objective = {objective}: the run has {len(parts)}, numbered from 0")
    return parts[objective]
