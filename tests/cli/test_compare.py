"""The command `infold compare`, on a few small runs."""

import numpy as np
import pytest
from typer.testing import CliRunner

from infold.cli import app
from infold.comparison import contenders
from infold.comparison.runs import Folder, Run
from infold.comparison.sweep import tasks

runner = CliRunner()


def invoke(*arguments, code=0) -> str:
    done = runner.invoke(app, ["compare", *(str(argument) for argument in arguments)])
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


def test_runs_are_made_once_and_a_longer_comparison_makes_them_anew(tmp_path):
    arguments = ["--optimizers", "full_space,random", "--problems", "thomson", "--seeds", "0-1"]
    arguments += ["--processes", 1, "--out", tmp_path / "runs"]
    assert "4 runs kept" in invoke(*arguments, "--evaluations", 12)
    before = Folder(tmp_path / "runs").runs()
    assert {(run.task.optimizer, run.task.seed, len(run.values)) for run in before} == {
        (name, seed, 12) for name in ("full_space", "random") for seed in (0, 1)
    }
    assert "4 runs kept" in invoke(*arguments, "--evaluations", 11)
    assert Folder(tmp_path / "runs").runs() == before
    output = invoke(*arguments, "--evaluations", 20, "--limit", 0)
    assert "4 runs were not begun within 0 s; the same command continues from here" in output


def test_a_report_has_tables_and_figures_and_leaves_the_rest_of_the_page(tmp_path):
    folder = Folder(tmp_path / "runs")
    rng = np.random.default_rng(0)
    for task in tasks(["random", "tpe", "turbo"], ["thomson", "branin-axis-60"], [0]):
        values = tuple((20.0 + rng.exponential(size=60)).tolist())
        folder.write(Run(task=task, values=values, seconds=(0.1,) * 60, processor="x"))
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n<!-- tables: begin -->old<!-- tables: end -->\n\nThe end.\n")
    arguments = ["--out", folder.folder, "--report", page, "--optimizers", "tpe,turbo,random"]
    invoke(*arguments)
    text = page.read_text()
    assert text.startswith("# Title\n")
    assert text.endswith("The end.\n")
    assert "old" not in text
    assert "| choice (1) | tpe |" in text
    assert "| both (2) | random |" in text
    assert "best of each problem" in text
    assert text.count("| both (2) | turbo |") == 1  # only with the slow ones
    for name in ("regret-all.png", "ranks-all.png", "regret-slow.png", "ranks-slow.png"):
        assert f"(page/{name})" in text
        assert (tmp_path / "page" / name).read_bytes().startswith(b"\x89PNG")
    for run in folder.runs():
        folder.path(run.task).unlink()
    invoke(*arguments)  # from the table
    assert page.read_text() == text
    message = invoke(*arguments[:4], "--optimizers", "tpe,gpsampler", code=2)
    assert "has no problem with runs of all of tpe, gpsampler" in message


def test_a_report_says_what_batches_cost(tmp_path):
    """Twice the regret of one at a time, a quarter of the other optimizer's."""
    folder = Folder(tmp_path / "runs")
    regrets = {("random", 1): 1.0, ("random", 4): 2.0, ("tpe", 1): 8.0}
    for (name, batch), regret in regrets.items():
        for task in tasks([name], ["branin-axis-60"], [0, 1], batch):
            values = (0.397887 + 9.0,) * 10 + (0.397887 + regret,) * 50
            folder.write(Run(task=task, values=values, seconds=(0.1,) * 60, processor="x"))
    page = tmp_path / "page.md"
    invoke("--out", folder.folder, "--report", page, "--optimizers", "random,tpe")
    text = page.read_text()
    assert "### In batches of 4" in text
    assert "| choice | random | 2, 0%," in text
    assert "| choice | tpe | 0.25, 100%," in text
    assert (tmp_path / "page" / "regret-batches-4.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--optimizers", "random,tpx"], "'tpx': expected one of"),
        (["--problems", "thomson,ackley"], "--problems 'ackley': expected one of rosenbrock"),
        (["--seeds", "4-x"], "--seeds '4-x': expected whole numbers such as 0-4 or 0,2,5"),
        (["--seeds", "4-0"], "--seeds '4-0': expected whole numbers such as 0-4 or 0,2,5"),
        (["--evaluations", 0], "--evaluations = 0: expected a whole number of at least 1"),
        (["--processes", 0], "--processes = 0: expected a whole number of at least 1"),
        (["--report", "x.md", "--out", "/nowhere"], "/nowhere holds no runs: `infold compare`"),
    ],
)
def test_bad_options_are_named(arguments, message):
    assert message in invoke(*arguments, code=2)


def test_what_is_not_installed_is_left_out_and_named(tmp_path, monkeypatch):
    monkeypatch.setattr(contenders, "missing", lambda name: "torch" if name == "turbo" else None)
    output = invoke(
        *("--optimizers", "turbo,random", "--problems", "thomson", "--seeds", "0"),
        *("--limit", 0, "--processes", 1, "--out", tmp_path),
    )
    assert "left out, because not installed: turbo. pip install 'infold[peers]'" in output
    assert "1 runs were not begun" in output
