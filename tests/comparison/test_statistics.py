"""Statistics of comparisons, by hand and by SciPy."""

import numpy as np
import pytest
from scipy import stats

from infold.comparison import statistics, suite
from infold.comparison.runs import Run, Task
from infold.comparison.statistics import Key

KNOWN, UNKNOWN = "branin-axis-60", "lasso-60"
MINIMUM = suite.get(KNOWN).minimum


def run(optimizer, problem, seed, values, seconds=None, processor=""):
    values = tuple(float(value) for value in values)
    return Run(
        task=Task(problem=problem, optimizer=optimizer, seed=seed),
        values=values,
        seconds=tuple(seconds or [0.0] * len(values)),
        processor=processor,
    )


def flat(start, end, n=20):
    """Values that stay at the start for ten evaluations, and at the end for the others."""
    return [start] * 10 + [end] * (n - 10)


@pytest.fixture
def found():
    """Regrets that fall from 1 to those below: a wins by 10 and by 100, then loses by 10."""
    ends = {
        "a": {("p", 0): 0.01, ("p", 1): 0.001, ("q", 0): 0.1},
        "b": {("p", 0): 0.1, ("p", 1): 0.1, ("q", 0): 0.01},
    }
    names = {"p": KNOWN, "q": "hartmann6-axis-100"}
    runs = [
        run(
            optimizer,
            names[p],
            seed,
            flat(1.0 + (m := suite.get(names[p]).minimum), end + m),
        )
        for optimizer, cells in ends.items()
        for (p, seed), end in cells.items()
    ]
    return statistics.curves(runs)


CELLS = {KNOWN: [0, 1], "hartmann6-axis-100": [0]}


def test_regret_is_a_share_of_that_after_the_first_points():
    values = [MINIMUM + 50.0] * 10 + [MINIMUM + 5.0, MINIMUM + 7.0, MINIMUM]
    curves = statistics.curves([run("a", KNOWN, 0, values)])
    assert curves.best[Key("a", KNOWN, 0)][-2] == MINIMUM + 5.0
    np.testing.assert_allclose(
        curves.log_regret[Key("a", KNOWN, 0)], [0.0] * 10 + [-1.0, -1.0, -6.0], atol=1e-12
    )


def test_regret_where_no_minimum_is_known_is_from_the_best_value_of_any_run():
    curves = statistics.curves(
        [run("a", UNKNOWN, 0, flat(12.0, 7.0)), run("b", UNKNOWN, 0, flat(12.0, 2.0))]
    )
    assert curves.log_regret[Key("a", UNKNOWN, 0)][-1] == pytest.approx(np.log10(0.5))
    assert curves.log_regret[Key("b", UNKNOWN, 0)][-1] == pytest.approx(-2.0)


def test_common_cells_are_those_that_all_have_at_that_length():
    curves = statistics.curves(
        [
            run("a", KNOWN, 0, flat(1.0, 0.9)),
            run("a", KNOWN, 1, flat(1.0, 0.9, 15)),
            run("b", KNOWN, 0, flat(1.0, 0.9)),
            run("b", KNOWN, 1, flat(1.0, 0.9)),
            run("a", UNKNOWN, 0, flat(1.0, 0.9)),
        ]
    )
    assert curves.common(["a", "b"], 20, suite.NAMES) == {KNOWN: [0]}
    assert curves.common(["a", "b"], 15, suite.NAMES) == {KNOWN: [0, 1]}
    assert curves.common(["a"], 15, [UNKNOWN]) == {UNKNOWN: [0]}
    assert curves.common(["a", "c"], 15, suite.NAMES) == {}


def test_mean_ranks_weigh_problems_equally_and_ties_share(found):
    ranks = statistics.mean_ranks(found, ["a", "b"], CELLS, 20)
    assert ranks["a"][[0, 9]].tolist() == ranks["b"][[0, 9]].tolist() == [1.5, 1.5]
    assert (ranks["a"][-1], ranks["b"][-1]) == (1.5, 1.5)
    only = statistics.mean_ranks(found, ["a", "b"], {KNOWN: [0, 1]}, 20)
    assert (only["a"][-1], only["b"][-1]) == (1.0, 2.0)


def test_a_contest_has_the_geometric_mean_over_problems_and_counts_pairs(found):
    against = dict.fromkeys(CELLS, "b")
    contest = statistics.contest(found, "a", against, CELLS, 20)
    # log ratios: mean of -1 and -2 on the first problem, 1 on the second
    assert contest.ratio == pytest.approx(10.0 ** np.mean([-1.5, 1.0]))
    assert (contest.low, contest.high) == (pytest.approx(10.0**-1.5), pytest.approx(10.0))
    assert contest.wins == pytest.approx(2.0 / 3.0)
    assert (contest.n_problems, contest.n_pairs) == (2, 3)
    assert contest.p == stats.wilcoxon([-1.5, 1.0]).pvalue
    turned = statistics.contest(found, "b", dict.fromkeys(CELLS, "a"), CELLS, 20)
    assert turned.ratio == pytest.approx(1.0 / contest.ratio)
    assert turned.wins == pytest.approx(1.0 - contest.wins)
    at_start = statistics.contest(found, "a", against, CELLS, 10)
    assert (at_start.ratio, at_start.wins, at_start.p) == (1.0, 0.5, 1.0)


def test_the_best_opponent_is_chosen_for_each_problem(found):
    best = statistics.best_of_each(found, ["a", "b"], CELLS, 20)
    assert best == {KNOWN: "a", "hartmann6-axis-100": "b"}
    assert statistics.contest(found, "a", best, CELLS, 20).ratio >= 1.0


def test_the_area_is_the_mean_logarithm_after_the_first_points(found):
    assert statistics.area(found, "a", CELLS, 20) == pytest.approx(np.mean([-2.5, -1.0]))
    assert statistics.area(found, "b", {KNOWN: [0]}, 20) == pytest.approx(-1.0)


def test_medians_are_over_seeds():
    curves = statistics.curves([run("a", KNOWN, s, flat(90.0, 10.0 + s)) for s in range(3)])
    medians = statistics.median_values(curves, ["a"], {KNOWN: [0, 1, 2]}, 20)
    assert medians == {KNOWN: {"a": 11.0}}


def test_intervals_cover_the_mean_as_often_as_they_say(rng):
    covered = 0
    for _ in range(100):
        low, high = statistics.interval(rng.normal(size=25).tolist())
        covered += low < 0.0 < high
    assert 85 <= covered <= 100
    assert np.all(np.isnan(statistics.interval([1.0])))


def test_seconds_are_of_one_processor_and_of_problems_that_all_have():
    fast, slow = [0.1] * 60, [0.0] * 50 + [9.0] * 10
    runs = [
        run("a", KNOWN, 0, [1.0] * 60, fast, "x"),
        run("a", UNKNOWN, 0, [1.0] * 60, slow, "x"),
        run("a", KNOWN, 1, [1.0] * 60, slow, "y"),
        run("b", KNOWN, 0, [1.0] * 60, slow, "x"),
    ]
    assert statistics.seconds(runs, [60, 100]) == {
        "a": {60: pytest.approx(0.1)},
        "b": {60: pytest.approx(9.0)},
    }
    assert statistics.seconds([], [60]) == {}
