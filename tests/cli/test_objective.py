"""Slips of the user on the command line: one clear line, and exit status 2."""

import sys

import pytest
from typer.testing import CliRunner

from infold.cli import app

runner = CliRunner()
SPACE = '[a]\ntype = "float"\nlow = -1.0\nhigh = 1.0\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a space, in which the command runs; its modules are forgotten afterwards."""
    (tmp_path / "space.toml").write_text(SPACE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def minimize(*arguments: str):
    options = ["--space", "space.toml", "--method", "random"]
    return runner.invoke(app, ["minimize", *arguments, *options])


@pytest.mark.parametrize(
    "objective",
    ["./own_module.py:objective", "own_module.py:objective", "own_module:objective"],
)
def test_objective_is_a_module_or_a_file(folder, objective):
    (folder / "own_module.py").write_text("def objective(p):\n    return p['a']\n")
    result = minimize(objective, "--trials", "3")
    assert result.exit_code == 0, result.output
    result = minimize(f"{folder}/own_module.py:objective", "--trials", "3")
    assert result.exit_code == 0, result.output


def test_file_in_another_folder_finds_its_neighbours(folder):
    (folder / "inner").mkdir()
    (folder / "inner" / "my-objective.py").write_text("from neighbour import objective\n")
    (folder / "inner" / "neighbour.py").write_text("def objective(p):\n    return p['a']\n")
    result = minimize("inner/my-objective.py:objective", "--trials", "3", "--workers", "2")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\ndef objective(p)\n    return 1\n", "own_module.py, line 2: SyntaxError: "),
        ("def objective(p):\nreturn 1\n", "own_module.py, line 2: IndentationError: "),
        ("x = 1\n\ny = x / 0\n", "own_module.py, line 3, in module own_module: ZeroDivisionError"),
        (
            "\nimport no_such_thing\n",
            "line 2, in module own_module: ModuleNotFoundError",
        ),
        ("import sys\nsys.exit(3)\n", "line 2, in module own_module: SystemExit: 3"),
        ("def g():\n    raise KeyError(0)\ng()\n", "line 2, in module own_module: KeyError: 0"),
        ("x = 1\n", "module 'own_module' has no attribute 'objective'"),
        ("objective = 3\n", "expected a function"),
    ],
)
def test_error_in_the_users_module_is_named_with_file_and_line(folder, text, expected):
    (folder / "own_module.py").write_text(text)
    result = minimize("./own_module.py:objective")
    assert result.exit_code == 2, result.output
    assert expected in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["./nothing.py:objective"], "there is no file ./nothing.py"),
        (["./json.py:objective"], "a module called json is there already"),
        (["./own_module.py"], "expected module:function or path/to/file.py:function"),
        (["no_such_module:f"], "No module named 'no_such_module'"),
        (["..:f"], "objective = '..:f'"),
        ([":f"], "expected module:function"),
        (["math:"], "expected module:function"),
        (["--command", "echo {a"], "command = 'echo {a': expected '}' before end of string"),
        (["--command", "./none {a}"], "there is no program './none' that can be run"),
        (["--command", "echo {a}", "--timeout", "-1"], "timeout = -1.0: expected a number above 0"),
        (["math:exp", "--timeout", "nan"], "timeout = nan: expected a number above 0"),
        (["math:exp", "--max-seconds", "0"], "max_seconds = 0.0: expected a number above 0"),
        (["math:exp", "--target", "nan"], "target = nan: expected a finite number"),
        (["math:exp", "--patience", "0"], "patience = 0: expected a whole number of at least 1"),
        (["math:exp", "--workers", "0"], "workers = 0: expected a number of at least 1"),
        (["math:exp", "--on-error", "stop"], "on_error = 'stop': expected one of continue, raise"),
        (["math:exp", "--trials", "0"], "n_trials = 0: expected a whole number of at least 1"),
    ],
)
def test_slip_is_one_line_before_the_first_evaluation(folder, arguments, expected):
    (folder / "json.py").write_text("def objective(p):\n    return 1.0\n")
    (folder / "own_module.py").write_text("def objective(p):\n    return 1.0\n")
    result = minimize(*arguments, "--checkpoint", "run.jsonl")
    assert result.exit_code == 2, result.output
    assert expected in result.output
    assert not (folder / "run.jsonl").exists()


def test_limits_end_the_run_with_a_word(folder):
    (folder / "own_module.py").write_text(
        "import time\ndef objective(p):\n    time.sleep(0.01)\n    return abs(p['a'])\n"
        "def slow(p):\n    time.sleep(60)\n"
    )
    for options, expected in (
        (["--target", "0.5"], "target 0.5 reached"),
        (["--patience", "4"], "no better value in 4 evaluations"),
        (["--max-seconds", "0.3", "--trials", "100000"], "time is up"),
    ):
        result = minimize("own_module:objective", *options)
        assert result.exit_code == 0, result.output
        assert expected in result.output
    result = minimize("own_module:slow", "--timeout", "0.3", "--max-failures", "2")
    assert result.exit_code == 1, result.output
    assert "2 failures in a row, the last: TimeoutError: timed out after 0.3 s" in (
        result.output.replace("\n", " ")
    )


def test_on_error_raise_shows_the_exception(folder):
    (folder / "own_module.py").write_text("def objective(p):\n    return float('many')\n")
    result = minimize("own_module:objective", "--on-error", "raise")
    assert result.exit_code == 1
    assert isinstance(result.exception, ValueError)
