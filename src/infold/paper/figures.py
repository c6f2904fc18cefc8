"""The paper's figures. Needs matplotlib (`pip install 'infold[experiments]'`)."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from infold.comparison.figures import panels as side_by_side

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from infold.paper.statistics import Curves as Regrets

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
"""Each method's name in the paper, colour and line style, in the order of the paper's text.

Constrained variants are solid, their unconstrained twins dashed, other methods dash-dotted.
"""


def regrets(curves: "Regrets", problem: str, lengths: Sequence[int]) -> "Figure":
    """Draw the mean and standard error over seeds of log10 regret.

    There is one panel per acquisition function, or per d on the Thomson problem. The legend gives
    the smallest and the largest number of seeds behind a method's curves.

    Args:
        curves: regrets of the runs, by series and seed.
        problem: name of the test problem.
        lengths: numbers of evaluations, in order of preference. A curve has the first of them that
            at least two of its runs reached; without one it ends where its shortest run ends.
    """
    from infold.paper.runner import N_INITIAL, paper_acquisitions, paper_features
    from infold.paper.statistics import Series, at_least, mean_and_error

    features = paper_features(problem)
    panels = list(itertools.product(paper_acquisitions(problem), features))
    figure, axes = side_by_side(len(panels), 3.2, sharey=True)
    handles: dict[str, Any] = {}
    seeds: dict[str, set[int]] = {}
    for axis, (acquisition, d) in zip(axes, panels, strict=True):
        for method, (label, color, style) in LEGEND.items():
            runs = curves.get(
                Series(problem=problem, method=method, acquisition=acquisition, n_features=d), {}
            )
            if not runs:
                continue
            shortest = min(map(len, runs.values()))
            long = next(
                (cut for length in (*lengths, shortest) if len(cut := at_least(runs, length)) > 1),
                runs,
            )
            mean, error = (part[N_INITIAL - 1 :] for part in mean_and_error(long.values()))
            (handles[label],) = axis.plot(range(len(mean)), mean, style, color=color, linewidth=1.4)
            axis.fill_between(
                range(len(mean)), mean - error, mean + error, color=color, alpha=0.15, linewidth=0
            )
            seeds.setdefault(label, set()).add(len(long))
        axis.set(
            title=acquisition.upper() if len(features) == 1 else f"d = {d}, PI", xlabel="iterations"
        )
        axis.grid(alpha=0.3, linewidth=0.4)
    axes[0].set_ylabel("log10 regret")
    order = [label for label, *_ in LEGEND.values() if label in handles]
    labels = [
        f"{label} ({'-'.join(map(str, sorted({min(seeds[label]), max(seeds[label])})))} seeds)"
        for label in order
    ]
    figure.legend(
        [handles[label] for label in order], labels, loc="outside right center", fontsize=8
    )
    return figure
