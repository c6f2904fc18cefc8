"""Whether points of earlier runs are better in a new run than others."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from infold.acquisition.trust_region import TrustRegion
from infold.history import History, Proposal
from infold.learning import tried
from infold.learning.lessons import Lessons
from infold.models.taught import TaughtGP

_D = 5


def _lessons(n: int = 12) -> Lessons:
    points = np.random.default_rng(1).uniform(size=(n, _D))
    return Lessons(dimension=_D, points=points, n_runs=n)


def _run(earlier: list[float], others: list[float], by: str = "design") -> History:
    """Return a run with these values of points of earlier runs and of other ones."""
    lessons = _lessons()
    rest = np.random.default_rng(2).uniform(size=(len(others), _D))
    x = np.concatenate([lessons.points[: len(earlier)], rest])
    proposals = (Proposal("design"),) * len(earlier) + (Proposal(by),) * len(others)
    return History(x, np.array(earlier + others), proposals=proposals, lessons=lessons)


@pytest.mark.parametrize("ties", [False, True])
def test_the_share_of_better_pairs_is_that_of_mann_and_whitney(ties: bool) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=7), rng.normal(size=5)
    if ties:
        a, b = np.round(a), np.round(b)
    expected = 1.0 - mannwhitneyu(a, b).statistic / 35.0
    assert tried.share_better(a, b) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("earlier", "others", "expected"),
    [
        ([0.0, 1.0, 2.0], [3.0], True),
        ([0.0, 1.0, np.nan, 2.0, 2.5], [3.0], True),  # four of five pairs
        ([0.0, 1.0], [3.0], False),  # too few to tell
        ([0.0, 4.0, 5.0], [3.0], False),
        ([0.0, 1.0, 2.0], [], False),
        ([], [3.0], False),
    ],
)
def test_points_carry_over_where_they_are_clearly_better(earlier, others, expected) -> None:
    assert tried.carry_over(_run(earlier, others)) == expected


def test_points_that_a_model_chose_are_not_compared() -> None:
    assert not tried.carry_over(_run([1.0, 1.0, 1.0], [3.0, 0.0, 0.0]))
    found = _run([1.0, 1.0, 1.0], [3.0])
    more = _run([1.0, 1.0, 1.0], [3.0, 0.0, 0.0])
    proposals = (*found.proposals, Proposal("exact"), Proposal("noisy"))
    assert tried.carry_over(replace(more, proposals=proposals))


def test_designs_without_values_and_no_lessons_say_nothing() -> None:
    run = _run([0.0, 1.0, 2.0], [3.0])
    designs = replace(_lessons(), n_runs=0)
    assert not tried.carry_over(replace(run, lessons=designs))
    assert not tried.carry_over(replace(run, lessons=None))


def test_a_part_of_the_run_is_told_what_the_whole_run_says() -> None:
    """The nearest evaluations may be points of earlier runs alone."""
    rng = np.random.default_rng(4)
    lessons = _lessons()
    best = lessons.points[0]
    near = np.clip(best + 0.05 * rng.normal(size=(80, _D)), 0.0, 1.0)
    x = np.concatenate([lessons.points[:5], np.full((1, _D), 0.5), near])
    y = np.concatenate([np.zeros(5), [5.0], 1.0 + rng.uniform(size=80)])
    proposals = (Proposal("design"),) * 6 + (Proposal("exact"),) * 80
    history = History(x, y, proposals=proposals, lessons=lessons)
    part = TrustRegion().at(history).history
    assert 5 not in part.rows.tolist()
    assert tried.carry_over(part)
    assert not tried.carry_over(replace(part, carried=None))


def test_the_first_box_is_half_as_wide_where_points_carry_over() -> None:
    plain = TrustRegion()
    assert plain.side(_run([0.0, 4.0, 5.0], [3.0])) == 0.8
    assert plain.side(_run([0.0, 1.0, 2.0], [3.0])) == 0.4
    proposals = (Proposal("design"),) * 4
    for values, expected in (
        ([9.0] * 5, 0.2),
        ([9.0] * 5 + [-1.0, -9.0, -99.0], 0.4),
        ([-1.0, -9.0, -99.0], 0.4),
    ):
        run = _run([0.0, 1.0, 2.0], [3.0, *values])
        run = replace(run, proposals=proposals + (Proposal("exact"),) * len(values))
        assert plain.side(run) == expected


def test_a_metric_is_believed_to_be_related_where_points_carry_over() -> None:
    metric, features = TaughtGP(knows="metric"), TaughtGP(knows="features")
    for earlier, expected in (([0.0, 1.0, 2.0], True), ([0.0, 4.0, 5.0], False)):
        run = _run(earlier, [3.0])
        assert metric.plainly_related(run) == expected
        assert not features.plainly_related(run)


def test_points_that_are_one_in_the_new_run_count_once() -> None:
    """As where a parameter is fixed, or a range ends before them."""
    point = np.full(_D, 0.2)
    lessons = Lessons(dimension=_D, points=np.stack([point] * 8 + [np.full(_D, 0.9)]), n_runs=9)
    x = np.stack([point, np.full(_D, 0.5)])
    history = History(x, np.array([1.0, 2.0]), proposals=(Proposal("design"),) * 2, lessons=lessons)
    rows, untried = tried.tried_and_untried(history)
    assert rows == [0]
    assert len(untried) == 1
    assert not tried.carry_over(history)


def test_points_of_a_model_without_parts_are_not_ordinary_ones() -> None:
    """Nor are the later trials of a study, which say no more of who chose them."""
    history = _run([2.0, 2.0, 2.0], [3.0, 4.0, *[1.0] * 8])
    chosen = (Proposal("", {"known": 5}),) * 8
    history = replace(history, proposals=history.proposals[:5] + chosen)
    rows, _ = tried.tried_and_untried(history)
    assert list(tried.values_of_both(history, rows)[1]) == [3.0, 4.0]
    assert tried.carry_over(history)
