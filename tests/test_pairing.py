"""Laws of pending points: told rounded they are found, otherwise points that differ differ."""

import numpy as np
import pytest

from infold import Bool, Categorical, Float, Int, Optimizer

SPACE = {
    "rate": Float(1e-6, 1.0, log=True),
    "x": Float(-1.0, 0.3),
    "large": Float(1e5, 3e7),
    "n": Int(1, 50),
    "kind": Categorical(["a", "b"]),
    "flag": Bool(),
}
ROUNDINGS = {
    "float32": np.float32,
    "text of a float32": lambda v: float(str(np.float32(v))),
    "six digits": lambda v: float(f"{v:.6g}"),
    "six digits of a float32": lambda v: float(f"{np.float32(v):.6g}"),
    "nine digits": lambda v: float(f"{v:.8e}"),
}


def rounded(x: dict, how) -> dict:
    return {name: how(v) if isinstance(v, float) else v for name, v in x.items()}


def optimizer(space=None, **settings) -> Optimizer:
    return Optimizer(space or SPACE, method="random", seed=0, **settings)


@pytest.mark.parametrize("how", ROUNDINGS.values(), ids=ROUNDINGS)
def test_a_point_told_rounded_ends_the_wait_and_is_kept_as_told(how):
    run = optimizer(n_initial=3)
    for x in reversed(run.ask(40)):
        run.tell(rounded(x, how), 1.0)
        told = run.evaluations[-1]
        assert told.point == rounded(x, how)
        assert told.proposed_by in ("design", "random")
    assert run.pending == []
    assert len(run._record.known) == 40


def test_text_with_six_decimals_is_found_where_they_say_enough():
    run = optimizer([(0.0, 1.0)] * 3)
    for x in run.ask(20):
        run.tell([float(f"{v:f}") for v in x], 1.0)
    assert run.pending == []
    small = optimizer([(0.0, 1e-6)] * 3)
    x = small.ask()
    small.tell([float(f"{v:f}") for v in x], 1.0)
    assert len(small.pending) == 1


@pytest.mark.parametrize("factor", [1 + 1e-15, 1 + 1e-12, 1 - 1e-9, 1 + 3e-7, 1 - 1e-6, 1 + 1e-5])
def test_points_that_differ_otherwise_are_different_points(factor):
    run = optimizer()
    x = run.ask()
    run.tell({**x, "rate": x["rate"] * factor}, 1.0)
    assert run.pending == [x]
    assert run.evaluations[0].proposed_by == "user"


def test_five_digits_and_other_choices_are_not_rounding():
    run = optimizer()
    x = run.ask()
    for change in ({"rate": float(f"{x['rate']:.5g}")}, {"n": x["n"] % 50 + 1}):
        run.tell({**x, **change}, 1.0)
    run.tell({**x, "flag": not x["flag"]}, 1.0)
    assert run.pending == [x]


def test_of_several_points_within_rounding_the_nearest_is_meant():
    run = optimizer([(0.0, 1.0)])
    near = 0.1234567891
    for x in (near + 4e-8, near, near - 4e-8):
        run.expect([x])
    run.tell([float(f"{near:.7g}")], 1.0)
    assert [x.tolist() for x in run.pending] == [[near + 4e-8], [near - 4e-8]]


def test_an_equal_point_goes_before_one_that_would_be_rounded():
    run = optimizer([(0.0, 1.0)])
    for x in (0.12345678, 0.123457):
        run.expect([x])
    run.tell([0.123457], 1.0)
    assert [x.tolist() for x in run.pending] == [[0.12345678]]


@pytest.mark.parametrize("limit", ["low", "high"])
@pytest.mark.parametrize("bounds", [(0.1, 0.3), (-0.3, -0.1), (1 / 3, 2 / 3), (0.7, 0.9)])
def test_limits_told_as_float32_are_limits(bounds, limit):
    """Half of all numbers grow when they are rounded, and would leave the space."""
    run = optimizer({"x": bounds, "n": Int(0, 1)})
    value = min(bounds) if limit == "low" else max(bounds)
    run.expect({"x": value, "n": 1})
    run.tell({"x": np.float32(value), "n": 1}, 1.0)
    assert run.pending == []
    assert min(bounds) <= run.points[0]["x"] <= max(bounds)
    one = optimizer([bounds])
    one.expect([value])
    one.tell(np.float32([value]), 1.0)
    assert one.pending == []
    with pytest.raises(ValueError, match="expected a value in"):
        one.tell([max(bounds) + 1e-6], 1.0)


def test_forgotten_points_are_not_pending_and_may_come_again():
    run = optimizer(n_initial=4)
    asked = run.ask(3)
    run.forget(asked[1])
    assert run.pending == [asked[0], asked[2]]
    run.forget(rounded(asked[2], np.float32))
    assert run.pending == [asked[0]]
    assert len(run._record.known) == 1
    assert len(run.history.pending) == 1
    for x in (asked[1], asked[2]):
        with pytest.raises(ValueError, match="expected a point that is pending"):
            run.forget(x)
    assert run.pending == [asked[0]]
    with pytest.raises(ValueError, match="x has no 'rate'"):
        run.forget({})


def test_a_point_that_was_told_too_is_still_known_when_it_is_forgotten():
    run = optimizer({"n": Int(0, 2)})
    run.tell({"n": 1}, 1.0)
    run.expect({"n": 1})
    run.forget({"n": 1})
    assert [x["n"] for x in run.ask(2)] in ([0, 2], [2, 0])


def test_what_was_forgotten_stays_forgotten_in_the_file(tmp_path):
    path = tmp_path / "run.jsonl"
    run = optimizer()
    run.save(path)
    asked = run.ask(3)
    run.save(path)
    run.forget(asked[0])
    run.tell(rounded(asked[1], np.float32), 1.0)
    run.save(path)
    loaded = Optimizer.load(path)
    assert loaded.pending == run.pending == [asked[2]]
    assert loaded.points == run.points
    assert '"event": "forget"' in path.read_text()
    assert Optimizer.from_text(run.to_text()).pending == [asked[2]]
    assert loaded.ask() == run.ask()
