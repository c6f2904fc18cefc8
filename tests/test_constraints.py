"""Constraints on outcomes, from the front door."""

import numpy as np
import pytest

import infold
from infold import Optimizer, Outcome, methods
from infold.acquisition.trust_region import TrustRegion
from infold.evaluation.outcome import Guarded
from infold.evaluation.program import Command
from infold.record import History, Proposal

BOX = [(0.0, 1.0)] * 4


def cheap(name: str = "full_space") -> methods.Method:
    settings = {"n_candidates": 64, "n_starts": 4, "search_iterations": 10}
    if name == "mgpc":
        settings |= {"n_features": 2, "training_iterations": 5}
    if name == "add":
        settings |= {"n_features": 2}
    return methods.by_name(name, **settings)


def corner(x: np.ndarray) -> Outcome:
    """Minimize the sum above the plane x0 + 2 x1 = 1: the best is 0.5, at (0, 0.5, 0, 0)."""
    return Outcome(float(np.sum(x)), constraints=[1.0 - x[0] - 2.0 * x[1]])


def never(x: np.ndarray) -> Outcome:
    return Outcome(float(np.sum(x)), constraints=[1.0 + float(x[0]), -1.0])


def test_feasible_evaluations_come_first_then_the_least_violation_then_failures():
    constraints = [[1.0, -1.0], [-1.0, -1.0], [0.0, 0.0], [np.nan, -1.0], [3.0, 5.0], [-1.0, -1.0]]
    y = [0.0, 5.0, 4.0, 1.0, -9.0, np.nan]
    history = History(np.zeros((6, 1)), np.array(y), constraints=np.array(constraints))
    assert history.feasible.tolist() == [False, True, True, False, False, False]
    np.testing.assert_array_equal(history.eligible, history.feasible)
    np.testing.assert_array_equal(history.scales, [2.0, 5.0])
    np.testing.assert_allclose(history.violation, [0.5, 0.0, 0.0, 1.5, 2.5, 0.0])
    assert np.argsort(history.merit(history.imputed)).tolist() == [2, 1, 0, 3, 4, 5]
    part = history.part(np.array([0, 3]))
    np.testing.assert_array_equal(part.scales, history.scales)
    assert part.eligible.tolist() == [True, True]


def test_without_constraints_nothing_is_ranked():
    history = History(np.zeros((3, 1)), np.array([2.0, np.nan, 1.0]))
    assert history.merit(history.imputed).tolist() == [2.0, 2.0, 1.0]
    np.testing.assert_array_equal(history.eligible, history.succeeded)
    assert history.n_constraints == 0


def region_history(values: list, constraints: list) -> History:
    n = len(values)
    x = np.linspace(0.0, 1.0, n)[:, None]
    return History(
        x,
        np.array(values, dtype=float),
        proposals=(Proposal("exact"),) * n,
        constraints=np.array(constraints, dtype=float)[:, None],
    )


def test_the_trust_region_counts_less_violation_until_a_point_is_feasible_and_then_its_value():
    values = [5.0, 9.0, 1.0, 9.0, 8.0, 0.0, 7.0]
    constraints = [4.0, 3.0, 3.5, -1.0, -1.0, 2.0, -2.0]
    history = region_history(values, constraints)
    found = TrustRegion()._successes(history)
    assert np.flatnonzero(found).tolist() == [0, 1, 3, 4, 6]


def test_the_trust_region_is_centred_at_the_best_feasible_point_or_the_least_violation():
    for constraints, best in (([4.0, -1.0, -2.0, 1.0], 2), ([4.0, 1.0, 2.0, 3.0], 1)):
        history = region_history([0.0, 3.0, 2.0, 1.0], constraints)
        model = methods.by_name("auto").model.fit(history, (0,), {})
        surface = model.surfaces[0]
        np.testing.assert_array_equal(surface.promising[0], history.x[best])
        place = TrustRegion().at(history)
        centre = place.around(surface, np.random.default_rng(0)).centre
        np.testing.assert_array_equal(centre, history.x[best])


def test_the_best_feasible_point_is_found():
    result = infold.minimize(corner, BOX, n_trials=30, seed=0, n_initial=6)
    assert result.success
    assert result.constraints[0] <= 0.0
    assert result.fun < 0.6
    best = min(e.value for e in result.evaluations if e.constraints[0] <= 0.0)
    assert result.fun == best == result.optimizer.best[1]
    assert "constraints" in repr(result)


@pytest.mark.parametrize("name", ["add", "mgpc"])
def test_every_method_takes_constraints(name):
    run = infold.minimize(corner, BOX, method=cheap(name), n_trials=9, seed=1, n_initial=6)
    by_model = [e for e in run.evaluations if e.proposed_by != "design"]
    assert all(0.0 <= e.diagnostics["feasibility"] <= 1.0 for e in by_model)
    assert not any(e.diagnostics.get("fallback") for e in by_model)


def test_without_a_feasible_point_the_least_violation_is_returned_without_success():
    run = infold.minimize(never, BOX, method=cheap(), n_trials=12, seed=0, n_initial=5)
    assert not run.success
    assert run.message.startswith("no evaluation satisfies all constraints")
    assert run.constraints[0] == min(e.constraints[0] for e in run.evaluations)
    assert run.x[0] < 0.05  # what is searched for is less violation
    assert repr(run.optimizer).endswith(", no feasible point yet>")


def test_values_may_come_from_feasible_points_alone():
    def simulate(x: np.ndarray) -> Outcome:
        c = 0.25 - x[0] * x[1]
        return Outcome(None if c > 0 else float(np.sum(x)), constraints=[c])

    optimizer = Optimizer(BOX, method=cheap(), seed=0, n_initial=4)
    for x in np.random.default_rng(0).uniform(0.0, 0.45, size=(4, 4)):
        optimizer.tell(x, simulate(x))
    assert optimizer.best_index == np.argmin(optimizer.history.constraints)
    assert np.isnan(optimizer.best[1])
    for _ in range(8):
        x = optimizer.ask()
        assert optimizer.diagnostics["feasibility"] > 0.0
        optimizer.tell(x, simulate(x))
    assert np.any(optimizer.feasible)


def test_the_number_of_constraints_may_not_change():
    optimizer = Optimizer(BOX)
    optimizer.tell(np.zeros(4), None)
    optimizer.tell(np.full(4, 0.1), 1.0, constraints=[0.1, -0.2])
    with pytest.raises(ValueError, match=r"constraints has 1 values: expected 2"):
        optimizer.tell(np.full(4, 0.2), 1.0, constraints=[0.1])
    with pytest.raises(ValueError, match=r"constraints has 0 values: expected 2"):
        optimizer.tell(np.full(4, 0.2), 1.0)
    optimizer.tell(np.full(4, 0.2), None)
    assert len(optimizer) == 3
    np.testing.assert_array_equal(
        optimizer.history.constraints, [[np.nan] * 2, [0.1, -0.2], [np.nan] * 2]
    )
    plain = Optimizer(BOX)
    plain.tell(np.zeros(4), 1.0)
    with pytest.raises(ValueError, match=r"constraints has 1 values: expected 0"):
        plain.tell(np.ones(4), 1.0, constraints=[0.1])


@pytest.mark.parametrize("workers", [1, map])
def test_another_number_of_constraints_is_a_failed_evaluation_of_the_run(workers):
    counts = iter([1, 1, 2, 1, 0, 1])
    run = infold.minimize(
        lambda x: Outcome(1.0, constraints=[0.1] * next(counts)),
        BOX,
        method="random",
        n_trials=6,
        workers=workers,
        seed=0,
    )
    failed = {i: e.error for i, e in enumerate(run.evaluations) if e.failed}
    assert failed == {
        2: "ValueError: constraints has 2 values: expected 1, as in the evaluations before",
        4: "ValueError: constraints has 0 values: expected 1, as in the evaluations before",
    }
    assert not run.optimizer.pending


def test_another_number_of_constraints_is_raised_where_errors_are(tmp_path):
    counts = iter([1, 2])
    path = tmp_path / "run.json"
    with pytest.raises(ValueError, match="constraints has 2 values: expected 1"):
        infold.minimize(
            lambda x: Outcome(1.0, constraints=[0.1] * next(counts)),
            BOX,
            n_trials=3,
            on_error="raise",
            checkpoint=path,
        )
    kept = Optimizer.load(path)
    assert (len(kept), len(kept.pending)) == (1, 1)


@pytest.mark.parametrize("unknown", [None, np.nan, np.inf, -np.inf])
def test_an_unknown_constraint_is_not_satisfied(unknown):
    optimizer = Optimizer(BOX)
    optimizer.tell(np.zeros(4), 1.0, constraints=[-1.0, unknown])
    optimizer.tell(np.ones(4), 2.0, constraints=[-1.0, -1.0])
    assert optimizer.feasible.tolist() == [False, True]
    again = Optimizer.from_text(optimizer.to_text())
    np.testing.assert_array_equal(again.history.constraints, optimizer.history.constraints)


def test_an_unknown_constraint_does_not_draw_the_search_in():
    def simulate(x: np.ndarray) -> Outcome:
        c = np.nan if x[0] < 0.3 else 0.5 - x[1]
        return Outcome(float(np.sum(x)), constraints=[c, 0.2 - x[0]])

    run = infold.minimize(simulate, BOX[:2], method=cheap(), n_trials=20, seed=0)
    unknown = [np.isnan(e.constraints[0]) for e in run.evaluations[10:]]
    assert sum(unknown) <= 5
    assert run.fun < 0.9  # the best is 0.8


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ("ab", r"constraints\[0\] = 'ab'"),
        ([1.0, "b"], r"constraints\[1\] = 'b': expected a number, or None or NaN where it is not"),
        ({1.0, 2.0}, r"constraints = \{1.0, 2.0\}: expected a list"),
        ({0: 1.0}, r"constraints = \{0: 1.0\}: expected a list"),
        (True, r"constraints\[0\] = True: expected a number that is at most 0"),
        ([1.0, np.bool_(False)], r"constraints\[1\] = .*False.*: expected a number"),
        (np.array([True]), r"constraints\[0\] = .*True.*: expected a number"),
        ([np.array(True)], r"constraints\[0\] = .*True.*: expected a number"),
    ],
)
def test_what_is_no_number_is_refused(constraints, message):
    with pytest.raises(ValueError, match=message):
        Optimizer(BOX).tell(np.zeros(4), 1.0, constraints=constraints)


@pytest.mark.parametrize(
    "constraints", [(1, -2), [np.int64(1), np.float32(-2)], np.array([1, -2]), iter([1.0, -2.0])]
)
def test_sequences_of_numbers_are_constraints(constraints):
    optimizer = Optimizer(BOX)
    optimizer.tell(np.zeros(4), 1.0, constraints=constraints)
    assert optimizer.evaluations[0].constraints == (1.0, -2.0)


def test_an_outcome_is_checked_where_it_is_made():
    assert Guarded(lambda x: Outcome(1, constraints=(0,)))(0)[:2] == (1.0, None)
    assert Guarded(lambda x: Outcome(1, constraints=np.zeros(2)))(0).constraints == (0.0, 0.0)
    failed = Guarded(lambda x: Outcome(None, "it diverged", constraints=[2]))(0)
    assert (failed.value, failed.error, failed.constraints) == (None, "it diverged", (2.0,))
    assert "Outcome(value, constraints=" in Guarded(lambda x: Outcome(1.0, [0.0]))(0).error


def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path):
    arguments = {"method": "auto", "n_initial": 4, "seed": 3}
    whole = infold.minimize(corner, BOX, n_trials=9, **arguments)
    path = tmp_path / "run.json"
    infold.minimize(corner, BOX, n_trials=6, checkpoint=path, **arguments)
    parts = infold.minimize(corner, checkpoint=path, n_trials=9)
    np.testing.assert_array_equal(parts.x_iters, whole.x_iters)
    np.testing.assert_array_equal(parts.constraints, whole.constraints)


def test_values_that_are_known_may_be_outcomes():
    x0 = [[0.0] * 4, [0.5] * 4]
    run = infold.minimize(
        corner, BOX, x0=x0, y0=[corner(np.array(x)) for x in x0], n_trials=3, seed=0
    )
    assert run.optimizer.feasible[:2].tolist() == [False, True]


def test_one_known_point_has_one_outcome():
    run = infold.minimize(
        corner, BOX, x0=[0.1] * 4, y0=Outcome(0.4, constraints=[0.7]), n_trials=1, seed=0
    )
    assert run.constraints.tolist() == [0.7]
    assert run.nfev == 0


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (Outcome("a", constraints=[0.1]), r"y0\[1\]: the value = 'a'"),
        (Outcome(0.2, constraints=["a"]), r"y0\[1\]: constraints\[0\] = 'a'"),
        (Outcome(0.2, constraints=[0.1, 0.2]), r"y0\[1\]: constraints has 2 values: expected 1"),
    ],
)
def test_an_outcome_that_is_wrong_is_named_by_its_place(second, message):
    y0 = [Outcome(0.1, constraints=[0.4]), second]
    with pytest.raises(ValueError, match=message):
        infold.minimize(corner, BOX, x0=[[0.1] * 4, [0.2] * 4], y0=y0, n_trials=3)


def test_a_program_prints_its_constraints_after_the_value():
    assert Command("echo 1.5 -0.5 2")({"x": 1}).constraints == (-0.5, 2.0)
    failed = Command("echo nan 3")({"x": 1})
    assert failed.value is None
    assert failed.constraints == (3.0,)


def test_patience_and_target_look_at_feasible_points():
    values = iter([(0.0, 1.0), (5.0, -1.0), (-1.0, 2.0), (4.0, -1.0), (-2.0, 1.0), (-3.0, 1.0)])

    def fun(x: np.ndarray) -> Outcome:
        value, constraint = next(values)
        return Outcome(value, constraints=[constraint])

    run = infold.minimize(fun, BOX, n_trials=6, target=4.5, patience=2, seed=0)
    assert run.message.startswith("target 4.5 reached: 4 after 4")


def test_progress_says_whether_a_point_is_feasible(capsys):
    infold.minimize(never, BOX, n_trials=2, progress=True, seed=0)
    assert "no feasible point yet" in capsys.readouterr().out
    infold.minimize(
        lambda x: Outcome(1.0, constraints=[-1.0]), BOX, n_trials=2, progress=True, seed=0
    )
    assert "best feasible 1" in capsys.readouterr().out


def test_tables_and_reports_show_constraints(tmp_path):
    run = infold.minimize(corner, BOX, method="random", n_trials=12, seed=0)
    frame = run.to_frame()
    assert frame["constraint0"].tolist() == [e.constraints[0] for e in run.evaluations]
    infold.report.write(run, tmp_path / "page.html")
    assert "best feasible value" in (tmp_path / "page.html").read_text()


def without_value(violation: float) -> Outcome:
    return Outcome(None, constraints=[violation])


def test_points_without_a_value_that_violate_a_constraint_end_no_run(capsys, tmp_path):
    violations = iter([3.0, 1.0, 2.0, 4.0, 5.0])
    run = infold.minimize(
        lambda x: without_value(next(violations)),
        BOX,
        method="random",
        n_trials=5,
        max_failures=2,
        seed=0,
        progress=True,
    )
    assert run.nit == 5
    assert run.x is run.x_iters[1]
    assert np.isnan(run.fun)
    assert run.constraints.tolist() == [1.0]
    assert not run.success
    assert run.message == "no evaluation satisfies all constraints (all 5 evaluations done)"
    shown = capsys.readouterr()
    assert "no feasible point yet" in shown.out
    assert "failed" not in shown.err
    infold.report.write(run, tmp_path / "page.html")
    assert "nan" in repr(run)
    assert "nan" in run._repr_html_()


@pytest.mark.parametrize("returned", [[], [-1.0], [np.nan], [-1.0, np.nan]])
def test_no_value_although_no_constraint_is_violated_is_a_failure(returned):
    run = infold.minimize(
        lambda x: Outcome(None, constraints=returned), BOX, n_trials=5, max_failures=2, seed=0
    )
    assert run.nit == 2
    assert "2 failures in a row" in run.message
    assert ("finite value" in run.message) == (returned != [-1.0, np.nan])
    assert not run.success


def test_values_of_feasible_points_alone_lead_to_the_best_of_them():
    def simulate(x: np.ndarray) -> Outcome:
        c = float(np.sum((x - 0.85) ** 2) - 0.01)
        return Outcome(None if c > 0.0 else float(np.sum(x)), constraints=[c])

    run = infold.minimize(simulate, BOX, method=cheap(), n_trials=18, n_initial=11, seed=0)
    assert run.success
    assert np.isnan(run.func_vals[:11]).all()
    assert run.constraints[0] <= 0.0


def test_several_objectives_without_values_have_the_least_violation_for_a_front(tmp_path):
    violations = iter([3.0, 1.0, 2.0])
    run = infold.minimize(
        lambda x: without_value(next(violations)),
        BOX,
        direction=["minimize"] * 2,
        method="random",
        n_trials=3,
        max_failures=2,
    )
    assert run.x[0] is run.x_iters[1]
    assert len(run.x) == 1
    assert run.fun.shape == (1, 2)
    assert np.isnan(run.fun).all()
    assert "no point is feasible yet" in repr(run)
    assert "no evaluation satisfies all constraints" in run._repr_html_()
    infold.report.write(run, tmp_path / "page.html")


def test_points_of_a_batch_differ_while_nothing_is_feasible():
    optimizer = Optimizer(BOX, method=cheap(), seed=0, n_initial=5)
    for x in optimizer.ask(8):
        optimizer.tell(x, never(x))
    points = np.array(optimizer.ask(4))
    gaps = np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(4, 1)]
    assert np.min(gaps) > 0.05


def test_outcomes_come_back_from_other_processes():
    run = infold.minimize(corner, BOX, method="random", n_trials=6, workers=2, seed=0)
    assert run.optimizer.history.n_constraints == 1


@pytest.mark.parametrize(
    ("words", "told", "status"),
    [
        ("echo {x} -1", "best feasible value", 0),
        ("echo {x} 1", "no feasible point", 1),
        ("echo nan 1", "no feasible point; the least violation is at", 1),
        ("echo {x} 2 --", "no evaluation succeeded", 1),
    ],
)
def test_the_command_line_takes_constraints(words, told, status, tmp_path):
    from typer.testing import CliRunner

    from infold.cli import app

    space = tmp_path / "space.toml"
    space.write_text('[x]\ntype = "float"\nlow = 0.0\nhigh = 1.0\n')
    arguments = ["minimize", "--space", str(space), "--command", words, "--trials", "3"]
    result = CliRunner().invoke(app, [*arguments, "--method", "random", "--max-failures", "3"])
    assert told in result.output
    assert result.exit_code == status


def test_the_command_line_takes_directions(tmp_path):
    from typer.testing import CliRunner

    from infold.cli import app

    space = tmp_path / "space.toml"
    space.write_text('[x]\ntype = "float"\nlow = 0.0\nhigh = 1.0\n')
    arguments = ["minimize", "--space", str(space), "--command", "echo {x} {x}", "--trials", "3"]
    several = ["--direction", "minimize,maximize", "--method", "random"]
    result = CliRunner().invoke(app, [*arguments, *several])
    assert "3 points on the front" in result.output
    assert result.exit_code == 0
    both = CliRunner().invoke(app, [*arguments, *several, "--maximize"])
    assert both.exit_code == 2
