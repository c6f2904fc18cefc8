"""Lessons: JSON, other cubes, what they say."""

import copy
import json
import math

import numpy as np
import pytest

from infold.history import History
from infold.learning.lessons import (
    Evidence,
    FeatureMap,
    Lessons,
    Manifold,
    Metric,
    Run,
)


def _lessons(dimension: int = 5) -> Lessons:
    rng = np.random.default_rng(0)
    return Lessons(
        dimension=dimension,
        points=rng.uniform(size=(3, dimension)),
        centre=rng.uniform(size=dimension),
        metric=Metric(
            log_lengthscale=rng.normal(size=dimension), known=np.ones(dimension, dtype=bool)
        ),
        features=FeatureMap(weights=rng.normal(size=(2, dimension))),
        manifold=Manifold(
            x=rng.uniform(size=(6, dimension)),
            z=rng.normal(size=(6, 2)),
            log_lengthscale=np.zeros(2),
            log_noise=-5.0,
            weight=np.ones(dimension),
        ),
        evidence=Evidence(scratch=-1.0, metric=-0.5, features={2: 0.25, 3: math.nan}, n_runs=4),
        n_runs=4,
        n_evaluations=100,
        n_designs=6,
    )


def test_json_round_trip_keeps_everything() -> None:
    lessons = _lessons()
    text = json.dumps(lessons.to_json(), allow_nan=False)
    again = Lessons.from_json(json.loads(text))
    assert json.dumps(again.to_json()) == text
    assert np.array_equal(again.points, lessons.points)
    assert math.isnan(again.evidence.features[3])


def test_empty_lessons_survive_json_and_say_so() -> None:
    lessons = Lessons.from_json(json.loads(json.dumps(Lessons.none(3).to_json())))
    assert lessons.empty
    assert "nothing was learned" in str(lessons)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (["version"], 2, "version = 2: expected 1"),
        (["dimension"], 4, "columns|shape"),
        (["points", 0, 0], 1.5, "expected values in"),
        (["points", 0, 0], "one", "expected an array of numbers"),
        (["centre"], [0.5], "shape"),
        (["metric", "known"], [1, 1, 1, 1, 1], "truth values"),
        (["metric", "log_lengthscale", 2], 1e9, "expected numbers from"),
        (["features", "weights"], [], "shape"),
        (["features", "weights", 0, 0], float("nan"), "finite"),
        (["manifold", "z"], [[0.0]], "shape"),
        (["manifold", "weight", 0], -1.0, "expected numbers from"),
        (["evidence", "features"], {"two": 1.0}, "numbers of features"),
        (["evidence", "scratch"], "good", "finite number"),
        (["n_runs"], -1, "at least 0"),
    ],
)
def test_damaged_json_is_refused_with_a_reason(path: list, value: object, said: str) -> None:
    data = copy.deepcopy(_lessons().to_json())
    part = data
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    with pytest.raises(ValueError, match=said):
        Lessons.from_json(data)


@pytest.mark.parametrize("data", [None, [], 3, "lessons", {}, {"version": 1}])
def test_other_json_is_refused(data: object) -> None:
    with pytest.raises(ValueError, match=r"expected|no '"):
        Lessons.from_json(data)


def test_every_missing_part_is_named() -> None:
    data = _lessons().to_json()
    for key in data:
        rest = {name: value for name, value in data.items() if name != key}
        with pytest.raises(ValueError, match=key):
            Lessons.from_json(rest)


def test_seen_from_the_same_cube_is_the_same() -> None:
    lessons = _lessons()
    same = lessons.seen_from(np.arange(5), np.ones(5), np.zeros(5), np.full(5, 0.5))
    assert lessons.metric is not None
    assert same.metric is not None
    assert np.allclose(same.points, lessons.points)
    assert np.allclose(same.metric.log_lengthscale, lessons.metric.log_lengthscale)


def test_seen_from_keeps_distances_of_points_that_both_cubes_have() -> None:
    lessons = _lessons()
    rng = np.random.default_rng(1)
    columns = np.array([3, -1, 0, 4, 1, 2])
    scale = rng.uniform(0.2, 0.5, size=6) * np.array([1, 1, -1, 1, 1, 1])
    shift = np.where(scale > 0, 0.2, 0.8)
    there = lessons.seen_from(columns, scale, shift, np.full(5, 0.5))
    a, b = rng.uniform(size=(2, 6))
    family = np.zeros((2, 5))
    for row, point in zip(family, (a, b), strict=True):
        row[columns[columns >= 0]] = (scale * point + shift)[columns >= 0]
    assert lessons.features is not None
    assert there.features is not None
    here = np.linalg.norm(lessons.features.weights @ (family[0] - family[1]))
    assert np.isclose(np.linalg.norm(there.features.weights @ (a - b)), here)
    assert lessons.metric is not None
    assert there.metric is not None
    known = there.metric.known
    assert known.tolist() == [True, False, True, True, True, True]
    scaled = ((a - b) / np.exp(there.metric.log_lengthscale))[known]
    direct = (family[0] - family[1]) / np.exp(lessons.metric.log_lengthscale)
    assert np.isclose(np.linalg.norm(scaled), np.linalg.norm(direct))
    assert np.all(there.points[:, 1] == 0.5)
    inside = (there.points > 0.0) & (there.points < 1.0) & (columns >= 0)
    back = scale * there.points + shift
    assert np.allclose(back[inside], lessons.points[:, columns][inside])


def test_seen_from_nothing_in_common_is_empty() -> None:
    there = _lessons().seen_from(np.full(2, -1), np.ones(2), np.zeros(2), np.full(5, 0.5))
    assert there.empty
    assert Lessons.from_json(there.to_json()).empty


def test_seen_from_refuses_columns_twice() -> None:
    with pytest.raises(ValueError, match="columns"):
        _lessons().seen_from(np.array([1, 1]), np.ones(2), np.zeros(2), np.full(5, 0.5))


def test_history_keeps_lessons_and_checks_their_dimension() -> None:
    history = History(np.full((2, 5), 0.5), np.zeros(2), lessons=_lessons())
    assert history.part(np.array([0])).lessons is history.lessons
    assert history.with_pending(np.full(5, 0.1)).lessons is history.lessons
    with pytest.raises(ValueError, match="dimension 5: expected 4"):
        History(np.full((2, 4), 0.5), np.zeros(2), lessons=_lessons())


def test_description_says_what_matters_by_name() -> None:
    lessons = _lessons()
    names = ["a", "b", "c", "d", "e"]
    assert lessons.metric is not None
    first = names[int(np.argmin(lessons.metric.log_lengthscale))]
    assert next(iter(lessons.describe(names)["relevance"])) == first
    assert f"most: {first} 1" in lessons.text(names)
    json.dumps(lessons.describe(), allow_nan=False)


def test_run_checks_its_arrays() -> None:
    with pytest.raises(ValueError, match="y of part has shape"):
        Run("part", np.full((2, 3), 0.5), np.zeros(3))
    with pytest.raises(ValueError, match="x of part"):
        Run("part", np.full((2, 3), 1.5))
