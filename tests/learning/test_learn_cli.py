"""`infold learn`, and `--earlier` on the commands that run."""

import json

import pytest
from tests.learning.made import MIXED, learn_cheaply, saved
from typer.testing import CliRunner

from infold import Learned, Optimizer
from infold.cli import app

runner = CliRunner()
SPACE = """
[x0]
type = "float"
low = 0.0
high = 1.0

[x1]
type = "float"
low = 0.0
high = 2.0
"""
OBJECTIVE = "def f(p):\n    return (p['x0'] - 0.3) ** 2 + p['x1'] ** 2\n"


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    monkeypatch.setattr("infold.learning.learned.learn_in_cube", learn_cheaply)


def test_learn_writes_a_file_and_says_what_it_found(tmp_path):
    saved(tmp_path, space=MIXED)
    out = tmp_path / "features.json"
    result = runner.invoke(app, ["learn", str(tmp_path / "run-*.json"), "-o", str(out)])
    assert result.exit_code == 0, result.output
    assert "3 runs, 36 evaluations" in result.output
    assert "features.json" in result.output
    assert set(Learned.load(out).space.parameters) == set(MIXED)


def test_learn_names_what_it_cannot_read(tmp_path):
    out = tmp_path / "features.json"
    for name, text in (("a.json", "hello"), ("b.csv", "1,2\n3,4\n")):
        (tmp_path / name).write_text(text)
        result = runner.invoke(app, ["learn", str(tmp_path / name), "-o", str(out)])
        assert result.exit_code == 2
        assert name in result.output
        assert "Traceback" not in result.output
    assert runner.invoke(app, ["learn", str(tmp_path / "no-*.json")]).exit_code == 2
    assert not out.exists()


def test_learn_does_not_overwrite_a_run(tmp_path):
    (path,) = saved(tmp_path, 1)
    before = path.read_bytes()
    result = runner.invoke(app, ["learn", str(path), "-o", str(path)])
    assert result.exit_code == 2
    assert path.read_bytes() == before


def test_minimize_begins_with_earlier_runs(tmp_path):
    saved(tmp_path, space=[(0.0, 1.0)] * 2)
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "objective.py").write_text(OBJECTIVE)
    arguments = ["minimize", f"{tmp_path}/objective.py:f", "--space", f"{tmp_path}/space.toml"]
    options = ["--method", "random", "--trials", "4", "--checkpoint", f"{tmp_path}/new.jsonl"]
    earlier = ["--earlier", f"{tmp_path}/run-0.json", "--earlier", f"{tmp_path}/run-[12].json"]
    result = runner.invoke(app, [*arguments, *options, *earlier])
    assert result.exit_code == 0, result.output
    lessons = Optimizer.load(tmp_path / "new.jsonl").lessons
    assert lessons is not None
    assert lessons.n_runs == 3
    result = runner.invoke(app, [*arguments, *options, "--earlier", f"{tmp_path}/objective.py"])
    assert result.exit_code == 0, result.output  # it goes on with what it has


def test_run_begins_with_lessons(tmp_path):
    common = ["run", "thomson", "--method", "random", "--trials", "6"]
    for seed in ("0", "1"):
        out = str(tmp_path / f"run-{seed}.json")
        assert runner.invoke(app, [*common, "--seed", seed, "--out", out]).exit_code == 0
    out = str(tmp_path / "features.json")
    assert runner.invoke(app, ["learn", str(tmp_path / "run-*.json"), "-o", out]).exit_code == 0
    new = tmp_path / "new.json"
    result = runner.invoke(app, [*common, "--earlier", out, "--out", str(new)])
    assert result.exit_code == 0, result.output
    assert "earlier" in json.loads(new.read_text().splitlines()[0])
