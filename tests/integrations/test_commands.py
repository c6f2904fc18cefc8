"""Commands of docs/command-line.md, and Dask, as the documentation has them."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import blocks, commands, programs, run

pytestmark = pytest.mark.integration


def test_dask(tmp_path):
    n_evaluations, value = run(programs("docs/optuna.md")["on_dask.py"], tmp_path).split()
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
