"""Runs of a method on a function of the cube, with or without lessons, as the optimizer makes them.

Here rather than with `Optimizer`, since a family's cube is known and nothing has to be matched.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from infold import methods
from infold.history import History, Proposal
from infold.learning.lessons import Lessons
from infold.methods.base import Suggestion
from infold.methods.random import RandomSearch

N_INITIAL = 10


@dataclass(frozen=True)
class Trace:
    """A run."""

    x: np.ndarray
    y: np.ndarray
    seconds: np.ndarray
    by: list[str]


def run(
    value: Callable[[np.ndarray], float],
    dimension: int,
    budget: int,
    seed: int,
    lessons: Lessons | None = None,
    method: str = "auto",
    given: Sequence[np.ndarray] = (),
    **settings: object,
) -> Trace:
    """Minimize a function of the cube with so many evaluations, the first at the given points."""
    chosen = methods.by_name(method, **settings)
    design = RandomSearch(design=getattr(chosen, "initial", "sobol"))
    x = np.empty((0, dimension))
    y: list[float] = []
    proposals: list[Proposal] = []
    seconds: list[float] = []
    cache: dict = {}
    for number in range(budget):
        history = History(x, np.array(y), proposals=tuple(proposals), lessons=lessons)
        began = time.perf_counter()
        if number < len(given):
            suggestion = Suggestion(given[number][None])
            proposal = Proposal("user")
        elif number < N_INITIAL:
            suggestion = design.suggest(history, 1, (seed, number))
            proposal = Proposal("design")
            if suggestion.proposals:
                proposal = Proposal("design", {"by": suggestion.proposals[0].by})
        else:
            suggestion = chosen.suggest(history, 1, (seed, number), cache)
            cache = suggestion.cache
            proposal = suggestion.proposals[0] if suggestion.proposals else Proposal()
        seconds.append(time.perf_counter() - began)
        x = np.concatenate([x, suggestion.x])
        y.append(value(suggestion.x[0]))
        proposals.append(proposal)
    return Trace(
        x, np.array(y), np.array(seconds), [p.diagnostics.get("by", p.by) for p in proposals]
    )
