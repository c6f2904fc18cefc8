"""The page: the figures of a run in one file that needs nothing else."""

import base64
import hashlib
import html
from importlib import resources
from string import Template
from typing import Any

import numpy as np

from infold.models.features import LearnedFeatures
from infold.report.figures.convergence import Convergence, convergence
from infold.report.figures.features import FeatureMap, Window, feature_map
from infold.report.figures.model import (
    Predictions,
    Slice,
    ahead,
    importance,
    left_out,
    slices,
)
from infold.report.figures.points import best_point, best_tenth, position
from infold.report.figures.record import Times, failures, proposers, region, times
from infold.report.plain import for_script, plain, setting
from infold.report.subject import FIRST_TRIALS, Subject
from infold.space import Parameter

_MOST_DECODED = 100  # parameters of a decoded point that are shown: the page stays small


def page(subject: Subject, *, follow: str = "") -> str:
    """Return the report as HTML.

    Args:
        subject: the run.
        follow: what the server's `version` says of the run as it is now; the page loads itself
            again when that changes. Empty for a page that stays as it is.
    """
    scripts = {name: _asset(f"{name}.js") for name in ("charts", "page")}
    vega = _asset("vega.min.js")
    licence = _asset("vega.LICENSE")
    # Only these scripts run, whatever else may be in the page: the browser compares their digests.
    digests = " ".join(
        _digest(script) for script in (f"/*\n{licence}\n*/\n{vega}", *scripts.values())
    )
    quoted = "'self'" if follow else "'none'"
    policy = (
        f"default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; img-src data:; "
        f"connect-src {quoted}; base-uri 'none'; form-action 'none'"
    )
    return Template(_asset("page.html")).substitute(
        policy=policy,
        follow=html.escape(follow),
        title=html.escape(subject.title.encode("utf-8", "replace").decode()),
        style=_asset("page.css"),
        licence=licence,
        vega=vega,
        data=for_script(page_data(subject)),
        **scripts,
    )


def _asset(name: str) -> str:
    return (resources.files("infold.report") / "assets" / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def page_data(subject: Subject) -> dict[str, Any]:
    """Return all that the page shows as plain data."""
    converged = convergence(subject)
    best = best_point(subject)
    tenth = best_tenth(subject)
    timed = times(subject)
    names = list(subject.space.parameters)
    data = {
        "subtitle": _subtitle(subject),
        "summary": _summary(subject, converged, timed),
        "direction": subject.direction,
        "model_note": subject.model_note,
        "parameters": [
            _parameter(subject, name, parameter)
            for name, parameter in subject.space.parameters.items()
        ],
        "points": [
            [setting(subject.setting(i, name)) for name in names]
            for i in range(len(subject.evaluations))
        ],
        "errors": [e.error for e in subject.evaluations],
        "convergence": converged,
        "convergence_note": _convergence_note(subject, converged),
        "better_half": _better_half(subject, converged),
        "best_point": best and {**plain(best), "settings": _settings(best.settings)},
        "best_tenth": tenth and {**plain(tenth), "settings": _settings(tenth.settings)},
        "slices": [_slice(each) for each in slices(subject)],
        "importance": importance(subject),
        "left_out": _predictions(left_out(subject), _seen(subject)),
        "ahead": _predictions(ahead(subject)),
        "features": _features(subject, feature_map(subject)),
        "region": region(subject),
        "proposers": proposers(subject),
        "failures": failures(subject),
        "times": {**plain(timed), "note": _times_note(timed)},
    }
    return plain(data)


def _settings(rows: list[list[Any]]) -> list[list[Any]]:
    return [[setting(value) for value in row] for row in rows]


def _slice(each: Slice) -> dict[str, Any]:
    levels = [setting(level) for level in each.levels]
    return {**plain(each), "levels": levels, "at": setting(each.at)}


def _parameter(subject: Subject, name: str, parameter: Parameter) -> dict[str, Any]:
    best = subject.best
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


def _subtitle(subject: Subject) -> str:
    parts = [subject.direction, f"{len(subject.space.parameters)} parameters"]
    if subject.method_name:
        parts.insert(0, f"method {subject.method_name}")
    if subject.seed is not None:
        parts.append(f"seed {subject.seed}")
    return ", ".join(parts)


def _summary(subject: Subject, converged: Convergence, timed: Times) -> list[tuple[str, Any]]:
    n = len(converged.value)
    failed = int(np.sum(~np.isfinite(converged.value)))
    tiles: list[tuple[str, Any]] = [("evaluations", n)]
    if subject.best is None:
        tiles.append(("best value", "none yet"))
    elif subject.n_constraints and not np.any(subject.feasible):
        tiles.append(("best value", "no feasible point yet"))
    else:
        what = "best feasible value" if subject.n_constraints else "best value"
        tiles.append((what, float(converged.value[subject.best])))
        tiles.append(("found at evaluation", subject.best + 1))
    if subject.n_constraints:
        tiles.append(("feasible", int(np.sum(subject.feasible))))
    tiles.append(("failed", failed))
    if subject.n_pending:
        tiles.append(("pending", subject.n_pending))
    spans = timed.told_at[np.isfinite(timed.told_at)]
    if len(spans) > 1:
        tiles.append(("from first to last", duration(float(np.max(spans) - np.min(spans)))))
    return tiles


def duration(seconds: float) -> str:
    """Return a time in words."""
    if seconds < 0.1:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _convergence_note(subject: Subject, converged: Convergence) -> str:
    note = "The line is the best value so far. "
    if subject.n_constraints:
        note = "The line is the best value so far among points that satisfy all constraints. "
    if not np.all(np.isfinite(converged.value)):
        note += "Crosses at the top are failed evaluations. "
    random = converged.at_random
    if random is None and subject.n_constraints:
        return note.strip()
    if random is None:
        return note + "There are too few random points, or nothing else, to compare with."
    since = f"after its first {random.n_first} points" if random.n_first else "from the start"
    whose = "random points of the run itself"
    if FIRST_TRIALS in converged.proposed_by:
        whose = "of the first trials, which most samplers choose at random"
    return note + (
        f"Dashed: the best value had the run gone on at random {since}, in the median, with a band "
        f"that holds 80 %. It is a rough estimate from {random.n_sample} {whose}; their values are "
        "taken for a sample of a normal distribution after a power transform."
    )


def _better_half(subject: Subject, converged: Convergence) -> list[float] | None:
    """Return limits of the axis that show the better half of the values."""
    seen = subject.sign * converged.value[np.isfinite(converged.value)]
    if not len(seen):
        return None
    best, middle = float(np.min(seen)), float(np.median(seen))
    margin = 0.05 * (middle - best) or 1e-9
    return sorted([subject.sign * (best - margin), subject.sign * (middle + margin)])


def _seen(subject: Subject) -> str:
    """Return a word of caution where what is left out has been seen all the same."""
    if not isinstance(getattr(subject.method, "model", None), LearnedFeatures):
        return ""
    return " The features were learned from all values, so this is too favourable."


def _predictions(found: Predictions | None, caution: str = "") -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        **plain(found),
        "note": (
            f"{100 * found.coverage:.0f} % of the values are within 1.96 deviations, where an "
            f"honest model has 95 %. {_explained(found.explained)}{caution}"
        ),
    }


def _explained(share: float) -> str:
    if not np.isfinite(share):
        return ""
    if share < 0:
        return "The mean of all values would have been the better prediction."
    return f"The predictions explain {100 * share:.0f} % of the variance."


def _features(subject: Subject, found: FeatureMap | None) -> dict[str, Any] | None:
    if found is None:
        return None
    note = (
        f"The plane through the best point along the two principal directions of "
        f"{found.n_features} features, which hold {100 * found.shown:.0f} % of the data's "
        "variance. Dots are the evaluations, projected, the later the darker; the line joins "
        "them in order."
    )
    if found.discs is not None:
        note += (
            f" Circles are the Lipschitz balls that the plane cuts, {len(found.discs.radii)} of "
            f"{found.discs.n_balls}: the search stays within them."
        )
    names = list(subject.space.parameters)
    shown = sorted(names.index(name) for name in subject.ranked[:_MOST_DECODED])
    return {
        **plain(found),
        "whole": _window(found.whole, shown),
        "near": _window(found.near, shown),
        "decoded": shown,
        "note": note,
    }


def _window(window: Window, shown: list[int]) -> dict[str, Any]:
    decoded = [row and [setting(row[p]) for p in shown] for row in window.decoded]
    return {**plain(window), "decoded": decoded}


def _times_note(timed: Times) -> str:
    """Return how long things took; empty where nothing was measured."""
    parts = []
    for what, seconds in (("evaluations", timed.evaluation), ("suggestions", timed.suggestion)):
        known = seconds[np.isfinite(seconds)]
        if len(known):
            parts.append(
                f"{len(known)} {what} took {duration(float(np.sum(known)))}, "
                f"in the median {duration(float(np.median(known)))}"
            )
    return "; ".join(parts) + "." if parts else ""
