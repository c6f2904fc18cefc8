"""What the record says: who proposed what, failures, times, the trust region, the experts."""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from infold.record import Evaluation
from infold.report.figures.front import entered
from infold.report.subject import Subject

_MOST_EXPERTS = 8  # that a figure tells apart


@dataclass(frozen=True, kw_only=True)
class Proposers:
    """Who proposed how many points, and what became of them."""

    names: list[str]
    """Who proposed, the most frequent first."""
    counts: Int[np.ndarray, " k"]
    failed: Int[np.ndarray, " k"]
    improved: Int[np.ndarray, " k"]
    """Evaluations that were better than all before, or on the front when they came."""
    best: Float[np.ndarray, " k"] | None
    """Best value of each, NaN where all failed; None where there are several objectives."""
    on_front: Int[np.ndarray, " k"]
    """Evaluations that are on the front; with one objective, that are the best."""


@dataclass(frozen=True, kw_only=True)
class Failures:
    """Evaluations that failed."""

    evaluations: Int[np.ndarray, " k"]
    """Their numbers, from 0."""
    messages: list[str]
    """What went wrong; empty where nobody said so."""
    proposed_by: list[str]


@dataclass(frozen=True, kw_only=True)
class Times:
    """Seconds of each evaluation and of the suggestion before it; NaN where not measured."""

    evaluation: Float[np.ndarray, " n"]
    suggestion: Float[np.ndarray, " n"]
    told_at: Float[np.ndarray, " n"]
    """When it was told, in seconds since 1970."""


@dataclass(frozen=True, kw_only=True)
class Region:
    """The trust region and the evidence for each expert, at each proposal."""

    side: Float[np.ndarray, " n"]
    """Side of the box; NaN where there was none."""
    experts: list[str]
    evidence: Float[np.ndarray, "n k"]
    """Mean log density of each value given all others, for each expert; NaN where unknown."""
    chosen: Bool[np.ndarray, "n k"]
    """Whose evidence was the largest."""


def number(evaluation: Evaluation, name: str) -> float:
    """Return a diagnostic of an evaluation; NaN where there is none that is a number."""
    return _as_number(evaluation.diagnostics.get(name))


def _as_number(value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        return float(value) if is_number else math.nan  # type: ignore[arg-type]
    except OverflowError:  # a whole number beyond all floats
        return math.nan


def proposers(subject: Subject) -> Proposers:
    """Return who proposed what."""
    by = np.array([e.proposed_by for e in subject.evaluations], dtype=object)
    names = [name for name, _ in Counter(by.tolist()).most_common()]

    def count(rows: np.ndarray) -> np.ndarray:
        return np.array([np.sum(rows[by == name]) for name in names], dtype=np.int64)

    on_front = np.zeros(len(by), dtype=bool)
    on_front[subject.front] = True
    best = None
    if subject.n_objectives == 1:
        counted = subject.counted
        losses = [np.fmin.reduce(counted[by == name]) for name in names]
        best = subject.sign * np.array(losses, dtype=np.float64)
    return Proposers(
        names=names,
        counts=count(np.ones(len(by), dtype=np.int64)),
        failed=count(~subject.succeeded),
        improved=count(entered(subject)),
        best=best,
        on_front=count(on_front),
    )


def failures(subject: Subject) -> Failures:
    """Return the evaluations that failed."""
    rows = [i for i, e in enumerate(subject.evaluations) if e.failed]
    failed = [subject.evaluations[i] for i in rows]
    return Failures(
        evaluations=np.array(rows, dtype=np.int64),
        messages=[e.error or "" for e in failed],
        proposed_by=[e.proposed_by for e in failed],
    )


def times(subject: Subject) -> Times:
    """Return how long evaluations and suggestions took."""
    evaluations = subject.evaluations
    return Times(
        evaluation=np.array([_as_number(e.seconds) for e in evaluations], dtype=np.float64),
        suggestion=np.array([_suggestion_seconds(e) for e in evaluations], dtype=np.float64),
        told_at=np.array([e.told_at for e in evaluations], dtype=np.float64),
    )


def _suggestion_seconds(evaluation: Evaluation) -> float:
    stages = evaluation.diagnostics.get("seconds")
    if not isinstance(stages, dict) or not stages:
        return math.nan
    return sum(_as_number(seconds) for seconds in stages.values())


def region(subject: Subject) -> Region | None:
    """Return the trust region's side and the evidence for each expert; None where neither is."""
    side = np.array([number(e, "side") for e in subject.evaluations], dtype=np.float64)
    told = [e.diagnostics.get("evidence") for e in subject.evaluations]
    scores = [value if isinstance(value, dict) else {} for value in told]
    experts = list(dict.fromkeys(name for score in scores for name in score))[:_MOST_EXPERTS]
    rows = [[_as_number(score.get(name)) for name in experts] for score in scores]
    evidence = np.array(rows, dtype=np.float64).reshape(len(side), len(experts))
    if not np.any(np.isfinite(side)) and not np.any(np.isfinite(evidence)):
        return None
    filled = np.where(np.isfinite(evidence), evidence, -np.inf)
    largest = np.max(filled, axis=1, keepdims=True, initial=-np.inf)
    chosen = np.isfinite(evidence) & (filled == largest)
    return Region(side=side, experts=experts, evidence=evidence, chosen=chosen)
