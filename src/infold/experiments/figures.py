"""Figures. Needs matplotlib (`pip install 'infold[experiments]'`)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infold.experiments.speed import Timing

_OURS = ("mgpc", "mgp", "hmgpc", "hmgp", "dmgpc", "dmgp", "full_space", "random")


def speed(timings: "Sequence[Timing]", path: Path) -> None:
    """Median seconds per suggestion over N, one panel per dimension; ours drawn solid, others dashed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    dimensions = sorted({t.dimension for t in timings})
    names = list(dict.fromkeys(t.name for t in timings))
    figure, axes = plt.subplots(
        1, len(dimensions), figsize=(1.2 + 2.8 * len(dimensions), 3.4), sharey=True, squeeze=False, layout="constrained"
    )
    for axis, dimension in zip(axes[0], dimensions, strict=True):
        for i, name in enumerate(names):
            cells = sorted((t.n, t.median) for t in timings if t.name == name and t.dimension == dimension and t.seconds)
            style = {"linestyle": "-", "linewidth": 2.0} if name in _OURS else {"linestyle": "--", "linewidth": 1.2}
            axis.plot(
                *zip(*cells, strict=True) if cells else ([], []), marker="o", markersize=4, color=f"C{i}", label=name, **style
            )
        axis.set(xscale="log", yscale="log", title=f"D = {dimension}", xlabel="evaluations N")
        axis.grid(alpha=0.3, which="both", linewidth=0.4)
    axes[0, 0].set_ylabel("seconds per suggestion")
    axes[0, -1].legend(fontsize=8)
    figure.savefig(path, dpi=150)
    plt.close(figure)
