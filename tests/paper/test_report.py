import json
from pathlib import Path

import numpy as np

from infold.paper import statistics
from infold.paper.cost import judge_cost
from infold.paper.judging import NOT_REPRODUCED, REPRODUCED, UNDECIDED
from infold.paper.report import report
from infold.paper.statistics import Series
from infold.paper.store import TABLE, Store

ROOT = Path(__file__).parents[2]


def test_cost_is_judged_by_the_exponents(tmp_path):
    path = tmp_path / "growth.json"
    assert judge_cost(path)[0] == UNDECIDED
    sizes = [100, 200, 400]
    for power, expected in ((3.0, REPRODUCED), (6.0, NOT_REPRODUCED)):
        path.write_text(
            json.dumps({"N = D": {"full": [sizes, [float(n) ** power for n in sizes]]}})
        )
        assert judge_cost(path)[0] == expected


def test_every_row_has_every_column(tmp_path):
    for columns in report({}, tmp_path / "none.json"):
        assert all(len(row) == len(columns.headings) for row in columns.rows)


def test_other_methods_stand_beside_the_best_of_the_papers(tmp_path):
    def runs(end: float, length: int = 310) -> dict[int, np.ndarray]:
        return {seed: np.linspace(1.0, end + 0.01 * seed, length) for seed in range(20)}

    def series(method: str, acquisition: str, d: int) -> Series:
        return Series(problem="thomson", method=method, acquisition=acquisition, n_features=d)

    curves = {
        series("mgpc", "pi", 2): runs(0.5),
        series("mgpc", "pi", 6): runs(0.0),
        series("add", "pi", 6): runs(-1.0, length=110),  # lower, but short
        series("auto", "ei", 0): runs(-1.0),
        series("random+uniform", "", 0): runs(0.7),
    }
    rows = report(curves, tmp_path / "none.json").others.rows
    assert rows == [
        ("thomson", "mgpc, PI, d = 6", "1.24", "1.12 to 1.39", ""),
        ("thomson", "auto, EI", "0.124", "0.112 to 0.139", "20 of 20"),
        ("thomson", "random+uniform", "6.24", "5.59 to 6.96", "0 of 20"),
    ]


def test_the_report_says_what_the_committed_runs_say(tmp_path):
    """`infold claims --markdown docs/reproduction/claims.md` writes the report."""
    (tmp_path / TABLE).write_bytes((ROOT / "results" / TABLE).read_bytes())
    found = report(statistics.curves(Store(tmp_path).table()), ROOT / "results" / "growth.json")
    page = ROOT / "docs" / "reproduction" / "claims.md"
    assert page.read_text(encoding="utf-8") == found.to_markdown()
