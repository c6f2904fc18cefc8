"""Regret over evaluations, and tests of who ends lower."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import stats

from infold import problems
from infold.paper.store import Cell

if TYPE_CHECKING:
    import pandas as pd

_SMALLEST = 1e-12  # regret below rounding, whose logarithm would say nothing


@dataclass(frozen=True, kw_only=True)
class Series:
    """All runs of a cell of the grid but for the seed."""

    problem: str
    method: str
    acquisition: str
    n_features: int


Curves = dict[Series, dict[int, Float[np.ndarray, " n"]]]
"""By series and seed: log10 |f(x_best) - f_min| after each evaluation."""


def curves(table: "pd.DataFrame") -> Curves:
    """The curves of a table of `infold.paper.store.tabulate`."""
    found: Curves = {}
    minima = {name: problems.get(name).minimum for name in table["problem"].unique()}
    for (problem, method, acquisition, n_features, seed), rows in table.groupby(
        list(Cell.__dataclass_fields__), sort=False
    ):
        evaluations = rows["evaluations"].to_numpy()
        best = np.repeat(rows["best"].to_numpy(), np.diff(evaluations, append=evaluations[-1] + 1))
        series = Series(
            problem=problem, method=method, acquisition=acquisition, n_features=int(n_features)
        )
        found.setdefault(series, {})[int(seed)] = log_regret(best, minima[problem])
    return found


def log_regret(best: Float[np.ndarray, " n"], minimum: float) -> Float[np.ndarray, " n"]:
    """log10 |best - minimum|."""
    return np.log10(np.maximum(np.abs(best - minimum), _SMALLEST))


def at_least(runs: dict[int, np.ndarray], evaluations: int) -> dict[int, np.ndarray]:
    """The runs that went so far, cut there."""
    return {
        seed: curve[:evaluations]
        for seed, curve in sorted(runs.items())
        if len(curve) >= evaluations
    }


def mean_and_error(
    runs: Iterable[np.ndarray],
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Mean over runs of equal length, and its standard error (NaN for one run)."""
    matrix = np.array(list(runs))
    if len(matrix) < 2:
        return matrix.mean(axis=0), np.full(matrix.shape[1], np.nan)
    return matrix.mean(axis=0), matrix.std(axis=0, ddof=1) / np.sqrt(len(matrix))


class Comparison(NamedTuple):
    """Paired values of two sides."""

    n: int
    median_a: float
    median_b: float
    p_less: float
    """Of the Wilcoxon signed-rank test: how surprising the values are if a is not the lower side."""
    p_greater: float
    p_two_sided: float


def compare(a: Sequence[float], b: Sequence[float]) -> Comparison:
    """Is a lower than b? Pairs that are equal say nothing; without any other every p-value is 1."""
    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if len(first) == 0:
        return Comparison(0, np.nan, np.nan, 1.0, 1.0, 1.0)

    def p(alternative: str) -> float:
        if not np.any(first != second):
            return 1.0
        return float(stats.wilcoxon(first, second, alternative=alternative).pvalue)

    medians = float(np.median(first)), float(np.median(second))
    return Comparison(len(first), *medians, p("less"), p("greater"), p("two-sided"))
