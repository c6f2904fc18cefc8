"""Laws of fixed parameters: every point has the given values, the others are searched."""

import json

import numpy as np
import pytest
from tests.chained import Chained

from infold import Bool, Categorical, Float, Int, Optimizer

SPACE = {
    "rate": Float(1e-4, 1.0, log=True),
    "x": Float(0.1, 0.3),
    "y": Float(-1.0, 1.0),
    "n": Int(1, 50, log=True),
    "kind": Categorical(["a", "b", "c"]),
    "flag": Bool(),
}
FIXED = {"x": 0.2008, "kind": "b", "rate": 0.003}


def value(p: dict) -> float:
    kind = {"a": 0.0, "b": 0.3, "c": 1.0}[p["kind"]]
    return (p["x"] - 0.2) ** 2 + (p["y"] - 0.5) ** 2 + abs(p["n"] - 7) / 50 + kind + p["flag"]


@pytest.mark.parametrize("name", ["mgpc", "full_space", "rembo", "add", "random"])
def test_points_have_the_fixed_values_to_the_last_bit_and_vary_otherwise(name):
    optimizer = Optimizer(SPACE, method=name, n_initial=6, seed=0)
    asked = []
    for _ in range(5):
        for x in optimizer.ask(2, fixed=FIXED):
            asked.append(x)
            optimizer.tell(x, value(x))
    assert all({key: x[key] for key in FIXED} == FIXED for x in asked)
    assert len({x["y"] for x in asked}) == 10
    by_method = [e for e in optimizer.evaluations if e.proposed_by.split("/")[0] == name]
    assert len(by_method) == 4
    assert not any("fallback" in e.diagnostics and e.diagnostics["fallback"] for e in by_method)


def test_the_other_parameters_are_searched_given_the_fixed_ones():
    """The best y depends on x: with x fixed elsewhere than the data the model must follow."""
    optimizer = Optimizer([(0.0, 1.0)] * 2, method="full_space", n_initial=10, seed=0)
    for _ in range(25):
        x = optimizer.ask()
        optimizer.tell(x, float((x[1] - x[0]) ** 2))
    for place in (0.1, 0.9):
        best = np.inf
        for _ in range(3):
            x = optimizer.ask(fixed={0: place})
            assert x[0] == place
            best = min(best, abs(x[1] - place))
            optimizer.tell(x, float((x[1] - x[0]) ** 2))
        assert best < 0.05


def test_with_one_value_left_free_all_of_its_values_come_before_one_is_repeated(caplog):
    space = {"n": Int(0, 20), "kind": Categorical(["a", "b"]), "flag": Bool()}
    optimizer = Optimizer(space, method="full_space", n_initial=3, seed=0)
    fixed = {"kind": "b", "flag": True}
    for _ in range(21):
        x = optimizer.ask(fixed=fixed)
        optimizer.tell(x, x["n"])
    assert sorted(x["n"] for x in optimizer.points) == list(range(21))
    assert not optimizer.exhausted
    assert "repeated" not in caplog.text
    x = optimizer.ask(fixed=fixed)
    assert {x["kind"], x["flag"]} == {"b", True}
    assert "is known already: all others are too: it is repeated" in caplog.text
    optimizer.tell(x, x["n"])
    assert optimizer.evaluations[-1].proposed_by.endswith("/repeated")
    assert optimizer.ask()["kind"] == "a" or not optimizer.pending[-1]["flag"]


@pytest.mark.parametrize("method", ["full_space", Chained()])
def test_resumed_run_with_fixed_parameters_equals_the_uninterrupted_one(tmp_path, method):
    path = tmp_path / "run.jsonl"
    own = None if isinstance(method, str) else method

    def play(between) -> list:
        optimizer = Optimizer(SPACE, method=method, n_initial=4, seed=0)
        for i in range(14):
            fixed = {"kind": "abc"[i % 3], "y": 0.1 * (i % 3)} if i % 2 else None
            x = optimizer.ask(fixed=fixed)
            if i % 5:
                optimizer.tell(x, value(x))
            optimizer = between(optimizer)
        return [repr(x) for x in (*optimizer.points, *optimizer.pending)]

    def through_file(optimizer):
        optimizer.save(path)
        return Optimizer.load(path, method=own)

    def at_the_end(optimizer):
        optimizer.save(path)
        return optimizer if len(optimizer) < 7 else through_file(optimizer)

    expected = play(lambda optimizer: optimizer)
    assert play(through_file) == expected
    path.unlink()
    assert play(at_the_end) == expected


def test_the_ask_of_the_file_says_what_was_fixed(tmp_path):
    path = tmp_path / "run.jsonl"
    for space, fixed in ((SPACE, {"kind": "c"}), ([(0.0, 1.0)] * 3, {1: 0.25})):
        optimizer = Optimizer(space, method="random", seed=0)
        optimizer.save(path)
        optimizer.ask(fixed=fixed)
        optimizer.ask()
        optimizer.save(path)
        asks = [json.loads(line) for line in path.read_text().splitlines() if '"ask"' in line]
        expected = {"kind": "c"} if isinstance(space, dict) else {"x1": 0.25}
        assert [ask.get("fixed") for ask in asks] == [expected, None]
        assert repr(Optimizer.load(path).ask()) == repr(optimizer.ask())
        path.unlink()


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        ({"colour": 1}, "fixed has the key 'colour': expected a parameter, rate, x, y, n"),
        ({0: 0.2}, "fixed has the key 0: expected a parameter, rate"),
        ({"x": 0.5}, r"fixed\['x'\] = 0.5: expected a value in \[0.1, 0.3\]"),
        ({"kind": "z"}, r"fixed\['kind'\] = 'z': expected one of"),
        ([1, 2], r"fixed = \[1, 2\]: expected values by parameter"),
        ("kind", "fixed = 'kind': expected values by parameter"),
    ],
)
def test_what_cannot_be_fixed_is_named_and_nothing_is_asked(fixed, message):
    optimizer = Optimizer(SPACE, method="random", seed=0)
    with pytest.raises(ValueError, match=message):
        optimizer.ask(fixed=fixed)
    assert optimizer.pending == []
    with pytest.raises(ValueError, match="fixed has the key 2: expected a parameter, 0 to 1"):
        Optimizer([(0.0, 1.0)] * 2, method="random").ask(fixed={2: 0.5})


def test_everything_fixed_is_that_point():
    optimizer = Optimizer(SPACE, method="random", seed=0)
    point = {**FIXED, "y": 0.25, "n": 3, "flag": True}
    assert optimizer.ask(fixed=point) == point
    assert optimizer.ask(fixed={}) != point
