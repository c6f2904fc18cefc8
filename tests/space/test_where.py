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


def test_points_that_are_not_allowed_do_not_count_as_known_ones_of_a_finite_space():
    run = infold.minimize(
        lambda x: float(sum(x)),
        [Int(0, 3)] * 2,
        where=LinearConstraint([1, 1], 0, 1),
        method="random",
        n_trials=20,
        x0=[[3, 3], [2, 2], [3, 2]],
        y0=[1.0, 2.0, 3.0],
    )
    assert sorted(run.x_iters[3:]) == [[0, 0], [0, 1], [1, 0]]
    assert "all 3 points of the space are known" in run.message


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
        ("x0 < 1", r"where\[0\] = 'x0 < 1': expected a LinearConstraint"),
        ({"type": "ineq", "fun": sum}, r"where\[0\] = \{'type': .*: expected a LinearConstraint"),
        (
            [PLANE, NonlinearConstraint(lambda x: x[:2], [0.0] * 3, [1.0] * 3)],
            r"where\[1\].fun returned .*: expected 3 numbers, one for each limit",
        ),
        (
            NonlinearConstraint(lambda x: 0.5, [0.0] * 2, [1.0] * 2),
            r"where\[0\].fun returned 0.5: expected 2 numbers",
        ),
        (
            NonlinearConstraint(lambda x: "low", 0.0, 1.0),
            r"where\[0\].fun returned 'low': expected numbers",
        ),
        (
            NonlinearConstraint(lambda x: [], 0.0, 1.0),
            r"where\[0\].fun returned \[\]: expected numbers",
        ),
        (
            [BALL, NonlinearConstraint(lambda x: None, 0.0, 1.0)],
            r"where\[1\].fun returned None at .*: expected numbers",
        ),
        (
            NonlinearConstraint(lambda x: np.nan, 0.0, 1.0),
            r"where\[0\].fun returned nan at .*: expected numbers",
        ),
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


UNIT = [(0.0, 1.0)] * 3
TWO_SIDES = [
    LinearConstraint([1.0, 1.0, 1.0], 1.0, np.inf),
    LinearConstraint([1.0, 1.0, 1.0], -np.inf, 1.0),
]


@pytest.mark.parametrize(
    ("where", "freedom"),
    [
        (TWO_SIDES, 2),
        ([*TWO_SIDES, NonlinearConstraint(lambda x: x[0] * x[1], 0.02, np.inf)], 2),
        (LinearConstraint([1.0, 1.0, 1.0], 1.0, 1.0 + 1e-9), 2),
        (LinearConstraint([1.0, 1.0, 1.0], 1.0, 1.0 + 2e-9), 2),
        (LinearConstraint([1.0, 0.0, 0.0], -np.inf, 0.0), 2),
        (LinearConstraint([1.0, 1.0, 0.0], -np.inf, 0.0), 1),
        ([EQUAL, LinearConstraint([2.0, 2.0, 2.0], 2.0, 2.0)], 2),
        ([EQUAL, LinearConstraint([1.0, 1.0, 0.0], -np.inf, 0.2)], 2),
    ],
)
def test_flat_sets_are_searched_within_themselves(where, freedom, rng):
    space = Space.of(UNIT, where)
    units = space.where.sample(100, rng)
    assert np.all(space.where.contains(units))
    assert all(space.allows(space.decode(unit)) for unit in units)
    spread = np.linalg.svd(units - units.mean(axis=0), compute_uv=False) / 10.0
    assert np.sum(spread > 0.03) == freedom
    assert np.sum(spread > 1e-8) == freedom
    moved = space.where.moved(rng.uniform(size=(50, 3)))
    assert all(space.allows(space.decode(unit)) for unit in moved)
    assert len({unit.tobytes() for unit in moved}) > 20


def test_equation_as_two_inequalities_is_searched():
    run = infold.minimize(
        lambda x: float(np.sum((x - 0.3) ** 2)), UNIT, where=TWO_SIDES, n_trials=12, seed=0
    )
    assert len({x.tobytes() for x in run.x_iters}) == 12
    assert run.fun == pytest.approx(3 * (1 / 3 - 0.3) ** 2, abs=1e-4)


def test_a_range_too_narrow_to_search_is_refused():
    with pytest.raises(ValueError, match="where leaves x0 less than 1e-08 of the range"):
        Space.of([(0.0, 1e9)] * 3, LinearConstraint([1.0, 1.0, 1.0], -np.inf, 1.0))
    wide = Float(1e-6, 1e6, log=True)  # of whose places a tenth is below 1e-5
    Space.of([wide, wide], LinearConstraint([1.0, 1.0], -np.inf, 1e-5))


@pytest.mark.parametrize(
    ("where", "point"),
    [
        (LinearConstraint(np.eye(3), 0.2, 0.2), [0.2, 0.2, 0.2]),
        (LinearConstraint([1.0, 1.0, 1.0], 3.0, np.inf), [1.0, 1.0, 1.0]),
        (LinearConstraint([1.0, 1.0, 1.0], 0.0, 0.0), [0.0, 0.0, 0.0]),
    ],
)
def test_constraints_that_leave_one_point_end_the_run_behind_it(where, point):
    run = infold.minimize(lambda x: float(x[0]), UNIT, where=where, n_trials=5, seed=0)
    assert [x.tolist() for x in run.x_iters] == [point]
    assert "all 1 points of the space are known" in run.message


BUDGETS = {
    "int": ({"a": (0.0, 10.0), "b": (0.0, 10.0), "n": Int(0, 5)}, [1.0, 1.0, 1.0], 10.0),
    "log": ({"a": Float(1e-3, 1.0, log=True), "b": (0.0, 1.0)}, [1.0, 1.0], 1.0),
    "step": (
        {"a": (0.0, 1.0), "b": Float(0.0, 1.0, step=0.25), "c": (-1.0, 1.0)},
        [1.0, 1.0, 0.5],
        0.7,
    ),
    "choice": (
        {"a": (0.0, 1.0), "n": Int(0, 5), "k": Categorical(["u", "v"]), "c": (0.0, 1.0)},
        [1.0, 0.2, 0.0, 0.1],
        1.0,
    ),
}


@pytest.mark.parametrize("kind", list(BUDGETS))
@pytest.mark.parametrize("written", ["equation", "inequalities"])
def test_floats_solve_equations_given_the_other_parameters(kind, written, rng):
    parameters, row, total = BUDGETS[kind]
    where = [LinearConstraint(row, total, total)]
    if written == "inequalities":
        where = [LinearConstraint(row, total, np.inf), LinearConstraint(row, -np.inf, total)]
    space = Space.of(parameters, where)
    units = space.where.sample(60, rng)
    other = rng.uniform(size=(30, space.dimension))
    for unit in (*units, *space.where.nearest(other), *space.where.moved(other)):
        point = space.decode(unit)
        values = [0.0 if isinstance(value, str) else value for value in point.values()]
        assert np.dot(row, values) == pytest.approx(total, abs=1e-8 * (1.0 + total))
        assert space.allows(point)
    points = [space.decode(unit) for unit in units]
    for name, parameter in space.parameters.items():
        n_values = len({point[name] for point in points})
        assert n_values == {Int: 6, Categorical: 2}.get(type(parameter), n_values)
        if isinstance(parameter, Float):
            assert n_values >= (4 if parameter.step else 20)


def test_equations_of_floats_and_whole_numbers_are_searched_by_the_model():
    parameters, row, total = BUDGETS["int"]
    run = infold.minimize(
        lambda p: (p["a"] - 2.0) ** 2 + abs(p["n"] - 3),
        parameters,
        where=LinearConstraint(row, total, total),
        method=cheap(),
        n_trials=16,
        n_initial=6,
        seed=0,
    )
    assert run.fun < 0.5
    assert all(p["a"] + p["b"] + p["n"] == pytest.approx(total, abs=1e-7) for p in run.x_iters)


def test_a_run_ends_when_floats_follow_from_whole_numbers_that_are_all_known():
    run = infold.minimize(
        lambda p: p["a"],
        {"a": (0.0, 1.0), "n": Int(0, 5), "k": Categorical(["u", "v"])},
        where=LinearConstraint([1.0, 0.2, 0.0], 1.0, 1.0),
        method="random",
        n_trials=50,
        seed=0,
    )
    assert sorted((p["n"], p["k"]) for p in run.x_iters) == [
        (n, k) for n in range(6) for k in ("u", "v")
    ]
    assert "all 12 points" in run.message


def test_equations_on_logarithmic_scales_alone_are_refused():
    space = {"a": Float(1e-3, 1.0, log=True), "n": Int(0, 5), "b": Float(1e-3, 1.0, log=True)}
    with pytest.raises(ValueError, match=r"where\[1\] is an equation of parameters on a log"):
        Space.of(
            space,
            [LinearConstraint([1, 0, 1], 0.0, 1.5), LinearConstraint([1, 1, 1], 1.0, 1.0)],
        )


@pytest.mark.parametrize(
    ("space", "where", "fixed"),
    [
        (UNIT, EQUAL, {0: 0.5}),
        (UNIT, TWO_SIDES, {0: 0.5}),
        (UNIT, LinearConstraint([1.0, 1.0, 1.0], -np.inf, 1.0), {0: 0.99}),
        (UNIT, [EQUAL, NonlinearConstraint(lambda x: x[1] * x[2], 0.05, np.inf)], {0: 0.5}),
        ([(0.0, 10.0), (0.0, 10.0), Int(0, 5)], LinearConstraint([1, 1, 1], 10, 10), {2: 3}),
        ([(0.0, 10.0), (0.0, 10.0), Int(0, 5)], LinearConstraint([1, 1, 1], 10, 10), {0: 4.4}),
        ([(0.0, 9.0), (0.0, 9.0), Int(0, 5)], LinearConstraint([1, 1, 1], -np.inf, 9), {0: 8.99}),
    ],
)
def test_fixed_values_are_searched_within_tight_constraints(space, where, fixed):
    optimizer = Optimizer(space, where=where, method=cheap(), n_initial=3, seed=0)
    for _ in range(6):
        x = optimizer.ask(fixed=fixed)
        assert {i: x[i] for i in fixed} == fixed
        assert optimizer.space.allows(x)
        optimizer.tell(x, float(np.sum(np.square(x))))
    assert len({tuple(x) for x in optimizer.points}) == 6
    chosen_by = [evaluation.proposed_by for evaluation in optimizer.evaluations]
    assert chosen_by[3:] == ["full_space"] * 3


def test_fixed_values_that_leave_one_point_are_that_point():
    optimizer = Optimizer(UNIT, where=EQUAL, method="random", seed=0)
    assert [optimizer.ask(fixed={0: 0.5, 1: 0.2}).tolist() for _ in range(2)] == [
        [0.5, 0.2, 0.3]
    ] * 2
    with pytest.raises(ValueError, match="fixed"):
        optimizer.ask(fixed={0: 0.5, 1: 0.6})
