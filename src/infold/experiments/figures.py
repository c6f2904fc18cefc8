"""Figures. Needs matplotlib (`pip install 'infold[experiments]'`)."""

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from infold.experiments.speed import Timing
    from infold.experiments.statistics import Curves as Regrets

Curves = dict[str, tuple[Sequence[float], Sequence[float]]]
"""By name: places along the abscissa and values."""


def _panels(n: int, width: float, sharey: bool = False) -> "tuple[Figure, list[Axes]]":
    """A figure that belongs to no window, and its panels side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.2 + width * n, 3.4), layout="constrained")
    return figure, list(figure.subplots(1, n, squeeze=False, sharey=sharey)[0])


def _logarithmic(axis: "Axes", ticks: Iterable[float], **labels: str) -> None:
    axis.set(xscale="log", yscale="log", **labels)
    axis.set_xticks(sorted(ticks), [f"{tick:g}" for tick in sorted(ticks)])
    axis.set_xticks([], minor=True)
    axis.grid(alpha=0.3, which="both", linewidth=0.4)


def speed(timings: "Sequence[Timing]", path: Path) -> None:
    """Median seconds per suggestion over N, one panel per dimension; ours drawn solid, others dashed."""
    from infold.experiments.contenders import PEERS

    dimensions = sorted({t.dimension for t in timings})
    names = list(dict.fromkeys(t.name for t in timings))
    figure, axes = _panels(len(dimensions), 2.8, sharey=True)
    for axis, dimension in zip(axes, dimensions, strict=True):
        for i, name in enumerate(names):
            cells = sorted((t.n, t.median) for t in timings if t.name == name and t.dimension == dimension and t.seconds)
            style, width = ("--", 1.2) if name in PEERS else ("-", 2.0)
            axis.plot(
                [n for n, _ in cells],
                [seconds for _, seconds in cells],
                marker="o",
                markersize=4,
                color=f"C{i}",
                label=name,
                linestyle=style,
                linewidth=width,
            )
        _logarithmic(axis, {t.n for t in timings}, title=f"D = {dimension}", xlabel="evaluations N")
    axes[0].set_ylabel("seconds per suggestion")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", fontsize=8)
    figure.savefig(path, dpi=150)


def growth(panels: dict[str, Curves], path: Path) -> None:
    """Seconds over sizes, one panel per size, each with a dashed line of slope 3 through the end of its highest curve."""
    figure, axes = _panels(len(panels), 3.6)
    for axis, (size, curves) in zip(axes, panels.items(), strict=True):
        for name, (sizes, seconds) in curves.items():
            axis.plot(sizes, seconds, marker="o", markersize=4, label=name)
        sizes, seconds = max(curves.values(), key=lambda curve: curve[1][-1])
        axis.plot(sizes, [seconds[-1] * (s / sizes[-1]) ** 3 for s in sizes], "k--", linewidth=1.0, label="slope 3")
        _logarithmic(
            axis, {s for places, _ in curves.values() for s in places}, xlabel=size, ylabel="seconds per value and gradient"
        )
        axis.legend(fontsize=8)
    figure.savefig(path, dpi=150)


LEGEND = {
    "mgpc": ("MGPC-BO", "C0", "-"),
    "hmgpc": ("HMGPC-BO", "C1", "-"),
    "dmgpc": ("DMGPC-BO", "C2", "-"),
    "mgp": ("MGP-BO", "C0", "--"),
    "hmgp": ("HMGP-BO", "C1", "--"),
    "dmgp": ("DMGP-BO", "C2", "--"),
    "add": ("ADD-BO", "C3", "-."),
    "rembo": ("REMBO", "C4", "-."),
    "vae": ("VAE-BO", "C5", "-."),
}
"""The paper's names, in the order of its text; constrained variants solid, their twins dashed, other methods dash-dotted."""


def regrets(curves: "Regrets", problem: str, lengths: Sequence[int]) -> "Figure":
    """Mean and standard error over seeds of log10 regret, one panel per acquisition function, or per d on the Thomson problem.

    Every curve has the first of the `lengths`, numbers of evaluations, that at least two of its runs reached, or goes as far as
    all of them do; the legend says how many runs the panels have at least and at most.
    """
    from infold.experiments.runner import N_INITIAL, paper_acquisitions, paper_features
    from infold.experiments.statistics import Series, at_least, mean_and_error

    features = paper_features(problem)
    panels = list(itertools.product(paper_acquisitions(problem), features))
    figure, axes = _panels(len(panels), 3.2, sharey=True)
    handles: dict[str, Any] = {}
    seeds: dict[str, set[int]] = {}
    for axis, (acquisition, d) in zip(axes, panels, strict=True):
        for method, (label, color, style) in LEGEND.items():
            runs = curves.get(Series(problem=problem, method=method, acquisition=acquisition, n_features=d), {})
            if not runs:
                continue
            shortest = min(map(len, runs.values()))
            long = next((cut for length in (*lengths, shortest) if len(cut := at_least(runs, length)) > 1), runs)
            mean, error = (part[N_INITIAL - 1 :] for part in mean_and_error(long.values()))
            (handles[label],) = axis.plot(range(len(mean)), mean, style, color=color, linewidth=1.4)
            axis.fill_between(range(len(mean)), mean - error, mean + error, color=color, alpha=0.15, linewidth=0)
            seeds.setdefault(label, set()).add(len(long))
        axis.set(title=acquisition.upper() if len(features) == 1 else f"d = {d}, PI", xlabel="iterations")
        axis.grid(alpha=0.3, linewidth=0.4)
    axes[0].set_ylabel("log10 regret")
    order = [label for label, *_ in LEGEND.values() if label in handles]
    labels = [f"{label} ({'-'.join(map(str, sorted({min(seeds[label]), max(seeds[label])})))} seeds)" for label in order]
    figure.legend([handles[label] for label in order], labels, loc="outside right center", fontsize=8)
    return figure
