import json
from pathlib import Path

from infold.paper import statistics
from infold.paper.cost import judge_cost
from infold.paper.judging import NOT_REPRODUCED, REPRODUCED, UNDECIDED
from infold.paper.report import report
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
        assert {len(row) for row in columns.rows} == {len(columns.headings)}


def test_the_report_says_what_the_committed_runs_say(tmp_path):
    """`infold claims --markdown docs/reproduction/claims.md` writes the report."""
    (tmp_path / TABLE).write_bytes((ROOT / "results" / TABLE).read_bytes())
    found = report(statistics.curves(Store(tmp_path).table()), ROOT / "results" / "growth.json")
    page = ROOT / "docs" / "reproduction" / "claims.md"
    assert page.read_text(encoding="utf-8") == found.to_markdown()
