"""Runs of one family come to one space, and what it holds is right in that of a new run."""

import json
from dataclasses import replace

import numpy as np
import optuna
import pytest
from tests.learning.made import MIXED, told

from infold import Bool, Categorical, Float, Int, Space
from infold.learning import views
from infold.learning.lessons import FeatureMap, Lessons, Manifold, Metric
from infold.learning.matching import Family, coordinate_names, family_of
from infold.learning.sources import read


def family(earlier, space=None, **options) -> Family:
    known = () if space is None else list(Space.of(space).parameters)
    new = None if space is None else Space.of(space)
    return family_of(read(earlier, known=known), space=new, **options)


def test_one_run_in_its_own_space_keeps_its_coordinates():
    optimizer = told(MIXED)
    found = family(optimizer, MIXED)
    assert found.space.parameters == optimizer.space.parameters
    np.testing.assert_allclose(found.runs[0].x, optimizer.history.x, atol=1e-12)
    np.testing.assert_array_equal(found.runs[0].y, optimizer.history.y)


def test_order_of_parameters_makes_no_difference():
    optimizer = told(MIXED)
    turned = dict(reversed(MIXED.items()))
    again = infold_copy(optimizer, turned)
    one, other = family(optimizer), family(again)
    assert list(one.space.parameters) == list(other.space.parameters)
    np.testing.assert_array_equal(one.runs[0].x, other.runs[0].x)


def infold_copy(optimizer, space):
    copy = told(space, n=0)
    for evaluation in optimizer.evaluations:
        copy.tell(evaluation.point, evaluation.value)
    return copy


def test_numbers_in_names_are_sorted_as_numbers():
    found = family(told({f"x{i}": (0.0, 1.0) for i in range(12)}))
    assert list(found.space.parameters) == [f"x{i}" for i in range(12)]


def test_family_has_the_hull_of_all_ranges():
    runs = [
        told({"a": Float(0.0, 1.0), "n": Int(3, 9), "k": Categorical(["p", "q"])}),
        told({"a": Float(-2.0, 0.5), "n": Int(1, 4), "k": Categorical(["q", "r"])}),
    ]
    space = {"a": (0.5, 3.0), "n": Int(4, 5), "k": Categorical(["r", "s"])}
    found = family(runs, space)
    assert found.space.parameters == {
        "a": Float(-2.0, 3.0),
        "n": Int(1, 9),
        "k": Categorical(["r", "s", "p", "q"]),
    }
    for run, optimizer in zip(found.runs, runs, strict=True):
        for unit, point in zip(run.x, optimizer.points, strict=True):
            np.testing.assert_allclose(unit, found.space.encode(point), atol=1e-12)


def test_values_are_to_be_minimized_whatever_the_direction(rng):
    small, large = told(seed=1), told(seed=1, direction="maximize")
    np.testing.assert_array_equal(*(run.y for run in family([small, large]).runs))
    x, y = rng.uniform(size=(4, 2)), rng.normal(size=4)
    assert np.array_equal(family((x, y)).runs[0].y, y)
    assert np.array_equal(family((x, y), direction="maximize").runs[0].y, -y)


def test_missing_parameters_are_in_the_middle_of_the_new_range():
    space = {"a": (0.0, 1.0), "b": Float(0.0, 4.0), "k": Categorical(["p", "q"])}
    found = family(told({"a": Float(0.0, 1.0), "c": Float(0.0, 2.0)}), space)
    assert list(found.space.parameters) == ["a", "b", "k", "c"]
    x = found.runs[0].x
    assert np.all(x[:, 1] == 0.5)
    assert np.all(x[:, 2:4] == found.space.parameters["k"].coordinates("p"))
    assert np.ptp(x[:, 4]) > 0.1


def test_trials_without_a_parameter_are_in_its_middle():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(
        lambda t: (
            t.suggest_float("x", 0.0, 1.0)
            + (t.suggest_float("deep", 0.0, 1.0) if t.number % 2 else 0.0)
        ),
        n_trials=4,
    )
    x = family(study).runs[0].x
    assert np.array_equal(x[:, 0] == 0.5, [True, False, True, False])


def test_another_kind_under_the_same_name_is_an_error_that_says_which_and_where(tmp_path):
    path = tmp_path / "old.json"
    told({"a": Float(0.0, 1.0), "n": Float(0.0, 9.0)}).save(path)
    with pytest.raises(ValueError, match=r"n is of the kind float in .*old.json and int in the"):
        family(path, {"a": (0.0, 1.0), "n": Int(0, 9)})
    with pytest.raises(ValueError, match=r"n is of the kind int in earlier\[1\] and float in"):
        family([path, told({"a": Float(0.0, 1.0), "n": Int(0, 9)})])
    with pytest.raises(ValueError, match=r"n is of the kind float .* and categorical"):
        family(path, {"a": (0.0, 1.0), "n": Categorical([1, 2])})


def test_spaces_with_nothing_in_common_are_an_error_that_says_which():
    run = told({"a": Float(0.0, 1.0)})
    with pytest.raises(ValueError, match=r"earlier has no parameter in common with the new run"):
        family(run, {"b": (0.0, 1.0)})
    with pytest.raises(ValueError, match=r"earlier\[1\] has no parameter in common with earlier\["):
        family([run, told({"b": Float(0.0, 1.0)})])
    both = told({"a": Float(0.0, 1.0), "b": Float(0.0, 1.0)})
    linked = family([run, told({"b": Float(0.0, 1.0)}), both])
    assert list(linked.space.parameters) == ["a", "b"]


def test_any_name_can_be_sorted():
    assert list(family(told({"a1²": (0.0, 1.0), "a": (0.0, 1.0)})).space.parameters) == ["a", "a1²"]


def test_parameters_without_names_are_matched_by_number(rng):
    x = rng.uniform(size=(5, 3))
    named = family((x, x[:, 0]), {"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)})
    np.testing.assert_allclose(named.runs[0].x, x, atol=1e-12)
    both = family([told([(0.0, 1.0)] * 3), (x, x[:, 0])])
    assert not both.space.named
    assert list(both.space.parameters) == ["x0", "x1", "x2"]
    with pytest.raises(ValueError, match=r"earlier has 3 parameters without names: expected 2, as"):
        family((x, x[:, 0]), [(0.0, 1.0)] * 2)
    with pytest.raises(ValueError, match=r"earlier\[1\] has 3 parameters .* as earlier\[0\] has"):
        family([told([(0.0, 1.0)] * 2), (x, x[:, 0])])


def test_names_of_studies_match_the_numbers_of_lists():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda t: sum(t.suggest_float(f"x{i}", 0.0, 1.0) for i in range(3)), n_trials=3)
    found = family(study, [(0.0, 1.0)] * 3)
    assert list(found.space.parameters) == ["x0", "x1", "x2"]


def test_cells_of_a_table_have_the_kinds_of_the_new_run(tmp_path):
    path = tmp_path / "old.csv"
    path.write_text(
        "rate,layers,kind,flag,x,value\n0.01,3,b,True,0.5,1\n1,8.0,None,0,-1,2\n0.1,1,z,false,1,\n"
    )
    space = Space.of(MIXED)
    found = family(path, MIXED)
    assert found.space.parameters["kind"] == Categorical(["a", "b", None, "z"])
    points = [found.space.decode(unit) for unit in found.runs[0].x]
    assert [point["kind"] for point in points] == ["b", None, "z"]
    assert [point["flag"] for point in points] == [True, False, False]
    assert [point["layers"] for point in points] == [3, 8, 1]
    np.testing.assert_allclose([point["rate"] for point in points], [0.01, 1.0, 0.1])
    assert space.dimension + 1 == found.space.dimension
    path.write_text("rate,layers\n0.1,2.5\n")
    with pytest.raises(ValueError, match=r"old.csv: layers = '2.5': expected a whole number"):
        family(path, MIXED)
    path.write_text("rate,flag\n0.1,perhaps\n")
    with pytest.raises(ValueError, match=r"old.csv: flag = 'perhaps': expected True or False"):
        family(path, MIXED)


@pytest.mark.parametrize(
    ("choices", "cells", "expected"),
    [
        ((8, 16, 32), ["8.0", "16", "3.2e1"], [8, 16, 32]),
        ((0.1, 1e-05), ["1.00E-05", "0.10"], [1e-05, 0.1]),
        ((8, "8.0", True), ["8.0", "8.00", "True", "1", "nan"], ["8.0", 8, True, "1", "nan"]),
    ],
)
def test_choices_that_are_numbers_may_be_written_another_way(tmp_path, choices, cells, expected):
    path = tmp_path / "old.csv"
    path.write_text("".join(f"{line}\n" for line in ("c", *cells)))
    found = family(path, {"c": Categorical(choices)})
    assert [found.space.decode(unit)["c"] for unit in found.runs[0].x] == expected
    new = [value for value in expected if value not in choices]
    assert found.space.parameters["c"] == Categorical((*choices, *new))


def test_kinds_of_a_table_alone_are_those_that_its_values_look_like(tmp_path):
    path = tmp_path / "old.csv"
    path.write_text("a,b,c\n1,left,true\n3.5,right,false\n")
    assert family(path).space.parameters == {
        "a": Float(1.0, 3.5),
        "b": Categorical(["left", "right"]),
        "c": Bool(),
    }


def test_truth_values_of_studies_are_those_of_bools():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(
        lambda t: t.suggest_float("x", 0, 1) + t.suggest_categorical("flag", [True, False]),
        n_trials=4,
    )
    found = family(study, {"x": (0.0, 1.0), "flag": Bool()})
    assert found.space.parameters["flag"] == Bool()
    units = [unit[1] for unit in found.runs[0].x]
    assert units == [0.75 if trial.params["flag"] else 0.25 for trial in study.trials]


def test_logarithmic_scales_survive_values_that_have_no_logarithm(caplog):
    run = told({"a": Float(0.0, 1.0), "b": Float(0.0, 1.0)})
    run.tell({"a": 0.0, "b": 0.5}, 1.0)
    found = family(run, {"a": Float(0.1, 10.0, log=True), "b": (0.0, 1.0)})
    assert found.space.parameters["a"].log
    assert found.space.parameters["a"].low > 0.0
    assert found.runs[0].x[-1, 0] == 0.0
    assert "a has a logarithmic scale" in caplog.text


def lessons_at(points: np.ndarray) -> Lessons:
    dimension = points.shape[1]
    return Lessons(
        dimension=dimension,
        points=points,
        centre=points.mean(axis=0),
        metric=Metric(
            log_lengthscale=np.linspace(-1.0, 1.0, dimension), known=np.ones(dimension, dtype=bool)
        ),
        features=FeatureMap(weights=np.eye(2, dimension)),
        n_runs=1,
        n_evaluations=len(points),
    )


def seen(family_space, new_space, points) -> Lessons:
    family_space, new_space = Space.of(family_space), Space.of(new_space)
    units = np.array([family_space.encode(point) for point in points])
    return views.seen_from(lessons_at(units), family_space, new_space, name="old.json")


OLD = {
    "rate": Float(1e-4, 1.0, log=True),
    "layers": Int(1, 8),
    "step": Float(0.0, 4.0, step=0.5),
    "kind": Categorical(["a", "b", "c"]),
    "gone": Float(0.0, 1.0),
    "flag": Bool(),
}
POINTS = [
    {"rate": 0.01, "layers": 3, "step": 1.5, "kind": "b", "gone": 0.3, "flag": True},
    {"rate": 0.5, "layers": 4, "step": 2.5, "kind": "c", "gone": 0.9, "flag": False},
]


@pytest.mark.parametrize("log", [True, False])
def test_points_of_lessons_keep_their_values_in_another_space(log):
    new = {
        "flag": Bool(),
        "new": Float(0.0, 1.0),
        "kind": Categorical(["c", "d", "b"]),
        "layers": Int(2, 20, log=log),
        "step": Float(1.0, 3.0, step=0.25),
        "rate": Float(1e-3, 2.0, log=log),
    }
    lessons = seen(OLD, new, POINTS)
    for unit, old in zip(lessons.points, POINTS, strict=True):
        point = Space.of(new).decode(unit)
        assert point["new"] == 0.5
        assert point["rate"] == pytest.approx(old["rate"])
        assert all(point[name] == old[name] for name in ("flag", "kind", "layers", "step"))
    assert lessons.metric is not None
    known = dict(zip(coordinate_names(Space.of(new)), lessons.metric.known, strict=True))
    assert [name for name, is_known in known.items() if not is_known] == ["new", "kind=d"]


@pytest.mark.parametrize(("low", "expected"), [(1e-6, 0.02), (1e-4, 0.02), (0.1, 0.1)])
def test_points_of_lessons_keep_their_values_where_a_logarithmic_range_grows(low, expected):
    old = {"rate": Float(1e-2, 1.0, log=True), "a": (0.0, 1.0)}
    new = {"rate": Float(low, 10.0, log=True), "a": (0.0, 1.0)}
    lessons = seen(old, new, [{"rate": 0.02, "a": 0.3}])
    assert Space.of(new).decode(lessons.points[0])["rate"] == pytest.approx(expected)
    stretched = np.log(100.0) / np.log(10.0 / low)
    np.testing.assert_allclose(lessons.metric.log_lengthscale[0], -1.0 + np.log(stretched))


@pytest.mark.parametrize("log", [True, False])
def test_points_of_lessons_are_moved_to_the_edge_of_a_range_elsewhere(log):
    old = {"rate": Float(1e-2, 1.0, log=True), "a": (0.0, 1.0)}
    new = {"rate": Float(1e-6, 1e-4, log=log), "a": (0.0, 1.0)}
    lessons = seen(old, new, [{"rate": 0.02, "a": 0.3}])
    point = Space.of(new).decode(lessons.points[0])
    assert (point["rate"], point["a"]) == pytest.approx((1e-4, 0.3))


def test_what_was_fixed_in_the_family_keeps_its_value():
    old = {"a": (0.0, 1.0), "k": Float(3.0, 3.0), "kind": Categorical(["b"]), "n": Int(2, 2)}
    new = {
        "a": (0.0, 1.0),
        "k": (0.0, 10.0),
        "kind": Categorical(["a", "b", "c"]),
        "n": Int(3, 5),
    }
    points = [{"a": 0.3, "k": 3.0, "kind": "b", "n": 2}]
    lessons = seen(old, new, points)
    for unit in (lessons.points[0], lessons.centre):
        point = Space.of(new).decode(unit)
        assert (point["a"], point["k"]) == pytest.approx((0.3, 3.0))
        assert (point["kind"], point["n"]) == ("b", 3)
    assert lessons.metric.known.tolist() == [True] + [False] * 5
    elsewhere = {"a": (0.0, 1.0), "kind": Categorical(["a", "c"])}
    assert np.all(np.isfinite(seen(old, elsewhere, points).points))


def with_designs(lessons: Lessons, rng) -> Lessons:
    count = 12
    return replace(
        lessons,
        manifold=Manifold(
            x=rng.uniform(size=(count, lessons.dimension)),
            z=rng.normal(size=(count, 1)),
            log_lengthscale=np.zeros(1),
            log_noise=-5.0,
            weight=np.ones(lessons.dimension),
        ),
    )


def test_designs_that_all_come_to_one_point_teach_nothing(rng):
    family_space = Space.of({"a": (0.0, 1.0), "b": (0.0, 1.0)})
    lessons = with_designs(lessons_at(np.array([[0.2, 0.3]])), rng)
    for low, kept in ((0.5, True), (5.0, False)):
        new = Space.of({"a": (low, 6.0), "b": (low, 6.0)})
        moved = views.seen_from(lessons, family_space, new, name="old.json")
        assert (moved.manifold is not None) == kept


@pytest.mark.parametrize("factor", [1e-25, 1e-12, 1e12, 1e25])
def test_lessons_of_far_wider_or_narrower_ranges_can_be_written_and_read(factor, rng):
    family_space = Space.of({"a": (0.0, 1.0), "b": (0.0, 1.0)})
    lessons = with_designs(lessons_at(np.array([[0.2, 0.3]])), rng)
    new = Space.of({"a": (0.0, factor), "b": (-factor, factor)})
    moved = views.seen_from(lessons, family_space, new, name="old.json")
    again = Lessons.from_json(json.loads(json.dumps(moved.to_json())))
    np.testing.assert_array_equal(again.points, moved.points)


def test_lengthscales_stretch_with_the_range():
    lessons = seen({"a": (0.0, 1.0), "b": (0.0, 1.0)}, {"a": (0.0, 0.5), "b": (0.0, 2.0)}, [[0, 0]])
    before = np.linspace(-1.0, 1.0, 2)
    np.testing.assert_allclose(
        lessons.metric.log_lengthscale, before + np.log([2.0, 0.5]), atol=1e-12
    )


def test_lessons_in_their_own_space_are_the_same_to_the_last_bit(rng):
    space = Space.of(OLD)
    units = space.rounding.snap(rng.uniform(size=(5, space.dimension)))
    lessons = views.seen_from(lessons_at(units), space, space, name="")
    assert np.array_equal(lessons.points, units)


def test_fixed_parameters_and_truth_values_have_their_places():
    lessons = seen(OLD, {"rate": Float(0.1, 0.1), "layers": Int(1, 8)}, POINTS)
    assert lessons.dimension == 1
    as_choices = seen(OLD, {"flag": Categorical([False, True])}, POINTS)
    space = Space.of({"flag": Categorical([False, True])})
    assert [space.decode(unit)["flag"] for unit in as_choices.points] == [True, False]


def test_lessons_about_other_parameters_or_kinds_are_refused_by_name():
    with pytest.raises(ValueError, match=r"old.json has no parameter in common with the new run"):
        seen(OLD, {"z": (0.0, 1.0)}, POINTS)
    with pytest.raises(ValueError, match=r"expected some of z$"):
        seen(OLD, {"z": (0.0, 1.0), "rate": (0.5, 0.5)}, POINTS)
    with pytest.raises(ValueError, match=r"layers is of the kind int in old.json and float in the"):
        seen(OLD, {"layers": (0.0, 1.0)}, POINTS)
    with pytest.raises(ValueError, match=r"old.json has 2 parameters without names: expected 3"):
        seen([(0.0, 1.0)] * 2, [(0.0, 1.0)] * 3, [[0.1, 0.2]])
