import json

import numpy as np
import pytest
from typer.testing import CliRunner

from infold.cli import app
from infold.comparison import outcomes


def test_scores_are_the_best_feasible_value_so_far():
    found = outcomes.scores("constrained", "tension-spring", "random", 0, 25)
    assert len(found) == 25
    np.testing.assert_array_equal(found, np.minimum.accumulate(found))
    assert found[0] > found[-1]


def test_a_comparison_is_continued_and_ranks_its_runs(tmp_path):
    arguments = ("constrained", ["random", "tpe"], ["tension-spring"], [0], 12, tmp_path)
    pytest.importorskip("optuna")
    made: list[str] = []
    first = outcomes.compare(*arguments, made.append)
    assert sum(first.values()) == 3.0
    assert len(made) == 2
    path = tmp_path / "constrained" / "tension-spring" / "random-s0.json"
    kept = json.loads(path.read_text())
    kept["scores"][-1] = -1.0  # whatever is there counts
    path.write_text(json.dumps(kept))
    assert outcomes.compare(*arguments, made.append) == {"random": 1.0, "tpe": 2.0}
    assert len(made) == 2


@pytest.mark.parametrize("optimizer", ["random", "nsga2", "tpe"])
def test_hypervolume_grows(optimizer):
    pytest.importorskip("moocore")
    pytest.importorskip("optuna")
    found = outcomes.scores("several", "re21", optimizer, 0, 14)
    assert np.all(np.diff(found) <= 0.0)
    assert found[-1] < 0.0


def test_the_command_compares_outcomes(tmp_path):
    words = "compare --suite constrained --optimizers random,penalty --problems tension-spring"
    words += f" --seeds 0 --evaluations 3 --out {tmp_path}"
    result = CliRunner().invoke(app, words.split())
    assert result.exit_code == 0, result.output
    assert "mean rank" in result.output
    wrong = CliRunner().invoke(app, ["compare", "--suite", "hard"])
    assert wrong.exit_code == 2
