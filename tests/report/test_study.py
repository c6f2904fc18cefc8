import math

import optuna
import pytest
from typer.testing import CliRunner

from infold.cli import app
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


def test_several_objectives_are_refused():
    study = optuna.create_study(directions=["minimize", "minimize"])
    with pytest.raises(ValueError, match="has 2 objectives: expected one"):
        subject_of_study(study)
