"""The default method: a centre to begin with, precision at the end, and no false precision."""

import functools
from dataclasses import replace

import numpy as np
import pytest

import infold
from infold import Categorical, Float, Int, Optimizer, Space, methods
from infold.acquisition.trust_region import TrustRegion
from infold.methods.random import RandomSearch
from infold.models.base import NEGLIGIBLE_NOISE
from infold.record import History


def shifted_bowl(dimension, seed=7):
    centre = np.random.default_rng(seed).uniform(0.2, 0.8, size=dimension)
    return lambda x: float(np.sum((x - centre) ** 2))


def test_it_is_the_default_everywhere():
    assert methods.DEFAULT == "auto"
    assert methods.name_of(Optimizer([(0, 1)] * 3).method) == "auto"


def test_first_comes_the_centre_then_a_sobol_sequence():
    space = [(0, 1)] * 4
    first = [Optimizer(space, seed=3).ask(), *Optimizer(space, seed=3).ask(5)[1:]]
    np.testing.assert_array_equal(first[0], np.full(4, 0.5))
    sobol = RandomSearch().suggest(History(np.empty((0, 4)), np.empty(0)), 4, (3, 0)).x
    np.testing.assert_allclose(first[1:], sobol)
    one_by_one = Optimizer(space, seed=3)
    np.testing.assert_array_equal([one_by_one.ask() for _ in range(5)], first)


def test_centre_of_a_mixed_space_and_that_it_comes_once():
    space = Space(
        {
            "rate": Float(1e-4, 1.0, log=True),
            "depth": Int(1, 9),
            "kind": Categorical(("a", "b", "c")),
        }
    )
    optimizer = Optimizer(space, seed=0)
    centre = optimizer.ask()
    assert centre == {"rate": pytest.approx(1e-2), "depth": 5, "kind": "a"}
    others = optimizer.ask(9)
    assert all(other["rate"] != centre["rate"] for other in others)
    assert {e.proposed_by for e in optimizer._record.pending} == {"design"}


def test_centre_that_the_user_has_evaluated_is_not_asked_for_again():
    optimizer = Optimizer([(0, 1)] * 3, seed=0)
    optimizer.tell([0.5, 0.5, 0.5], 1.0)
    points = np.array(optimizer.ask(5))
    assert not np.any(np.all(points == 0.5, axis=1))
    assert len(np.unique(points, axis=0)) == 5


def test_other_methods_begin_as_they_did():
    first = Optimizer([(0, 1)] * 3, method="full_space", seed=0)
    again = Optimizer([(0, 1)] * 3, method="full_space", initial="sobol", seed=0)
    np.testing.assert_array_equal(first.ask(4), again.ask(4))


def test_smooth_bowl_is_resolved():
    f = shifted_bowl(4)
    result = infold.minimize(f, [(0, 1)] * 4, n_trials=70, seed=0)
    assert result.fun < 1e-7
    assert result.x_model is None


@pytest.mark.parametrize("seed", [10, 13, 26])  # the last suggestion and the last model differ
def test_the_best_point_by_the_model_is_there_where_the_model_sees_noise(seed):
    rng = np.random.default_rng(seed)
    result = infold.minimize(
        lambda x: float(np.sum((x - 0.3) ** 2)) + 0.2 * rng.normal(),
        [(-1.0, 1.0)] * 4,
        n_trials=25,
        seed=seed,
    )
    model, optimizer = result.optimizer.model(), result.optimizer
    sees_noise = float(model.fitted.noise) >= NEGLIGIBLE_NOISE or optimizer.in_noise
    assert (result.x_model is not None) == sees_noise


def test_noise_that_matters_at_the_end_alone_is_said_too():
    """Beside all evaluations this noise is nothing: a bowl from 0 to 300."""
    f = shifted_bowl(6)
    rng = np.random.default_rng(0)
    result = infold.minimize(
        lambda x: 100.0 * f(x) + 0.05 * rng.normal(), [(0, 1)] * 6, n_trials=100, seed=0
    )
    assert any(e.diagnostics.get("in_noise") for e in result.evaluations[60:])
    assert 100.0 * f(result.x_model) < 0.3


def test_noisy_bowl_is_not_taken_for_exact():
    f = shifted_bowl(4)
    rng = np.random.default_rng(1)
    result = infold.minimize(lambda x: f(x) + 0.3 * rng.normal(), [(0, 1)] * 4, n_trials=60, seed=0)
    assert np.sqrt(result.noise) == pytest.approx(0.3, rel=0.5)
    assert result.fun_model > result.fun + 0.1  # the best value seen was luck
    assert f(result.x_model) <= f(result.x) + 0.05
    assert any(np.array_equal(result.x_model, x) for x in result.x_iters)
    assert "x_model" in repr(result)
    assert {e.proposed_by for e in result.evaluations[-20:]} & {"auto/noisy"}


def test_known_noise_is_not_learned():
    f = shifted_bowl(3)
    optimizer = Optimizer([(0, 1)] * 3, noise=0.04, seed=0, n_initial=6)
    rng = np.random.default_rng(0)
    for _ in range(9):
        x = optimizer.ask()
        optimizer.tell(x, f(x) + 0.4 * rng.normal())
    assert optimizer.model().noise == pytest.approx(0.04)
    with pytest.raises(ValueError, match="noise = -1"):
        Optimizer([(0, 1)] * 3, noise=-1)


@functools.cache
def noisy_text(noise):
    f = shifted_bowl(4)
    rng = np.random.default_rng(5)
    optimizer = Optimizer([(0, 1)] * 4, noise=noise, seed=0, n_initial=5)
    for _ in range(50):
        x = optimizer.ask()
        optimizer.tell(x, f(x) + 0.5 * rng.normal())
    return optimizer.to_text()


def noisy_run(noise):
    """A run on a bowl whose noise is as large as what there is to see."""
    return Optimizer.from_text(noisy_text(noise))


@pytest.mark.parametrize("noise", [0.25, None])  # known, learned
def test_failures_that_are_noise_do_not_make_the_box_small(noise):
    last = [e.diagnostics["side"] for e in noisy_run(noise).evaluations[-10:]]
    assert np.mean(np.equal(last, 0.8)) >= 0.9


def test_failures_make_the_box_small_where_values_are_said_to_be_exact():
    assert min(e.diagnostics["side"] for e in noisy_run(0.0).evaluations[-10:]) < 0.4


def test_a_batch_in_noise_has_points_apart_from_each_other():
    points = np.array(noisy_run(0.25).ask(12))
    gaps = np.linalg.norm(points[:, None] - points, axis=2) + np.diag(np.full(12, np.inf))
    assert np.min(gaps) > 0.005
    assert np.median(np.min(gaps, axis=1)) > 0.05


def test_a_run_in_noise_goes_on_from_its_file(tmp_path):
    optimizer = noisy_run(None)
    optimizer.save(tmp_path / "run.json")
    again = Optimizer.load(tmp_path / "run.json")
    np.testing.assert_array_equal(optimizer.ask(3), again.ask(3))


def test_a_noisy_bowl_of_many_inputs_is_not_given_up():
    """Expected improvement in a box that failures had made small ends at about twice as much."""
    f = shifted_bowl(20)
    given_up = replace(methods.by_name("auto"), region=TrustRegion(most_noise=1e9))

    def end(method, seed):
        rng = np.random.default_rng(2)
        result = infold.minimize(
            lambda x: 4.0 * f(x) + 0.1 * rng.normal(),
            [(0, 1)] * 20,
            method=method,
            n_trials=120,
            seed=seed,
        )
        return np.log(f(result.x_model))

    gains = [end(given_up, seed) - end("auto", seed) for seed in (1, 2)]
    assert np.mean(gains) > np.log(1.25)


def test_record_says_who_proposed_and_why():
    f = shifted_bowl(3)
    result = infold.minimize(f, [(0, 1)] * 3, n_trials=14, seed=0)
    last = result.evaluations[-1]
    experts = {"exact", "noisy", "uneven", "plain"}
    assert last.proposed_by in {f"auto/{name}" for name in experts}
    assert set(last.diagnostics["evidence"]) == experts
    assert 0.0 < last.diagnostics["side"] <= 0.8


def test_same_history_same_point_whoever_has_it(rng):
    """All that changes a proposal is in the history: another worker proposes the same."""
    x = rng.uniform(size=(30, 5))
    history = History(x, np.sum((x - 0.4) ** 2, axis=1))
    method = methods.by_name("auto")
    mine = method.suggest(history, 1, (0, 30)).x
    theirs = methods.by_name("auto").suggest(history, 1, (0, 30), {}).x
    np.testing.assert_array_equal(mine, theirs)


def test_suggestions_stop_growing_with_the_number_of_evaluations(rng):
    x = rng.uniform(size=(3000, 3))
    history = History(x, np.sum((x - 0.4) ** 2, axis=1))
    suggestion = methods.by_name("auto").suggest(history, 1, (0, 0))
    assert len(suggestion.fitted.history.y) <= 500


def test_leave_one_out_of_a_local_model_is_of_its_evaluations(rng):
    optimizer = Optimizer([(0, 1)] * 2, seed=0)
    for x in rng.uniform(size=(90, 2)):
        optimizer.tell(x, 1.0 + float(np.sum(x)))
    near = Optimizer([(0, 1)] * 2, seed=0, method=methods.changed(optimizer.method, {"n_data": 64}))
    for x, y in zip(optimizer.points, optimizer.values, strict=True):
        near.tell(x, y)
    known = np.isfinite(near.model().leave_one_out().mean)
    assert len(known) == 90
    assert np.sum(known) == 64
    far = np.linalg.norm(np.array(near.points) - near.best[0], axis=1)
    assert far[known].max() <= far[~known].min()
