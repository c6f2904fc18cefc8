"""Several objectives and constraints: the numbers of their figures, and runs of every kind."""

import math
import sys

import moocore
import numpy as np
import pytest
from tests.report.runs import cheap, limited, several
from tests.report.test_page import data_of

import infold
from infold import Optimizer
from infold.report.figures.constraints import constraints
from infold.report.figures.convergence import convergence
from infold.report.figures.front import entered, front, hindrance, volume
from infold.report.figures.model import importance, left_out, slices
from infold.report.figures.points import best_point, best_tenth
from infold.report.figures.record import proposers
from infold.report.page import page
from infold.report.subject import Subject, subject_of


def dominates(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.all(a <= b) and np.any(a < b))


def losses_of(optimizer: Optimizer) -> np.ndarray:
    """Objectives to minimize, one row for each evaluation: the second one is maximized."""
    signs = [-1.0 if each == "maximize" else 1.0 for each in optimizer.direction]
    return optimizer.values * signs


def feasible_of(optimizer: Optimizer) -> list[int]:
    return [
        i
        for i, e in enumerate(optimizer.evaluations)
        if not e.failed and all(c <= 0 for c in e.constraints)
    ]


@pytest.mark.parametrize(("m", "limits"), [(2, False), (2, True), (3, True)])
def test_the_front_and_its_kinds_match_brute_force(m, limits):
    optimizer = several(40, n_objectives=m, limits=limits)
    y, feasible = losses_of(optimizer), feasible_of(optimizer)
    expected = [i for i in feasible if not any(dominates(y[j], y[i]) for j in feasible)]
    found = front(Subject(optimizer))
    assert list(found.evaluations) == sorted(expected, key=lambda i: y[i, 0])
    for i, kind in enumerate(found.kinds):
        assert (kind == "front") == (i in expected)
        assert (kind == "failed") == optimizer.evaluations[i].failed
        assert (kind == "dominated") == (i in feasible and i not in expected)
    np.testing.assert_array_equal(found.values, optimizer.values)


@pytest.mark.parametrize("m", [2, 3])
def test_the_volume_is_that_of_moocore_between_the_best_values_and_the_reference(m):
    optimizer = several(30, n_objectives=m, limits=True)
    subject = Subject(optimizer)
    y, feasible = losses_of(optimizer), feasible_of(optimizer)
    ideal = y[feasible].min(axis=0)
    nadir = y[subject.front].max(axis=0)
    reference = nadir + 0.1 * (nadir - ideal)
    found = volume(subject)
    for i in range(30):
        known = [j for j in feasible if j <= i]
        if not known:
            assert math.isnan(found.share[i])
            continue
        expected = moocore.hypervolume(y[known], ref=reference) / np.prod(reference - ideal)
        assert found.share[i] == pytest.approx(expected)


def test_the_volume_does_not_change_with_units():
    optimizer = several(20)
    scaled = Optimizer(optimizer.space, method="random", seed=0, direction=optimizer.direction)
    for e in optimizer.evaluations:
        values = None if e.failed else np.array(e.values) * [1e-3, 1e6] + [5.0, -7.0]
        scaled.tell(e.point, values)
    expected = volume(Subject(optimizer)).share
    np.testing.assert_allclose(volume(Subject(scaled)).share, expected, rtol=1e-6)


def test_what_entered_the_front_was_not_dominated_by_what_came_before():
    optimizer = several(40, limits=True)
    y, feasible = losses_of(optimizer), feasible_of(optimizer)
    expected = [
        i in feasible and not any(np.all(y[j] <= y[i]) for j in feasible if j < i)
        for i in range(40)
    ]
    assert entered(Subject(optimizer)).tolist() == expected
    found = proposers(Subject(optimizer))
    assert sum(found.improved) == sum(expected)
    assert sum(found.on_front) == len(optimizer.front)
    assert found.best is None


def test_each_objective_has_the_model_of_a_run_with_that_objective_alone():
    optimizer = several(12)
    subject = Subject(optimizer)
    alone = Optimizer(optimizer.space, method="full_space", seed=0, direction="maximize")
    for e in optimizer.evaluations:
        alone.tell(e.point, e.values[1] if e.values else None)
    part, expected = subject.parts[1], subject_of(alone)
    assert part.best == expected.best
    np.testing.assert_allclose(importance(part).shares, importance(expected).shares, atol=1e-6)
    np.testing.assert_allclose(left_out(part).mean, left_out(expected).mean, atol=1e-6)
    np.testing.assert_allclose(slices(part)[0].mean, slices(expected)[0].mean, atol=1e-6)
    mean = [
        np.mean([importance(p).shares[importance(p).names.index(name)] for p in subject.parts])
        for name in subject.relevance
    ]
    np.testing.assert_allclose(list(subject.relevance.values()), mean)


def test_the_front_stands_for_the_best_tenth_and_there_is_no_best_point():
    optimizer = several(30)
    subject = Subject(optimizer)
    found = best_tenth(subject)
    assert sorted(found.evaluations) == optimizer.front
    np.testing.assert_array_equal(found.values, optimizer.values[found.evaluations])
    assert best_point(subject) is None
    with pytest.raises(ValueError, match="the run has 2 objectives: expected one"):
        convergence(subject)


def test_constraints_are_counted_and_what_is_active_is_near_its_limit():
    optimizer = limited(30)
    found = constraints(Subject(optimizer))
    rows = np.array([e.constraints for e in optimizer.evaluations])
    np.testing.assert_array_equal(found.values, rows)
    assert found.violated.tolist() == [sum(c > 0 for c in column) for column in rows.T]
    assert found.known.tolist() == [30, 29]
    assert found.best.tolist() == [optimizer.best_index]
    sizes = np.nanquantile(np.abs(rows), 0.9, axis=0)
    at_best = rows[optimizer.best_index]
    assert found.active[0].tolist() == [
        -0.02 * size <= c <= 0 for c, size in zip(at_best, sizes, strict=True)
    ]
    assert constraints(Subject(several(5))) is None


def test_a_constraint_is_active_on_its_limit_and_not_beyond():
    optimizer = Optimizer([(0.0, 1.0)], method="random")
    for x, y, constraint in ((0.1, 3.0, -1.0), (0.2, 2.0, -0.01), (0.3, 1.0, 0.01)):
        optimizer.tell([x], y, constraints=[constraint, -1.0, math.nan if y > 2.5 else -math.pi])
    found = constraints(Subject(optimizer))
    assert found.best.tolist() == [1]
    assert found.active.tolist() == [[True, False, False]]


def test_convergence_knows_which_points_are_feasible():
    optimizer = limited(20)
    found = convergence(Subject(optimizer))
    assert np.flatnonzero(found.feasible).tolist() == feasible_of(optimizer)
    assert found.best[-1] == optimizer.best[1]


def all_failed() -> Optimizer:
    optimizer = Optimizer([(0.0, 1.0)] * 2, direction=["minimize", "maximize"], seed=0)
    for _ in range(3):
        optimizer.tell(optimizer.ask(), None, constraints=[1.0])
    return optimizer


def equal() -> Optimizer:
    optimizer = Optimizer([(0.0, 1.0)] * 2, direction=["minimize"] * 3, method="random", seed=0)
    for _ in range(4):
        optimizer.tell(optimizer.ask(), [1.0, 2.0, 1e300])
    return optimizer


def without_a_feasible_point() -> Optimizer:
    optimizer = several(0, method="random")
    for i in range(6):
        optimizer.tell(optimizer.ask(), [1.0, 2.0 + i], constraints=[1.0 + i])
    return optimizer


@pytest.mark.parametrize(
    ("make", "tile"),
    [
        (lambda: several(0), "none yet"),
        (all_failed, "no feasible point yet"),
        (without_a_feasible_point, "no feasible point yet"),
        (lambda: several(1), 1),
        (equal, 4),
        (lambda: several(14, n_objectives=4, limits=True), None),
        (lambda: several(10, method=cheap("mgpc")), None),
    ],
)
def test_runs_with_several_objectives_of_every_kind_have_a_page(make, tile):
    optimizer = make()
    data = data_of(page(subject_of(optimizer)))
    tiles = dict(data["summary"])
    assert tiles["objectives"] == optimizer.n_objectives
    assert tiles["points on the front"] == (len(optimizer.front) if tile is None else tile)
    assert data["convergence"] is data["best_point"] is data["features"] is None
    assert len(data["models"]) == optimizer.n_objectives
    assert len(data["values"]) == len(optimizer)


def test_a_run_without_a_feasible_point_says_which_violates_least():
    optimizer = limited(12, slack=3.0)
    data = data_of(page(subject_of(optimizer)))
    assert dict(data["summary"])["best value"] == "no feasible point yet"
    assert data["best_point"]["evaluations"][0] == optimizer.best_index
    assert data["constraints"]["states"][0] == "violated"
    assert data["convergence"]["best"] == [None] * 12


def test_without_moocore_the_volume_is_left_out_and_the_page_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "moocore", None)
    data = data_of(page(subject_of(several(6))))
    assert data["front"]["volume"] is None
    assert "infold[objectives]" in data["front"]["volume_note"]


def test_with_many_objectives_the_volume_is_left_out():
    optimizer = Optimizer([(0.0, 1.0)] * 2, direction=["minimize"] * 5, method="random", seed=0)
    optimizer.tell(optimizer.ask(), [1.0] * 5)
    subject = Subject(optimizer)
    assert volume(subject) is None
    assert hindrance(subject) == "there are more than 4 objectives"


def test_a_result_of_several_objectives_shows_its_front_in_a_notebook():
    result = infold.minimize(
        lambda x: (x["<b>"], 1.0 - x["<b>"]),
        {"<b>": (0.0, 1.0)},
        direction=["minimize", "minimize"],
        method="random",
        n_trials=12,
        seed=0,
    )
    text = result._repr_html_()
    assert "objective 1 (minimize)" in text
    assert text.count("<tr>") == 3 + 1 + 8
    for value in (result.pareto_f.min(), result.pareto_f.max()):
        assert f"{value:.6g}" in text
    assert "<b>" not in text
