import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from infold.cli import app
from infold.evaluation.program import Command

runner = CliRunner()
ARGUMENTS = [
    "run",
    "thomson",
    "--method",
    "mgpc",
    "--features",
    "2",
    "--trials",
    "24",
    "--seed",
    "5",
]


def evaluations(path: Path) -> list:
    """What the run file says about evaluations, but for times."""
    lines = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
    times = ("told_at", "seconds", "diagnostics")
    return [
        {key: value for key, value in line.items() if key not in times}
        for line in lines
        if line.get("event") == "evaluation"
    ]


def test_lists_name_every_method_and_problem():
    assert "dmgpc" in runner.invoke(app, ["methods"]).output
    assert "product-of-sines-nonlinear" in runner.invoke(app, ["problems"]).output


def test_killed_run_resumes_to_the_sequence_of_the_uninterrupted_one(tmp_path):
    whole, killed = tmp_path / "whole.json", tmp_path / "killed.json"
    assert runner.invoke(app, [*ARGUMENTS, "--out", str(whole)]).exit_code == 0

    program = [sys.executable, "-m", "infold", *ARGUMENTS, "--out", str(killed)]
    for n_before_kill in (4, 13):  # in the initial design, and while the model is in use
        process = subprocess.Popen(program, stdout=subprocess.DEVNULL)
        while not (killed.exists() and len(evaluations(killed)) >= n_before_kill):
            assert process.poll() is None, "the run ended before it could be killed"
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert len(evaluations(killed)) < 24
        program = [*program, "--resume"] if "--resume" not in program else program
    assert runner.invoke(app, [*ARGUMENTS, "--out", str(killed), "--resume"]).exit_code == 0
    assert evaluations(killed) == evaluations(whole)


def test_interrupted_run_keeps_what_was_done(tmp_path):
    path = tmp_path / "run.json"
    program = [
        sys.executable,
        "-m",
        "infold",
        "run",
        "thomson",
        "--method",
        "full_space",
        "--trials",
        "5000",
        "--out",
        str(path),
    ]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
    while not (path.exists() and len(evaluations(path)) >= 3):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped after" in output
    assert "continue with --resume" in output
    assert len(evaluations(path)) >= 3


def test_existing_file_is_never_overwritten(tmp_path):
    path = tmp_path / "run.json"
    path.write_text("precious")
    result = runner.invoke(app, [*ARGUMENTS, "--out", str(path)])
    assert result.exit_code == 2
    assert "add --resume to continue it" in result.output
    assert path.read_text() == "precious"


def test_misuse_says_what_to_do(tmp_path):
    assert "expected one of rosenbrock-linear" in runner.invoke(app, ["run", "rosenbrok"]).output
    assert "--resume needs --out" in runner.invoke(app, ["run", "thomson", "--resume"]).output
    other = tmp_path / "other.json"
    runner.invoke(
        app, ["run", "thomson", "--method", "random", "--trials", "3", "--out", str(other)]
    )
    result = runner.invoke(app, ["run", "rosenbrock-linear", "--resume", "--out", str(other)])
    assert "holds a run of thomson, not of rosenbrock-linear" in result.output.replace("\n", " ")


SPACE = '[a]\ntype = "float"\nlow = -1.0\nhigh = 1.0\n[n]\ntype = "int"\nlow = 0\nhigh = 5\n'


def write_space(tmp_path: Path) -> str:
    path = tmp_path / "space.toml"
    path.write_text(SPACE)
    return str(path)


def test_minimizes_a_users_function_with_workers_and_continues_it(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("def objective(p):\n    return p['a'] ** 2 + p['n']\n")
    monkeypatch.chdir(tmp_path)
    arguments = [
        "minimize",
        "mine:objective",
        "--space",
        write_space(tmp_path),
        "--method",
        "random",
        "--workers",
        "2",
    ]
    path = tmp_path / "run.json"
    folders = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    for trials in ("8", "12"):
        program = [
            sys.executable,
            "-m",
            "infold",
            *arguments,
            "--trials",
            trials,
            "--checkpoint",
            str(path),
        ]
        done = subprocess.run(
            program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        assert "best value" in done.stdout
    assert "8 evaluations already done" in done.stdout
    found = evaluations(path)
    assert len(found) == 12
    assert all(
        e["y"] == e["x"]["a"] ** 2 + e["x"]["n"] and isinstance(e["x"]["n"], int) for e in found
    )


def test_minimizes_an_external_program(tmp_path):
    script = tmp_path / "simulate.py"
    script.write_text(
        "import sys\nprint('log line')\nprint(float(sys.argv[1]) ** 2 + int(sys.argv[2]))\n"
    )
    path = tmp_path / "run.json"
    arguments = [
        "minimize",
        "--command",
        f"{sys.executable} {script} {{a}} {{n}}",
        "--space",
        write_space(tmp_path),
    ]
    options = ["--method", "random", "--trials", "6", "--workers", "2", "--checkpoint", str(path)]
    result = runner.invoke(app, [*arguments, *options])
    assert result.exit_code == 0, result.output
    assert all(abs(e["y"] - e["x"]["a"] ** 2 - e["x"]["n"]) < 1e-12 for e in evaluations(path))


def test_square_brackets_are_shown_as_they_are(tmp_path):
    path = tmp_path / "d[" / "run].json"
    path.parent.mkdir()
    command = f"{sys.executable} -c 'print({{a}} + {{n}})' [red] [/a]"
    arguments = ["minimize", "--command", command, "--space", write_space(tmp_path)]
    options = ["--method", "random", "--trials", "2", "--checkpoint", str(path)]
    result = runner.invoke(app, [*arguments, *options])
    assert result.exit_code == 0, result.output
    shown = result.output.replace("\n", "")
    assert "[red] [/a]" in shown
    assert "d[/run].json" in shown


def test_program_that_fails_or_hangs_ends_the_run_after_some_failures(tmp_path):
    for script, text, timeout in (
        ("import sys; sys.exit(3)", "ended with status 3", "30"),
        ("import time; time.sleep(60)", "timed out", "0.3"),
    ):
        path = tmp_path / "program.py"
        path.write_text(script)
        arguments = [
            "minimize",
            "--command",
            f"{sys.executable} {path} {{a}} {{n}}",
            "--space",
            write_space(tmp_path),
        ]
        result = runner.invoke(
            app, [*arguments, "--method", "random", "--timeout", timeout, "--max-failures", "2"]
        )
        assert result.exit_code == 1
        assert text in result.output.replace("\n", " ")
        assert "no evaluation succeeded" in result.output


def test_a_program_that_ctrl_c_reached_before_it_began_is_begun_again(tmp_path):
    """For a moment after its start a program is in the terminal's session, where Ctrl-C reaches it.

    The program of this test ends itself in the same way, the first time or every time.
    """
    script = tmp_path / "simulate.py"
    script.write_text(
        "import os, signal, sys\nfrom pathlib import Path\n"
        "signal.signal(signal.SIGINT, signal.SIG_DFL)\nbegun = Path(sys.argv[1])\n"
        "if sys.argv[2] == 'always' or not begun.exists():\n"
        "    begun.touch()\n    os.kill(os.getpid(), signal.SIGINT)\n"
        "print(1.5)\n"
    )
    program = f"{sys.executable} {script} {tmp_path}/begun"
    assert Command(f"{program} {{when}}")({"when": "once"}) == 1.5
    with pytest.raises(RuntimeError, match="ended with status -2"):
        Command(f"{program} {{when}}")({"when": "always"})


def test_command_runs_without_a_shell(tmp_path):
    space = tmp_path / "space.toml"
    space.write_text('[c]\ntype = "categorical"\nchoices = ["; touch broken", "$(touch broken)"]\n')
    script = tmp_path / "program.py"
    script.write_text("import sys\nassert 'touch' in sys.argv[1]\nprint(1)\n")
    arguments = [
        "minimize",
        "--command",
        f"{sys.executable} {script} {{c}}",
        "--space",
        str(space),
        "--trials",
        "4",
    ]
    result = runner.invoke(app, [*arguments, "--method", "random"])
    assert result.exit_code == 0, result.output
    assert not Path("broken").exists()


def test_misuse_of_minimize_says_what_to_do(tmp_path):
    space = write_space(tmp_path)
    for arguments, message in (
        (["--space", space], "expected an objective: either module:function, or --command"),
        (["math:sqrt"], "--space is missing"),
        (["math", "--space", space], "objective = 'math': expected module:function"),
        (
            ["math:nothing", "--space", space],
            "objective = 'math:nothing': module 'math' has no attribute 'nothing'",
        ),
        (["no_such_module:f", "--space", space], "No module named 'no_such_module'"),
        (["math:pi", "--space", space], "objective = 'math:pi': expected a function"),
        (
            ["--command", "./simulate {b}", "--space", space],
            "command has {b}: expected one of a, n",
        ),
        (["--command", "'", "--space", space], "No closing quotation"),
        (["math:sqrt", "--space", str(tmp_path / "none.toml")], "none.toml: No such file"),
    ):
        result = runner.invoke(app, ["minimize", *arguments])
        assert result.exit_code == 2, result.output
        assert message in result.output.replace("\n", " ")


def test_ctrl_c_in_a_terminal_loses_no_evaluation(tmp_path):
    """A terminal sends Ctrl-C to the workers and to the program too."""
    (tmp_path / "mine.py").write_text(
        "import time\ndef objective(p):\n    time.sleep(0.3)\n    return p['a']\n"
    )
    script = tmp_path / "simulate.py"
    script.write_text("import sys, time\ntime.sleep(0.3)\nprint(float(sys.argv[1]))\n")
    for i, objective in enumerate(
        (["mine:objective"], ["--command", f"{sys.executable} {script} {{a}}"])
    ):
        path = tmp_path / f"run{i}.json"
        options = [
            "--space",
            write_space(tmp_path),
            "--method",
            "random",
            "--workers",
            "2",
            "--checkpoint",
            str(path),
        ]
        program = [sys.executable, "-m", "infold", "minimize", *objective, *options]
        process = subprocess.Popen(
            program, cwd=tmp_path, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        while not (path.exists() and len(evaluations(path)) >= 2):
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 130
        assert all(e["y"] == e["x"]["a"] for e in evaluations(path))


def test_a_run_ends_with_its_report_and_says_where_it_is(tmp_path):
    page = tmp_path / "report.html"
    arguments = ["run", "thomson", "--method", "random", "--trials", "12", "--report", str(page)]
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0
    assert f"report written to {page}" in result.output.replace("\n", "")
    assert "<title>thomson</title>" in page.read_text()


def test_a_file_that_is_no_page_is_named_before_the_run_begins(tmp_path):
    precious = tmp_path / "data.csv"
    precious.write_text("1,2,3")
    result = runner.invoke(app, ["run", "thomson", "--trials", "12", "--report", str(precious)])
    assert result.exit_code == 2
    assert "is not a page and is not overwritten" in result.output.replace("\n", " ")
    assert precious.read_text() == "1,2,3"
