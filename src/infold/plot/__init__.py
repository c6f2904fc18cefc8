"""The figures of a report as matplotlib axes, for notebooks and papers.

Each function takes a result of `minimize`, an `Optimizer`, the path of a run file or an Optuna
study. It draws into the axes `ax`, or into a new figure, and returns the axes.

>>> infold.plot.convergence(result).figure.savefig("convergence.pdf")
"""

from infold.plot.model import features, importance, predictions, slices
from infold.plot.record import evidence, region, times
from infold.plot.values import best_tenth, constraints, convergence, front, hypervolume

__all__ = [
    "best_tenth",
    "constraints",
    "convergence",
    "evidence",
    "features",
    "front",
    "hypervolume",
    "importance",
    "predictions",
    "region",
    "slices",
    "times",
]
