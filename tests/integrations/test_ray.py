"""Ray Tune with the sampler, on a real Ray cluster of this machine."""

import itertools
from pathlib import Path

import pytest

from infold.integrations.optuna import InfoldSampler

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("default"),  # Ray itself warns
]
N_TRIALS, FAILING, NAN = 40, 5, 15
NAMES = [f"x{i}" for i in range(20)]


@pytest.fixture
def cluster():
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def make_search(**settings):
    from ray.tune.search.optuna import OptunaSearch

    return OptunaSearch(sampler=InfoldSampler(method="full_space", seed=0), **settings)


def test_a_failure_and_a_nan_do_not_stop_a_search(cluster, tmp_path):
    from optuna.trial import TrialState
    from ray import tune

    begun = tmp_path / "begun"
    begun.mkdir()
    names = NAMES  # a local name is sent to the workers with the function

    def objective(config: dict) -> None:
        for number in itertools.count():
            try:
                (begun / str(number)).touch(exist_ok=False)
                break
            except FileExistsError:
                pass
        if number == FAILING:
            raise RuntimeError("one of the trials fails")
        tune.report(
            {"loss": float("nan") if number == NAN else sum(config[name] ** 2 for name in names)}
        )

    search = make_search()
    tuner = tune.Tuner(
        objective,
        param_space={name: tune.uniform(-1.0, 1.0) for name in NAMES},
        tune_config=tune.TuneConfig(
            search_alg=search,
            metric="loss",
            mode="min",
            num_samples=N_TRIALS,
            max_concurrent_trials=2,
        ),
        run_config=tune.RunConfig(storage_path=str(tmp_path / "results"), verbose=0),
    )
    results = tuner.fit()
    assert len(results) == N_TRIALS
    assert results.num_errors == 1
    losses = [result.metrics["loss"] for result in results if not result.error]
    assert sum(loss != loss for loss in losses) == 1

    study = search._ot_study
    states = [trial.state for trial in study.trials]
    assert (states.count(TrialState.COMPLETE), states.count(TrialState.FAIL)) == (N_TRIALS - 2, 1)
    values = [trial.value for trial in study.trials if trial.value is not None]
    assert min(values[10:]) < 0.7 * min(values[:10])  # the first ten are random
    check_saving(search, tmp_path / "search.pkl")


def check_saving(search, path: Path) -> None:
    """A restored search knows all trials and suggests what the original does."""
    search.save(str(path))
    restored = make_search()
    restored.restore(str(path))
    assert len(restored._ot_study.trials) == N_TRIALS
    for i in range(3):
        config = search.suggest(f"more {i}")
        assert restored.suggest(f"more {i}") == config
        for each in (search, restored):
            each.on_trial_complete(f"more {i}", {"loss": sum(config[name] ** 2 for name in NAMES)})
    assert restored._ot_study.best_value == search._ot_study.best_value
