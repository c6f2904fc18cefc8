"""Several workers on one Optuna study in PostgreSQL.

Every worker is a process of its own. They might as well be on several machines: all they share is
the database. None repeats what another one evaluates at the moment.

    pip install 'infold[optuna]' psycopg2-binary
    python optuna_postgresql.py postgresql+psycopg2://tuner:secret@localhost/studies
"""

import multiprocessing
import sys
import time

import optuna
from optuna.trial import TrialState

from infold.integrations.optuna import InfoldSampler

STUDY = "infold-example"
N_WORKERS = 3
N_TRIALS = 90


def objective(trial):
    x = [trial.suggest_float(f"x{i}", -2.0, 2.0) for i in range(20)]
    layers = trial.suggest_int("layers", 1, 8)
    kind = trial.suggest_categorical("kind", ["relu", "tanh", "gelu"])
    time.sleep(0.05)  # something expensive
    return sum((v - 0.5) ** 2 for v in x) + (layers - 3) ** 2 / 10 + (kind != "tanh")


def work(url):
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.load_study(study_name=STUDY, storage=url, sampler=InfoldSampler())
    enough = optuna.study.MaxTrialsCallback(N_TRIALS, states=(TrialState.COMPLETE,))
    study.optimize(objective, callbacks=[enough])


def main(url):
    # The study is there before the workers begin: two that create tables disturb each other.
    study = optuna.create_study(study_name=STUDY, storage=url, load_if_exists=True)
    processes = multiprocessing.get_context("spawn")
    workers = [processes.Process(target=work, args=(url,)) for _ in range(N_WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    points = {tuple(trial.params.values()) for trial in study.trials}
    print(f"{len(study.trials)} trials at {len(points)} different points")
    print(f"best value {study.best_value:.4f}, first {study.trials[0].value:.4f}")
    print(f"infold report --optuna {url} {STUDY} draws a page about it")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
