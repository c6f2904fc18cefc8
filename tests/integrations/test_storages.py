"""Many workers on one study, on PostgreSQL, SQLite and a journal file.

Each worker is a process of its own, and one of them is killed.
"""

import multiprocessing
import os
import signal
import time

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState

from infold.integrations.optuna import InfoldSampler

N_TRIALS = 200
pytestmark = pytest.mark.integration


def objective(trial: optuna.Trial) -> float:
    """A function of twenty parameters of all kinds, with noise as in a real measurement."""
    value = sum(trial.suggest_float(f"linear{i}", -1.0, 1.0) ** 2 for i in range(8))
    value += (
        sum(
            (np.log10(trial.suggest_float(f"log{i}", 1e-4, 1.0, log=True)) + 2.0) ** 2
            for i in range(4)
        )
        / 4.0
    )
    value += sum((trial.suggest_int(f"int{i}", 0, 10) - 7) ** 2 for i in range(4)) / 25.0
    value += sum(trial.suggest_categorical(f"kind{i}", ["a", "b", "c"]) != "b" for i in range(3))
    value += abs(trial.suggest_float("stepped", 0.0, 1.0, step=0.25) - 0.5)
    return value + 0.01 * np.random.default_rng(trial.number).normal()


def open_storage(url: str) -> optuna.storages.BaseStorage:
    if url.startswith("journal:"):
        from optuna.storages.journal import JournalFileBackend

        return optuna.storages.JournalStorage(JournalFileBackend(url.removeprefix("journal:")))
    return optuna.storages.RDBStorage(url)


def work(url: str, seed: int) -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.load_study(
        study_name="shared",
        storage=open_storage(url),
        sampler=InfoldSampler(method="full_space", seed=seed),
    )
    study.optimize(
        objective,
        callbacks=[optuna.study.MaxTrialsCallback(N_TRIALS, states=(TrialState.COMPLETE,))],
    )


def run_workers(url: str, n_workers: int) -> optuna.Study:
    """Run the workers, kill one of them on the way, and return the finished study."""
    study = optuna.create_study(study_name="shared", storage=open_storage(url))
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=work, args=(url, seed), daemon=True) for seed in range(n_workers)
    ]
    for worker in workers:
        worker.start()
    while len(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))) < N_TRIALS // 3:
        assert all(worker.is_alive() for worker in workers)
        time.sleep(0.1)
    assert workers[0].pid is not None
    os.kill(workers[0].pid, signal.SIGKILL)
    for worker in workers[1:]:
        worker.join(600)
        assert worker.exitcode == 0
    return study


@pytest.fixture(scope="module")
def alone() -> float:
    """Best value of a single worker."""
    study = optuna.create_study(sampler=InfoldSampler(method="full_space", seed=0))
    study.optimize(objective, n_trials=N_TRIALS)
    return study.best_value


def check(study: optuna.Study, n_workers: int, alone: float) -> None:
    trials = study.get_trials(deepcopy=False)
    states = [trial.state for trial in trials]
    assert [trial.number for trial in trials] == list(range(len(trials)))
    assert N_TRIALS <= states.count(TrialState.COMPLETE) <= N_TRIALS + n_workers
    assert states.count(TrialState.COMPLETE) + states.count(TrialState.RUNNING) == len(trials)
    assert states.count(TrialState.RUNNING) <= 1  # the trial of the killed worker
    completed = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    assert all(len(trial.params) == 20 and trial.value is not None for trial in completed)
    assert len({tuple(sorted(trial.params.items())) for trial in completed}) == len(completed)
    assert study.best_value < alone + 0.25


def test_eight_workers_on_postgresql_lose_and_repeat_nothing(postgres, alone):
    check(run_workers(postgres, 8), 8, alone)


def test_two_workers_on_sqlite_lose_and_repeat_nothing(tmp_path, alone):
    check(run_workers(f"sqlite:///{tmp_path}/study.db", 2), 2, alone)


def test_two_workers_on_a_journal_file_lose_and_repeat_nothing(tmp_path, alone):
    check(run_workers(f"journal:{tmp_path}/journal.log", 2), 2, alone)
