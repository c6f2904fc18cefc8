"""Ctrl-C, SIGTERM and SIGHUP: the first lets evaluations finish, the second stops at once."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from tests import objectives
from tests.leftovers import is_left, marked, wait_until

import infold

BOUNDS = [(-1.0, 1.0)] * 3
SPACE = '[a]\ntype = "float"\nlow = -1.0\nhigh = 1.0\n'


def interrupt_after(seconds: float, number: int = signal.SIGINT) -> threading.Timer:
    timer = threading.Timer(seconds, os.kill, (os.getpid(), number))
    timer.start()
    return timer


@pytest.mark.parametrize("workers", [1, 2])
def test_first_ctrl_c_returns_the_result_so_far(workers, capsys):
    before = signal.getsignal(signal.SIGINT)
    result = infold.minimize(
        objectives.slow_sphere,
        BOUNDS,
        method="random",
        n_trials=100_000,
        seed=0,
        workers=workers,
        callback=lambda result: interrupt_after(0.1) if result.nfev == 3 else None,
    )
    pending = len(result.optimizer.pending)
    assert result.success
    assert result.nfev > 0
    assert np.all(np.isfinite(result.func_vals))
    expected = f"interrupted by Ctrl-C after {result.nfev} evaluations, {pending} pending"
    assert result.message == expected
    assert "Ctrl-C: stopping after the evaluations under way" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before


def test_second_ctrl_c_raises_at_once(tmp_path):
    before = signal.getsignal(signal.SIGINT)

    def fun(x):
        interrupt_after(0.3)
        interrupt_after(0.8)
        time.sleep(30)
        return 1.0

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        infold.minimize(fun, BOUNDS, method="random", checkpoint=tmp_path / "run.jsonl")
    assert time.monotonic() - start < 10.0
    assert signal.getsignal(signal.SIGINT) is before


def test_evaluation_that_fails_by_ctrl_c_stays_pending():
    def fun(x):
        os.kill(os.getpid(), signal.SIGINT)  # reaches a simulator in the terminal as well
        raise RuntimeError("the simulator was interrupted")

    result = infold.minimize(fun, BOUNDS, method="random", seed=0)
    assert result.nfev == 0
    assert len(result.optimizer.pending) == 1
    assert "interrupted by Ctrl-C after 0 evaluations, 1 pending" in result.message


def test_handlers_of_others_and_other_threads_are_left_alone():
    asked = []
    before = signal.signal(signal.SIGINT, lambda number, frame: asked.append(number))
    try:
        options = {"method": "random", "n_trials": 30, "seed": 0}
        result = infold.minimize(
            objectives.slow_sphere,
            BOUNDS,
            callback=lambda result: os.kill(os.getpid(), signal.SIGINT) if result.nfev == 3 else 0,
            **options,
        )
        assert result.nfev == 30
        assert asked == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)
    results = []
    thread = threading.Thread(
        target=lambda: results.append(infold.minimize(objectives.sphere, BOUNDS, **options))
    )
    thread.start()
    thread.join()
    assert results[0].nfev == 30


PYTHON = """
import infold
from tests import objectives

if __name__ == "__main__":
    infold.minimize(
        objectives.half_a_second, [(-1.0, 1.0)] * 3, method="random", n_trials=1000, seed=0,
        workers={workers}, checkpoint={path!r},
    )
"""


def begin(kind: str, folder: Path, path: Path) -> tuple[subprocess.Popen, str]:
    """Start a run that writes to `path`, of one of four kinds; return it and its mark."""
    environment, mark = marked()
    if kind.startswith("python"):
        script = folder / "script.py"
        script.write_text(PYTHON.format(path=str(path), workers=kind[-1]))
        words = [sys.executable, str(script)]
    else:
        (folder / "mine.py").write_text(
            "import time\ndef objective(p):\n    time.sleep(0.5)\n    return p['a'] ** 2\n"
        )
        (folder / "space.toml").write_text(SPACE)
        what = {
            "functions": ["./mine.py:objective"],
            "programs": ["--command", "sh -c 'sleep 0.5; echo {a}'"],
        }[kind]
        words = [sys.executable, "-m", "infold", "minimize", *what, "--space", "space.toml"]
        words += ["--method", "random", "--workers", "2", "--checkpoint", str(path)]
    process = subprocess.Popen(
        words,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    return process, mark


def n_evaluations(path: Path) -> int:
    return path.read_text().count('"event": "evaluation"') if path.exists() else 0


@pytest.mark.parametrize("kind", ["functions", "programs", "python1", "python2"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_a_run_in_order(kind, number, tmp_path):
    path = tmp_path / "run.jsonl"
    process, mark = begin(kind, tmp_path, path)
    wait_until(lambda: n_evaluations(path) >= 2)
    time.sleep(0.2)  # into the next evaluation
    before = n_evaluations(path)
    process.send_signal(number)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 128 + number, output
    assert f"{number.name}: stopping after the evaluations under way" in output
    assert n_evaluations(path) >= before + 1  # what was under way has been finished
    assert not np.any(np.isnan(infold.Optimizer.load(path).values))
    wait_until(lambda: not is_left(mark), 5.0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_second_signal_stops_programs_at_once(number, tmp_path):
    (tmp_path / "space.toml").write_text(SPACE)
    environment, mark = marked()
    words = [sys.executable, "-m", "infold", "minimize", "--command", "sh -c 'sleep 60; echo {a}'"]
    words += ["--space", "space.toml", "--workers", "2", "--checkpoint", "run.jsonl"]
    process = subprocess.Popen(
        words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    )
    wait_until(lambda: len(is_left(mark)) >= 4)  # infold, its watcher and two programs
    time.sleep(0.5)
    process.send_signal(number)
    time.sleep(0.5)
    assert process.poll() is None
    start = time.monotonic()
    process.send_signal(number)
    output, _ = process.communicate(timeout=30)
    assert time.monotonic() - start < 5.0
    assert process.returncode == 128 + number, output
    assert "stopped after 0 of 100 evaluations, 2 pending" in output.replace("\n", " ")
    wait_until(lambda: not is_left(mark), 5.0)


def test_ignored_hangup_stays_ignored(tmp_path):
    """As under nohup."""
    path = tmp_path / "run.jsonl"
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process, mark = begin("functions", tmp_path, path)
    finally:
        signal.signal(signal.SIGHUP, before)
    wait_until(lambda: n_evaluations(path) >= 1)
    process.send_signal(signal.SIGHUP)
    n = n_evaluations(path)
    wait_until(lambda: n_evaluations(path) >= n + 4)
    process.kill()
    process.communicate()
    wait_until(lambda: not is_left(mark), 5.0)
