"""The paper's figures. Needs matplotlib (`pip install 'infold[experiments]'`).

They are as wide as a printed page, and no curve is known by its colour alone: markers tell the
methods apart, line styles the kinds.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from infold.paper.runner import N_INITIAL, paper_acquisitions, paper_features
from infold.paper.statistics import Series, at_least, mean_and_error

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from infold.paper.statistics import Curves


class Style(NamedTuple):
    """How a method is drawn."""

    label: str
    color: str
    line: str
    marker: str
    filled: bool = True


_BLUE, _RED, _GREEN = "#0072b2", "#d55e00", "#009e73"  # colours that the colour-blind tell apart
METHODS = {
    "mgpc": Style("MGPC-BO", _BLUE, "-", "o"),
    "hmgpc": Style("HMGPC-BO", _RED, "-", "s"),
    "dmgpc": Style("DMGPC-BO", _GREEN, "-", "^"),
    "mgp": Style("MGP-BO", _BLUE, "--", "o", filled=False),
    "hmgp": Style("HMGP-BO", _RED, "--", "s", filled=False),
    "dmgp": Style("DMGP-BO", _GREEN, "--", "^", filled=False),
    "add": Style("ADD-BO", "#cc79a7", "-.", "D"),
    "rembo": Style("REMBO", "#e69f00", "-.", "v"),
    "vae": Style("VAE-BO", "#56b4e9", "-.", "P"),
}
"""The paper's methods with their names there, in the order of its text.

Constrained variants are solid with full markers, their unconstrained twins dashed with empty ones,
other methods dash-dotted.
"""
REFERENCES = {
    "full_space": Style("full_space, EI", "#777777", ":", "x"),
    "auto": Style("auto, EI", "black", ":", "*"),
}
"""Methods of this library that the paper does not have, dotted. They are run with expected
improvement, their default, and have no d."""
_STYLES = METHODS | REFERENCES
_WIDTH = 7.2  # inches: a page between its margins
_HEIGHT = 2.5  # of a row of panels
_SPACING = 60  # iterations from one marker of a curve to the next
_SIZES: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "legend.fontsize": 7.5,
    "lines.linewidth": 1.1,
    "lines.markersize": 4.5,
    "axes.linewidth": 0.6,
}


def regrets(curves: "Curves", problem: str, lengths: Sequence[int]) -> "Figure":
    """Draw the mean and standard error over seeds of log10 regret.

    There is one panel per acquisition function, or per d on the Thomson problem. Where there are
    runs of `REFERENCES`, a last panel shows them beside the curve of the others that ends lowest;
    it has a scale of its own, since the others would be one line there. Standard errors are bars at
    the markers. The legend gives the smallest and the largest number of seeds behind a method's
    curves.

    Args:
        curves: regrets of the runs, by series and seed.
        problem: name of the test problem.
        lengths: numbers of evaluations, in order of preference. A curve has the first of them that
            at least two of its runs reached; without one it ends where its shortest run ends.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    panels: dict[str, Panel] = {}
    for acquisition, d in itertools.product(paper_acquisitions(problem), paper_features(problem)):
        title = acquisition.upper()
        if len(paper_features(problem)) > 1:
            title += f", d = {d}"
        panels[title] = _panel(curves, METHODS, problem, acquisition, d, lengths)
    references = _panel(curves, REFERENCES, problem, "ei", 0, lengths)
    n_paper = len(panels)
    if references:
        title, name, runs = _lowest(panels)
        panels[f"beside {METHODS[name].label}, {title}"] = {name: runs} | references
    columns = 2 if len(panels) == 4 else 3
    n_rows = -(-len(panels) // columns)
    with mpl.rc_context(_SIZES):
        figure = Figure(figsize=(_WIDTH, _HEIGHT * n_rows + 0.8), layout="constrained")
        axes = list(figure.subplots(n_rows, columns, squeeze=False).flat)
        for i, (title, panel) in enumerate(panels.items()):
            for name, runs in panel.items():
                _draw(axes[i], name, runs)
            axes[i].set_title(title)
            axes[i].grid(alpha=0.4, linewidth=0.4)
            if i % columns == 0:
                axes[i].set_ylabel("log$_{10}$ regret")
            if i + columns >= len(panels):
                axes[i].set_xlabel("iterations")
        limits = [axis.get_ylim() for axis in axes[:n_paper]]
        for axis in axes[:n_paper]:
            axis.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
        for axis in axes[len(panels) :]:
            axis.set_axis_off()
        _legend(figure, axes, list(panels.values()))
    return figure


Panel = dict[str, dict[int, "np.ndarray"]]
"""Runs of a panel by method and seed."""


def _panel(
    curves: "Curves",
    names: Iterable[str],
    problem: str,
    acquisition: str,
    d: int,
    lengths: Sequence[int],
) -> Panel:
    """Return the runs of these methods, those of one method equally long."""
    found = {}
    for name in names:
        series = Series(problem=problem, method=name, acquisition=acquisition, n_features=d)
        if series in curves:
            found[name] = _longest(curves[series], lengths)
    return found


def _lowest(panels: Mapping[str, Panel]) -> "tuple[str, str, dict[int, np.ndarray]]":
    """Return panel, method and runs of the curve that ends lowest, among those that are longest."""
    every = [(title, name, runs) for title, panel in panels.items() for name, runs in panel.items()]
    length = max(len(curve) for _, _, runs in every for curve in runs.values())
    long = [item for item in every if all(len(curve) == length for curve in item[2].values())]
    return min(long or every, key=lambda item: mean_and_error(item[2].values())[0][-1])


def _longest(runs: "dict[int, np.ndarray]", lengths: Sequence[int]) -> "dict[int, np.ndarray]":
    """Cut runs to the first of these lengths that two of them have, or else to the shortest."""
    shortest = min(map(len, runs.values()))
    cuts = (at_least(runs, length) for length in (*lengths, shortest))
    return next((cut for cut in cuts if len(cut) > 1), runs)


def _draw(axis: "Axes", name: str, runs: "dict[int, np.ndarray]") -> None:
    style = _STYLES[name]
    mean, error = (part[N_INITIAL - 1 :] for part in mean_and_error(runs.values()))
    # Every method has its own places for markers, so that bars of two do not lie on each other.
    first = (list(_STYLES).index(name) + 1) * _SPACING // (len(_STYLES) + 1)
    places = range(min(first, len(mean) - 1), len(mean), _SPACING)
    axis.plot(
        range(len(mean)),
        mean,
        style.line,
        color=style.color,
        marker=style.marker,
        markevery=list(places),
        markerfacecolor=style.color if style.filled else "white",
        markeredgewidth=0.9,
        label=name,
    )
    axis.errorbar(
        list(places),
        mean[places],
        error[places],
        fmt="none",
        ecolor=style.color,
        elinewidth=0.9,
        capsize=1.5,
    )


def _legend(figure: "Figure", axes: "Sequence[Axes]", panels: Sequence[Panel]) -> None:
    """Name the methods, with the numbers of seeds behind them: in a free place or below."""
    handles: dict[str, Any] = {}
    for axis in axes:
        lines, names = axis.get_legend_handles_labels()
        handles.update(zip(names, lines, strict=True))
    shown = [name for name in _STYLES if name in handles]
    labels = []
    for name in shown:
        seeds = [len(panel[name]) for panel in panels if name in panel]
        numbers = sorted({min(seeds), max(seeds)})
        labels.append(f"{_STYLES[name].label} ({'-'.join(map(str, numbers))} seeds)")
    lines = [handles[name] for name in shown]
    style: dict[str, Any] = {
        "handlelength": 3.0,
        "columnspacing": 1.2,
        "handletextpad": 0.5,
        "frameon": False,
    }
    if len(axes) > len(panels):
        axes[-1].legend(lines, labels, loc="center", **style)
    else:
        figure.legend(lines, labels, loc="outside lower center", ncols=4, **style)
