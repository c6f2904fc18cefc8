"""Lessons from JSON, every part of it checked."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from infold import _checks
from infold.learning.lessons import (
    LARGEST_LOGARITHM,
    MOST_WEIGHT,
    VERSION,
    Evidence,
    FeatureMap,
    Lessons,
    Manifold,
    Metric,
)


def lessons(data: Any) -> Lessons:
    """Return the lessons that `Lessons.to_json` wrote, or raise ValueError."""
    data = _mapping("lessons", data)
    version = _item("lessons", data, "version")
    if version != VERSION or isinstance(version, bool):
        raise ValueError(f"version = {_checks.shown(version)}: expected {VERSION}")
    dimension = _checks.at_least("dimension", _item("lessons", data, "dimension"), 1)
    points = _points("points", _item("lessons", data, "points"), dimension)
    centre = _item("lessons", data, "centre")
    if centre is not None:
        centre = _points("centre", [centre], dimension)[0]
    counts = {
        name: _checks.at_least(name, _item("lessons", data, name), 0)
        for name in ("n_runs", "n_evaluations", "n_designs")
    }
    return Lessons(
        dimension=dimension,
        points=points,
        centre=centre,
        metric=_metric(_item("lessons", data, "metric"), dimension),
        features=_features(_item("lessons", data, "features"), dimension),
        manifold=_manifold(_item("lessons", data, "manifold"), dimension),
        evidence=_evidence(_item("lessons", data, "evidence")),
        **counts,
    )


def _mapping(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} = {_checks.shown(value)}: expected a mapping")
    return value


def _item(name: str, data: Mapping[str, Any], key: str) -> Any:
    if key not in data:
        raise ValueError(f"{name} has no {key!r}: expected it beside {', '.join(map(str, data))}")
    return data[key]


def _points(name: str, value: Any, dimension: int) -> np.ndarray:
    """Return points of the cube, none where the list is empty."""
    if isinstance(value, list) and not value:
        return np.empty((0, dimension))
    return _checks.unit_cube(name, value, dimension)


def _within(name: str, array: np.ndarray, lower: float, upper: float) -> np.ndarray:
    outside = (array < lower) | (array > upper)
    if np.any(outside):
        where = tuple(int(i) for i in np.argwhere(outside)[0])
        raise ValueError(
            f"{name}{list(where)} = {array[where]}: expected numbers from {lower} to {upper}"
        )
    return array


def _metric(value: Any, dimension: int) -> Metric | None:
    if value is None:
        return None
    data = _mapping("metric", value)
    logarithms = _checks.finite_array(
        "metric.log_lengthscale", _item("metric", data, "log_lengthscale"), (dimension,)
    )
    known = _item("metric", data, "known")
    truths = isinstance(known, list) and all(isinstance(one, bool) for one in known)
    if not truths or len(known) != dimension:
        raise ValueError(
            f"metric.known = {_checks.shown(known)}: expected {dimension} truth values"
        )
    if not any(known):
        raise ValueError("metric.known is true nowhere: expected one coordinate at least")
    _within("metric.log_lengthscale", logarithms, -LARGEST_LOGARITHM, LARGEST_LOGARITHM)
    return Metric(log_lengthscale=logarithms, known=np.array(known, dtype=bool))


def _features(value: Any, dimension: int) -> FeatureMap | None:
    if value is None:
        return None
    weights = _checks.finite_array(
        "features.weights",
        _item("features", _mapping("features", value), "weights"),
        (None, dimension),
    )
    if not 1 <= len(weights) <= dimension:
        raise ValueError(f"features.weights has {len(weights)} rows: expected 1 to {dimension}")
    return FeatureMap(weights=_within("features.weights", weights, -MOST_WEIGHT, MOST_WEIGHT))


def _manifold(value: Any, dimension: int) -> Manifold | None:
    if value is None:
        return None
    data = _mapping("manifold", value)
    x = _points("manifold.x", _item("manifold", data, "x"), dimension)
    z = _checks.finite_array("manifold.z", _item("manifold", data, "z"), (len(x), None))
    if not len(x) or not z.shape[1]:
        raise ValueError(f"manifold.z has shape {z.shape}: expected designs and features")
    logarithms = _checks.finite_array(
        "manifold.log_lengthscale", _item("manifold", data, "log_lengthscale"), (z.shape[1],)
    )
    noise = _checks.finite("manifold.log_noise", _item("manifold", data, "log_noise"))
    weight = _checks.finite_array(
        "manifold.weight", _item("manifold", data, "weight"), (dimension,)
    )
    return Manifold(
        x=x,
        z=_within("manifold.z", z, -1e6, 1e6),
        log_lengthscale=_within(
            "manifold.log_lengthscale", logarithms, -LARGEST_LOGARITHM, LARGEST_LOGARITHM
        ),
        log_noise=float(
            _within("manifold.log_noise", np.array([noise]), -LARGEST_LOGARITHM, LARGEST_LOGARITHM)[
                0
            ]
        ),
        weight=_within("manifold.weight", weight, 0.0, MOST_WEIGHT),
    )


def _evidence(value: Any) -> Evidence:
    data = _mapping("evidence", value)
    features = _mapping("evidence.features", _item("evidence", data, "features"))
    scores = {}
    for key, score in features.items():
        if not (isinstance(key, str) and key.isascii() and key.isdigit() and len(key) < 6):
            raise ValueError(f"evidence.features has {key!r}: expected numbers of features")
        scores[int(key)] = _score(f"evidence.features[{key}]", score)
    return Evidence(
        scratch=_score("evidence.scratch", _item("evidence", data, "scratch")),
        metric=_score("evidence.metric", _item("evidence", data, "metric")),
        features=scores,
        n_runs=_checks.at_least("evidence.n_runs", _item("evidence", data, "n_runs"), 0),
    )


def _score(name: str, value: Any) -> float:
    return math.nan if value is None else _checks.finite(name, value)
