"""The programs of examples/ run as they are, and find what they look for."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.integration
EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *arguments],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=600,  # two minutes on a machine that has nothing else to do
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+\.\d+", text)]


def test_a_pipeline_is_better_than_its_defaults(tmp_path):
    tuned, default = numbers(run("sklearn_pipeline.py", tmp_path).splitlines()[0])
    assert tuned > default + 0.02


def test_an_ode_of_40_parameters_is_fitted(tmp_path):
    first, after_50, last = numbers(run("ode.py", tmp_path))[:3]
    assert last < 0.1 * first
    assert last < after_50 < first
    assert (tmp_path / "ode.html").stat().st_size < 5e6


def test_an_external_program_is_optimized_and_continued(tmp_path):
    straight, best, cycloid = numbers(run("external_program.py", tmp_path))[:3]
    assert straight == pytest.approx(0.6386, abs=1e-4)
    assert cycloid < best < 0.61
    again = run("external_program.py", tmp_path)  # all is done: the file has it
    assert numbers(again)[:2] == [straight, best]


def test_workers_on_postgresql_share_a_study(tmp_path, postgres):
    told = run("optuna_postgresql.py", tmp_path, postgres)
    trials, points = map(int, re.findall(r"(\d+) trials at (\d+)", told)[0])
    assert 90 <= trials == points <= 93
    best, first = numbers(told.splitlines()[1])
    assert best < 0.5 * first


def test_electrons_settle_on_the_sphere(tmp_path):
    found, least = numbers(run("thomson.py", tmp_path))[:2]
    assert least <= found < 50.0
    assert (tmp_path / "thomson.png").read_bytes().startswith(b"\x89PNG")


def test_a_truss_stays_within_its_limits(tmp_path):
    told = run("truss.py", tmp_path, "100")
    weight, *left = map(float, re.findall(r"[-+]?\d+\.\d+", told.splitlines()[-2]))
    assert len(left) == 3
    assert min(left) >= 0.0
    assert weight < 600.0
    assert "constraint 2" in (tmp_path / "truss.html").read_text()


def test_robot_arms_learn_from_those_before_them(tmp_path):
    told = run("robot_arms.py", tmp_path)
    lines = [numbers(line) for line in told.splitlines() if line.startswith("arm")]
    chain, alone = np.split(np.array(lines[1:]), 2, axis=1)  # after 5, 10 and 30 evaluations
    ratios = np.median(chain / alone, axis=0)
    assert ratios[1] < 0.6
    assert ratios[2] < 0.9
    assert len(list(tmp_path.glob("arm-*.jsonl"))) == 6
    assert "6 runs, 180 evaluations" in told


def test_every_example_is_shown_in_the_documentation():
    page = (EXAMPLES.parent / "docs" / "examples.md").read_text()
    for path in EXAMPLES.glob("*.py"):
        assert f'--8<-- "examples/{path.name}"' in page
