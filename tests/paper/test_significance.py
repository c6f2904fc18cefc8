import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from infold.paper.significance import holm, middle, p_above, p_below, p_different, p_within

LEVEL = 0.05


def by_counting(differences: np.ndarray) -> tuple[float, float]:
    """Chances of a sum of positive ranks as low, and as high, over all choices of signs."""
    n = len(differences)
    ranks = stats.rankdata(np.abs(differences))
    sums = np.array(list(itertools.product([0, 1], repeat=n))) @ ranks
    seen = np.sum(ranks[differences > 0])
    return float(np.mean(sums <= seen)), float(np.mean(sums >= seen))


@pytest.mark.parametrize("bound", [-0.4, 0.0, 0.3])
def test_p_values_are_those_of_counting_all_signs(bound, rng):
    """Under the null hypothesis all choices of signs are equally likely: all 2^8 are counted."""
    differences = rng.normal(size=8) - 0.5
    less, greater = by_counting(differences - bound)
    assert p_below(differences, bound) == pytest.approx(less)
    assert p_above(differences, bound) == pytest.approx(greater)


def test_the_two_sided_p_value_is_that_of_scipy(rng):
    for _ in range(20):
        differences = rng.normal(size=20) + 0.3 * rng.normal()
        expected = stats.wilcoxon(differences).pvalue
        assert p_different(differences) == pytest.approx(expected)


def test_differences_equal_to_the_bound_say_nothing():
    assert p_below([], 0.1) == p_above([]) == p_different([]) == p_within([], 0.1) == 1.0
    assert p_below([0.25] * 5, 0.25) == p_above([0.25] * 5, 0.25) == 1.0
    assert p_below([0.25, 0.0, 0.1], 0.25) == p_below([0.0, 0.1], 0.25)


def test_p_within_is_the_larger_of_two_counted_tests(rng):
    differences = 0.2 * rng.normal(size=9)
    margin = 0.15
    expected = max(by_counting(differences + margin)[1], by_counting(differences - margin)[0])
    assert p_within(differences, margin) == pytest.approx(expected)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_differences_at_the_margin_are_found_within_it_at_the_level(side):
    """The hardest null hypothesis: exactly as far apart as the margin. One in twenty passes."""
    rng = np.random.default_rng(0)
    samples = side * 0.1 + 0.05 * rng.normal(size=(4000, 20))
    share = np.mean([p_within(differences, 0.1) <= LEVEL for differences in samples])
    assert share == pytest.approx(LEVEL, abs=3.0 * np.sqrt(LEVEL * (1 - LEVEL) / 4000) + 0.002)


def test_equal_sides_are_found_within_the_margin_when_they_scatter_little(rng):
    def share(scatter: float) -> float:
        samples = scatter * rng.normal(size=(300, 20))
        return float(np.mean([p_within(differences, 0.1) <= LEVEL for differences in samples]))

    assert share(0.05) > 0.99
    assert share(0.5) < 0.05


def test_the_middle_is_the_bound_at_which_the_test_cannot_decide(rng):
    differences = rng.exponential(size=21)
    found = middle(differences)
    means = [(a + b) / 2 for i, a in enumerate(differences) for b in differences[i:]]
    assert found == pytest.approx(np.median(means))
    assert p_below(differences, found) == pytest.approx(0.5, abs=0.02)
    assert p_above(differences, found) == pytest.approx(0.5, abs=0.02)
    assert np.isnan(middle([]))


def test_holm_gives_values_computed_by_hand():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.6, 0.02, 0.7]), [1.0, 0.06, 1.0])
    np.testing.assert_allclose(holm([0.04]), [0.04])
    assert len(holm([])) == 0


P_VALUES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8)


@given(P_VALUES, st.sampled_from([0.01, 0.05, 0.3]))
def test_holm_rejects_what_stepping_down_rejects(p, level):
    """Holm (1979): go from the smallest p upwards, and stop at the first above level / (n - i)."""
    rejected = set()
    for i, index in enumerate(sorted(range(len(p)), key=lambda k: p[k])):
        if p[index] * (len(p) - i) > level:
            break
        rejected.add(index)
    assert {i for i, value in enumerate(holm(p)) if value <= level} == rejected


@given(P_VALUES, st.data())
def test_a_smaller_p_value_makes_no_corrected_one_larger(p, data):
    index = data.draw(st.integers(0, len(p) - 1))
    smaller = [*p[:index], p[index] * data.draw(st.floats(0.0, 1.0)), *p[index + 1 :]]
    assert np.all(holm(smaller) <= holm(p) + 1e-15)


def test_holm_keeps_the_chance_of_any_false_finding_at_the_level():
    rng = np.random.default_rng(1)
    any_false = np.mean([min(holm(rng.uniform(size=9))) <= LEVEL for _ in range(4000)])
    assert any_false == pytest.approx(1.0 - (1.0 - LEVEL / 9) ** 9, abs=0.01)
