"""Several objectives: the front, and how much of what can be had it covers."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from infold import objectives
from infold.report.subject import Subject

KINDS = ("front", "dominated", "infeasible", "failed")
_BEYOND = 1.1  # where the reference is if the front reaches from 0 to 1: its ends count too
MOST_OBJECTIVES = 6  # beyond it a volume after every evaluation takes too long


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


def volume(subject: Subject) -> Volume | None:
    """Return the hypervolume over time; None where it cannot be told.

    That is so with one objective or more than six, without a feasible point, and without moocore.
    """
    m = subject.n_objectives
    if not 2 <= m <= MOST_OBJECTIVES or not np.any(subject.feasible) or not _can_measure():
        return None
    grew = entered(subject)
    scaled = np.minimum(objectives.scaled(subject.losses, subject.feasible), _BEYOND)
    reference = np.full(m, _BEYOND)
    share = np.full(len(grew), np.nan)
    for i in np.flatnonzero(grew):
        so_far = scaled[: i + 1][grew[: i + 1]]
        share[i:] = objectives.hypervolume(so_far, reference) / _BEYOND**m
    return Volume(share=share, grew=grew)


def _can_measure() -> bool:
    try:
        import moocore  # noqa: F401
    except ImportError:
        return False
    return True
