import math

import numpy as np
import pytest
from typer.testing import CliRunner

from infold.cli import app
from infold.comparison import outcomes, outcomes_page
from infold.comparison.runs import Folder, Run, Task


def values(problem, optimizer, evaluations):
    run = outcomes.run_one(Task(problem=problem, optimizer=optimizer, seed=0), evaluations)
    assert len(run.values) == len(run.seconds) == evaluations
    return np.array(run.values)


def invoke(*arguments, code=0) -> str:
    done = CliRunner().invoke(app, ["compare", *(str(argument) for argument in arguments)])
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


def test_runs_hold_the_best_feasible_value_so_far():
    found = values("tension-spring", "random", 25)
    np.testing.assert_array_equal(found, np.minimum.accumulate(found))
    assert found[0] > found[-1]


@pytest.mark.parametrize("optimizer", ["random", "nsga2", "tpe"])
def test_hypervolume_grows(optimizer):
    pytest.importorskip("moocore")
    pytest.importorskip("optuna")
    found = values("re21", optimizer, 14)
    assert np.all(np.diff(found) <= 0.0)
    assert found[-1] < 0.0


def test_a_penalty_outweighs_what_is_gained_by_violating():
    # The cheapest vessels hold too little: only the penalty keeps the search away from them.
    found = values("pressure-vessel", "penalty", 30)
    assert np.isfinite(found[-1])


def test_runs_without_a_feasible_point_are_kept_as_such(tmp_path):
    task = Task(problem="keane-30", optimizer="tpe", seed=0)
    run = Run(task=task, values=(math.inf, 2.0), seconds=(0.0, 0.1), processor="x")
    folder = Folder(tmp_path)
    folder.write(run)
    assert "Infinity" not in folder.path(task).read_text()
    assert folder.runs() == [run]


def test_the_command_makes_runs_once_and_reports_them(tmp_path):
    words = ["--suite", "constrained", "--optimizers", "random,tpe", "--seeds", "0"]
    words += ["--problems", "tension-spring", "--processes", 1, "--out", tmp_path / "runs"]
    assert "2 runs kept" in invoke(*words, "--evaluations", 12)
    before = Folder(tmp_path / "runs").runs()
    assert "2 runs kept" in invoke(*words, "--evaluations", 12)
    assert Folder(tmp_path / "runs").runs() == before
    invoke(*words, "--evaluations", 12, "--report", tmp_path / "page.md", code=2)  # too short
    for run in before:
        Folder(tmp_path / "runs").path(run.task).unlink()
    assert "2 runs are in" in invoke(*words, "--evaluations", 12)
    assert Folder(tmp_path / "runs").runs() == []
    (tmp_path / "runs.parquet").write_bytes(b"damaged")
    invoke(*words, "--evaluations", 12, code=2)
    invoke("--suite", "hard", code=2)
    invoke("--suite", "several", "--batch", 2, code=2)


def test_a_report_ranks_runs_without_a_feasible_point_last(tmp_path):
    folder = Folder(tmp_path / "runs")
    ends = {"auto": 1.0, "tpe": 2.0, "nsga2": math.inf}
    for problem in ("tension-spring", "keane-30"):
        for optimizer, end in ends.items():
            for seed in range(2):
                task = Task(problem=problem, optimizer=optimizer, seed=seed)
                made = (math.inf,) * 50 + (end + seed,) * 150
                folder.write(Run(task=task, values=made, seconds=(0.1,) * 200, processor="x"))
    page = tmp_path / "page.md"
    words = ["--suite", "constrained", "--optimizers", "auto,tpe,nsga2", "--report", page]
    invoke(*words, "--out", folder.folder)
    text = page.read_text()
    assert "| all (2) | auto | 1.00 | 1.00 | 4 of 4 |" in text
    assert "| all (2) | nsga2 | 3.00 | 3.00 | 0 of 4 |" in text
    assert "| 20 parameters and more (1) | tpe | 2.00 | 2.00 | 2 of 2 |" in text
    assert "| all | nsga2 | 100% | 0.5 |" in text
    assert "| keane-30 | 30 | 2 |  | **1.5** | 2.5 | none |" in text
    for run in folder.runs():
        folder.path(run.task).unlink()
    invoke(*words, "--out", folder.folder)  # from the table
    assert page.read_text() == text
    with pytest.raises(ValueError, match="no problem with runs of all of auto, gpsampler"):
        outcomes_page.write(page, "constrained", [], ["auto", "gpsampler"])
