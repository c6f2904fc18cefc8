"""The numbers of the figures, against computations of their own."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.report.runs import cheap, mixed, told, with_features

from infold import Optimizer
from infold.record import Evaluation
from infold.report.figures.convergence import _predicted_minima, convergence
from infold.report.figures.features import feature_map
from infold.report.figures.model import ahead, importance, left_out, slices
from infold.report.figures.points import best_point, best_tenth
from infold.report.figures.record import failures, proposers, region, times
from infold.report.subject import Subject, contents_of, subject_of
from infold.space import Space


def recorded(values, proposed_by=None, diagnostics=None, direction="minimize") -> Subject:
    """A run over one parameter with these values."""
    space = Space.of([(0.0, 1.0)])
    n = len(values)
    evaluations = [
        Evaluation(
            point=np.array([(i + 0.5) / n]),
            unit=np.array([(i + 0.5) / n]),
            value=value,
            told_at=float(i),
            proposed_by="design" if proposed_by is None else proposed_by[i],
            diagnostics={} if diagnostics is None else diagnostics[i],
            error="broken" if math.isnan(value) else None,
        )
        for i, value in enumerate(values)
    ]
    contents = contents_of(space, evaluations, direction, cheap("random"))
    return Subject(Optimizer.restore(contents))


@pytest.mark.parametrize(
    ("direction", "best"),
    [("minimize", [math.nan, 3.0, 3.0, 1.0, 1.0]), ("maximize", [math.nan, 3.0, 3.0, 3.0, 5.0])],
)
def test_best_so_far_skips_failures(direction, best):
    found = convergence(recorded([math.nan, 3.0, math.nan, 1.0, 5.0], direction=direction))
    np.testing.assert_array_equal(found.best, best)


def test_minima_of_further_values_match_order_statistics():
    """The median of the least of n normal values is at 1 - 2^(-1/n)."""
    sample = 3.0 + 2.0 * stats.norm.ppf((np.arange(2000) + 0.5) / 2000)
    _, median, _ = _predicted_minima(sample, 100)
    for n in (1, 10, 100):
        expected = 3.0 + 2.0 * stats.norm.ppf(1.0 - 0.5 ** (1.0 / n))
        assert median[n - 1] == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_random_search_goes_on_where_the_design_ended(direction, rng):
    sign = 1.0 if direction == "minimize" else -1.0
    values = sign * np.append(rng.normal(size=10), np.full(50, -9.0))
    subject = recorded(list(values), ["design"] * 10 + ["auto"] * 50, direction=direction)
    found = convergence(subject)
    random = found.at_random
    assert (random.n_first, random.n_sample) == (10, 10)
    curves = np.array([random.low, random.median, random.high])
    assert np.all(np.diff(curves, axis=0) >= 0)
    np.testing.assert_array_equal(curves[:, :10], np.tile(found.best[:10], (3, 1)))
    assert np.all(np.diff(sign * curves, axis=1) <= 0)


def test_random_search_is_a_fair_guess_of_further_points():
    """In half of 100 cases the least of 20 further values is below the median."""
    below = []
    for seed in range(100):
        values = np.random.default_rng(seed).normal(size=40)
        _, median, _ = _predicted_minima(values[:20], 20)
        below.append(np.min(values[20:]) < median[-1])
    assert 0.35 < np.mean(below) < 0.65


@pytest.mark.parametrize(
    ("values", "who"),
    [
        ([1.0, 2.0, 3.0], ["design", "design", "auto"]),  # too few
        (list(range(12)), ["design"] * 12),  # nothing else
        ([1.0] * 12, ["design"] * 10 + ["auto"] * 2),  # no spread
    ],
)
def test_random_search_is_left_out_where_nothing_can_be_said(values, who):
    assert convergence(recorded([float(value) for value in values], who)).at_random is None


def test_neighbours_are_the_nearest_that_succeeded():
    optimizer = told(12, space=mixed())
    optimizer.tell({**optimizer.best[0], "layers": 3}, None)
    found = best_point(Subject(optimizer))
    units = np.array([e.unit for e in optimizer.evaluations])
    best = int(np.nanargmin(optimizer.values))
    gaps = np.linalg.norm(units - units[best], axis=1)
    gaps[12] = np.inf
    np.testing.assert_array_equal(found.evaluations, np.argsort(gaps, kind="stable")[:5])
    assert [row[0] for row in found.settings] == list(optimizer.best[0].values())


def test_the_best_tenth_has_every_varying_parameter_between_0_and_1():
    optimizer = told(14, space=mixed(), method="random", direction="maximize")
    found = best_tenth(Subject(optimizer))
    assert set(found.names) == {"rate", "layers", "kind", "flag"}
    assert len(found.evaluations) == 5
    np.testing.assert_array_equal(found.values[:, 0], np.sort(optimizer.values)[::-1][:5])
    rate = found.names.index("rate")
    expected = [(math.log10(value) + 4) / 4 for value in found.settings[rate]]
    np.testing.assert_allclose(found.positions[:, rate], expected)
    assert set(found.positions[:, found.names.index("kind")]) <= {0.25, 0.75}


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_slices_are_the_predictions_of_the_model(direction):
    optimizer = told(14, space=mixed(), direction=direction)
    for each in slices(subject_of(optimizer)):
        point = {**optimizer.best[0], each.name: each.levels[-1]}
        mean, deviation = optimizer.model().predict(point)
        assert each.mean[-1] == pytest.approx(mean[0])
        assert each.high[-1] - each.low[-1] == pytest.approx(2 * 1.96 * deviation[0])
        assert each.at == optimizer.best[0][each.name]


def test_importance_is_the_relevance_in_order():
    optimizer = told()
    found = importance(Subject(optimizer))
    relevance = optimizer.model().relevance()
    assert dict(zip(found.names, found.shares, strict=True)) == pytest.approx(relevance)
    assert np.all(np.diff(found.shares) <= 0)


def test_predictions_left_out_skip_failures():
    optimizer = told()
    optimizer.tell([0.1] * 5, None)
    found = left_out(Subject(optimizer))
    np.testing.assert_array_equal(found.evaluations, np.arange(14))
    np.testing.assert_array_equal(found.mean, optimizer.model().leave_one_out().mean[:14])


def test_predictions_made_ahead_have_the_sign_of_the_user():
    said = [{"mean": -2.0, "deviation": 1.0}, {"mean": -3.0, "deviation": 0.5}, {}]
    found = ahead(recorded([2.5, 4.5, 1.0], None, said, "maximize"))
    np.testing.assert_array_equal(found.mean, [2.0, 3.0])
    assert found.coverage == 0.5
    assert found.explained == pytest.approx(1 - (0.25 + 2.25) / 2)


def test_proposers_failures_and_times():
    subject = recorded([3.0, math.nan, 2.0, 4.0], ["design", "auto/exact", "auto/exact", "user"])
    found = proposers(subject)
    assert found.names[0] == "auto/exact"
    assert list(found.counts) == [2, 1, 1]
    assert list(found.failed) == [1, 0, 0]
    assert list(found.improved) == [1, 1, 0]
    assert list(found.best) == [2.0, 3.0, 4.0]
    assert failures(subject).messages == ["broken"]
    np.testing.assert_array_equal(times(subject).told_at, [0.0, 1.0, 2.0, 3.0])


def test_diagnostics_that_make_no_sense_are_left_out():
    strange = [
        {"side": "wide", "evidence": [1, 2], "mean": True, "seconds": 3},
        {"side": 0.5, "evidence": {"exact": 1.0, "noisy": "no"}, "seconds": {"fit": 1, "go": 2}},
        {"side": 10**400, "evidence": {"exact": None}},
    ]
    subject = recorded([1.0, 2.0, 3.0], None, strange)
    found = region(subject)
    np.testing.assert_array_equal(found.side, [math.nan, 0.5, math.nan])
    np.testing.assert_array_equal(found.chosen, [[False, False], [True, False], [False, False]])
    np.testing.assert_array_equal(times(subject).suggestion, [math.nan, 3.0, math.nan])
    assert ahead(subject) is None


def test_the_feature_map_is_a_plane_of_the_feature_space():
    subject = with_features()
    found = feature_map(subject)
    model = subject.model
    z = model.encode([e.point for e in subject.evaluations])
    gaps = np.linalg.norm(z - z[subject.best], axis=1)
    np.testing.assert_allclose(np.hypot(*found.places.T) ** 2 + found.heights**2, gaps**2)
    assert found.shown == pytest.approx(1.0)  # two features, two directions
    # Two places and their distances fix where a cell is: what it says can be asked of the model.
    directions = np.linalg.lstsq(found.places, z - z[subject.best], rcond=None)[0]
    cell = next(i for i, decoded in enumerate(found.near.decoded) if decoded)
    row, column = divmod(cell, len(found.near.a))
    place = z[subject.best] + np.array([found.near.a[column], found.near.b[row]]) @ directions
    np.testing.assert_allclose(found.near.decoded[cell], model.decode(place), atol=1e-6)
    mean, _ = model.fitted.surfaces[0].predict(place[None])
    assert found.near.mean[row, column] == pytest.approx(
        float(model.fitted.outputs.invert(mean)[0]), abs=1e-6
    )


def test_discs_are_where_balls_cut_the_plane():
    found = feature_map(with_features())
    assert found.discs.n_balls == 14
    assert len(found.discs.radii) == 14  # with two features every datum is on the plane
    np.testing.assert_allclose(found.discs.centres, found.places, atol=1e-12)
