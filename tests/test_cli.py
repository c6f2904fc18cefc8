import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from typer.testing import CliRunner

from infold.cli import app

runner = CliRunner()
ARGUMENTS = ["run", "thomson", "--method", "mgpc", "--features", "2", "--trials", "24", "--seed", "5"]


def evaluations(path: Path) -> list:
    return json.loads(path.read_text())["evaluations"]


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
    runner.invoke(app, ["run", "thomson", "--method", "random", "--trials", "3", "--out", str(other)])
    result = runner.invoke(app, ["run", "rosenbrock-linear", "--resume", "--out", str(other)])
    assert "holds a run of thomson, not of rosenbrock-linear" in result.output.replace("\n", " ")
