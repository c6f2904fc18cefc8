"""What the page shows, as plain data."""

from typing import Any

import numpy as np

from infold.report import words
from infold.report.figures.constraints import Constraints, constraints
from infold.report.figures.convergence import convergence
from infold.report.figures.features import FeatureMap, Window, feature_map
from infold.report.figures.front import Front, front, volume
from infold.report.figures.model import Slice, ahead, importance, left_out, slices
from infold.report.figures.points import best_point, best_tenth, position
from infold.report.figures.record import failures, proposers, region, times
from infold.report.plain import plain, setting
from infold.report.subject import Subject
from infold.space import Parameter

_MOST_DECODED = 100  # parameters of a decoded point that are shown: the page stays small


def page_data(subject: Subject) -> dict[str, Any]:
    """Return all that the page shows as plain data."""
    best = best_point(subject)
    tenth = best_tenth(subject)
    timed = times(subject)
    names = list(subject.space.parameters)
    data = {
        "subtitle": words.subtitle(subject),
        "summary": words.summary(subject, timed),
        "directions": subject.directions,
        "parameters": [
            _parameter(subject, name, parameter)
            for name, parameter in subject.space.parameters.items()
        ],
        "points": [
            [setting(subject.setting(i, name)) for name in names]
            for i in range(len(subject.evaluations))
        ],
        "values": subject.values,
        "feasible": subject.feasible,
        "proposed_by": [e.proposed_by for e in subject.evaluations],
        "errors": [e.error for e in subject.evaluations],
        "convergence": _convergence(subject),
        "front": _front(subject, front(subject)),
        "best_point": best and {**plain(best), "settings": _settings(best.settings)},
        "best_tenth": tenth and {**plain(tenth), "settings": _settings(tenth.settings)},
        "constraints": _constraints(constraints(subject)),
        "models": [_model(part) for part in subject.parts],
        "features": _features(subject, feature_map(subject)),
        "region": region(subject),
        "proposers": proposers(subject),
        "failures": failures(subject),
        "times": {**plain(timed), "note": words.times_note(timed)},
    }
    return plain(data)


def _settings(rows: list[list[Any]]) -> list[list[Any]]:
    return [[setting(value) for value in row] for row in rows]


def _slice(each: Slice) -> dict[str, Any]:
    levels = [setting(level) for level in each.levels]
    return {**plain(each), "levels": levels, "at": setting(each.at)}


def _parameter(subject: Subject, name: str, parameter: Parameter) -> dict[str, Any]:
    best = subject.best if subject.n_objectives == 1 else None
    place = None
    if best is not None and parameter.kind in ("float", "int") and not parameter.fixed:
        place = position(parameter, subject.setting(best, name))
    return {"name": name, "range": _range(parameter), "position": place}


def _range(parameter: Parameter) -> str:
    """Return the values of a parameter in a few words."""
    choices = getattr(parameter, "choices", None)
    if choices is not None:
        return f"{len(choices)} choices" if len(choices) > 1 else "fixed"
    if parameter.kind == "bool":
        return "true or false"
    if parameter.fixed:
        return "fixed"
    low, high = (f"{getattr(parameter, end):g}" for end in ("low", "high"))
    return f"{low} to {high}" + (", log" if getattr(parameter, "log", False) else "")


def _convergence(subject: Subject) -> dict[str, Any] | None:
    if subject.n_objectives > 1 or not subject.evaluations:
        return None
    found = convergence(subject)
    return {
        "best": found.best,
        "at_random": found.at_random,
        "note": words.convergence_note(subject, found),
        "better_half": _better_half(subject),
    }


def _better_half(subject: Subject) -> list[float] | None:
    """Return limits of the axis that show the better half of the values that may be the best."""
    counted = subject.counted if np.any(subject.feasible) else subject.loss
    seen = counted[np.isfinite(counted)]
    if not len(seen):
        return None
    best, middle = float(np.min(seen)), float(np.median(seen))
    margin = 0.05 * (middle - best) or 1e-9
    return sorted([subject.sign * (best - margin), subject.sign * (middle + margin)])


def _front(subject: Subject, found: Front | None) -> dict[str, Any] | None:
    if found is None or not found.kinds:
        return None
    grown = volume(subject)
    return {
        "kinds": found.kinds,
        "evaluations": found.evaluations,
        "note": words.front_note(subject),
        "volume": grown,
        "volume_note": words.volume_note(subject, grown),
    }


def _constraints(found: Constraints | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {**plain(found), "states": words.constraint_states(found)}


def _model(subject: Subject) -> dict[str, Any]:
    """Return what the model of one objective says."""
    alone = left_out(subject)
    before = ahead(subject)
    return {
        "note": subject.model_note,
        "slices": [_slice(each) for each in slices(subject)],
        "importance": importance(subject),
        "left_out": alone and {**plain(alone), "note": words.left_out_note(subject, alone)},
        "ahead": before and {**plain(before), "note": words.predictions_note(before)},
    }


def _features(subject: Subject, found: FeatureMap | None) -> dict[str, Any] | None:
    if found is None:
        return None
    names = list(subject.space.parameters)
    shown = sorted(names.index(name) for name in subject.ranked[:_MOST_DECODED])
    return {
        **plain(found),
        "whole": _window(found.whole, shown),
        "near": _window(found.near, shown),
        "decoded": shown,
        "note": words.features_note(found),
    }


def _window(window: Window, shown: list[int]) -> dict[str, Any]:
    decoded = [row and [setting(row[p]) for p in shown] for row in window.decoded]
    return {**plain(window), "decoded": decoded}
