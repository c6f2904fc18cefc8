"""Parameters of one value: they take no coordinate, and always have that value."""

import numpy as np
import pytest

from infold import Bool, Categorical, Float, Int, Optimizer, Space, minimize
from infold.methods import by_name

FIXED = {
    "n": Int(3, 3),
    "x": Float(-1, 1),
    "rate": Float(0.1, 0.1, log=True),
    "kind": Categorical(["a", "b", "c"]),
    "only": Categorical(["this"]),
    "flag": Bool(),
    "step": Float(2, 2, step=0.5),
}
VALUES = {"n": 3, "rate": 0.1, "only": "this", "step": 2.0}


def test_fixed_parameters_take_no_coordinates_and_keep_their_value(rng):
    space = Space.of(FIXED)
    assert space.dimension == 1 + 3 + 1
    assert space.rounding is not None
    assert space.rounding.coordinates.tolist() == [False, True, True, True, True]
    units = rng.uniform(size=(50, 5))
    for unit, snapped in zip(units, space.rounding.snap(units), strict=True):
        point = space.decode(unit)
        assert VALUES.items() <= point.items()
        np.testing.assert_allclose(space.encode(point), snapped, rtol=0, atol=1e-12)
    assert Space.from_json(space.to_json()) == space


def test_fixed_bounds_stay_in_arrays():
    space = Space.of([(0.0, 1.0), (2.0, 2.0)])
    point = space.decode(np.array([0.25]))
    assert isinstance(point, np.ndarray)
    assert point.tolist() == [0.25, 2.0]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n", 4, "n = 4: expected 3, its only value"),
        ("rate", 0.2, "rate = 0.2: expected 0.1, its only value"),
        ("only", "that", "only = 'that': expected 'this', its only choice"),
    ],
)
def test_another_value_of_a_fixed_parameter_is_refused(name, value, message):
    space = Space.of(FIXED)
    point = space.decode(np.full(5, 0.5))
    with pytest.raises(ValueError, match=message):
        space.encode({**point, name: value})


def test_a_space_in_which_everything_is_fixed_is_refused():
    with pytest.raises(
        ValueError,
        match=r"every parameter is fixed \(a, b\): "
        "expected at least one that has more than one value",
    ):
        Space.of({"a": Int(1, 1), "b": (0.5, 0.5)})


@pytest.mark.parametrize("method", ["mgpc", "full_space", "random"])
def test_runs_with_fixed_parameters_resume_and_tell_their_relevance(method, tmp_path):
    cheap = {"n_candidates": 64, "n_starts": 4, "search_iterations": 5}
    settings = {"mgpc": {"n_features": 1, "training_iterations": 5, **cheap}, "full_space": cheap}
    optimizer = Optimizer(FIXED, method=by_name(method, **settings.get(method, {})), seed=0)
    for _ in range(13):
        point = optimizer.ask()
        assert VALUES.items() <= point.items()
        optimizer.tell(point, point["x"] ** 2 + (point["kind"] != "b"))
    assert optimizer.history.dimension == 5
    optimizer.save(tmp_path / "run")
    again = Optimizer.load(tmp_path / "run")
    assert again.space == optimizer.space
    assert again.ask() == optimizer.ask()
    if method != "random":
        relevance = optimizer.model().relevance()
        assert {name: relevance[name] for name in VALUES} == dict.fromkeys(VALUES, 0.0)
        assert sum(relevance.values()) == pytest.approx(1.0)


class Solver:
    """A choice that prints like any other."""

    def __init__(self, cost: float) -> None:
        self.cost = cost

    def __repr__(self) -> str:
        return "Solver()"


def test_choices_may_be_anything_that_can_be_hashed():
    solvers = (Solver(3.0), Solver(1.0), Solver(2.0))
    space = {"solver": Categorical(solvers), "pair": Categorical([(1, 2), (3, 4), frozenset()])}
    result = minimize(
        lambda x: x["solver"].cost + (x["pair"] != (3, 4)),
        space,
        method="random",
        n_trials=9,
        seed=0,
    )
    assert result.x == {"solver": solvers[1], "pair": (3, 4)}
    points = {(id(x["solver"]), x["pair"]) for x in result.x_iters}
    assert len(points) == 9  # choices that print alike are different points


def test_choices_that_a_file_cannot_hold_are_named_before_the_first_evaluation(tmp_path):
    calls = []
    path = tmp_path / "run"
    with pytest.raises(
        ValueError,
        match=r"c.choices\[1\] = \(1, 2\) cannot be written to a run file: "
        "expected text, a finite number, a bool or None",
    ):
        minimize(calls.append, {"c": Categorical(["a", (1, 2)])}, checkpoint=path, n_trials=3)
    assert not calls
    assert not path.exists()


@pytest.mark.parametrize("choice", [float("inf"), 1j, b"bytes", Solver(1.0)])
def test_files_hold_text_numbers_bools_and_none(choice):
    with pytest.raises(ValueError, match="cannot be written to a run file"):
        Space.of({"c": Categorical(["a", choice])}).to_json()
    plain = Space.of({"c": Categorical(["a", "1", 1, 1.5, True, None, np.int64(7)])})
    copy = Space.from_json(plain.to_json())
    assert copy == plain
    assert [type(c) for c in copy.parameters["c"].choices] == [
        str, str, int, float, bool, type(None), int
    ]  # fmt: skip
