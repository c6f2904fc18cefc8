"""Parameters that only some trials have."""

import pickle
import re

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from infold.integrations import _optuna_private as private
from infold.integrations._optuna_trials import Coding, groups_of
from infold.integrations.optuna import InfoldSampler
from infold.methods import by_name

optuna.logging.set_verbosity(optuna.logging.WARNING)
UNIT = FloatDistribution(0.0, 1.0)


class Spy(optuna.samplers.RandomSampler):
    """A random sampler that keeps what it was asked for."""

    def __init__(self) -> None:
        super().__init__(seed=0)
        self.asked: list[tuple[int, str]] = []

    def sample_independent(self, study, trial, name, distribution):
        self.asked.append((trial.number, name))
        return super().sample_independent(study, trial, name, distribution)


def cheap(**settings) -> InfoldSampler:
    method = by_name("full_space", n_candidates=64, n_starts=4, search_iterations=5)
    return InfoldSampler(method=method, **{"n_startup_trials": 2, "seed": 0, **settings})


def branching(trial: optuna.Trial) -> float:
    """Two kinds of models, each with parameters of its own."""
    value = trial.suggest_float("x", 0.0, 1.0)
    if trial.number % 2:
        return value + sum(trial.suggest_float(f"tree{i}", 0.0, 1.0) for i in range(3))
    return value + (trial.suggest_float("net", 0.0, 1.0) - 0.3) ** 2


def complete(names: str, number: int = 0, **others):
    distributions = {**dict.fromkeys(names, UNIT), **others}
    trial = create_trial(
        params={name: d.low for name, d in distributions.items()},
        distributions=distributions,
        value=0.0,
    )
    trial.number = number
    return trial


def test_groups_are_parameters_that_occur_in_the_same_trials():
    single = IntDistribution(1, 1)
    trials = [complete("xabc", 0), complete("xcab", 1, one=single), complete("xad", 2)]
    trials.append(create_trial(state=TrialState.FAIL, params={"y": 0.5}, distributions={"y": UNIT}))
    groups = groups_of(trials)
    assert [list(group) for group in groups.together] == [["b", "c"], ["d"]]
    assert (groups.changing, groups.n_completed) == (frozenset(), 3)
    changed = groups_of([*trials, complete("xa", 3, b=FloatDistribution(0.0, 2.0))])
    assert changed.changing == {"b"}
    assert not any("b" in group for group in changed.together)


def test_each_group_is_modelled_once_enough_trials_have_it():
    spy = Spy()
    study = optuna.create_study(sampler=cheap(independent_sampler=spy))
    study.optimize(branching, n_trials=14)
    assert {name for number, name in spy.asked if number >= 5} == set()
    assert {name for number, name in spy.asked} == {"x", "net", "tree0", "tree1", "tree2"}


def test_conditional_parameters_get_better_than_at_random():
    def run(**settings) -> float:
        sampler = InfoldSampler(method="full_space", n_startup_trials=5, seed=1, **settings)
        study = optuna.create_study(sampler=sampler)
        study.optimize(branching, n_trials=50)
        ends = [trial.params for trial in study.trials[30:]]
        return float(np.mean([sum(v for k, v in p.items() if k[:4] == "tree") for p in ends]))

    assert run() < 0.5 * run(group=False)


def test_without_groups_a_warning_names_the_parameters_once(caplog):
    spy = Spy()
    study = optuna.create_study(sampler=cheap(independent_sampler=spy, group=False))
    with caplog.at_level("WARNING", "infold"):
        study.optimize(branching, n_trials=8)
    assert {name for number, name in spy.asked if number >= 3} == {
        "net", "tree0", "tree1", "tree2"
    }  # fmt: skip
    assert [record.getMessage() for record in caplog.records] == [
        "Spy chooses these parameters without a model: net, tree0, tree1, tree2 "
        "(only some trials have them, and group = False)"
    ]


def test_a_range_that_changes_is_named_once(caplog):
    def objective(trial: optuna.Trial) -> float:
        return trial.suggest_float("x", 0.0, 1.0) + trial.suggest_float(
            "y", 0.0, 1.0 + trial.number
        )

    study = optuna.create_study(sampler=cheap())
    with caplog.at_level("WARNING", "infold"):
        study.optimize(objective, n_trials=6)
    assert [record.getMessage() for record in caplog.records] == [
        "RandomSampler chooses these parameters without a model: y "
        "(their range is not the same in all trials)"
    ]


def test_a_search_space_that_was_given_is_all_that_is_modelled(caplog):
    spy = Spy()
    sampler = cheap(independent_sampler=spy, search_space={"x": UNIT})
    with caplog.at_level("WARNING", "infold"):
        optuna.create_study(sampler=sampler).optimize(branching, n_trials=8)
    assert {name for number, name in spy.asked if number >= 3} == {
        "net", "tree0", "tree1", "tree2"
    }  # fmt: skip
    assert not caplog.records


def test_a_worker_announces_a_group_when_it_is_asked_for_and_not_before():
    """Others count a running trial as pending in the groups that it has, and in no others."""
    study = optuna.create_study(sampler=cheap())
    study.optimize(branching, n_trials=8)
    trial = study.ask()
    trial.suggest_float("x", 0.0, 1.0)
    names = ("x", "net", "tree0", "tree1", "tree2")
    space = dict.fromkeys(names, UNIT)
    assert set(private.announced(study.trials[-1], space)) == {"x"}
    first = trial.suggest_float("tree0", 0.0, 1.0)
    announced = private.announced(study.trials[-1], space)
    assert set(announced) == {"x", "tree0", "tree1", "tree2"}
    assert announced["tree0"] == first
    coding = Coding({name: UNIT for name in names if name.startswith("tree")})
    assert coding.locate_running(study.trials[-1]) is not None
    assert [trial.suggest_float(f"tree{i}", 0.0, 1.0) for i in range(3)] == [
        announced[f"tree{i}"] for i in range(3)
    ]


def test_none_among_the_choices_of_a_group():
    def objective(trial: optuna.Trial) -> float:
        value = trial.suggest_float("x", 0.0, 1.0)
        if trial.number % 2:
            value += trial.suggest_categorical("c", [None, "a"]) is None
        return value

    study = optuna.create_study(sampler=cheap())
    study.optimize(objective, n_trials=12)
    assert len(study.trials) == 12


def test_the_same_seed_gives_the_same_trials_and_pickling_keeps_them():
    def run(pickled: bool) -> list:
        study = optuna.create_study(sampler=cheap(seed=3))
        for _ in range(10):
            study.optimize(branching, n_trials=1)
            if pickled:
                study.sampler = pickle.loads(pickle.dumps(study.sampler))
        return [trial.params for trial in study.trials]

    assert run(False) == run(False) == run(True)


@pytest.mark.parametrize("n_jobs", [1, 4])
def test_finished_trials_leave_nothing_behind(n_jobs):
    study = optuna.create_study(sampler=cheap())
    study.optimize(branching, n_trials=12, n_jobs=n_jobs)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 12
    assert study.sampler._groups == {}


@pytest.mark.filterwarnings("ignore:PartialFixedSampler is experimental")
def test_a_fixed_parameter_of_a_group_leaves_the_others_to_the_model():
    study = optuna.create_study(sampler=cheap())
    study.optimize(branching, n_trials=6)
    spy = Spy()
    base = cheap(independent_sampler=spy)
    study.sampler = optuna.samplers.PartialFixedSampler({"tree1": 0.5}, base)
    study.optimize(branching, n_trials=4)
    assert [t.params["tree1"] for t in study.trials[6:] if "tree1" in t.params] == [0.5, 0.5]
    assert spy.asked == []


def test_a_range_that_no_model_can_hold_is_left_to_the_other_sampler(caplog):
    def objective(trial: optuna.Trial) -> float:
        wide = trial.suggest_int("wide", 0, 2**60)
        if trial.number % 2:
            wide += trial.suggest_int("sometimes", 0, 2**60)
        return trial.suggest_float("x", 0.0, 1.0) + wide / 2**60

    spy = Spy()
    study = optuna.create_study(sampler=cheap(independent_sampler=spy))
    with caplog.at_level("WARNING", "infold"):
        study.optimize(objective, n_trials=6)
    assert len(study.get_trials(states=[TrialState.COMPLETE])) == 6
    assert {name for number, name in spy.asked if number >= 2} == {"wide", "sometimes"}
    assert [record.getMessage() for record in caplog.records] == [
        "Spy chooses these parameters without a model: sometimes, wide "
        "(their range is too wide, or too narrow, for a model)"
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"group": "no"}, "group = 'no': expected True or False"),
        ({"search_space": ["x"]}, "search_space = ['x']: expected distributions by name"),
        ({"search_space": {"x": 1}}, "search_space['x'] = 1: expected a distribution of Optuna"),
        ({"independent_sampler": 3}, "independent_sampler = 3: expected a sampler of Optuna"),
    ],
)
def test_settings_that_are_none_are_refused_at_once(settings, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        InfoldSampler(**settings)
