"""The page: it is whole, safe, and made of runs of every kind."""

import base64
import hashlib
import json
import math
import re
from html.parser import HTMLParser

import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint
from tests.report.runs import cheap, mixed, told
from typer.testing import CliRunner

import infold
from infold import Optimizer, report
from infold.cli import app
from infold.report.contents import page_data
from infold.report.page import page
from infold.report.subject import Subject, subject_of
from infold.report.watching import Watcher
from infold.running.checkpoint import open_run

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \u2028 $& ${x} {{y}}"


class Elements(HTMLParser):
    """The elements of a page, with their attributes and what scripts hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[str] = []
        self._in_script = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self._in_script = tag == "script"
        if self._in_script:
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._in_script = False

    def handle_data(self, data):
        if self._in_script:
            self.scripts[-1] += data


def data_of(text: str) -> dict:
    return json.loads(Elements(text).scripts[0])


def evil_run(n_objectives: int = 1) -> Optimizer:
    space = {EVIL: (0.0, 1.0), "kind": infold.Categorical([EVIL, "b", "c", "d"])}
    optimizer = Optimizer(space, method="random", seed=0, direction=["minimize"] * n_objectives)
    for i in range(6):
        x = optimizer.ask()
        values = float(i) if n_objectives == 1 else [float(i), -float(i)]
        error = EVIL if i % 2 else None
        optimizer.tell(x, None if error else values, error=error, constraints=[-1.0, i - 3.0])
    return optimizer


@pytest.mark.parametrize("n_objectives", [1, 2])
def test_what_users_wrote_is_text_and_nothing_else(n_objectives):
    text = page(Subject(evil_run(n_objectives), title=EVIL, constraint_names=[EVIL, "b"]))
    elements = Elements(text)
    plain = Elements(page(Subject(told(6, method="random"))))
    assert elements.tags == plain.tags
    assert {name for name, _ in elements.attributes} == {name for name, _ in plain.attributes}
    data = data_of(text)
    assert data["parameters"][0]["name"] == EVIL
    assert data["failures"]["messages"] == [EVIL] * 3
    assert data["constraints"]["names"] == [EVIL, "b"]


def test_only_the_scripts_of_the_page_may_run():
    text = page(subject_of(told(6, method="random")))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "unsafe-eval" not in policy
    allowed = re.findall(r"'sha256-([^']*)'", policy)
    scripts = Elements(text).scripts[1:]
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    assert [base64.b64encode(digest).decode() for digest in digests] == allowed


def test_the_page_needs_nothing_else():
    elements = Elements(page(subject_of(told(6, method="random"))))
    assert not {"link", "img", "iframe", "object", "base"} & set(elements.tags)
    assert not {"src", "href", "onclick", "onload"} & {name for name, _ in elements.attributes}
    assert "Redistribution and use in source and binary forms" in elements.scripts[1]


@pytest.mark.parametrize("name", ["random", "auto", "mgpc", "add", "rembo"])
def test_runs_of_every_method_have_a_page(name):
    optimizer = told(13, method=cheap(name))
    if name == "auto":
        optimizer.tell(optimizer.ask(), 0.3)
    data = page_data(subject_of(optimizer))
    (model,) = data["models"]
    assert len(model["slices"]) == 5
    assert sum(model["importance"]["shares"]) == pytest.approx(1.0, abs=1e-4)
    assert (data["features"] is not None) == (name in ("mgpc", "rembo"))
    assert (data["region"] is not None) == (name == "auto")
    assert model["left_out"]["evaluations"]


def empty() -> Optimizer:
    return Optimizer([(0.0, 1.0)] * 3, seed=0)


def without_success() -> Optimizer:
    optimizer = Optimizer(mixed(), seed=0)
    for _ in range(12):
        optimizer.tell(optimizer.ask(), math.nan, error="no")
    return optimizer


def with_failures() -> Optimizer:
    optimizer = told(12, space=mixed(), direction="maximize")
    optimizer.tell(optimizer.space.decode([0.9] * optimizer.space.dimension), None)
    optimizer.ask()
    return optimizer


def strange() -> Optimizer:
    space = {
        "__proto__": (0.0, 1.0),
        "": infold.Int(0, 2**53),
        "huge": infold.Int(10**5000, 10**5000),
        "wide": infold.Float(-1e308, 1e308),
        "any": infold.Categorical([("a", 1), "constructor"]),
    }
    optimizer = Optimizer(space, method="random", seed=0)
    for i in range(8):
        optimizer.tell(optimizer.ask(), i * 1e200, error="\ud800")
    return optimizer


@pytest.mark.parametrize(
    ("make", "n"),
    [(strange, 8), (empty, 0), (lambda: told(1), 1), (without_success, 12), (with_failures, 13)],
)
def test_runs_of_every_kind_have_a_page(make, n):
    optimizer = make()
    data = data_of(page(subject_of(optimizer)))
    assert len(data["points"]) == n
    best = optimizer.best
    assert (data["best_point"] is None) == (best is None)
    assert bool(data["models"][0]["slices"]) == (best is not None)
    if best is not None:
        assert data["best_point"]["values"][0] == pytest.approx(best[1], rel=1e-5)


def test_a_run_that_is_being_written_is_read_and_left_alone(tmp_path):
    path = tmp_path / "run.json"
    given = {"method": "random", "seed": 0}
    with open_run(path, space=[(0.0, 1.0)] * 5, given=given) as run:
        run.optimizer.tell(run.optimizer.ask(), 1.0)
        run.save()
        before = path.read_bytes(), path.stat().st_mtime_ns
        report.write(path, tmp_path / "report.html")
        assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_a_method_that_is_not_infolds_own_lends_its_evaluations(tmp_path):
    path = tmp_path / "run.json"
    told(4, method="random").save(path)
    head, rest = path.read_text().split("\n", 1)
    fields = {**json.loads(head), "method": {"own": "Mine"}}
    path.write_text(f"{json.dumps(fields)}\n{rest}")
    assert "fitted for this report" in subject_of(path).model_note


@pytest.mark.parametrize("name", ["full_space", "random"])
def test_a_run_with_a_function_for_a_constraint_has_the_page_of_its_file(name, tmp_path):
    path = tmp_path / "run.json"
    where = NonlinearConstraint(lambda x: x[0] + x[1], 0.5, math.inf)
    run = infold.minimize(
        lambda x: float(sum(x)),
        [(0.0, 1.0)] * 5,
        where=[where, LinearConstraint([0.0, 0.0, 1.0, 0.0, 0.0], 0.1, 1.0)],
        method=cheap(name),
        n_initial=10,
        n_trials=12,
        checkpoint=path,
        seed=0,
    )
    made = page_data(subject_of(path))
    assert made == page_data(subject_of(run))
    assert len(made["points"]) == 12
    out = tmp_path / "page.html"
    for options in ([], ["--method", "random"]):
        result = CliRunner().invoke(app, ["report", str(path), "-o", str(out), *options])
        assert result.exit_code == 0
    assert "<title>run" in Watcher(path).page()


def test_only_pages_are_overwritten(tmp_path):
    path = tmp_path / "run.json"
    told(3, method="random").save(path)
    result = CliRunner().invoke(app, ["report", str(path), "-o", str(path)])
    assert result.exit_code == 2
    assert "not a page" in result.output
    out = tmp_path / "report.html"
    for _ in range(2):
        assert CliRunner().invoke(app, ["report", str(path), "-o", str(out)]).exit_code == 0
    assert data_of(out.read_text())["points"]


def test_a_run_that_is_none_is_refused_by_name():
    with pytest.raises(ValueError, match="run = 3: expected an Optimizer"):
        report.write(3, "report.html")
