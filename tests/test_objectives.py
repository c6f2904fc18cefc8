"""Several objectives: fronts and volumes against brute force, and runs from the front door."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import infold
from infold import Optimizer, Outcome, methods, objectives
from infold.acquisition.trust_region import TrustRegion
from infold.evaluation.outcome import Guarded
from infold.evaluation.program import Command
from infold.evaluation.programs import Programs
from infold.record import History, Proposal

BOX = [(0.0, 1.0)] * 3
BOTH = ["minimize", "minimize"]


def cheap() -> methods.Method:
    return methods.by_name("full_space", n_candidates=64, n_starts=4, search_iterations=10)


def two(x: np.ndarray) -> list[float]:
    """The front is the segment x0 in [0, 1], x1 = x2 = 0.5: f = (x0², (1 - x0)²)."""
    rest = float(np.sum((x[1:] - 0.5) ** 2))
    return [float(x[0] ** 2) + rest, float((1.0 - x[0]) ** 2) + rest]


def test_the_front_matches_brute_force(rng):
    y = np.round(rng.uniform(size=(130, 3)), 1)  # with ties
    y[7, 1] = np.nan
    known = [i for i in range(130) if i != 7]
    dominated = [
        any(np.all(y[j] <= y[i]) and np.any(y[j] < y[i]) for j in known) for i in range(130)
    ]
    known_before = [any(np.all(y[j] <= y[i]) for j in known if j < i) for i in range(130)]
    kept, enters = objectives.non_dominated(y), objectives.enters_front(y)
    assert kept.tolist() == [i != 7 and not dominated[i] for i in range(130)]
    assert enters.tolist() == [i != 7 and not known_before[i] for i in range(130)]


@pytest.mark.parametrize("narrow", [True, False])
def test_scalarization_matches_its_formula(rng, narrow):
    y = rng.normal(size=(30, 2))
    y[4] = np.nan
    eligible = rng.uniform(size=30) < 0.7
    weights = np.array([0.3, 0.7])
    draw = objectives.Draw(weights, narrow)
    known = [i for i in range(30) if eligible[i] and i != 4]
    front = [
        i for i in known if not any(np.all(y[j] <= y[i]) and np.any(y[j] < y[i]) for j in known)
    ]
    least = y[known].min(axis=0)
    reach = np.nanmax(y, axis=0) - least
    if narrow:
        reach = np.maximum(y[front].max(axis=0) - least, 0.2 * reach)
    found = objectives.scalarize(y, draw, eligible)
    for i in range(30):
        u = [weights[j] * (0.1 + (y[i, j] - least[j]) / reach[j]) for j in range(2)]
        np.testing.assert_allclose(found[i], max(u) + 0.05 * sum(u))


def test_the_largest_weighted_objective_is_at_most_t_up_to_the_limits(rng):
    y = rng.normal(size=(50, 3))
    made = objectives.Scalarization.of(
        y, objectives.Draw(np.array([0.2, 0.8, 0.0]), True), np.ones(50, dtype=bool)
    )
    t = np.array([0.2, 0.5])
    for j, limits in enumerate(made.limits(t).T):
        np.testing.assert_array_equal(np.all(y <= limits, axis=1), made.worst(y) <= t[j])


def test_one_huge_value_does_not_hide_how_far_the_others_reach(rng):
    y = rng.uniform(size=(40, 2))
    with_outlier = np.vstack([y, [1e9, 0.5]])
    made = objectives.Scalarization.of(
        with_outlier, objectives.equal_weights(2), np.ones(41, dtype=bool)
    )
    assert np.all(made.scale < 20.0)


@pytest.mark.parametrize(
    "y", [np.ones((4, 2)), np.full((3, 2), np.nan), np.array([[0.0, 1e308], [1.0, -1e308]])]
)
def test_scalarization_of_anything_is_finite_or_nan_as_the_values(y):
    found = objectives.scalarize(y, objectives.equal_weights(2), np.ones(len(y), dtype=bool))
    np.testing.assert_array_equal(np.isfinite(found), np.all(np.isfinite(y), axis=1))


def test_the_best_of_each_weights_is_on_the_front_and_weights_follow_from_the_key(rng):
    y = rng.uniform(size=(40, 2))
    front = objectives.non_dominated(y)
    for i in range(20):
        draw = objectives.draw_of((3, i), 2)
        assert np.isclose(draw.weights.sum(), 1.0)
        assert front[np.argmin(objectives.scalarize(y, draw, np.ones(40, dtype=bool)))]
    same, other = objectives.draw_of((3, 5), 2), objectives.draw_of((3, 6), 2)
    np.testing.assert_array_equal(same.weights, objectives.draw_of((3, 5), 2).weights)
    assert not np.allclose(same.weights, other.weights)
    assert {objectives.draw_of((3, i), 2).narrow for i in range(20)} == {True, False}


def test_hypervolume_matches_counting_cells(rng):
    pytest.importorskip("moocore")
    y = rng.integers(0, 6, size=(8, 3)).astype(float)
    cells = sum(
        bool(np.any(np.all(y <= np.array(cell), axis=1)))
        for cell in itertools.product(range(6), repeat=3)
    )
    assert infold.hypervolume(y, [6.0, 6.0, 6.0]) == cells
    up = ["minimize", "maximize", "minimize"]
    assert infold.hypervolume(y * [1, -1, 1], [6.0, -6.0, 6.0], up) == cells


@pytest.mark.parametrize(
    ("values", "reference", "message"),
    [
        ([[1, 2, 3], [4, 5, 6]], [10, 10], r"values has shape \(2, 3\).* with 2 numbers each"),
        ([1, 2, 3, 4], [10, 10], r"values has shape \(4,\)"),
        (1.0, [10, 10], r"values has shape \(\)"),
        ([[1, 2], [3]], [10, 10], r"values = .*: expected an array of numbers"),
        ([[1, np.nan]], [10, 10], r"values\[0, 1\] = nan"),
        ([1, 2], [], "reference is empty"),
        ([1, 2], 10, r"reference has shape \(\)"),
    ],
)
def test_hypervolume_refuses_points_of_another_size_than_the_reference(values, reference, message):
    pytest.importorskip("moocore")
    with pytest.raises(ValueError, match=message):
        infold.hypervolume(values, reference)


def test_hypervolume_of_one_point_and_of_none():
    pytest.importorskip("moocore")
    assert infold.hypervolume([1, 2], [10, 10]) == infold.hypervolume([[1, 2]], [10, 10]) == 72.0
    assert infold.hypervolume([], [10, 10]) == infold.hypervolume(np.empty((0, 2)), [10, 10]) == 0.0


def test_sets_have_no_order_and_are_no_objectives():
    with pytest.raises(ValueError, match=r"y.* = .*: expected .*number"):
        objectives.values_of({1.0, 2.0}, 2)


def test_the_trust_region_counts_points_that_enter_the_front():
    values = np.array([[2.0, 2.0], [1.0, 3.0], [2.0, 3.0], [np.nan, np.nan], [1.0, 1.0]])
    x = np.linspace(0.0, 1.0, 5)[:, None]
    y = objectives.scalarize(values, objectives.equal_weights(2), np.ones(5, dtype=bool))
    history = History(x, y, proposals=(Proposal("exact"),) * 5, objectives=values)
    assert TrustRegion()._successes(history).tolist() == [True, True, False, False, True]


@pytest.mark.parametrize("acquisition", ["ei", "ucb"])
def test_each_objective_has_a_model_where_improvement_is_searched_for(acquisition, rng):
    x = rng.uniform(size=(15, 3))
    values = np.stack([np.sum(x**2, axis=1), np.sum((x - 1.0) ** 2, axis=1)], axis=1)
    history = objectives.with_draw(
        History(x, values[:, 0], objectives=values), objectives.draw_of((0, 1), 2)
    )
    made = methods.by_name("full_space", acquisition=acquisition).suggest(history, 2, (0, 1))
    assert ("objectives" in made.proposals[0].diagnostics["seconds"]) == (acquisition == "ei")
    assert not np.allclose(*made.x, atol=1e-3)
    again = methods.by_name("full_space", acquisition=acquisition).suggest(history, 2, (0, 1))
    np.testing.assert_array_equal(made.x, again.x)


def angle_of(weights) -> float:
    """Return where weights lead, as an angle from the first axis."""
    return float(np.degrees(np.arctan2(weights[0], weights[1])))


def with_a_gap(*looked) -> tuple[History, float, float]:
    """Return a front that lacks a sixth, proposed with these weights, and the angles of its gap."""
    angles = np.radians([*range(0, 31, 2), *range(60, 91, 2)])
    y = 1.0 - np.stack([np.sin(angles), np.cos(angles)], axis=1)  # bends towards the origin
    u = 0.1 + y[[15, 16]]  # the points beside the gap, from a tenth before the least values on
    low, high = np.sort(np.degrees(np.arctan2(u[:, 1], u[:, 0])))
    said = [Proposal("", {"weights": list(w), "narrow": True}) for w in looked]
    proposals = (*(Proposal(),) * (len(y) - len(said)), *said)
    x = np.full((len(y), 2), 0.5)
    return History(x, y[:, 0], objectives=y, proposals=proposals), low, high


def test_weights_lead_into_the_largest_gap_of_the_front_unless_it_was_looked_for():
    narrow = objectives.Draw(np.array([0.5, 0.5]), True)
    history, low, high = with_a_gap()
    found = [objectives.towards_gaps(history, narrow, (0, i)).weights for i in range(5)]
    middle = 0.5 * (low + high)
    np.testing.assert_allclose([angle_of(w) for w in found], middle, atol=0.1 * (high - low))
    for looked, tried in ((found[:1], ()), ((), found[:1])):
        history, *_ = with_a_gap(*looked)
        angle = angle_of(objectives.towards_gaps(history, narrow, (0, 0), tried).weights)
        assert abs(angle - middle) > 0.2 * (high - low)


def test_only_draws_of_two_objectives_in_units_of_the_front_look_for_gaps(rng):
    history, *_ = with_a_gap()
    wide = objectives.Draw(np.array([0.5, 0.5]), False)
    assert objectives.towards_gaps(history, wide, (0, 0)) is wide
    y = rng.uniform(size=(10, 3))
    three = objectives.Draw(np.full(3, 1.0 / 3.0), True)
    of_three = History(np.full((10, 2), 0.5), y[:, 0], objectives=y)
    assert objectives.towards_gaps(of_three, three, (0, 0)) is three


@pytest.mark.parametrize("weights", [None, "ab", [0.5], [0.5, "x"], [True, 0.5], 1.0])
def test_weights_in_a_record_that_are_none_are_passed_over(weights):
    history, *_ = with_a_gap()
    said = Proposal("", {"weights": weights, "narrow": True})
    odd = replace(history, proposals=(said,) * len(history.y))
    narrow = objectives.Draw(np.array([0.5, 0.5]), True)
    found, expected = (objectives.towards_gaps(h, narrow, (0, 0)) for h in (odd, history))
    np.testing.assert_array_equal(found.weights, expected.weights)


def test_a_run_finds_a_front(tmp_path):
    path = tmp_path / "run.json"
    result = infold.minimize(
        two, BOX, direction=BOTH, method=cheap(), n_trials=30, seed=0, n_initial=6, checkpoint=path
    )
    assert result.success
    assert result.func_vals.shape == (30, 2)
    kept = objectives.non_dominated(result.func_vals)
    np.testing.assert_array_equal(result.pareto_f, result.func_vals[kept])
    np.testing.assert_array_equal(result.pareto_x, np.array(result.x_iters)[kept])
    assert result.x is result.pareto_x
    assert result.fun is result.pareto_f
    assert [tuple(v) for _, v in result.optimizer.best] == [tuple(v) for v in result.pareto_f]
    # The best possible sum of roots is 1, all along the front.
    assert np.median(np.sum(np.sqrt(result.pareto_f), axis=1)) < 1.15
    assert np.ptp(result.pareto_f[:, 0]) > 0.5
    assert "points of the front" in repr(result)
    assert "points on the front" in result._repr_html_()
    assert result.to_frame()["value1"].tolist() == result.func_vals[:, 1].tolist()
    again = Optimizer.load(path)
    assert again.direction == ("minimize", "minimize")
    np.testing.assert_array_equal(again.values, result.func_vals)
    np.testing.assert_array_equal(again.ask(), result.optimizer.ask())
    with pytest.raises(ValueError, match="several objectives"):
        again.model()


def test_printed_runs_count_their_front_and_say_where_nothing_is_feasible():
    optimizer = Optimizer(BOX, direction=BOTH)
    assert repr(optimizer).endswith("0 pending>")
    optimizer.tell([0.1] * 3, [1.0, 2.0])
    assert repr(optimizer).endswith(", 1 point on the front>")
    optimizer.tell([0.2] * 3, [2.0, 1.0])
    assert repr(optimizer).endswith(", 2 points on the front>")

    def printed(*returned) -> list[str]:
        values = iter(returned)
        run = infold.minimize(
            lambda x: next(values), BOX, direction=BOTH, method="random", n_trials=len(returned)
        )
        return [repr(run), repr(run.optimizer)]

    result, run = printed([2.0, 2.0])
    assert "x: 1 point of the front" in result
    result, run = printed(Outcome([2.0, 2.0], constraints=[1.0]))
    assert "no point is feasible yet" in result
    assert run.endswith(", no feasible point yet>")
    result, run = printed(None)
    assert "x: None" in result


@pytest.mark.parametrize(
    "y0", [[1.0, 2.0], np.array([1.0, 2.0]), [[1.0, 2.0]], [(1, 2)], Outcome([1.0, 2.0])]
)
def test_one_known_point_has_one_list_of_values(y0):
    run = infold.minimize(two, BOX, direction=BOTH, x0=[0.1] * 3, y0=y0, n_trials=1)
    assert run.pareto_f.tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize(
    ("x0", "y0", "message"),
    [
        ([[0.1] * 3, [0.2] * 3], [[1.0, 2.0], [0.2]], r"y0\[1\] = \[0.2\]: expected 2 numbers"),
        ([0.1] * 3, [1.0, 2.0, 3.0], r"y0\[0\] = \[1.0, 2.0, 3.0\]: expected 2 numbers"),
        ([[0.1] * 3, [0.2] * 3], [[1.0, 2.0]], r"expected 2 values for each of the 2 points"),
    ],
)
def test_known_values_that_are_wrong_are_named_by_their_place(x0, y0, message):
    with pytest.raises(ValueError, match=message):
        infold.minimize(two, BOX, direction=BOTH, x0=x0, y0=y0, n_trials=3)


def test_a_direction_turns_its_objective_around():
    flipped = infold.minimize(
        lambda x: [two(x)[0], -two(x)[1]],
        BOX,
        direction=["minimize", "maximize"],
        method=cheap(),
        n_trials=12,
        seed=1,
    )
    plain = infold.minimize(two, BOX, direction=BOTH, method=cheap(), n_trials=12, seed=1)
    np.testing.assert_array_equal(flipped.x_iters, plain.x_iters)
    np.testing.assert_array_equal(flipped.pareto_f * [1, -1], plain.pareto_f)


def test_constraints_bound_the_front():
    def fun(x: np.ndarray) -> Outcome:
        return Outcome(two(x), constraints=[0.4 - x[0]])

    run = infold.minimize(fun, BOX, direction=BOTH, method=cheap(), n_trials=16, seed=0)
    assert all(x[0] >= 0.4 for x in run.pareto_x)
    assert np.max(run.constraints) <= 0.0
    never = infold.minimize(
        lambda x: Outcome(two(x), constraints=[1.0 + x[0]]), BOX, direction=BOTH, n_trials=4, seed=0
    )
    assert not never.success
    assert len(never.pareto_x) == 1


def test_asking_for_several_points_draws_weights_for_each():
    optimizer = Optimizer(BOX, direction=BOTH, method=cheap(), seed=0, n_initial=5)
    for x in optimizer.ask(5):
        optimizer.tell(x, two(x))
    points = optimizer.ask(3)
    told = [p.diagnostics["weights"] for p in optimizer._record.pending]
    assert len({tuple(weights) for weights in told}) == len(points) == 3


@pytest.mark.parametrize("y", [1.0, [1.0], [1.0, 2.0, 3.0], "ab", [1.0, "b"], {"a": 1.0, "b": 2.0}])
def test_another_number_of_values_is_refused(y):
    with pytest.raises(ValueError, match=r"y(\[1\])? = "):
        Optimizer(BOX, direction=BOTH).tell(np.zeros(3), y)
    assert Guarded(lambda x: y, n_objectives=2)(0).error.startswith("ValueError: the value")


@pytest.mark.parametrize("y", [None, np.nan, [1.0, np.nan], [np.inf, 1.0]])
def test_an_evaluation_without_all_values_has_failed(y):
    optimizer = Optimizer(BOX, direction=BOTH)
    optimizer.tell(np.zeros(3), y)
    optimizer.tell(np.ones(3), np.array([1.0, 2.0]))
    assert [e.failed for e in optimizer.evaluations] == [True, False]
    assert optimizer.front == [1]
    again = Optimizer.from_text(optimizer.to_text())
    np.testing.assert_array_equal(again.values, optimizer.values)


@pytest.mark.parametrize("direction", [[], ["minimize", "up"], 3, [1]])
def test_directions_are_checked(direction):
    with pytest.raises(ValueError, match="direction"):
        Optimizer(BOX, direction=direction)


def test_a_target_goes_with_one_objective_and_patience_watches_the_front():
    with pytest.raises(ValueError, match="target"):
        infold.minimize(two, BOX, direction=BOTH, target=1.0, n_trials=3)
    run = infold.minimize(
        lambda x: [1.0, 1.0 + x[0]], BOX, direction=BOTH, x0=[[0.0] * 3], patience=3, n_trials=9
    )
    assert len(run.x_iters) == 4


def test_patience_ends_a_run_that_repeats_equal_points_of_the_front():
    values = iter([[2.0, 1.0], [1.0, 2.0], [1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [0.0, 0.0]])
    run = infold.minimize(
        lambda x: next(values), BOX, direction=BOTH, method="random", patience=3, n_trials=6
    )
    assert len(run.x_iters) == 5
    assert "patience" in run.message


@pytest.mark.parametrize("returned", [(1.0, 2.0), [1.0, 2.0], np.ones(2)])
def test_several_values_without_directions_are_said_to_need_them(returned):
    assert "direction=['minimize', ...]" in Guarded(lambda x: returned)(0).error
    assert "direction" not in Guarded(lambda x: "a")(0).error


def test_a_program_prints_values_and_then_constraints():
    programs = Programs(Command("echo 1 2 -3"), 1, n_objectives=2)
    (done,) = programs.wait([programs.submit({"x": 1})])
    programs.close()
    assert done.result().value == (1.0, 2.0)
    assert done.result().constraints == (-3.0,)


def test_the_front_is_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    run = infold.minimize(two, BOX, direction=BOTH, method="random", n_trials=8, seed=0)
    ax = infold.plot.front(run)
    drawn = {tuple(point) for line in ax.lines for point in line.get_xydata()}
    assert {tuple(values) for values in run.pareto_f} <= drawn
    with pytest.raises(ValueError, match="objectives"):
        infold.plot.front(run, objectives=(0, 2))
