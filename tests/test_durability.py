"""Runs that are killed lose nothing."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from tests import objectives
from tests.chained import Chained

import infold

PROGRAM = """
import infold
from tests import objectives

if __name__ == "__main__":
    infold.minimize(
        objectives.slow_sphere,
        [(-1.0, 1.0)] * 3,
        method="random",
        n_trials=100_000,
        workers=2,
        seed=0,
        checkpoint={path!r},
    )
"""


def n_evaluations(path) -> int:
    return path.read_text().count('"event": "evaluation"') if path.exists() else 0


def test_killed_at_20_random_moments_a_parallel_run_loses_no_evaluation(tmp_path, rng):
    path, script = tmp_path / "run.jsonl", tmp_path / "program.py"
    script.write_text(PROGRAM.format(path=str(path)))
    folders = [os.getcwd(), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    kept: list = []
    for _ in range(20):
        process = subprocess.Popen(
            [sys.executable, str(script)], env=environment, start_new_session=True
        )
        while n_evaluations(path) <= len(kept):
            assert process.poll() is None
            time.sleep(0.005)
        time.sleep(rng.uniform(0.0, 0.3))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        optimizer = infold.Optimizer.load(path)
        now = [(tuple(x), y) for x, y in zip(optimizer.points, optimizer.values, strict=True)]
        assert now[: len(kept)] == kept
        assert len(now) > len(kept)
        assert len(optimizer.pending) <= 2
        kept = now
    assert len({x for x, _ in kept}) == len(kept)
    assert all(np.isclose(y, sum(v * v for v in x)) for x, y in kept)


def test_resumed_parallel_run_evaluates_what_was_pending(tmp_path):
    path = tmp_path / "run.jsonl"
    optimizer = infold.Optimizer([(-1.0, 1.0)] * 3, method="random", seed=0)
    asked = optimizer.ask(3)
    optimizer.tell(asked[1], 0.5)
    optimizer.save(path)
    result = infold.minimize(lambda x: float(np.sum(x**2)), checkpoint=path, n_trials=5)
    np.testing.assert_array_equal(result.x_iters[1:3], [asked[0], asked[2]])
    assert result.nfev == 4
    assert infold.Optimizer.load(path).pending == []


def test_checkpoint_of_another_space_is_refused_and_kept(tmp_path):
    path = tmp_path / "run.jsonl"
    infold.minimize(lambda x: 1.0, [(0.0, 1.0)] * 2, method="random", n_trials=3, checkpoint=path)
    before = path.read_text()
    with pytest.raises(ValueError, match="holds a run in another space"):
        infold.minimize(lambda x: 1.0, [(0.0, 2.0)] * 2, n_trials=5, checkpoint=path)
    assert path.read_text() == before


def test_first_points_are_not_repeated_after_a_resume(tmp_path):
    path, calls = tmp_path / "run.jsonl", []
    for n_trials in (2, 6):
        infold.minimize(
            lambda x: calls.append(tuple(x)) or 1.0,
            [(0.1, 0.3)] * 2,  # where coordinates in the unit cube are rounded
            method="random",
            x0=[[0.2008, 0.204], [0.204, 0.2], [0.28, 0.2008]],
            n_trials=n_trials,
            seed=0,
            checkpoint=path,
        )
    assert len(calls) == len(set(calls)) == 6
    assert calls[:3] == [(0.2008, 0.204), (0.204, 0.2), (0.28, 0.2008)]


def test_what_cannot_be_written_is_known_before_the_first_evaluation(tmp_path):
    calls = []
    with pytest.raises(OSError, match="No such file or directory"):
        infold.minimize(
            calls.append,
            [(0.0, 1.0)],
            method="random",
            checkpoint=tmp_path / "missing" / "run.jsonl",
        )
    assert calls == []


def test_run_file_keeps_its_mode_and_links_stay_links(tmp_path):
    target, link = tmp_path / "target.jsonl", tmp_path / "run.jsonl"
    optimizer = infold.Optimizer([(0.0, 1.0)], method="random", seed=0)
    optimizer.save(target)
    target.chmod(0o640)
    link.symlink_to(target)
    optimizer.tell([0.5], 1.0)
    optimizer.save(link)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert len(infold.Optimizer.load(target)) == 1


def test_method_of_the_users_own_is_checkpointed_and_continued(tmp_path):
    path = tmp_path / "run.jsonl"

    def run(n_trials, **settings):
        return infold.minimize(
            objectives.sphere, n_trials=n_trials, n_initial=3, seed=0, **settings
        )

    bounds = [(-1.0, 1.0)] * 3
    whole = run(30, bounds=bounds, method=Chained())
    run(17, bounds=bounds, method=Chained(), checkpoint=path)
    with pytest.raises(ValueError, match="Chained is not one of infold's own: pass it as method="):
        run(30, checkpoint=path)
    resumed = run(30, checkpoint=path, method=Chained())
    np.testing.assert_array_equal(resumed.x_iters, whole.x_iters)
    assert resumed.nfev == 13
