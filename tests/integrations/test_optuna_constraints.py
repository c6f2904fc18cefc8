"""Constraints and several objectives in Optuna studies."""

import math
from datetime import datetime

import numpy as np
import optuna
import pytest

from infold.integrations import _optuna_private as private
from infold.integrations._optuna_trials import Coding, Memory, constraint_table, look
from infold.integrations.optuna import InfoldSampler
from infold.methods import by_name

needs_names = pytest.mark.skipif(
    not hasattr(optuna.Trial, "set_constraint"), reason="came with Optuna 5"
)


def sampler(**settings) -> InfoldSampler:
    method = by_name("full_space", n_candidates=64, n_starts=4, search_iterations=10)
    return InfoldSampler(method=method, n_startup_trials=5, seed=0, **settings)


def plane(trial: optuna.Trial) -> float:
    x = [trial.suggest_float(f"x{i}", 0.0, 1.0) for i in range(3)]
    trial.set_user_attr("c", [1.0 - x[0] - 2.0 * x[1]])
    return sum(x)


def test_a_constrained_study_finds_the_best_feasible_trial():
    study = optuna.create_study(sampler=sampler(constraints_func=lambda t: t.user_attrs["c"]))
    study.optimize(plane, n_trials=20)
    assert study.best_value < 0.65  # the best is 0.5
    assert study.best_trial.user_attrs["c"][0] <= 0.0
    for trial in study.trials:
        assert list(private.constraints(trial).values()) == trial.user_attrs["c"]


@needs_names
def test_constraints_that_trials_set_themselves_count():
    def objective(trial: optuna.Trial) -> float:
        value = plane(trial)
        trial.set_constraint("sum", trial.user_attrs["c"][0])
        if trial.number % 2:  # one that only some trials know
            trial.set_constraint("first", trial.params["x0"] - 0.9)
        return value

    study = optuna.create_study(sampler=sampler())
    study.optimize(objective, n_trials=20)
    assert study.best_value < 0.65  # the best is 0.5
    assert sum(trial.constraints["sum"] <= 0.1 for trial in study.trials[5:]) > 10


def test_constraints_are_asked_for_as_optunas_own_samplers_do():
    """Once for each trial that completed or was pruned; exceptions pass, NaN is refused."""
    asked = []

    def constraints(trial: optuna.trial.FrozenTrial) -> tuple[float, ...]:
        asked.append(trial.number)
        return (1.0,)

    study = optuna.create_study(sampler=sampler(constraints_func=constraints))

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        if trial.number == 1:
            raise optuna.TrialPruned
        if trial.number == 2:
            raise RuntimeError
        return x

    study.optimize(objective, n_trials=9, catch=RuntimeError)
    assert asked == [0, 1, 3, 4, 5, 6, 7, 8]

    study = optuna.create_study(sampler=sampler(constraints_func=lambda t: (math.nan,)))
    with pytest.raises(ValueError, match="NaN"):
        study.optimize(objective, n_trials=1)
    with pytest.raises(ValueError, match="constraints_func"):
        sampler(constraints_func=3)


@pytest.mark.parametrize("odd", [0, 3])
def test_a_trial_with_an_odd_number_of_constraints_is_named_and_its_own_are_left_out(odd, caplog):
    def constraints(trial: optuna.trial.FrozenTrial) -> list[float]:
        return trial.user_attrs["c"] * (2 if trial.number == odd else 1)

    study = optuna.create_study(sampler=sampler(constraints_func=constraints))
    study.optimize(plane, n_trials=9)
    assert len(study.trials) == 9
    named = f"trial {odd} has 2 constraints, where most trials have 1"
    assert sum(named in message for message in caplog.messages) == 1
    assert "constraints_func" in caplog.text
    table = constraint_table(study.trials, set())
    assert np.flatnonzero(np.isnan(table[:, 0])).tolist() == [odd]


@needs_names
def test_trials_that_fail_with_constraints_end_the_first_phase():
    def objective(trial: optuna.Trial) -> float:
        value = plane(trial)
        trial.set_constraint("sum", trial.user_attrs["c"][0])
        return value if trial.number == 0 else math.nan

    study = optuna.create_study(sampler=sampler())
    study.optimize(objective, n_trials=6)
    coding, memory = Coding(study.trials[0].distributions), Memory()
    memory = memory.of(study.study_name, coding)
    seen = look(study.trials, 1.0, coding, memory, oldest=datetime.now(), n_design=3)
    assert seen.n_usable == seen.n_finished == 6
    assert seen.history.n_succeeded == 1
    assert [proposal.by for proposal in seen.history.proposals] == ["design"] * 3 + [""] * 3


@pytest.mark.parametrize("constrained", [False, True])
def test_a_study_of_several_objectives_finds_its_front(constrained):
    settings = {"constraints_func": lambda t: [0.3 - t.params["x0"]]} if constrained else {}
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=sampler(**settings))

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        x = np.array([trial.suggest_float(f"x{i}", 0.0, 1.0) for i in range(3)])
        rest = float(np.sum((x[1:] - 0.4) ** 2))
        return x[0] ** 2 + rest, -((1.0 - x[0]) ** 2) - rest

    study.optimize(objective, n_trials=20)
    front = np.array([t.values for t in study.best_trials]) * [1, -1]
    assert np.median(np.sum(np.sqrt(front), axis=1)) < 1.3
    if constrained:
        assert all(t.params["x0"] >= 0.3 for t in study.best_trials)


def test_trials_say_with_which_weights_they_looked_for_gaps_of_the_front():
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler())
    box = {f"x{i}": optuna.distributions.FloatDistribution(0.0, 1.0) for i in range(2)}
    for number in range(14):
        trial = study.ask(box)
        x, y = trial.params.values()
        if number < 13:
            study.tell(trial, [x**2 + y, (1.0 - x) ** 2 + y])
    looked = [private.looked_with(trial) for trial in study.trials]
    assert 2 <= sum(map(bool, looked)) <= 9  # half of those after the first five, more or less
    assert all(sum(said["weights"]) == pytest.approx(1.0) for said in looked if said)
    coding = Coding(box)
    memory = Memory().of(study.study_name, coding)
    seen = look(study.trials, np.ones(2), coding, memory, oldest=datetime.min, n_design=5)
    for said, proposal in zip(
        looked, seen.history.proposals, strict=True
    ):  # the last one is pending
        assert proposal.diagnostics.items() >= said.items()
