"""Runs of the comparison: kept whole, made once."""

import json
from dataclasses import replace

import numpy as np
import pytest

from infold.comparison import runs, sweep, table
from infold.comparison.runs import Folder, Run, Task, run_one

TASK = Task(problem="thomson", optimizer="random", seed=0)


def made(task: Task, n: int, processor: str = "") -> Run:
    values = tuple(np.random.default_rng(task.seed).normal(size=n).tolist())
    return Run(task=task, values=values, seconds=(0.5,) * n, processor=processor)


def test_a_run_has_all_its_evaluations_and_times_only_suggestions():
    run = run_one(TASK, 15)
    assert len(run.values) == len(run.seconds) == 15
    assert run.seconds[:10] == (0.0,) * 10
    assert min(run.seconds[10:]) > 0.0
    assert run.values == run_one(TASK, 20).values[:15]
    assert run_one(TASK, 4).values == run.values[:4]


def test_optimizers_of_other_libraries_share_the_first_values():
    first = {
        run_one(replace(TASK, optimizer=name), 11).values[:10]
        for name in ("random", "tpe", "cmaes")
    }
    assert len(first) == 1


def test_points_asked_for_at_once_share_the_time():
    run = run_one(replace(TASK, batch=4), 20)
    assert run.seconds[10] == run.seconds[13] != run.seconds[14]
    assert run.seconds[18] == run.seconds[19]


def test_a_folder_gives_back_what_it_was_given_and_keeps_the_longest(tmp_path):
    folder = Folder(tmp_path)
    long, short = made(TASK, 12), made(TASK, 8)
    other = made(replace(TASK, batch=2), 8)
    for run in (short, long, short, other):
        folder.write(run)
    assert folder.runs() == [other, long]
    assert folder.has(TASK, 12)
    assert not folder.has(TASK, 13)
    assert not folder.has(replace(TASK, seed=1), 1)


def test_a_file_that_is_no_run_is_named(tmp_path):
    path = Folder(tmp_path).path(TASK)
    path.parent.mkdir()
    path.write_text(json.dumps({"format": "other"}))
    with pytest.raises(ValueError, match=path.name):
        Folder(tmp_path).runs()


def test_a_table_gives_back_the_runs_and_new_ones_take_their_place(tmp_path):
    path = tmp_path / "runs.parquet"
    old = [made(TASK, 12, "x"), made(replace(TASK, seed=1), 12)]
    assert table.read(path) == []
    table.write(path, old)
    assert table.read(path) == old
    new = [made(TASK, 12, "y"), made(replace(TASK, seed=1), 8)]
    assert table.merge(old, new) == [new[0], old[1]]


def test_a_sweep_makes_what_is_missing_and_one_failure_does_not_stop_it(tmp_path, monkeypatch):
    folder = Folder(tmp_path)
    there = made(TASK, 12)
    folder.write(there)
    wanted = sweep.tasks(["random", "vae"], ["thomson", "branin-axis-60"], [0])
    seen = []
    outcome = sweep.sweep(
        wanted, folder, evaluations=12, report=lambda done, running: seen.append((done, *running))
    )
    assert outcome.done == 2
    assert outcome.left == 0
    assert {task.optimizer for task in outcome.failed} == {"vae"}
    assert len(outcome.failed) == 2
    found = {run.task: run for run in folder.runs()}
    assert found.pop(TASK) == there  # which was not made again
    [(task, run)] = found.items()
    assert run.values == run_one(task, 12).values
    assert seen[-1] == (2,)


def test_nothing_is_begun_after_the_limit(tmp_path):
    outcome = sweep.sweep([TASK], Folder(tmp_path), evaluations=12, limit=-1.0)
    assert (outcome.done, outcome.left) == (0, 1)
    assert Folder(tmp_path).runs() == []


def test_tasks_come_seed_by_seed_the_longest_first_and_leave_out_what_cannot_be():
    tasks = sweep.tasks(["cmaes", "botorch"], ["boosting", "thomson", "lasso-100"], [1, 0])
    assert [(t.seed, t.optimizer, t.problem) for t in tasks] == [
        (seed, optimizer, problem)
        for seed in (0, 1)
        for optimizer, problem in [
            ("botorch", "lasso-100"),
            ("botorch", "thomson"),
            ("cmaes", "lasso-100"),
            ("cmaes", "boosting"),
            ("cmaes", "thomson"),
        ]
    ]
    assert str(tasks[0]) == "lasso-100 botorch, seed 0"
    assert runs.FORMAT == "infold-comparison"
