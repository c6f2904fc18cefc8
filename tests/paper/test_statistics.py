import numpy as np
from scipy import stats

from infold import problems
from infold.paper import statistics
from infold.paper.statistics import Series
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


def test_runs_that_are_too_short_are_left_out():
    runs = {1: np.arange(5.0), 0: np.arange(9.0)}
    assert {seed: len(curve) for seed, curve in statistics.at_least(runs, 6).items()} == {0: 6}
