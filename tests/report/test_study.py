import math
import warnings

import numpy as np
import optuna
import pytest
from typer.testing import CliRunner

from infold.cli import app
from infold.report.page import page
from infold.report.study import subject_of_study

optuna.logging.set_verbosity(optuna.logging.WARNING)


def run_study() -> optuna.Study:
    sampler = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(direction="maximize", sampler=sampler)

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0, step=0.25)
        rate = trial.suggest_float("rate", 1e-3, 1.0, log=True)
        kind = trial.suggest_categorical("kind", ["a", "b"])
        if trial.number % 2:
            trial.suggest_int("sometimes", 1, 3)
        if trial.number == 3:
            raise optuna.TrialPruned
        return x - math.log10(rate) + (kind == "a")

    study.optimize(objective, n_trials=14)
    return study


def test_a_study_is_shown_with_its_own_values():
    study = run_study()
    subject = subject_of_study(study)
    assert list(subject.space.parameters) == ["x", "rate", "kind"]
    assert subject.evaluations[subject.best].value == study.best_value
    assert subject.setting(subject.best, "kind") == study.best_params["kind"]
    assert subject.setting(subject.best, "x") == study.best_params["x"]
    assert [i for i, e in enumerate(subject.evaluations) if e.failed] == [3]
    assert {e.proposed_by for e in subject.evaluations} == {"sampler/first", "sampler"}


def test_a_study_of_a_storage_has_a_page(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(study_name="tuning", storage=url)
    trial = study.ask({"x": optuna.distributions.FloatDistribution(0.0, 1.0)})
    study.tell(trial, state=optuna.trial.TrialState.FAIL)
    out = tmp_path / "report.html"
    done = CliRunner().invoke(app, ["report", "--optuna", url, "tuning", "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert "<title>tuning</title>" in out.read_text()
    missing = CliRunner().invoke(app, ["report", "--optuna", url, "nothing", "-o", str(out)])
    assert missing.exit_code == 2
    assert "has no study 'nothing'" in missing.output


def test_a_missing_database_is_not_made(tmp_path):
    url, out = f"sqlite:///{tmp_path}/typo.db", tmp_path / "report.html"
    missing = CliRunner().invoke(app, ["report", "--optuna", url, "tuning", "-o", str(out)])
    assert missing.exit_code == 2
    assert "there is no such file" in missing.output
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore:Choices for a categorical")
def test_choices_that_only_optuna_tells_apart_are_shown_by_their_numbers():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(0))
    study.optimize(
        lambda trial: (
            trial.suggest_float("x", 0.0, 1.0)
            + len(trial.suggest_categorical("layers", [[64], [64, 64]]))
        ),
        n_trials=6,
    )
    shown = [e.point["layers"] for e in subject_of_study(study).evaluations]
    names = {1: "0: [64]", 2: "1: [64, 64]"}
    assert shown == [names[len(trial.params["layers"])] for trial in study.trials]


def constrained_study(directions: list[str], **where) -> optuna.Study:

    def objective(trial: optuna.Trial) -> list[float]:
        x, y = (trial.suggest_float(name, 0.0, 1.0) for name in "xy")
        trial.set_user_attr("limit", 0.3 - x)
        return [x + y, x * (1.0 - y)][: len(directions)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # experimental in Optuna 4, deprecated in Optuna 5
        sampler = optuna.samplers.TPESampler(
            seed=0, constraints_func=lambda trial: [trial.user_attrs["limit"], -1.0]
        )
        study = optuna.create_study(directions=directions, sampler=sampler, **where)
        study.enqueue_trial({"x": 0.1, "y": 0.1})
        study.optimize(objective, n_trials=20)
    return study


@pytest.mark.parametrize("directions", [["maximize"], ["minimize", "maximize"]])
def test_a_study_with_constraints_has_the_best_trials_that_optuna_has(directions):
    study = constrained_study(directions)
    subject = subject_of_study(study)
    assert sorted(subject.front) == sorted(trial.number for trial in study.best_trials)
    np.testing.assert_array_equal(subject.values, [trial.values for trial in study.trials])
    limits = [[trial.user_attrs["limit"], -1.0] for trial in study.trials]
    np.testing.assert_array_equal(subject.constraints, limits)


@pytest.mark.skipif(
    not hasattr(optuna.Trial, "set_constraint"), reason="constraints have names since Optuna 5"
)
def test_constraints_with_names_keep_them_and_are_unknown_where_a_trial_has_none():
    study = optuna.create_study()
    for i in range(3):
        trial = study.ask({"x": optuna.distributions.FloatDistribution(0.0, 1.0)})
        trial.set_constraint("<b>stress</b>", i - 1.0)
        if i:
            trial.set_constraint("sag", -1.0)
        study.tell(trial, float(-i))
    subject = subject_of_study(study)
    assert subject.constraint_names == ["<b>stress</b>", "sag"]
    np.testing.assert_array_equal(subject.constraints, [[-1, np.nan], [0, -1], [1, -1]])
    assert subject.best == 1
    assert "<b>" not in page(subject).split("</style>")[1]


def test_a_study_of_several_directions_in_a_storage_has_a_page(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    constrained_study(["minimize", "maximize"], storage=url, study_name="both")
    out = tmp_path / "report.html"
    done = CliRunner().invoke(app, ["report", "--optuna", url, "both", "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert "constraint 1" in out.read_text()
