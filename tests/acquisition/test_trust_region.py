"""The trust region: a function of the history, whatever the units of the values."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infold.acquisition.trust_region import TrustRegion
from infold.models.full_space import FullSpaceGP
from infold.models.team import FittedTeam
from infold.record import History, Proposal, Rounding

D = 5


def history_of(y, *, by="", seed=0, dimension=D, rounding=None):
    y = np.asarray(y, dtype=float)
    x = np.random.default_rng(seed).uniform(size=(len(y), dimension))
    if rounding is not None:
        x = rounding.snap(x)
    return History(x, y, rounding=rounding, proposals=(Proposal(by),) * len(y))


def falling(n):
    """Values that are better every time, by a lot."""
    return 0.5 ** np.arange(n)


def test_failures_halve_and_successes_double_up_to_the_first_side():
    region = TrustRegion(n_failures=4, n_successes=2)
    assert region.side(history_of([1.0])) == 0.8
    stuck = [1.0, *[2.0] * 4]
    assert region.side(history_of(stuck)) == 0.4
    assert region.side(history_of([*stuck, *[2.0] * 4])) == 0.2
    assert region.side(history_of([*stuck, 0.5, 0.2])) == 0.8
    assert region.side(history_of([*stuck, 0.5, 3.0, 0.2])) == 0.4
    assert region.side(history_of([*stuck, *0.5 * falling(20)])) == 0.8


def test_random_points_before_anything_succeeded_are_no_failures_of_the_region():
    y = np.append(np.full(12, np.nan), 1.0)
    assert TrustRegion().side(history_of(y, by="random")) == 0.8
    assert TrustRegion().side(history_of(y, by="exact")) < 0.8


def in_batches(y, q):
    """The values of batches of q, none of which knew those of its own."""
    proposals = tuple(Proposal("", {"known": i - i % q}) for i in range(len(y)))
    return replace(history_of(y), proposals=proposals)


def test_batch_halves_the_region_once_and_not_where_it_had_a_success():
    region = TrustRegion(n_failures=3)
    assert region.side(in_batches([1.0] + [2.0] * 15, 8)) == 0.4  # the first was a success
    assert region.side(in_batches([1.0] + [2.0] * 23, 8)) == 0.2
    assert region.side(history_of([1.0] + [2.0] * 23)) < 0.01
    better = [1.0] + [2.0] * 7 + [2.0, 0.5] + [2.0] * 6
    assert region.side(in_batches(better, 8)) == 0.8


def test_what_a_damaged_file_says_of_a_proposal_does_no_harm():
    y = [1.0] + [2.0] * 9
    damaged = tuple(Proposal("", {"known": known}) for known in ("much", None, [1], 1e300) * 3)
    region = TrustRegion()
    assert region.side(replace(history_of(y), proposals=damaged[:10])) == region.side(history_of(y))


def test_next_to_nothing_is_no_success():
    region = TrustRegion(n_failures=4)
    creeping = 1.0 - 1e-9 * np.arange(5)
    assert region.side(history_of([2.0] * 20 + list(creeping))) < 0.8


def test_exhausted_region_begins_anew():
    region = TrustRegion(n_failures=1, least_side=0.1)
    sides = [region.side(history_of([1.0] * (1 + n))) for n in range(1, 6)]
    assert sides == [0.4, 0.2, 0.1, 0.8, 0.4]


@pytest.mark.parametrize("by", ["design", "user"])
def test_points_of_others_are_neither_successes_nor_failures(by):
    region = TrustRegion()
    assert region.side(history_of([1.0] * 100, by=by)) == region.first_side


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40), st.integers(-3, 3))
def test_region_does_not_depend_on_the_unit_of_values(y, power):
    region = TrustRegion(n_failures=3)
    scale = 2.0**power  # exact, so that the comparisons are the same
    original, scaled = history_of(y), history_of(scale * np.array(y))
    assert region.side(original) == region.side(scaled)
    np.testing.assert_array_equal(region.at(original).history.rows, region.at(scaled).history.rows)


def test_failed_evaluations_are_no_successes():
    region = TrustRegion(n_failures=4)
    assert region.side(history_of([1.0, *[np.nan] * 4])) == 0.4


def test_model_gets_the_nearest_evaluations_in_their_order():
    n = 400
    history = history_of(np.random.default_rng(1).normal(size=n), by="design")
    near = TrustRegion(first_side=0.3).at(history).history
    best = history.x[np.argmin(history.y)]
    far = np.setdiff1d(np.arange(n), near.rows)
    distance = np.linalg.norm(history.x - best, axis=1)
    assert len(near.y) >= 64
    assert distance[near.rows].max() <= distance[far].min()
    assert np.all(np.diff(near.rows) > 0)
    np.testing.assert_array_equal(near.x, history.x[near.rows])
    np.testing.assert_array_equal(near.y, history.y[near.rows])


def test_model_gets_no_more_evaluations_than_it_can_take():
    history = history_of(np.arange(300.0), by="design")
    assert len(TrustRegion(n_data=100).at(history).history.y) == 100
    assert len(TrustRegion(first_side=1.0).at(history).history.y) == 300


def test_part_of_a_part_knows_its_rows():
    history = history_of(np.arange(10.0)).part(np.array([1, 4, 6, 9]))
    np.testing.assert_array_equal(history.part(np.array([0, 3])).rows, [1, 9])


def test_choices_are_learned_from_all_evaluations():
    """If they are too many, from those that are near in the other coordinates."""
    discrete = np.array([True, False, False])
    rounding = Rounding(discrete, lambda x: np.where(discrete, np.round(x), x))
    history = history_of(np.arange(200.0), by="design", dimension=3, rounding=rounding)
    region = TrustRegion(first_side=0.2, least_side=0.1)
    assert len(region.at(history).history.y) == 200
    near = TrustRegion(first_side=0.2, least_side=0.1, n_data=70).at(history).history
    assert len(near.y) == 70
    assert set(near.x[:, 0]) == {0.0, 1.0}


def surface_and_region(region=None, rounding=None):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(30, D))
    if rounding is not None:
        x = rounding.snap(x)
    y = np.sum((x - 0.4) ** 2 * [10.0, 1, 1, 1, 0.1], axis=1)
    history = History(x, y, rounding=rounding, proposals=(Proposal("design"),) * len(y))
    place = (region or TrustRegion(first_side=0.3)).at(history)
    (surface,) = FullSpaceGP().fit(place.history, (0, 0), {}).surfaces
    return surface, place.around(surface, rng), rng


def test_box_holds_its_centre_its_samples_and_what_is_projected():
    surface, box, rng = surface_and_region()
    assert np.all(box.contains(surface.promising[:1]))
    samples = box.sample(200, rng)
    assert np.all(box.contains(samples))
    anywhere = rng.uniform(-1.0, 2.0, size=(200, D))
    projected = box.project(anywhere)
    assert np.all(box.contains(projected))
    assert np.all((projected >= 0.0) & (projected <= 1.0))
    np.testing.assert_array_equal(box.project(projected), projected)
    # Nothing of the box is nearer than the projection.
    ways = np.linalg.norm(anywhere[:, None] - samples, axis=2).min(axis=1)
    assert np.all(np.linalg.norm(anywhere - projected, axis=1) <= ways + 1e-12)


def test_sides_follow_the_lengthscales_and_their_mean_is_the_side():
    surface, box, _ = surface_and_region(TrustRegion(first_side=1e-3, least_side=1e-4))
    sides = box.upper - box.lower  # so small that the cube cuts none of them
    np.testing.assert_allclose(np.exp(np.mean(np.log(sides))), 1e-3)
    np.testing.assert_allclose(sides / sides[0], surface.lengthscale / surface.lengthscale[0])


def box_with_lengthscales(lengthscale, n_pending):
    lengthscale = np.asarray(lengthscale)
    rng = np.random.default_rng(0)
    x = rng.uniform(0.4, 0.6, size=(30, len(lengthscale)))
    history = History(x, np.sum(x, axis=1))
    for _ in range(n_pending):
        history = history.with_pending(rng.uniform(size=len(lengthscale)), (Proposal(),))
    place = TrustRegion(first_side=1e-3, least_side=1e-4).at(history)
    fitted = FullSpaceGP().fit(place.history, (0, 0), {}).condition(history)
    (surface,) = fitted.surfaces
    return place.around(replace(surface, lengthscale=lengthscale), rng)


def test_points_chosen_together_are_not_held_where_few_inputs_matter():
    few = np.append([0.1, 0.1], np.full(78, 10.0))
    alone = box_with_lengthscales(few, 0)
    together = box_with_lengthscales(few, 1)
    wider = (together.upper - together.lower) / (alone.upper - alone.lower)
    np.testing.assert_allclose(wider, wider[0])  # in proportion to the lengthscales, as ever
    # Of 80 inputs 2 matter, so 2.5 √40 of their lengthscale in place of 89 of them.
    np.testing.assert_allclose(wider[0], 100.0 ** (78 / 80) / (2.5 * np.sqrt(40.0)), rtol=0.01)


def test_points_chosen_together_have_the_usual_box_where_all_inputs_matter():
    some_more = np.geomspace(0.2, 2.0, 12)
    alone, together = (box_with_lengthscales(some_more, n) for n in (0, 3))
    np.testing.assert_array_equal(together.upper, alone.upper)
    np.testing.assert_array_equal(together.lower, alone.lower)


def test_discrete_coordinates_are_free_in_the_smallest_box():
    discrete = np.array([True, False, False, False, True])
    rounding = Rounding(discrete, lambda x: np.where(discrete, np.round(x), x))
    region = TrustRegion(first_side=1e-3, least_side=1e-4)
    _, box, rng = surface_and_region(region, rounding)
    samples = rounding.snap(box.sample(500, rng))
    assert np.all(np.ptp(samples[:, discrete], axis=0) == 1.0)
    assert np.all(np.ptp(samples[:, ~discrete], axis=0) < 0.01)


def test_samples_move_few_coordinates_and_at_least_one():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(20, 60))
    history = History(x, np.sum((x - 0.4) ** 2, axis=1))
    place = TrustRegion(n_moved=10).at(history)
    (surface,) = FullSpaceGP().fit(place.history, (0, 0), {}).surfaces
    moved = np.sum(place.around(surface, rng).sample(300, rng) != surface.promising[0], axis=1)
    assert moved.min() >= 1
    assert 9.0 < moved.mean() < 12.0


@pytest.mark.parametrize(
    "settings",
    [{"n_failures": 0}, {"n_data": 0}, {"least_side": 0.0}, {"first_side": 0.1, "least_side": 0.2}],
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        TrustRegion(**settings)


def fitted_to(place, noise):
    """A model of the place's evaluations that is told how much of their variance is noise."""
    settings = FullSpaceGP(transform=False, clip_outliers=False)
    variance = noise * float(np.var(place.history.y))
    return replace(settings, noise=variance).fit(place.history, (0,), {})


@pytest.fixture
def double_precision():
    with jax.enable_x64(True):
        yield


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("spread", [1e-3, 1.0, 1e3])
def test_noise_that_hides_the_differences_widens_the_box_to_all_evaluations(spread):
    rng = np.random.default_rng(3)
    stuck = history_of(spread * np.append(0.0, rng.uniform(1.0, 2.0, size=119)))
    place = TrustRegion().at(stuck)
    assert place.side < 0.2
    assert len(place.history.y) < 120
    assert place.given(fitted_to(place, 0.008)) is place
    wide = place.given(fitted_to(place, 0.02))
    assert wide.noisy
    assert not place.noisy
    assert wide.side == TrustRegion().first_side
    np.testing.assert_array_equal(wide.history.y, stuck.y)
    assert wide.given(fitted_to(wide, 0.5)) is wide


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize(("by", "stays"), [("features", True), ("exact", False)])
def test_models_that_know_earlier_runs_are_believed_in_a_small_box(by, stays):
    place = TrustRegion().at(history_of(np.append(0.0, np.ones(40) + np.arange(40))))
    member = fitted_to(place, 0.5)
    team = FittedTeam(member=member, by=by, scores={}, states={}, trust={"features": 2.0})
    assert (place.given(team) is place) == stays


@pytest.mark.usefixtures("double_precision")
def test_a_box_that_is_still_wide_stays_as_it_is_in_noise():
    place = TrustRegion().at(history_of(np.append(0.0, np.arange(1.0, 4.0))))
    assert place.given(fitted_to(place, 0.5)) is place


def test_of_very_many_evaluations_the_nearest_count_in_noise_too():
    place = TrustRegion(n_data=80).in_noise(history_of(np.arange(200.0)))
    assert len(place.history.y) == 80
    assert 0.0 in place.history.y


@pytest.mark.usefixtures("double_precision")
def test_with_constraints_and_several_objectives_noise_is_left_to_the_models():
    history = history_of(np.append(0.0, np.ones(40) + np.arange(40)))
    place = TrustRegion().at(history)
    fitted = fitted_to(place, 0.5)
    assert place.given(fitted) is not place
    for other in (
        replace(history, constraints=np.full((41, 1), -1.0)),
        replace(history, objectives=np.ones((41, 2))),
    ):
        place = TrustRegion().at(other)
        assert place.given(fitted) is place


def test_a_share_that_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="most_noise = 0"):
        TrustRegion(most_noise=0.0)
