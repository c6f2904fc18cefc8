"""Wilcoxon's signed-rank test, alone, against a margin, and several at once.

A difference is that of a pair: two runs of one seed, for example. The test asks where the middle of
the differences lies, more precisely their pseudomedian, which `middle` estimates. Where the
differences scatter evenly around it, it is their median.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy import stats


def p_below(differences: Sequence[float] | np.ndarray, bound: float = 0.0) -> float:
    """p-value that the differences lie below `bound`: small where that is hard to doubt.

    Differences equal to the bound say nothing. Where there are no others, the p-value is 1.
    """
    shifted = np.asarray(differences, dtype=float) - bound
    if not np.any(shifted != 0.0):
        return 1.0
    return float(stats.wilcoxon(shifted, alternative="less").pvalue)


def p_above(differences: Sequence[float] | np.ndarray, bound: float = 0.0) -> float:
    """p-value that the differences lie above `bound`."""
    return p_below(-np.asarray(differences, dtype=float), -bound)


def p_different(differences: Sequence[float] | np.ndarray) -> float:
    """p-value that the differences do not lie around 0 (two-sided)."""
    return min(1.0, 2.0 * min(p_below(differences), p_above(differences)))


def p_within(differences: Sequence[float] | np.ndarray, margin: float) -> float:
    """p-value that the differences lie between -margin and margin.

    Two one-sided tests, both of which must find it: the larger p-value counts.
    """
    return max(p_above(differences, -margin), p_below(differences, margin))


def middle(differences: Sequence[float] | np.ndarray) -> float:
    """Hodges and Lehmann's estimate: the median of the means of all pairs; NaN where none are."""
    values = np.asarray(differences, dtype=float)
    if not len(values):
        return np.nan
    i, j = np.triu_indices(len(values))
    return float(np.median((values[i] + values[j]) / 2.0))


def holm(p: Sequence[float]) -> Float[np.ndarray, " n"]:
    """Correct p-values of several tests for their number, by Holm's method.

    Of all tests whose corrected p-value is at most 5%, the chance that any finds what is not there
    is at most 5%. The smallest p-value is multiplied by the number of tests n, the next by n - 1
    and so on, and none comes out smaller than the one before it. A p-value that becomes smaller
    makes no other larger.
    """
    values = np.asarray(p, dtype=float)
    order = np.argsort(values)
    factors = np.arange(len(values), 0, -1)
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(np.maximum.accumulate(factors * values[order]), 1.0)
    return corrected
