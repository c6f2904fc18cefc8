import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from infold.cli import app
from infold.paper.store import Cell, Run, Store

runner = CliRunner()


def invoke(*arguments, code=0) -> str:
    done = runner.invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


def test_reproduce_runs_a_grid_once_and_says_how_it_went(tmp_path):
    arguments = [
        "reproduce",
        "thomson",
        "--methods",
        "random+uniform,rembo",
        "--features",
        "2,3",
        "--results",
        tmp_path,
    ]
    arguments += ["--seeds", 2, "--iterations", 2, "--jobs", 2]
    output = invoke(*arguments)
    assert "6 of 6 runs done" in output
    assert "rembo pi 3 2" in output
    before = {run.cell: run for run in Store(tmp_path).runs()}
    assert {len(run.values) for run in before.values()} == {12}
    assert (tmp_path / "runs.parquet").exists()
    assert "6 of 6 runs done" in invoke(*arguments)
    assert {run.cell: run for run in Store(tmp_path).runs()} == before


def test_reference_methods_run_on_the_papers_problems(tmp_path):
    arguments = ["--seeds", 1, "--iterations", 2, "--jobs", 1, "--results", tmp_path]
    output = invoke("reproduce", "thomson", "--methods", "full_space,auto", *arguments)
    assert "2 of 2 runs done" in output
    assert {str(run.cell): len(run.values) for run in Store(tmp_path).runs()} == {
        "auto-pi-s0": 12,
        "full_space-pi-s0": 12,
    }


def test_an_interrupted_sweep_says_how_to_continue_and_leaves_no_process_behind(tmp_path):
    import psutil

    program = [
        sys.executable,
        "-m",
        "infold",
        "reproduce",
        "thomson",
        "--methods",
        "full_space",
        "--features",
        "2",
    ]
    program += ["--seeds", "2", "--jobs", "2", "--results", str(tmp_path)]
    process = subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    while not (runs := Store(tmp_path).runs()):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    helpers = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 130, output
    assert "stopped; the same command continues" in output
    assert "Traceback" not in output
    assert all(0 < len(run.values) < 310 and run.state for run in runs)
    assert not psutil.wait_procs(helpers, timeout=30)[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "nonesuch"], "problem = 'nonesuch': expected one of rosenbrock-linear"),
        (
            ["reproduce", "thomson", "--methods", "mgpc,nonesuch"],
            "--methods 'nonesuch': expected one of auto",
        ),
        (
            ["reproduce", "thomson", "--methods", "random+free"],
            "--methods 'random+free': expected one of auto",
        ),
        (
            ["reproduce", "thomson", "--acquisitions", "lucky"],
            "--acquisitions 'lucky': expected one of ei",
        ),
        (
            ["reproduce", "thomson", "--features", "0"],
            "--features '0': expected positive whole numbers",
        ),
        (
            ["reproduce", "thomson", "--features", "13", "--methods", "mgpc"],
            "expected at most the dimension of the space, 12",
        ),
        (
            ["reproduce", "thomson", "--seeds", "0"],
            "--seeds = 0: expected a whole number of at least 1",
        ),
        (
            ["reproduce", "thomson", "--jobs", "0"],
            "--jobs = 0: expected a whole number of at least 1",
        ),
        (
            ["reproduce", "thomson", "--dask", "tcp://127.0.0.1:9"],
            "no Dask cluster answers at tcp://127.0.0.1:9",
        ),
        (["claims"], "holds no runs: `infold reproduce` makes them"),
        (["figures"], "holds no runs"),
    ],
)
def test_misuse_is_reported(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in invoke(*arguments, code=2)


def test_claims_and_figures_of_runs(tmp_path, rng):
    store = Store(tmp_path)
    for seed in range(20):
        for method, end in (("mgpc", 10.0), ("add", 11.0), ("rembo", 12.0)):
            for d in (2, 3):
                cell = Cell(
                    problem="thomson", method=method, acquisition="pi", n_features=d, seed=seed
                )
                best = np.linspace(20, end + 0.1 * rng.uniform(), 310)
                store.write(Run(cell=cell, values=tuple(best)))
    report = tmp_path / "claims.md"
    output = invoke("claims", "--results", tmp_path, "--markdown", report)
    assert "THO-3 reproduced 1 of 1 hold" in output
    assert "THO-2 not reproduced 0 of 1 hold" in output
    assert "ROS-1 undecided 9 open" in output
    line = "THO-3 | PI, d = 3: mgpc better than add | reproduced | 20 × 300"
    assert line in report.read_text()
    assert line.replace(" |", "") in output
    assert "p for Holm p against Holm" in output
    invoke("figures", "--results", tmp_path, "--out", tmp_path / "figures")
    picture = (tmp_path / "figures" / "thomson.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 20_000
    invoke("figures", "--results", tmp_path, "--out", tmp_path / "figures")
    assert (tmp_path / "figures" / "thomson.png").read_bytes() == picture


def test_the_help_names_the_defaults(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert "[default: all cores]" in invoke("reproduce", "--help")
    assert "[default: ei]" in invoke("run", "--help")


def test_the_vae_runs_on_a_test_problem():
    assert "regret" in invoke("run", "thomson", "--method", "vae", "--features", 2, "--trials", 12)
