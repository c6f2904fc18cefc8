"""The recipes of docs/optuna.md, and the commands of docs/command-line.md, run as written."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import optuna
import pytest
from tests.docs.pages import blocks, commands, programs, run

pytestmark = pytest.mark.integration
RECIPES = programs("docs/optuna.md")


def test_one_line(tmp_path):
    assert float(run(RECIPES["one_line.py"], tmp_path).split()[0]) < 3.0
    study = optuna.load_study(study_name="demo", storage=f"sqlite:///{tmp_path}/demo.db")
    assert len(study.trials) == 60


def test_postgresql(tmp_path, postgres, monkeypatch):
    monkeypatch.setenv("OPTUNA_STORAGE", postgres)
    subprocess.run(
        [Path(sys.executable).parent / "optuna", "create-study", "--study-name", "recipe"],
        check=True,
    )
    path = tmp_path / "worker.py"
    path.write_text(RECIPES["worker.py"].replace('"shared"', '"recipe"'))
    workers = [
        subprocess.Popen([sys.executable, path], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    printed = [worker.communicate(timeout=300)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert any(text.startswith("40 trials, best value") for text in printed)


def test_ray_tune(tmp_path):
    assert float(run(RECIPES["ray_tune.py"], tmp_path).split()[-1]) < 5.0


def test_dask(tmp_path):
    n_evaluations, value = run(RECIPES["on_dask.py"], tmp_path).split()
    assert int(n_evaluations) == 16
    assert float(value) < 5.0


SMALLER = {
    "--trials": "12",
    "--workers": "2",
    "--evaluations": "12",
    "--seeds": "0-0",
    "--dimensions": "6",
}
"""Budgets of the commands, so that they end soon."""


def test_commands_of_the_command_line(tmp_path):
    """Each command of the page runs, in the order of the page; `watch` would not end."""
    (tmp_path / "space.toml").write_text(blocks("docs/spaces.md", "toml")[0].code)
    (tmp_path / "my_module.py").write_text(
        "def objective(p):\n    return p['rate'] + p['layers']\n"
    )
    program = tmp_path / "simulate"
    program.write_text("#!/bin/sh\necho \"$1 $2\" | awk '{print $1 + $2}'\n")
    program.chmod(0o755)
    where = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    ran = []
    for line in commands("docs/command-line.md"):
        words = shlex.split(line)
        for option, value in SMALLER.items():
            if option in words:
                words[words.index(option) + 1] = value
        if words[1] == "watch":
            continue
        if "--command" in words:  # a run of its own
            words[words.index("run.json")] = "program.json"
            words += ["--trials", "12"]
        done = subprocess.run(
            words, cwd=tmp_path, env=where, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        ran.append(words[1])
    assert {"minimize", "report", "run", "speed", "compare", "methods", "problems"} <= set(ran)
    for name in ("run.json", "program.json", "test.json"):
        assert len(re.findall('"event": ?"evaluation"', (tmp_path / name).read_text())) == 12
    assert (tmp_path / "report.html").exists()
    assert (tmp_path / "test.html").exists()
