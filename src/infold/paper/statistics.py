"""Regret over evaluations, as curves by method and seed."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from infold import problems
from infold.paper.store import Cell

if TYPE_CHECKING:
    import pandas as pd

_SMALLEST = 1e-12  # smaller regrets are rounding errors, and their logarithms meaningless


@dataclass(frozen=True, kw_only=True)
class Series:
    """What a set of runs has in common: a cell of the grid without its seed."""

    problem: str
    method: str
    acquisition: str
    n_features: int

    @property
    def label(self) -> str:
        """The method in words, with its acquisition function and d."""
        d = f"d = {self.n_features}" if self.n_features else ""
        return ", ".join(part for part in (self.method, self.acquisition.upper(), d) if part)


Curves = dict[Series, dict[int, Float[np.ndarray, " n"]]]
"""log10 |f(x_best) - f_min| after each evaluation, by series and seed."""


def curves(table: "pd.DataFrame") -> Curves:
    """Make the curves from a table of `infold.paper.store.tabulate`."""
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
    """Return log10 |best - minimum|, at least -12."""
    return np.log10(np.maximum(np.abs(best - minimum), _SMALLEST))


def at_least(runs: dict[int, np.ndarray], evaluations: int) -> dict[int, np.ndarray]:
    """Select the runs with at least so many evaluations, and cut them there."""
    return {
        seed: curve[:evaluations]
        for seed, curve in sorted(runs.items())
        if len(curve) >= evaluations
    }


def mean_and_error(
    runs: Iterable[np.ndarray],
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Return the mean over runs of equal length and its standard error, NaN for a single run."""
    matrix = np.array(list(runs))
    if len(matrix) < 2:
        return matrix.mean(axis=0), np.full(matrix.shape[1], np.nan)
    return matrix.mean(axis=0), matrix.std(axis=0, ddof=1) / np.sqrt(len(matrix))
