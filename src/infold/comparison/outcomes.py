"""Optimizers side by side on problems with constraints, or with several objectives.

A run is judged by one number after each evaluation, the smaller the better: the best feasible value
so far, infinite while there is none, or minus the hypervolume of the front so far. Each run is one
small file of JSON, written when it is finished: the same call continues a comparison.
"""

import json
import math
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from infold import objectives, runfile
from infold.comparison.contenders import Optuna, first_points
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
_WEIGHT = 100.0  # of a violation, in units of its limit, relative to the value


class _Contender(Protocol):
    def tell(self, point: Point, outcome: Outcome) -> None: ...

    def ask(self) -> Point: ...


class _Infold:
    def __init__(self, method: str, problem: Constrained | Several, seed: int) -> None:
        m = getattr(problem, "n_objectives", 1)
        self._penalty = method == PENALTY
        self._optimizer = Optimizer(
            problem.space,
            method="auto" if self._penalty else method,
            seed=seed,
            direction=["minimize"] * m,
        )

    def tell(self, point: Point, outcome: Outcome) -> None:
        if self._penalty:
            violation = sum(max(c, 0.0) for c in outcome.constraints)
            outcome = Outcome(outcome.value + _WEIGHT * violation)
        self._optimizer.tell(point, outcome)

    def ask(self) -> Point:
        return self._optimizer.ask()


class _Sampler(Optuna):
    """A sampler of Optuna that is told outcomes."""

    def __init__(self, name: str, problem: Constrained | Several, seed: int) -> None:
        super().__init__(name, problem.space, seed)
        import optuna

        self._constrained = isinstance(problem, Constrained)
        m = getattr(problem, "n_objectives", 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some settings are marked experimental
            kinds = {
                "gpsampler": optuna.samplers.GPSampler,
                "tpe": optuna.samplers.TPESampler,
                "nsga2": optuna.samplers.NSGAIISampler,
            }
            told = {"constraints_func": _constraints} if self._constrained else {}
            sampler = kinds[name](seed=seed, **told)
        self._study = optuna.create_study(directions=["minimize"] * m, sampler=sampler)
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


def scores(suite: str, name: str, optimizer: str, seed: int, evaluations: int) -> list[float]:
    """Make one run, and return what it is judged by after each evaluation.

    Args:
        suite: one of `SUITES`.
        name: one of its problems.
        optimizer: a method of infold, `PENALTY`, or one of `PEERS`.
        seed: seed of every random choice.
        evaluations: how many of them.
    """
    problem = SUITES[suite][name]()
    is_peer = optimizer in PEERS
    contender: _Contender = (_Sampler if is_peer else _Infold)(optimizer, problem, seed)
    given = first_points(problem.space, seed) if is_peer else []
    found: list[float] = []
    front: list[Any] = []
    best = math.inf
    for i in range(evaluations):
        point = given[i] if i < len(given) else contender.ask()
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
    return found


def compare(
    suite: str,
    optimizers: Iterable[str],
    problems: Iterable[str],
    seeds: Iterable[int],
    evaluations: int,
    folder: Path,
    report: Callable[[str], None] = print,
) -> dict[str, float]:
    """Make the runs that the folder does not have, and return the mean rank of each optimizer.

    Args:
        suite: one of `SUITES`.
        optimizers: who takes part.
        problems: names of problems of the suite.
        seeds: seeds of the runs.
        evaluations: evaluations of each run.
        folder: where runs are kept.
        report: told about each run that is finished.
    """
    names = list(optimizers)
    ranks = []
    for problem in problems:
        for seed in seeds:
            ends = []
            for optimizer in names:
                path = folder / suite / problem / f"{optimizer}-s{seed}.json"
                known = _read(path)
                if len(known) < evaluations:
                    known = scores(suite, problem, optimizer, seed, evaluations)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    plain = [score if math.isfinite(score) else None for score in known]
                    runfile.replace(path, json.dumps({"scores": plain}) + "\n")
                    report(f"{problem}, {optimizer}, seed {seed}: {known[-1]:.6g}")
                ends.append(known[evaluations - 1])
            below = [sum(other < end for other in ends) for end in ends]
            equal = [sum(other == end for other in ends) for end in ends]
            ranks.append([1.0 + a + 0.5 * (b - 1) for a, b in zip(below, equal, strict=True)])
    return dict(zip(names, np.mean(ranks, axis=0).tolist(), strict=True))


def _read(path: Path) -> list[float]:
    """Return the scores of a run; none where there is no such file."""
    if not path.exists():
        return []
    kept = json.loads(path.read_text(encoding="utf-8"))["scores"]
    return [math.inf if score is None else float(score) for score in kept]
