"""Points of earlier runs in the design of a new one."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

from infold import Space
from infold.history import History
from infold.learning.lessons import Lessons, Metric
from infold.learning.tried import tried_and_untried
from infold.methods import earlier
from infold.methods.random import RandomSearch

_D = 6


def _lessons(n: int = 4) -> Lessons:
    rng = np.random.default_rng(1)
    return Lessons(
        dimension=_D,
        points=rng.uniform(size=(n, _D)),
        centre=rng.uniform(size=_D),
        metric=Metric(log_lengthscale=np.zeros(_D), known=np.arange(_D) < 4),
        n_runs=n,
    )


def _first_points(values: list[float], lessons: Lessons) -> list[str]:
    """Return who proposed the points of a design whose values are given."""
    history = History(np.empty((0, _D)), np.empty(0), lessons=lessons)
    said = []
    for number, value in enumerate(values):
        suggestion = RandomSearch(design="centre").suggest(history, 1, (0, number))
        said.append(suggestion.proposals[0].by if suggestion.proposals else "")
        x = np.concatenate([history.x, suggestion.x])
        history = History(x, np.append(history.y, value), lessons=lessons)
    return said


def test_earlier_points_follow_where_they_are_better_than_ordinary_ones() -> None:
    better = _first_points([1.0, 2.0, 1.5, 1.9, 0.0, 1.0, 0.0], _lessons())
    assert better == ["earlier", "", *["earlier"] * 4, ""]  # there are no more


def test_earlier_points_wait_where_they_are_worse_than_ordinary_ones() -> None:
    for first in (2.0, np.nan):
        said = _first_points([first, 1.0, 2.0, 0.0, 0.0, 0.0], _lessons())
        assert said == ["earlier", "", "earlier", "", "", ""]


def test_one_bad_point_does_not_speak_for_the_others() -> None:
    said = _first_points([2.0, 1.0, 0.5, 0.4, 0.3], _lessons())
    assert said == ["earlier", "", *["earlier"] * 3]


def test_earlier_and_ordinary_points_take_turns_where_they_are_as_good() -> None:
    assert _first_points([1.0] * 6, _lessons()) == ["earlier", ""] * 3


def test_a_design_asked_at_once_has_few_earlier_points() -> None:
    history = History(np.empty((0, _D)), np.empty(0), lessons=_lessons())
    suggestion = RandomSearch(design="centre").suggest(history, 10, (0, 0))
    assert [proposal.by for proposal in suggestion.proposals] == ["earlier"] * 2 + [""] * 8
    assert len(np.unique(suggestion.x, axis=0)) == 10


def test_earlier_points_that_known_constraints_forbid_are_left_out_or_moved_if_near() -> None:
    where = Space.of([(0.0, 1.0)] * _D, where=LinearConstraint(np.ones(_D), -np.inf, 1.0)).where
    forbidden, allowed, near = (np.full(_D, share / _D) for share in (3.0, 0.6, 1.01))
    for points, expected in (
        ([forbidden, allowed], [allowed]),
        ([near, forbidden], [near / 1.01]),
        ([forbidden], []),
    ):
        lessons = replace(_lessons(), points=np.stack(points), centre=forbidden)
        history = History(np.empty((0, _D)), np.empty(0), lessons=lessons, where=where)
        suggestion = RandomSearch(design="centre").suggest(history, 3, (0, 0))
        by = [proposal.by for proposal in suggestion.proposals]
        assert by.count("earlier") == len(expected)
        np.testing.assert_allclose(suggestion.x[: len(expected)], np.reshape(expected, (-1, _D)))
        assert where is not None
        assert np.all(where.contains(suggestion.x))


def test_earlier_points_wait_while_the_first_is_being_evaluated() -> None:
    first = RandomSearch().suggest(
        History(np.empty((0, _D)), np.empty(0), lessons=_lessons()), 1, (0, 0)
    )
    pending = History(np.empty((0, _D)), np.empty(0), first.x, lessons=_lessons())
    suggestion = RandomSearch().suggest(pending, 3, (0, 1))
    assert all(proposal.by != "earlier" for proposal in suggestion.proposals)


def test_of_many_earlier_points_a_design_has_nine() -> None:
    said = _first_points([1.0, 2.0, *[1.0] * 12], _lessons(30))
    assert said.count("earlier") == 9


def test_equal_values_say_nothing_of_the_order() -> None:
    assert _first_points([1.0] * 8, _lessons(30)) == ["earlier", ""] * 4


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_points_of_earlier_runs_come_in_the_seeds_order_whatever_values_are(scale: float) -> None:
    lessons = _lessons(30)
    none = History(np.empty((0, _D)), np.empty(0), lessons=lessons)
    order = tried_and_untried(none, seed=4)[1]
    ordinary = np.random.default_rng(6).uniform(size=(2, _D))
    x = np.concatenate([order[:6], ordinary])
    y = np.array([1.0, np.nan, *np.arange(4.0), 30.0, 40.0])
    history = History(x, scale * y, lessons=lessons)
    np.testing.assert_array_equal(earlier.earlier_points(history, 3, seed=4), order[6:9])


def test_order_of_points_is_the_seeds_and_the_centre_is_second() -> None:
    lessons = _lessons(30)
    none = History(np.empty((0, _D)), np.empty(0), lessons=lessons)
    firsts = []
    for seed in range(20):
        order = tried_and_untried(none, seed)[1]
        np.testing.assert_array_equal(order[1], lessons.centre)
        np.testing.assert_array_equal(order, tried_and_untried(none, seed)[1])
        every = np.sort(np.array([order[0], *order[2:]]), axis=0)
        np.testing.assert_array_equal(every, np.sort(lessons.points, axis=0))
        firsts.append(order[0][0])
    assert len(set(firsts)) > 5


def test_an_ordinary_point_that_is_best_of_all_ends_the_row() -> None:
    """Two of three earlier points are better than the ordinary ones, but none is the best."""
    lessons = _lessons(30)
    ordinary = np.random.default_rng(6).uniform(size=(2, _D))
    x = np.concatenate([lessons.points[:3], ordinary])
    for best, follow in ((0.5, True), (-0.5, False)):
        history = History(x, np.array([0.0, 1.0, 2.0, best, 3.0]), lessons=lessons)
        assert bool(earlier.earlier_points(history, 1, seed=0)) == follow
