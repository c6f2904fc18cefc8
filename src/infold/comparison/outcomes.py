"""Optimizers side by side on problems with constraints, or with several objectives.

A run is judged by one number after each evaluation, the smaller the better: the best feasible value
so far, infinite while there is none, or minus the hypervolume of the front so far. These are the
values of the runs that are kept.
"""

import itertools
import math
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np

from infold import objectives
from infold.comparison.contenders import N_FIRST, Optuna, first_points
from infold.comparison.runs import Run, Task, processor
from infold.comparison.suite import constrained, several
from infold.comparison.suite.constrained import Constrained
from infold.comparison.suite.several import Several
from infold.evaluation.outcome import Outcome
from infold.optimizer import Optimizer
from infold.space import Point

SUITES: dict[str, dict[str, Callable[[], Any]]] = {
    "constrained": constrained.PROBLEMS,
    "several": several.PROBLEMS,
}
PEERS = ("gpsampler", "tpe", "nsga2")
"""Samplers of Optuna that know constraints and several objectives."""
PENALTY = "penalty"
"""Our default method on the value plus a penalty for each violation, without constraints."""
USUAL = {"constrained": ("auto", PENALTY, *PEERS), "several": ("auto", *PEERS)}
"""Who is compared where nobody is named, by suite."""
_WEIGHT = 10.0  # of a violation in units of its limit, in units of how far first values differ


class _Contender(Protocol):
    def __init__(self, name: str, problem: Constrained | Several, seed: int) -> None: ...

    def tell(self, point: Point, outcome: Outcome) -> None: ...

    def ask(self) -> Point: ...


class _Infold:
    """A method of infold, as every user gets it."""

    def __init__(self, name: str, problem: Constrained | Several, seed: int) -> None:
        self._optimizer = Optimizer(
            problem.space,
            method=name,
            seed=seed,
            direction=["minimize"] * n_objectives(problem),
        )

    def tell(self, point: Point, outcome: Outcome) -> None:
        self._optimizer.tell(point, outcome)

    def ask(self) -> Point:
        return self._optimizer.ask()


class _Penalty(_Infold):
    """The default method on the value plus a penalty for each violation.

    Its weight depends on how far the first values differ, which are told once all are known.
    """

    def __init__(self, name: str, problem: Constrained | Several, seed: int) -> None:
        super().__init__("auto", problem, seed)
        self._waiting: list[tuple[Point, Outcome]] = []
        self._weight = math.nan

    def tell(self, point: Point, outcome: Outcome) -> None:
        self._waiting.append((point, outcome))
        if math.isnan(self._weight):
            if len(self._waiting) < N_FIRST:
                return
            low, high = np.quantile([outcome.value for _, outcome in self._waiting], (0.25, 0.75))
            self._weight = _WEIGHT * float(high - low)
        for known, found in self._waiting:
            violation = sum(max(c, 0.0) for c in found.constraints)
            super().tell(known, Outcome(found.value + self._weight * violation))
        self._waiting.clear()


class _Sampler(Optuna):
    """A sampler of Optuna that is told outcomes."""

    def __init__(self, name: str, problem: Constrained | Several, seed: int) -> None:
        super().__init__(name, problem.space, seed)
        import optuna

        self._constrained = isinstance(problem, Constrained)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some settings are marked experimental
            kinds = {
                "gpsampler": optuna.samplers.GPSampler,
                "tpe": optuna.samplers.TPESampler,
                "nsga2": optuna.samplers.NSGAIISampler,
            }
            told = {"constraints_func": _constraints} if self._constrained else {}
            sampler = kinds[name](seed=seed, **told)
        self._study = optuna.create_study(
            directions=["minimize"] * n_objectives(problem), sampler=sampler
        )
        self._begun = True

    def tell(self, point: Point, outcome: Any) -> None:
        asked = self._waiting.get(self._space.identity(point))
        if asked:
            trial = asked.pop(0)
        else:
            self._study.enqueue_trial(self._parameters(point))
            trial = self._study.ask(self._distributions)
        trial.set_user_attr("constraints", list(outcome.constraints))
        self._study.tell(trial, outcome.value)

    def ask(self, n: int = 1) -> Any:
        return super().ask(n)[0]


def _constraints(trial: Any) -> list[float]:
    return trial.user_attrs["constraints"]


def n_objectives(problem: Constrained | Several) -> int:
    """Return how many objectives a problem has."""
    return problem.n_objectives if isinstance(problem, Several) else 1


def tasks(optimizers: Iterable[str], problems: Iterable[str], seeds: Iterable[int]) -> list[Task]:
    """List runs, seed by seed."""
    return [
        Task(problem=problem, optimizer=optimizer, seed=seed)
        for seed, problem, optimizer in itertools.product(seeds, problems, optimizers)
    ]


def suite_of(problem: str) -> str:
    """Return the name of the suite that has a problem."""
    return next(suite for suite, makers in SUITES.items() if problem in makers)


def get(problem: str) -> Constrained | Several:
    """Return a problem by its name."""
    return SUITES[suite_of(problem)][problem]()


def run_one(task: Task, evaluations: int) -> Run:
    """Make one run, whose values are what it is judged by after each evaluation.

    Args:
        task: a problem of `SUITES`, a seed, and a method of infold, `PENALTY` or one of `PEERS`.
        evaluations: how many of them.
    """
    problem = get(task.problem)
    kinds: dict[str, type[_Contender]] = {PENALTY: _Penalty, **dict.fromkeys(PEERS, _Sampler)}
    contender = kinds.get(task.optimizer, _Infold)(task.optimizer, problem, task.seed)
    given = first_points(problem.space, task.seed) if task.optimizer in PEERS else []
    found: list[float] = []
    seconds = []
    front: list[Any] = []
    best = math.inf
    for i in range(evaluations):
        began = time.perf_counter()
        point = given[i] if i < len(given) else contender.ask()
        seconds.append(time.perf_counter() - began if i >= len(given) else 0.0)
        returned = problem(point)
        outcome = returned if isinstance(returned, Outcome) else Outcome(tuple(returned))
        contender.tell(point, outcome)
        if isinstance(problem, Several):
            front.append(outcome.value)
            front = list(np.array(front)[objectives.non_dominated(np.array(front))])
            best = -objectives.hypervolume(front, problem.reference)
        elif max(outcome.constraints) <= 0.0:
            best = min(best, float(outcome.value))
        found.append(best)
    return Run(task=task, values=tuple(found), seconds=tuple(seconds), processor=processor())
