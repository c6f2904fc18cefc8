"""Optuna's own suites of tests for samplers, and tests of what they leave out."""

import pickle
import time
from collections.abc import Callable
from datetime import datetime, timedelta

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
)
from optuna.trial import TrialState, create_trial

from infold.integrations import _optuna_private as private
from infold.integrations._optuna_trials import Coding
from infold.integrations.optuna import InfoldSampler
from infold.methods import by_name

optuna.logging.set_verbosity(optuna.logging.WARNING)
CHEAP = {
    "full_space": {"n_candidates": 64, "n_starts": 4, "search_iterations": 5},
    "mgpc": {
        "n_features": 1,
        "n_candidates": 64,
        "n_starts": 4,
        "training_iterations": 5,
        "search_iterations": 5,
    },
}


def cheap(name: str = "full_space", **settings) -> InfoldSampler:
    return InfoldSampler(
        method=by_name(name, **CHEAP[name]), **{"n_startup_trials": 2, "seed": 0, **settings}
    )


@pytest.mark.parametrize("name", CHEAP)
class _Suite:
    @pytest.fixture
    def sampler(self, name: str) -> Callable[[], InfoldSampler]:
        return lambda: cheap(name, n_startup_trials=1)


class TestInfoldSampler(
    _Suite, BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase
):
    pass


MIXED = {
    "linear": FloatDistribution(-1.0, 2.0),
    "log": FloatDistribution(1e-7, 1.0, log=True),
    "stepped": FloatDistribution(-10.2, 10.2, step=0.1),
    "int": IntDistribution(-10, 10),
    "int log": IntDistribution(1, 100, log=True),
    "int step": IntDistribution(3, 9, step=2),
    "kind": CategoricalDistribution(["a", 1, None, True]),
}


def test_everything_that_is_decoded_lies_in_its_distribution_and_encodes_to_itself(rng):
    coding = Coding(MIXED)
    assert coding.space.dimension == 6 + 4
    corners = [np.zeros(10), np.ones(10), *rng.integers(2, size=(50, 10)).astype(float)]
    for unit in (*corners, *rng.uniform(size=(500, 10))):
        values = coding.params(coding.space.decode(unit))
        for name, distribution in MIXED.items():
            assert private.contains(distribution, values[name]), (name, values[name])
        again = coding.params(coding.space.decode(coding.locate(values).unit))
        assert {
            name: distribution.to_internal_repr(again[name]) for name, distribution in MIXED.items()
        } == pytest.approx(
            {
                name: distribution.to_internal_repr(values[name])
                for name, distribution in MIXED.items()
            },
            rel=1e-12,
        )


def test_optuna_takes_the_suggested_values_as_they_are():
    """Optuna silently resamples a value that does not fit its distribution."""
    study = optuna.create_study(sampler=cheap())
    returned = []
    sample = study.sampler.sample_relative
    study.sampler.sample_relative = lambda *args: returned.append(sample(*args)) or returned[-1]
    for i in range(12):
        trial = study.ask(MIXED)
        study.tell(trial, float(i % 5))
        assert i < 3 or returned[-1]
        for name, value in returned[-1].items():
            assert trial.params[name] == value
            assert type(trial.params[name]) is type(value)


def quadratic(trial: optuna.Trial) -> float:
    return sum(trial.suggest_float(f"x{i}", -1.0, 1.0) ** 2 for i in range(4))


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_studies_of_either_direction_get_better(direction):
    sign = 1.0 if direction == "minimize" else -1.0
    study = optuna.create_study(
        direction=direction, sampler=InfoldSampler(method="full_space", n_startup_trials=5, seed=1)
    )
    study.optimize(lambda trial: sign * quadratic(trial), n_trials=25)
    values = sign * np.array([trial.value for trial in study.trials])
    assert np.min(values[5:]) < 0.25 * np.min(values[:5])


def test_the_same_seed_gives_the_same_trials_and_reseeding_others():
    def run(reseed: bool) -> list:
        sampler = cheap(seed=3)
        if reseed:
            sampler.reseed_rng()
        study = optuna.create_study(sampler=sampler)
        study.optimize(quadratic, n_trials=5)
        return [trial.params for trial in study.trials]

    assert run(False) == run(False)
    assert run(True) != run(False)


def test_the_sampler_pickles_in_the_middle_of_a_study():
    study = optuna.create_study(sampler=cheap())
    study.optimize(quadratic, n_trials=5)
    copy = pickle.loads(pickle.dumps(study.sampler))
    trial = study.ask()
    space = copy.infer_relative_search_space(study, trial._cached_frozen_trial)
    args = (study, trial._cached_frozen_trial, space)
    assert copy.sample_relative(*args) == study.sampler.sample_relative(*args)


def finished(study: optuna.Study, n: int, rng) -> None:
    for _ in range(n):
        params = {f"x{i}": float(v) for i, v in enumerate(rng.uniform(-1, 1, size=4))}
        distributions = {name: FloatDistribution(-1.0, 1.0) for name in params}
        study.add_trial(
            create_trial(
                params=params, distributions=distributions, value=sum(v**2 for v in params.values())
            )
        )


def history_seen(study: optuna.Study, **settings):
    """The history that the sampler gives to its method."""
    sampler = cheap(**settings)
    trial = study.ask()._cached_frozen_trial
    space = sampler.infer_relative_search_space(study, trial)
    coding = Coding(space)
    return sampler._look(study, trial, coding, sampler._memory(study, coding)).history


def test_running_trials_are_pending_until_they_are_too_old(rng):
    study = optuna.create_study(sampler=cheap())
    finished(study, 4, rng)
    space = {f"x{i}": FloatDistribution(-1.0, 1.0) for i in range(4)}
    study.ask(space)
    study.ask(space)
    assert len(history_seen(study).pending) == 2
    assert len(history_seen(study, max_running_seconds=1e-9).pending) == 0


def test_running_trials_that_report_nan_have_failed_until_they_recover(rng):
    study = optuna.create_study(sampler=cheap())
    finished(study, 4, rng)
    trial = study.ask({f"x{i}": FloatDistribution(-1.0, 1.0) for i in range(4)})
    trial.report(1.0, 0)
    assert len(history_seen(study).pending) == 1
    trial.report(float("nan"), 1)
    history = history_seen(study)
    assert len(history.pending) == 0
    np.testing.assert_allclose(2 * history.x[-1] - 1, list(trial.params.values()), atol=1e-12)
    assert np.isnan(history.y[-1])
    trial.report(0.5, 2)
    assert len(history_seen(study).pending) == 1
    study.tell(trial, 0.25)
    assert history_seen(study).y[-1] == 0.25


def test_a_worker_announces_what_it_will_evaluate(rng):
    """Another worker knows all parameters of a trial before the objective has asked for them.

    They reach the storage one by one, as the objective asks.
    """
    study = optuna.create_study(sampler=cheap())
    finished(study, 4, rng)
    waiting = study.ask()
    waiting.suggest_float("x0", -1.0, 1.0)
    assert len(study.trials[-1].params) == 1
    pending = history_seen(study).pending
    assert len(pending) == 1
    rest = [waiting.suggest_float(f"x{i}", -1.0, 1.0) for i in range(4)]
    np.testing.assert_allclose(2 * pending[0] - 1, rest, atol=1e-12)


@pytest.mark.parametrize("choosing", ["earlier", "later"])
@pytest.mark.parametrize("finishes", [False, True])
def test_a_worker_that_finds_its_choice_taken_meanwhile_chooses_again(
    choosing, finishes, rng, monkeypatch
):
    study = optuna.create_study(sampler=cheap())
    finished(study, 4, rng)
    trials = [study.ask(), study.ask()]
    other, trial = trials if choosing == "later" else trials[::-1]
    announce, chosen = private.announce, []

    def meanwhile(study, frozen, internal):
        """Let the other worker announce the same point just before, and perhaps finish it."""
        chosen.append(internal)
        if len(chosen) == 1:
            announce(study, other._cached_frozen_trial, internal)
            if finishes:
                for name, value in internal.items():
                    other.storage.set_trial_param(
                        other._trial_id, name, value, FloatDistribution(-1.0, 1.0)
                    )
                study.tell(other, 1.0)
        announce(study, frozen, internal)

    monkeypatch.setattr(private, "announce", meanwhile)
    trial.suggest_float("x0", -1.0, 1.0)
    assert len(chosen) == 2
    assert chosen[0] != chosen[1]
    assert trial.params["x0"] == chosen[1]["x0"]


def test_trials_of_killed_workers_can_be_suggested_again():
    space = {"a": CategoricalDistribution(["p", "q", "r"])}
    study = optuna.create_study(sampler=cheap(max_running_seconds=1e-3))
    study.enqueue_trial({"a": "r"})
    study.ask(space)  # the trial of a worker that is killed
    for choice in "pq":
        study.add_trial(create_trial(params={"a": choice}, distributions=space, value=1.0))
    time.sleep(0.01)
    assert study.ask(space).params == {"a": "r"}


def test_a_later_announcement_replaces_the_earlier_one_whole():
    study = optuna.create_study()
    trial = study.ask()
    space = {f"x{i}": FloatDistribution(-1.0, 1.0) for i in range(200)}
    for value in (0.1 + 1e-15, 0.5):  # the second is much shorter
        private.announce(study, trial._cached_frozen_trial, dict.fromkeys(space, value))
        assert private.announced(study.trials[0], space) == dict.fromkeys(space, value)


def test_a_sampler_does_not_confuse_studies_of_one_name():
    sampler = cheap()
    for shift in (0.0, 0.3):
        study = optuna.create_study(study_name="demo", sampler=sampler)
        for i in range(6):
            params = {"x": (i / 10 + shift) % 1.0}
            study.add_trial(
                create_trial(
                    params=params, distributions={"x": FloatDistribution(0.0, 1.0)}, value=0.0
                )
            )
        trial = study.ask()._cached_frozen_trial
        coding = Coding(sampler.infer_relative_search_space(study, trial))
        history = sampler._look(study, trial, coding, sampler._memory(study, coding)).history
        np.testing.assert_allclose(history.x[:, 0], (np.arange(6) / 10 + shift) % 1.0)


def test_values_between_the_steps_are_neither_read_nor_suggested(rng):
    steps = FloatDistribution(0.0, 1.0, step=0.25)
    assert not private.contains(steps, 0.3)
    study = optuna.create_study(sampler=cheap(search_space={"x": FloatDistribution(0.0, 1.0)}))
    for _ in range(8):
        trial = study.ask()
        assert trial.suggest_float("x", 0.0, 1.0, step=0.25) in (0.0, 0.25, 0.5, 0.75, 1.0)
        study.tell(trial, float(rng.normal()))


@pytest.mark.parametrize(("low", "high", "step"), [(1.7e9, 1.7e9 + 100, 0.1), (1e6, 1e6 + 1, 1e-3)])
def test_steps_that_floats_cannot_hold_exactly_are_modelled_all_the_same(low, high, step):
    study = optuna.create_study(sampler=cheap())
    suggested = []
    sample = study.sampler.sample_relative
    study.sampler.sample_relative = lambda *args: suggested.append(sample(*args)) or suggested[-1]
    for i in range(10):
        trial = study.ask()
        value = (
            trial.suggest_float("p", low, high, step=step)
            - low
            + trial.suggest_float("q", 0.0, 1.0)
        )
        assert i < 3 or trial.params == suggested[-1]
        study.tell(trial, value)


def test_parallel_suggestions_are_distinct_even_among_few_choices():
    study = optuna.create_study(sampler=cheap())
    space = {"a": CategoricalDistribution(list("abcd")), "b": IntDistribution(1, 3)}
    for i, (a, b) in enumerate([("a", 1), ("b", 2), ("c", 3)]):
        study.add_trial(create_trial(params={"a": a, "b": b}, distributions=space, value=float(i)))
    seen = {tuple(study.ask(space).params.values()) for _ in range(9)}
    assert len(seen | {("a", 1), ("b", 2), ("c", 3)}) == 12


def test_failed_pruned_and_infinite_trials(rng):
    study = optuna.create_study(sampler=cheap())
    finished(study, 6, rng)
    values = [trial.value for trial in study.trials]
    params = dict.fromkeys(("x0", "x1", "x2", "x3"), 0.5)
    distributions = {name: FloatDistribution(-1.0, 1.0) for name in params}

    def add(state=TrialState.COMPLETE, **kwargs) -> None:
        study.add_trial(
            create_trial(state=state, params=params, distributions=distributions, **kwargs)
        )

    add(TrialState.FAIL)
    add(value=float("inf"))
    add(value=float("-inf"))
    add(TrialState.PRUNED)
    add(TrialState.PRUNED, intermediate_values={0: 100.0, 1: 50.0})
    add(TrialState.PRUNED, intermediate_values={0: -100.0})
    study.add_trial(create_trial(state=TrialState.FAIL))  # without parameters
    y = history_seen(study).y
    median = np.median(values)
    np.testing.assert_allclose(y, [*values, np.nan, np.nan, np.nan, np.nan, 50.0, median])


def test_enqueued_added_and_copied_trials_are_used(rng):
    study = optuna.create_study(sampler=cheap(), study_name="first")
    study.enqueue_trial({"x0": 0.25, "x1": 0.25, "x2": 0.25, "x3": 0.25})
    study.optimize(quadratic, n_trials=1)
    assert study.trials[0].params == dict.fromkeys(("x0", "x1", "x2", "x3"), 0.25)
    finished(study, 3, rng)
    assert len(history_seen(study).y) == 4
    storage = optuna.storages.InMemoryStorage()
    optuna.copy_study(
        from_study_name="first",
        from_storage=study._storage,
        to_storage=storage,
        to_study_name="second",
    )
    copied = optuna.load_study(study_name="second", storage=storage, sampler=cheap())
    np.testing.assert_array_equal(history_seen(copied).x, history_seen(study).x[:4])


def test_values_in_common_are_repeated_where_other_parameters_make_the_difference():
    def objective(trial: optuna.Trial) -> float:
        kind = trial.suggest_categorical("kind", ["good", "bad", "worse", "worst"])
        return (
            trial.suggest_float("x", 0.0, 1.0)
            if kind == "good"
            else 100.0 + trial.suggest_float(f"y {kind}", 0.0, 1.0)
        )

    study = optuna.create_study(sampler=cheap())
    for kind in ("good", "bad", "worse", "worst"):
        study.enqueue_trial({"kind": kind})
    study.optimize(objective, n_trials=20)
    assert sum(trial.params["kind"] == "good" for trial in study.trials[4:]) >= 12


def test_a_parameter_of_some_trials_is_no_reason_to_repeat_the_others():
    def objective(trial: optuna.Trial) -> float:
        kind = trial.suggest_categorical("kind", ["a", "b", "c"])
        value = trial.suggest_int("n", 0, 4) + 10.0 * (kind == "c")
        return value + trial.suggest_float("x", 0.0, 1.0) if kind == "c" else value

    study = optuna.create_study(sampler=cheap())
    for kind in ("c", "a", "b"):
        study.enqueue_trial({"kind": kind, "n": 4})
    study.optimize(objective, n_trials=12)
    seen = [
        (trial.params["kind"], trial.params["n"])
        for trial in study.trials
        if trial.params["kind"] != "c"
    ]
    assert len(set(seen)) == len(seen)


def test_where_everything_is_known_the_best_is_repeated_and_not_a_random_one():
    study = optuna.create_study(sampler=cheap())
    space = {"n": IntDistribution(0, 5)}
    for i in range(6):
        study.add_trial(create_trial(params={"n": i}, distributions=space, value=(i - 2.0) ** 2))
    asked = []
    for _ in range(5):
        trial = study.ask(space)
        asked.append(trial.params["n"])
        study.tell(trial, (asked[-1] - 2.0) ** 2)
    assert sum(abs(n - 2) <= 1 for n in asked) >= 4


def test_a_model_that_waits_for_trials_with_all_parameters_says_so(caplog):
    space = {"x": FloatDistribution(0.0, 1.0), "never": FloatDistribution(0.0, 1.0)}
    study = optuna.create_study(sampler=cheap(search_space=space))
    with caplog.at_level("WARNING", "infold"):
        study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=5)
    assert [record.getMessage() for record in caplog.records] == [
        "0 of 2 finished trials have values of all these parameters, "
        "and the model waits for 2: x, never"
    ]


def test_threads_share_a_sampler():
    study = optuna.create_study(sampler=cheap())
    study.optimize(quadratic, n_trials=24, n_jobs=4)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 24
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 24


def test_misuse_is_reported():
    with pytest.raises(ValueError, match="method = 'nonesuch'"):
        InfoldSampler(method="nonesuch")
    with pytest.raises(ValueError, match="n_startup_trials = 0"):
        InfoldSampler(n_startup_trials=0)
    with pytest.raises(ValueError, match="max_running_seconds = 0"):
        InfoldSampler(max_running_seconds=0)
    with pytest.raises(ValueError, match="acquisition: settings go with the name"):
        InfoldSampler(method=by_name("mgpc"), acquisition="pi")


def test_seeds_may_be_as_large_as_those_of_an_optimizer():
    def run(seed: int) -> list:
        study = optuna.create_study(sampler=cheap(seed=seed))
        study.optimize(quadratic, n_trials=5)
        return [trial.params for trial in study.trials]

    assert run(2**40) == run(2**40)
    assert run(2**40) != run(2**40 + 1)
    assert len(run(10**30)) == 5


def test_old_running_trials_are_those_that_began_long_ago(rng):
    study = optuna.create_study(sampler=cheap())
    finished(study, 4, rng)
    params = dict.fromkeys(("x0", "x1", "x2", "x3"), 0.5)
    distributions = {name: FloatDistribution(-1.0, 1.0) for name in params}
    trial = create_trial(state=TrialState.RUNNING, params=params, distributions=distributions)
    trial.datetime_start = datetime.now() - timedelta(hours=25)
    study._storage.create_new_trial(study._study_id, template_trial=trial)
    assert len(history_seen(study).pending) == 0
    assert len(history_seen(study, max_running_seconds=26 * 3600.0).pending) == 1
