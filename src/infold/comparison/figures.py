"""Figures of comparisons and of measured times.

Needs matplotlib (`pip install 'infold[experiments]'`).
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from infold.comparison.page import Field
    from infold.comparison.speed import Timing
    from infold.comparison.statistics import Cells

Curves = dict[str, tuple[Sequence[float], Sequence[float]]]
"""Places along the abscissa and the values there, by the name of the curve."""


def panels(n: int, width: float, sharey: bool = False) -> "tuple[Figure, list[Axes]]":
    """Make a figure without a window, and `n` panels side by side in it.

    Args:
        n: number of panels.
        width: width of a panel in inches.
        sharey: whether the panels share one ordinate.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.2 + width * n, 3.4), layout="constrained")
    return figure, list(figure.subplots(1, n, squeeze=False, sharey=sharey)[0])


def _logarithmic(axis: "Axes", ticks: Iterable[float], **labels: str) -> None:
    axis.set(xscale="log", yscale="log", **labels)
    axis.set_xticks(sorted(ticks), [f"{tick:g}" for tick in sorted(ticks)])
    axis.set_xticks([], minor=True)
    axis.grid(alpha=0.3, which="both", linewidth=0.4)


def speed(timings: "Sequence[Timing]", path: Path) -> None:
    """Draw the median seconds per suggestion over N, with one panel per dimension.

    Our methods are solid, others dashed.
    """
    from infold.comparison.contenders import PEERS

    dimensions = sorted({t.dimension for t in timings})
    names = list(dict.fromkeys(t.name for t in timings))
    figure, axes = panels(len(dimensions), 2.8, sharey=True)
    for axis, dimension in zip(axes, dimensions, strict=True):
        for i, name in enumerate(names):
            cells = sorted(
                (t.n, t.median)
                for t in timings
                if t.name == name and t.dimension == dimension and t.seconds
            )
            axis.plot(
                [n for n, _ in cells],
                [seconds for _, seconds in cells],
                marker="o",
                markersize=4,
                color=f"C{i}",
                label=name,
                linestyle="--" if name in PEERS else "-",
                linewidth=1.2 if name in PEERS else 2.0,
            )
        _logarithmic(axis, {t.n for t in timings}, title=f"D = {dimension}", xlabel="evaluations N")
    axes[0].set_ylabel("seconds per suggestion")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", fontsize=8)
    figure.savefig(path, dpi=150)


def growth(sizes_and_curves: dict[str, Curves], path: Path) -> None:
    """Draw seconds over a size, with one panel per kind of size.

    A dashed line of slope 3 goes through the end of each panel's highest curve.
    """
    figure, axes = panels(len(sizes_and_curves), 3.6)
    for axis, (size, curves) in zip(axes, sizes_and_curves.items(), strict=True):
        for name, (sizes, seconds) in curves.items():
            axis.plot(sizes, seconds, marker="o", markersize=4, label=name)
        sizes, seconds = max(curves.values(), key=lambda curve: curve[1][-1])
        axis.plot(
            sizes,
            [seconds[-1] * (s / sizes[-1]) ** 3 for s in sizes],
            "k--",
            linewidth=1.0,
            label="slope 3",
        )
        _logarithmic(
            axis,
            {s for places, _ in curves.values() for s in places},
            xlabel=size,
            ylabel="seconds per value and gradient",
        )
        axis.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def regrets(field: "Field", path: Path) -> None:
    """Draw the geometric mean of the regrets over evaluations, with one panel per half."""
    from infold.comparison.statistics import mean_log_regret

    n = field.marks[-1]

    def curves(cells: "Cells") -> "dict[str, np.ndarray]":
        return {
            name: 10.0 ** mean_log_regret(field.curves, name, cells, n) for name in field.optimizers
        }

    _progress(field, curves, "regret, as a share of that at the start", "log", path)


def ranks(field: "Field", path: Path) -> None:
    """Draw the mean ranks over evaluations, with one panel per half."""
    from infold.comparison.statistics import mean_ranks

    def curves(cells: "Cells") -> "dict[str, np.ndarray]":
        return mean_ranks(field.curves, field.optimizers, cells, field.marks[-1])

    _progress(field, curves, "mean rank", "linear", path)


def _progress(
    field: "Field",
    curves: "Callable[[Cells], dict[str, np.ndarray]]",
    label: str,
    scale: str,
    path: Path,
) -> None:
    from infold.comparison.contenders import N_FIRST

    figure, axes = panels(len(field.halves), 3.4, sharey=True)
    for axis, half in zip(axes, field.halves, strict=True):
        cells = field.cells(half, field.marks[-1])
        for i, (name, curve) in enumerate(curves(cells).items()):
            axis.plot(
                range(N_FIRST, len(curve) + 1),
                curve[N_FIRST - 1 :],
                color=f"C{i}",
                label=name,
                linewidth=2.4 if name == field.ours else 1.2,
            )
        axis.set(title=f"{half}: {len(cells)} problems", xlabel="evaluations", yscale=scale)
        axis.grid(alpha=0.3, which="both", linewidth=0.4)
    axes[0].set_ylabel(label)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", fontsize=8)
    figure.savefig(path, dpi=130)
