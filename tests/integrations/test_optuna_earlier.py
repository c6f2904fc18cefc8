"""The sampler begins with what earlier studies taught."""

import logging
import pickle

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from tests.learning.made import learn_cheaply

import infold
from infold.integrations.optuna import InfoldSampler

optuna.logging.set_verbosity(optuna.logging.WARNING)
NAMES = [f"x{i}" for i in range(4)]


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    monkeypatch.setattr("infold.learning.learned.learn_in_cube", learn_cheaply)


def objective(trial: optuna.Trial, high: float = 1.0) -> float:
    x = [trial.suggest_float(name, 0.0, high) for name in NAMES]
    kind = trial.suggest_categorical("kind", ["a", "b"])
    return sum((v - 0.3) ** 2 for v in x) + 0.1 * (kind == "a")


def earlier(n_studies: int = 3, n_trials: int = 15, **options) -> list[optuna.Study]:
    studies = []
    for i in range(n_studies):
        sampler = optuna.samplers.RandomSampler(seed=i)
        studies.append(optuna.create_study(study_name=f"old-{i}", sampler=sampler, **options))
        studies[-1].optimize(objective, n_trials=n_trials)
    return studies


def run(sampler: InfoldSampler, n_trials: int = 4, target=objective) -> optuna.Study:
    study = optuna.create_study(sampler=sampler)
    study.optimize(target, n_trials=n_trials)
    return study


def new(sources, **options) -> InfoldSampler:
    return InfoldSampler(method="random", seed=0, earlier=sources, **options)


def test_the_first_trials_are_as_good_as_earlier_ones():
    studies = earlier()
    best = min(study.best_value for study in studies)
    assert run(new(studies)).best_value <= best + 1e-9


def test_workers_with_the_same_sources_learn_the_same(tmp_path):
    url = f"sqlite:///{tmp_path}/studies.db"
    studies = earlier(2, n_trials=5, storage=url)
    by_name = [(url, study.study_name) for study in studies]
    infold.learn(studies).save(tmp_path / "features.json")
    params = [
        [trial.params for trial in run(new(sources)).trials]
        for sources in (studies, by_name, tmp_path / "features.json")
    ]
    assert params[0] == params[1] == params[2]


def test_a_pickled_sampler_keeps_what_it_learned():
    sampler = new(earlier())
    copy = pickle.loads(pickle.dumps(sampler))
    assert [t.params for t in run(copy).trials] == [t.params for t in run(sampler).trials]


def test_other_ranges_and_further_parameters_are_no_trouble():
    def other(trial):
        return objective(trial, high=0.5) + trial.suggest_float("further", -1.0, 1.0) ** 2

    study = run(new(earlier()), n_trials=12, target=other)
    assert len(study.trials) == 12
    assert all(trial.params["x0"] <= 0.5 for trial in study.trials)


def test_the_search_space_may_be_given():
    space = {name: FloatDistribution(0.0, 1.0) for name in NAMES}
    study = run(new(earlier(), search_space=space))
    assert len(study.trials) == 4
    with pytest.raises(ValueError, match="no parameter in common"):
        new(earlier(), search_space={"z": FloatDistribution(0.0, 1.0)})


def test_another_kind_is_an_error_at_the_first_trial():
    with pytest.raises(ValueError, match=r"x0 is of the kind float in .* and int in the new run"):
        run(new(earlier(1)), target=lambda trial: trial.suggest_int("x0", 0, 5))


def test_nothing_in_common_is_a_warning_and_the_study_goes_on(caplog):
    with caplog.at_level(logging.WARNING, logger="infold"):
        study = run(new(earlier(1)), target=lambda trial: trial.suggest_float("z", 0.0, 1.0))
    assert len(study.trials) == 4
    assert caplog.text.count("nothing is learned from earlier runs about these parameters: z") == 1


def test_studies_with_nothing_in_common_are_a_warning_too(caplog):
    other = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    other.optimize(lambda trial: trial.suggest_float("z", 0.0, 1.0), n_trials=5)
    assert len(run(new([*earlier(1), other])).trials) == 4
    assert "has no parameter in common" in caplog.text


@pytest.mark.parametrize("n", [3, 4])
def test_parameters_without_names_are_x0_and_so_on(n, rng):
    x = rng.uniform(size=(12, n))
    study = run(new((x, np.sum((x - 0.3) ** 2, axis=1))))
    first = study.trials[0].params
    best = x[np.argmin(np.sum((x - 0.3) ** 2, axis=1))]
    np.testing.assert_allclose([first[name] for name in NAMES[:n]], best)


def test_studies_that_teach_nothing_are_named(caplog):
    assert len(run(new(optuna.create_study(study_name="empty"))).trials) == 4
    assert "study empty: it is empty" in caplog.text


def test_a_model_is_used_with_lessons():
    sampler = InfoldSampler(method="full_space", seed=0, earlier=earlier(), n_startup_trials=3)
    study = run(sampler, n_trials=6)
    assert np.isfinite(study.best_value)


def test_the_first_trial_is_one_point_though_its_parameters_are_asked_for_one_by_one():
    """With several threads Optuna draws a new seed in between."""
    points = np.repeat(np.linspace(0.1, 0.9, 9)[:, None], len(NAMES), axis=1)
    runs = []
    for i, best in enumerate(points):
        others = np.random.default_rng(i).uniform(size=(3, len(NAMES)))
        runs.append((np.vstack([best, others]), np.arange(4.0)))
    for seed in range(5):
        sampler = InfoldSampler(seed=seed, earlier=runs)
        trial = optuna.create_study(sampler=sampler).ask()
        values = []
        for name in NAMES:
            values.append(trial.suggest_float(name, 0.0, 1.0))
            sampler.reseed_rng()
        assert values == pytest.approx([values[0]] * len(NAMES))


def test_evaluations_decide_how_long_lessons_are_believed_as_elsewhere(monkeypatch):
    """What the models said of each trial is kept with it."""
    from infold.methods.bayesian import BayesianOptimization

    said = []
    suggest = BayesianOptimization.suggest

    def spy(self, history, *rest):
        suggestion = suggest(self, history, *rest)
        said.append(suggestion.proposals[0].diagnostics["trust"]["features"])
        return suggestion

    monkeypatch.setattr(BayesianOptimization, "suggest", spy)
    lessons = infold.learn(earlier(), space=dict.fromkeys(NAMES, (0.0, 1.0)))
    study = optuna.create_study(sampler=InfoldSampler(seed=0, earlier=lessons))
    study.optimize(
        lambda t: sum((t.suggest_float(name, 0.0, 1.0) - 0.3) ** 2 for name in NAMES), n_trials=14
    )
    there, said[:] = list(said), []
    optimizer = infold.Optimizer(dict.fromkeys(NAMES, (0.0, 1.0)), seed=0, earlier=lessons)
    for _ in range(14):
        x = optimizer.ask()
        optimizer.tell(x, sum((value - 0.3) ** 2 for value in x.values()))
    assert len(set(said)) > 1
    np.testing.assert_allclose(there, said, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:Choices for a categorical")
@pytest.mark.parametrize("choices", [[[64], [64, 64]], [1.0, float("nan")], [0, 0.0, "a"]])
def test_choices_that_only_optuna_tells_apart_do_no_harm(choices):
    def target(trial: optuna.Trial) -> float:
        layers = trial.suggest_categorical("layers", choices)
        return objective(trial) + (layers is choices[0])

    old = optuna.create_study(sampler=optuna.samplers.RandomSampler(0))
    old.optimize(target, n_trials=8)
    study = run(new([old, *earlier(1)]), target=target)
    assert len(study.trials) == 4
    assert study.best_value <= old.best_value + 1e-9
