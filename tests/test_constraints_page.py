"""The blocks of docs/constraints.md run as they are written."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "constraints.md").read_text()


def block(heading: str) -> dict:
    found = re.search(rf"^## {heading}.*?^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found, heading
    names: dict = {}
    exec(compile(found[1], heading, "exec"), names)
    return names


def test_constraints_on_outcomes():
    result = block("Constraints on outcomes")["result"]
    assert result.success
    # width = h / 4 and w h² = 1/2: h³ = 2, weight h² / 4.
    assert result.fun == pytest.approx(2.0 ** (2.0 / 3.0) / 4.0, rel=0.05)


def test_several_objectives():
    result = block("Several objectives")["result"]
    assert len(result.pareto_x) > 5


def test_known_constraints_on_points():
    result = block("Known constraints on points")["result"]
    assert all(abs(np.sum(x) - 1.0) < 1e-7 and x[0] * x[1] >= 0.05 for x in result.x_iters)


def test_optuna():
    pytest.importorskip("optuna")
    study = block("Optuna")["study"]
    assert all(t.params["x"] * t.params["y"] >= 0.5 for t in study.best_trials)
