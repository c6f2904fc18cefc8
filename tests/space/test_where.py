"""Known constraints on inputs: what they are, and that no point that violates them is suggested."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize

import infold
from infold import Categorical, Float, Int, Optimizer, Space, methods
from infold.space.where import Where

BOX = [(-1.0, 1.0), (0.0, 4.0), (0.0, 1.0)]
PLANE = LinearConstraint([[1.0, 1.0, 0.0], [0.0, 1.0, -2.0]], [-np.inf, -1.0], [1.0, np.inf])
EQUAL = LinearConstraint([1.0, 1.0, 1.0], 1.0, 1.0)
BALL = NonlinearConstraint(lambda x: np.sum(np.asarray(x) ** 2), 0.5, 2.0)


def cheap(name: str = "full_space") -> methods.Method:
    return methods.by_name(name, n_candidates=64, n_starts=4, search_iterations=10)


def holds(constraint, x: np.ndarray) -> bool:
    if constraint is BALL:
        return 0.5 <= float(np.sum(np.square(x))) <= 2.0
    values = constraint.A @ np.asarray(x)
    return bool(np.all(values >= constraint.lb - 1e-7) and np.all(values <= constraint.ub + 1e-7))


@pytest.mark.parametrize("where", [[PLANE], [EQUAL], [BALL], [PLANE, BALL], [PLANE, EQUAL]])
def test_samples_and_moved_points_satisfy_all_constraints_and_fill_what_is_left(where, rng):
    space = Space.of(BOX, where)
    known = space.where
    points = known.sample(200, rng)
    moved = known.moved(rng.uniform(size=(50, 3)))
    for unit in (*points, *moved):
        x = space.decode(unit)
        assert all(holds(constraint, x) for constraint in where)
        assert known.violated(x) is None
    if where == [PLANE]:
        # Uniform within the polytope: the same means as rejection sampling.
        uniform = rng.uniform(size=(20000, 3))
        kept = uniform[[holds(PLANE, space.decode(unit)) for unit in uniform]]
        np.testing.assert_allclose(points.mean(axis=0), kept.mean(axis=0), atol=0.08)


def test_projection_is_the_nearest_point_as_scipy_finds_it(rng):
    space = Space.of([(0.0, 1.0)] * 3, PLANE)
    z = rng.uniform(size=(8, 3))
    for start, found in zip(z, space.where.moved(z), strict=True):
        nearest = minimize(
            lambda u, start=start: np.sum((u - start) ** 2),
            np.full(3, 0.3),
            bounds=[(0.0, 1.0)] * 3,
            constraints=[PLANE],
            method="SLSQP",
            options={"ftol": 1e-14},
        ).x
        np.testing.assert_allclose(found, nearest, atol=1e-4)


@pytest.mark.parametrize("method", ["auto", "mgpc", "random"])
@pytest.mark.parametrize("where", [[PLANE, BALL], [EQUAL]], ids=["mixed", "equation"])
def test_no_point_that_violates_them_is_evaluated(method, where):
    seen = []

    def fun(x: np.ndarray) -> float:
        seen.append(x)
        return float(np.sum((x - 1.0) ** 2))

    settings = {} if method == "random" else {"n_candidates": 64, "n_starts": 4}
    if method == "mgpc":
        settings |= {"n_features": 2, "training_iterations": 5}
    chosen = methods.by_name(method, **settings)
    infold.minimize(fun, BOX, where=where, method=chosen, n_trials=12, n_initial=6, seed=0)
    assert all(holds(constraint, x) for x in seen for constraint in where)


def test_the_best_allowed_point_is_found():
    where = LinearConstraint([1.0, 1.0, 1.0], -np.inf, 0.9)
    run = infold.minimize(
        lambda x: float(-np.sum(x * [1.0, 2.0, 3.0])),
        [(0.0, 0.5)] * 3,
        where=where,
        n_trials=30,
        n_initial=5,
        seed=0,
    )
    assert run.fun < -0.98 * (0.5 * 3.0 + 0.4 * 2.0)


def test_mixed_spaces_keep_to_them():
    space = Space(
        {
            "n": Int(0, 10),
            "x": Float(1e-3, 1.0, log=True),
            "k": Categorical(["a", "b"]),
        },
        where=[
            LinearConstraint([1.0, 5.0, 0.0], -np.inf, 6.0),
            NonlinearConstraint(lambda p: p["n"] if p["k"] == "a" else 5.0, 3.0, np.inf),
        ],
    )
    run = infold.minimize(
        lambda p: -p["n"] - p["x"], space, method=cheap(), n_trials=14, n_initial=6, seed=0
    )
    for p in run.x_iters:
        assert p["n"] + 5.0 * p["x"] <= 6.0
        assert p["k"] == "b" or p["n"] >= 3
    assert run.fun < -4.5


def test_a_finite_space_is_exhausted_when_all_allowed_points_are_known():
    where = LinearConstraint([1.0, 1.0], -np.inf, 2.0)
    run = infold.minimize(
        lambda x: float(sum(x)), [Int(0, 3), Int(0, 3)], where=where, method="random", n_trials=50
    )
    assert len(run.x_iters) == 6
    assert "known" in run.message


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ([LinearConstraint([1.0, 1.0, 0.0], 6.0, np.inf)], "contradict"),
        ([PLANE, LinearConstraint([1.0, 1.0, 0.0], 2.0, 3.0)], "contradict"),
        ([NonlinearConstraint(lambda x: x[0], 2.0, 3.0)], "among 10000 random points and 2000"),
        ([NonlinearConstraint(lambda x: x[0], 0.0, 0.0)], "is an equation"),
        ([LinearConstraint([1.0, 1.0], 0.0, 1.0)], "2 columns: expected 3"),
        ([3], "LinearConstraint"),
        ([NonlinearConstraint(lambda x: x[0], 1.0, 0.0)], "lb <= ub"),
    ],
)
def test_constraints_that_cannot_be_satisfied_are_refused(where, message):
    with pytest.raises(ValueError, match=message):
        Space.of(BOX, where)


def test_a_choice_is_no_number():
    with pytest.raises(ValueError, match="factor for k"):
        Space({"k": Categorical(["a", "b"]), "x": Float(0.0, 1.0)}, where=LinearConstraint([1, 1]))


def test_a_narrow_set_is_found_by_local_search():
    where = Where(
        Space.of([(0.0, 1.0)] * 6), NonlinearConstraint(lambda x: np.sum((x - 0.2) ** 2), 0.0, 1e-3)
    )
    assert np.all(where.contains(where.sample(3, np.random.default_rng(0))))


def test_points_of_the_user_are_checked():
    with pytest.raises(ValueError, match=r"x0\[1\] = .* violates where\[0\]"):
        infold.minimize(sum, BOX, where=PLANE, x0=[[0.0, 0.0, 0.0], [1.0, 4.0, 0.0]], n_trials=3)
    optimizer = Optimizer(BOX, where=PLANE)
    with pytest.raises(ValueError, match="violates"):
        optimizer.expect([1.0, 4.0, 0.0])
    optimizer.tell([1.0, 4.0, 0.0], 1.0)  # what is known is known
    assert len(optimizer) == 1


def test_run_files_hold_linear_constraints_and_ask_for_functions(tmp_path):
    path = tmp_path / "linear.json"
    arguments = {"method": cheap(), "n_initial": 4, "seed": 2}
    whole = infold.minimize(lambda x: float(sum(x)), BOX, where=PLANE, n_trials=8, **arguments)
    infold.minimize(
        lambda x: float(sum(x)), BOX, where=PLANE, n_trials=6, checkpoint=path, **arguments
    )
    again = infold.minimize(lambda x: float(sum(x)), checkpoint=path, n_trials=8)
    np.testing.assert_array_equal(again.x_iters, whole.x_iters)
    with pytest.raises(ValueError, match=r"other constraints|another space"):
        infold.minimize(lambda x: float(sum(x)), BOX, where=EQUAL, checkpoint=path, n_trials=9)

    path = tmp_path / "function.json"
    optimizer = Optimizer(BOX, where=[PLANE, BALL], seed=0)
    optimizer.tell(optimizer.ask(), 1.0)
    optimizer.save(path)
    with pytest.raises(ValueError, match="1 nonlinear constraints"):
        Optimizer.load(path)
    loaded = Optimizer.load(path, where=[PLANE, BALL])
    np.testing.assert_array_equal(loaded.ask(), optimizer.ask())
    again = Optimizer.from_text(loaded.to_text(), where=[PLANE, BALL])
    np.testing.assert_array_equal(again.ask(), optimizer.ask())


def test_fixed_values_that_leave_no_point_are_an_error():
    optimizer = Optimizer(BOX, where=PLANE, seed=0)
    x = optimizer.ask(fixed={0: 0.5})
    assert x[0] == 0.5
    assert holds(PLANE, x)
    with pytest.raises(ValueError, match="fixed"):
        Optimizer(BOX, where=LinearConstraint([1, 0, 0], -1, 0.2), seed=0).ask(fixed={0: 0.5})
