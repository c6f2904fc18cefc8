import json

import numpy as np
import pytest
from typer.testing import CliRunner

from infold.cli import app
from infold.comparison import contenders, figures, speed
from infold.comparison.speed import Timing

runner = CliRunner()


class Recorder:
    """A contender that remembers what it was told."""

    def __init__(self, dimension):
        self.told = []
        self.dimension = dimension

    def tell(self, x, y):
        self.told.append((tuple(x), y))

    def ask(self, n=1):
        return [np.full(self.dimension, 0.5)] * n


def test_all_get_the_same_data_and_take_turns(monkeypatch):
    created, order = {}, []
    monkeypatch.setattr(
        contenders,
        "create",
        lambda name, space, seed: created.setdefault(name, Recorder(space.dimension)),
    )
    timings = speed.compare(["a", "b"], 12, 3, repeats=4, report=order.append)
    assert created["a"].told == created["b"].told
    assert len(created["a"].told) == 12 + 5
    assert order == ["a", "b"] * 5
    assert [(t.name, t.n, t.dimension, len(t.seconds)) for t in timings] == [
        ("a", 12, 3, 4),
        ("b", 12, 3, 4),
    ]
    assert all(t.first > 0 and t.median > 0 for t in timings)


def test_what_was_too_slow_is_not_tried_on_larger_cells():
    done = [Timing("slow", 100, 60, 100.0, [90.0]), Timing("quick", 100, 60, 1.0, [0.1])]
    assert speed.too_slow("slow", 300, 60, done)
    assert not speed.too_slow("slow", 30, 60, done)
    assert not speed.too_slow("slow", 300, 20, done)
    assert not speed.too_slow("quick", 300, 60, done)


def test_a_peer_is_missing_when_any_of_its_packages_is(monkeypatch):
    """Optuna without PyTorch has no GPSampler that works."""
    for absent, unable in (
        ("torch", {"gpsampler"}),
        ("botorch", {"botorch", "turbo"}),
        ("optuna", {"gpsampler", "tpe", "cmaes"}),
        ("cmaes", {"cmaes"}),
    ):
        monkeypatch.setattr(
            contenders.importlib.util,
            "find_spec",
            lambda name, a=absent: None if name == a else name,
        )
        assert {name for name in contenders.PEERS if contenders.missing(name) == absent} == unable


def test_a_process_of_its_own_is_measured_from_its_start():
    measured = speed.alone("random", 3, 4, trials=2)
    assert 0 < measured.first < measured.imports + measured.first < measured.total
    assert 1e7 < measured.peak_memory < 1e9
    assert json.loads(speed.line(measured))["name"] == "random"


def test_command_prints_a_table_and_writes_measurements_and_plot(tmp_path):
    out, picture = tmp_path / "speed.jsonl", tmp_path / "speed.png"
    arguments = [
        "speed",
        "--methods",
        "random",
        "--peers",
        "tpe",
        "--evaluations",
        "8,16",
        "--dimensions",
        "4",
    ]
    result = runner.invoke(
        app, [*arguments, "--repeats", "2", "--out", str(out), "--plot", str(picture)]
    )
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(line["name"], line["n"], len(line["seconds"])) for line in lines] == [
        (name, n, 2) for n in (8, 16) for name in ("random", "tpe")
    ]
    assert "tpe" in result.output
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_figure_leaves_out_what_was_not_measured(tmp_path):
    figures.speed(
        [Timing("mgpc", 30, 20, 1.0, [0.1, 0.2]), Timing("botorch", 30, 60, 70.0, [])],
        tmp_path / "a.svg",
    )
    assert (tmp_path / "a.svg").stat().st_size > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "mgpx"], "--methods 'mgpx': expected one of auto"),
        (["--peers", "gp"], "--peers 'gp': expected one of botorch"),
        (["--evaluations", "30,x"], "--evaluations '30,x': expected positive whole numbers"),
        (["--repeats", "0"], "--repeats 0: expected a whole number of at least 1"),
    ],
)
def test_bad_options_are_named(arguments, message):
    result = runner.invoke(app, ["speed", *arguments])
    assert result.exit_code == 2
    assert message in result.output


def test_peers_that_are_not_installed_are_left_out_and_named(monkeypatch):
    monkeypatch.setattr(contenders, "missing", lambda name: "optuna")
    result = runner.invoke(
        app,
        [
            "speed",
            "--methods",
            "random",
            "--evaluations",
            "5",
            "--dimensions",
            "2",
            "--repeats",
            "1",
        ],
    )
    assert result.exit_code == 0
    assert (
        "left out, because not installed: gpsampler, botorch, tpe, cmaes. "
        "pip install 'infold[peers]' installs them" in " ".join(result.output.split())
    )
