"""Several objectives: the front, and how much of what can be had it covers."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from infold import objectives
from infold.report.subject import Subject

KINDS = ("front", "dominated", "infeasible", "failed")
_BEYOND = 1.1  # where the reference is if the front reaches from 0 to 1: its ends count too
_MOST_OBJECTIVES = 4  # 600 points on a front of 4 take half a second, of 6 minutes


@dataclass(frozen=True, kw_only=True)
class Front:
    """All evaluations, and those that no other dominates."""

    values: Float[np.ndarray, "n m"]
    """Objectives in the user's units; NaN where the evaluation failed."""
    kinds: list[str]
    """What became of each evaluation, one of `KINDS`."""
    evaluations: Int[np.ndarray, " k"]
    """Numbers of those on the front, from 0, the best in the first objective first.

    While nothing is feasible it is the one that violates constraints least, alone.
    """


@dataclass(frozen=True, kw_only=True)
class Volume:
    """How much the front so far dominates, after each evaluation.

    It is a share of the box from the best value of each objective to a reference, which is a tenth
    of the front's reach beyond the worst value on the front.
    """

    share: Float[np.ndarray, " n"]
    """From 0 to 1; NaN before the first feasible point."""
    grew: Bool[np.ndarray, " n"]
    """Which evaluations were on the front when they came."""


def front(subject: Subject) -> Front | None:
    """Return the front; None where there is one objective."""
    if subject.n_objectives < 2:
        return None
    chosen = np.array(subject.front, dtype=np.int64)
    order = np.argsort(subject.losses[chosen, 0], kind="stable")
    kinds = np.where(subject.feasible, KINDS[1], KINDS[2])
    kinds[chosen[subject.feasible[chosen]]] = KINDS[0]
    kinds[~subject.succeeded] = KINDS[3]
    return Front(values=subject.values, kinds=kinds.tolist(), evaluations=chosen[order])


def entered(subject: Subject) -> Bool[np.ndarray, " n"]:
    """Tell which evaluations were feasible and better than each before in some objective."""
    losses = subject.losses
    feasible = subject.feasible
    found = feasible.copy()
    for i in np.flatnonzero(feasible):
        before = losses[:i][found[:i]]  # what is dominated need not be compared with
        found[i] = not np.any(np.all(before <= losses[i], axis=1))
    return found


def hindrance(subject: Subject) -> str:
    """Return why there is no hypervolume to show; empty where there is one."""
    if subject.n_objectives < 2:
        return "there is one objective"
    if subject.n_objectives > _MOST_OBJECTIVES:
        return f"there are more than {_MOST_OBJECTIVES} objectives"
    if not np.any(subject.feasible):
        return "no evaluation is feasible"
    try:
        import moocore  # noqa: F401
    except ImportError:
        return "it needs moocore, pip install 'infold[objectives]'"
    return ""


def volume(subject: Subject) -> Volume | None:
    """Return the hypervolume over time; None where there is a hindrance."""
    if hindrance(subject):
        return None
    grew = entered(subject)
    scaled = np.minimum(objectives.scaled(subject.losses, subject.feasible), _BEYOND)
    reference = np.full(subject.n_objectives, _BEYOND)
    share = np.full(len(grew), np.nan)
    for i in np.flatnonzero(grew):
        so_far = scaled[: i + 1][grew[: i + 1]]
        share[i:] = objectives.hypervolume(so_far, reference) / np.prod(reference)
    return Volume(share=share, grew=grew)
