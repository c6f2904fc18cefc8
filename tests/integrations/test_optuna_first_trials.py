"""The first trials: the user's own, the middle of all ranges, a Sobol sequence."""

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler

from infold.integrations._optuna_trials import Coding, Memory, look
from infold.integrations.optuna import InfoldSampler

optuna.logging.set_verbosity(optuna.logging.WARNING)
MIDDLE = {"x": 0.0, "rate": pytest.approx(1e-2), "n": 5, "kind": "a"}


def suggest(trial: optuna.Trial) -> dict:
    return {
        "x": trial.suggest_float("x", -1.0, 1.0),
        "rate": trial.suggest_float("rate", 1e-4, 1.0, log=True),
        "n": trial.suggest_int("n", 1, 9),
        "kind": trial.suggest_categorical("kind", ["a", "b"]),
    }


def objective(trial: optuna.Trial) -> float:
    return suggest(trial)["x"] ** 2


def params_of(study: optuna.Study) -> list[dict]:
    return [trial.params for trial in study.trials]


def test_first_trial_is_in_the_middle_and_the_next_ones_are_elsewhere():
    study = optuna.create_study(sampler=InfoldSampler(seed=0))
    study.optimize(objective, n_trials=6)
    first, *others = params_of(study)
    assert first == MIDDLE
    assert len({other["x"] for other in others}) == 5
    assert first["x"] not in {other["x"] for other in others}


def test_next_ones_are_a_sobol_sequence():
    """Of eight points of one, each half of every range has half: random ones rarely do."""
    study = optuna.create_study(sampler=InfoldSampler(seed=0))
    study.optimize(lambda t: sum(t.suggest_float(f"x{i}", 0, 1) for i in range(6)), n_trials=9)
    later = np.array([list(params.values()) for params in params_of(study)[1:]])
    assert np.all(np.sum(later < 0.5, axis=0) == 4)


def test_enqueued_trials_come_before_the_middle():
    study = optuna.create_study(sampler=InfoldSampler(seed=0))
    own = {"x": 0.3, "rate": 0.5, "n": 2, "kind": "b"}
    study.enqueue_trial(own)
    study.optimize(objective, n_trials=3)
    assert params_of(study)[:2] == [own, MIDDLE]
    assert params_of(study)[2] != MIDDLE


def test_workers_that_know_the_space_do_not_repeat_the_middle():
    space = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    study = optuna.create_study(sampler=InfoldSampler(seed=0, search_space=space))
    values = [study.ask().suggest_float("x", 0.0, 1.0) for _ in range(4)]  # none is told
    assert values[0] == 0.5
    assert len(set(values)) == 4


def test_own_sampler_chooses_the_first_trials():
    study = optuna.create_study(
        sampler=InfoldSampler(seed=0, independent_sampler=RandomSampler(seed=5))
    )
    study.optimize(objective, n_trials=4)
    other = optuna.create_study(sampler=RandomSampler(seed=5))
    other.optimize(objective, n_trials=4)
    assert params_of(study) == params_of(other)


def test_region_does_not_shrink_for_trials_that_no_model_chose():
    study = optuna.create_study(sampler=InfoldSampler(seed=0, n_startup_trials=3))
    study.enqueue_trial({"x": 0.9, "rate": 0.5, "n": 2, "kind": "b"})
    study.optimize(objective, n_trials=4)
    study.enqueue_trial({"x": 0.8, "rate": 0.5, "n": 2, "kind": "b"})
    study.optimize(objective, n_trials=1)
    coding = Coding(study.trials[0].distributions)
    seen = look(
        study.trials,
        1.0,
        coding,
        Memory("", coding),
        oldest=study.trials[0].datetime_start,
        n_design=3,
    )
    assert [proposal.by for proposal in seen.history.proposals] == [*["design"] * 3, "", "user"]


def test_trials_that_ran_at_once_did_not_know_each_other():
    study = optuna.create_study(sampler=InfoldSampler(seed=0, n_startup_trials=1))
    space = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    study.tell(study.ask(space), 1.0)
    batch = [study.ask(space) for _ in range(3)]
    for trial in batch:
        study.tell(trial, 2.0)
    coding = Coding(space)
    start = study.trials[0].datetime_start
    seen = look(study.trials, 1.0, coding, Memory("", coding), oldest=start, n_design=1)
    assert [p.diagnostics["known"] for p in seen.history.proposals] == [0, 1, 1, 1]


def test_known_noise_is_taken_and_nonsense_is_refused():
    InfoldSampler(noise=0)
    with pytest.raises(ValueError, match="noise = 'much'"):
        InfoldSampler(noise="much")
