import numpy as np
import pytest
from scipy import stats

from infold import problems
from infold.paper import statistics
from infold.paper.statistics import Series, compare
from infold.paper.store import Cell, Run, tabulate


def test_curves_are_logarithms_of_the_regret_of_the_best_so_far(rng):
    cell = Cell(
        problem="product-of-sines-linear", method="add", acquisition="ei", n_features=10, seed=3
    )
    values = rng.normal(size=30)
    series = Series(problem=cell.problem, method="add", acquisition="ei", n_features=10)
    found = statistics.curves(tabulate([Run(cell=cell, values=tuple(values))]))
    assert list(found) == [series]
    minimum = problems.get(cell.problem).minimum
    expected = [np.log10(min(values[: i + 1]) - minimum) for i in range(30)]
    np.testing.assert_allclose(found[series][3], expected, rtol=1e-12)


def test_a_regret_of_zero_is_finite():
    assert statistics.log_regret(np.array([1.0]), 1.0) == -12.0


def test_mean_and_standard_error_match_scipy(rng):
    runs = rng.normal(size=(7, 5))
    mean, error = statistics.mean_and_error(runs)
    np.testing.assert_allclose(mean, runs.mean(axis=0))
    np.testing.assert_allclose(error, stats.sem(runs, axis=0))
    assert np.all(np.isnan(statistics.mean_and_error(runs[:1])[1]))


def test_wilcoxon_by_counting_all_signs(rng):
    """Under the null hypothesis all choices of signs are equally likely: all 2^8 are counted."""
    a, b = rng.normal(size=8), rng.normal(size=8) + 0.8
    ranks = stats.rankdata(np.abs(a - b))
    signs = np.array(np.meshgrid(*[[0, 1]] * 8)).reshape(8, -1)
    sums, seen = ranks @ signs, np.sum(ranks[a > b])
    result = compare(a, b)
    assert result.p_less == pytest.approx(np.mean(sums <= seen))
    assert result.p_greater == pytest.approx(np.mean(sums >= seen))
    assert result.median_a == np.median(a)
    assert compare(b, a).p_greater == pytest.approx(result.p_less)


def test_equal_sides_and_no_sides_say_nothing():
    assert compare([1.0, 2.0], [1.0, 2.0])[3:] == (1.0, 1.0, 1.0)
    empty = compare([], [])
    assert empty.n == 0
    assert empty.p_less == 1.0


def test_runs_that_are_too_short_are_left_out():
    runs = {1: np.arange(5.0), 0: np.arange(9.0)}
    assert {seed: len(curve) for seed, curve in statistics.at_least(runs, 6).items()} == {0: 6}
