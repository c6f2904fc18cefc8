"""What a study's trials say, in the unit cube."""

import logging
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState

from infold.integrations import _optuna_private as private
from infold.learning.lessons import Lessons
from infold.methods import Cache
from infold.record import History, Proposal
from infold.space import Categorical, Float, Int, Parameter, Space

_log = logging.getLogger(__name__)


class Located(NamedTuple):
    """Where a trial is."""

    unit: np.ndarray
    """Coordinates in the unit cube."""
    identity: bytes
    """Shared with another trial exactly where both have the same parameters."""


class Coding:
    """The way between parameters of trials and the unit cube."""

    def __init__(self, search_space: Mapping[str, BaseDistribution]) -> None:
        self.distributions = dict(search_space)
        self.space = Space({name: _parameter(name, d) for name, d in search_space.items()})

    def locate(self, params: Mapping[str, Any]) -> Located | None:
        """Return where parameters are; None where some are missing or out of range."""
        for name, distribution in self.distributions.items():
            if name not in params or not private.contains(distribution, params[name]):
                return None
        point = {name: self._to_space(name, params[name]) for name in self.distributions}
        return Located(self.space.place(point), self.space.identity(point))

    def locate_running(self, trial: FrozenTrial) -> Located | None:
        """Return where a running trial is, as far as it has asked for parameters.

        The rest is what its worker announced.
        """
        return self.locate({**private.announced(trial, self.distributions), **trial.params})

    def params(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of a point of `space`."""
        return {name: self._from_space(name, value) for name, value in point.items()}

    def internal(self, params: Mapping[str, Any]) -> dict[str, float]:
        """Return parameters in Optuna's internal numbers."""
        return {
            name: float(self.distributions[name].to_internal_repr(value))
            for name, value in params.items()
        }

    def centre(self) -> dict[str, Any]:
        """Return the parameters in the middle of their ranges; categories have the first choice."""
        point = self.space.decode(np.full(self.space.dimension, 0.5))
        assert isinstance(point, dict)
        return self.params(point)

    def _to_space(self, name: str, value: Any) -> Any:
        distribution = self.distributions[name]
        if isinstance(distribution, CategoricalDistribution):
            return int(distribution.to_internal_repr(value))
        if isinstance(distribution, FloatDistribution) and distribution.step is not None:
            return round((value - distribution.low) / distribution.step)
        return value

    def _from_space(self, name: str, value: Any) -> Any:
        distribution = self.distributions[name]
        if isinstance(distribution, CategoricalDistribution):
            return distribution.choices[value]
        if isinstance(distribution, FloatDistribution) and distribution.step is not None:
            return min(distribution.high, distribution.low + value * distribution.step)
        return value


def _parameter(name: str, distribution: BaseDistribution) -> Parameter:
    if isinstance(distribution, CategoricalDistribution):
        return Categorical(tuple(range(len(distribution.choices))))
    if isinstance(distribution, IntDistribution):
        return Int(
            distribution.low, distribution.high, log=distribution.log, step=distribution.step
        )
    if isinstance(distribution, FloatDistribution):
        if distribution.step is not None:
            return Int(0, round((distribution.high - distribution.low) / distribution.step))
        return Float(distribution.low, distribution.high, log=distribution.log)
    raise ValueError(
        f"{name} has the distribution {distribution!r}: expected a float, an int or a categorical"
    )


def user_parameter(distribution: Any) -> Parameter:
    """Return a distribution as a parameter with the user's own values.

    Its coordinates are those that `Coding` gives them.
    """
    if hasattr(distribution, "choices"):
        choices = Categorical(tuple(distribution.choices))
        return choices if _usable(choices) else Categorical(tuple(_names(distribution)))
    if isinstance(distribution, IntDistribution):
        return Int(
            distribution.low, distribution.high, log=distribution.log, step=distribution.step
        )
    return Float(distribution.low, distribution.high, log=distribution.log, step=distribution.step)


def user_params(trial: FrozenTrial) -> dict[str, Any]:
    """Return the parameters of a trial, with values as `user_parameter` has them."""
    return {name: _user_value(trial.distributions[name], v) for name, v in trial.params.items()}


def _user_value(distribution: Any, value: Any) -> Any:
    if hasattr(distribution, "choices") and not _usable(Categorical(tuple(distribution.choices))):
        return _names(distribution)[int(distribution.to_internal_repr(value))]
    return value


def _names(distribution: Any) -> list[str]:
    """Return what choices are called that infold cannot tell apart, such as lists and NaN."""
    return [f"{number}: {choice!r}" for number, choice in enumerate(distribution.choices)]


def _usable(parameter: Parameter) -> bool:
    try:
        parameter.check("")
    except ValueError:
        return False
    return True


def can_model(name: str, distribution: BaseDistribution) -> bool:
    """Return whether a parameter has several values, and not more than infold can tell apart."""
    if distribution.single():
        return False
    return _usable(_parameter(name, distribution))


class Groups(NamedTuple):
    """Parameters that only some trials have, or that have not the same range in all."""

    together: list[dict[str, BaseDistribution]]
    """Parameters that occur in the same trials, and not in all."""
    changing: frozenset[str]
    """Names of those whose range changes between trials."""
    n_completed: int
    """Trials that say so."""
    beyond: frozenset[str] = frozenset()
    """Names of those whose range is none for a model, such as whole numbers beyond 2**53."""


def groups_of(trials: Iterable[FrozenTrial]) -> Groups:
    """Return the groups that the completed trials show, as `TPESampler(group=True)` finds them."""
    completed = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    distributions: dict[str, BaseDistribution] = {}
    trials_with: dict[str, list[int]] = {}
    changing = set()
    for trial in completed:
        for name, distribution in trial.distributions.items():
            trials_with.setdefault(name, []).append(trial.number)
            if distributions.setdefault(name, distribution) != distribution:
                changing.add(name)
    beyond = frozenset(
        name for name, d in distributions.items() if not d.single() and not can_model(name, d)
    )
    together: dict[tuple[int, ...], dict[str, BaseDistribution]] = {}
    for name, distribution in sorted(distributions.items()):
        in_some = len(trials_with[name]) < len(completed)
        if in_some and name not in changing and can_model(name, distribution):
            together.setdefault(tuple(trials_with[name]), {})[name] = distribution
    return Groups(list(together.values()), frozenset(changing), len(completed), beyond)


@dataclass
class Memory:
    """What need not be computed twice, of one study and search space."""

    study_name: str | None = None
    coding: Coding | None = None
    cache: Cache = field(default_factory=dict)
    finished: dict[int, tuple[dict[str, Any], Located | None]] = field(default_factory=dict)
    """By trial number, its parameters and where it is."""
    open_identities: set[bytes] = field(default_factory=set)
    """Trials that had further parameters, which may make the difference."""
    warned: bool = False
    odd_trials: set[int] = field(default_factory=set)
    """Numbers of trials whose constraints were left out with a warning."""
    asked_lessons: bool = False
    """Whether `lessons` is known."""
    lessons: Lessons | None = None
    """What earlier runs teach about the parameters."""

    def of(self, study_name: str, coding: Coding) -> "Memory":
        """Return this memory, or an empty one where the study or the space is another."""
        known = None if self.coding is None else self.coding.distributions
        if (study_name, coding.distributions) == (self.study_name, known):
            return self
        return Memory(study_name, coding)

    def locate(self, trial: FrozenTrial) -> Located | None:
        """Return where a finished trial is, which does not change any more."""
        params, located = self.finished.get(trial.number, (None, None))
        if params == trial.params:  # another study may have the same name
            return located
        assert self.coding is not None
        located = self.coding.locate(trial.params)
        self.finished[trial.number] = dict(trial.params), located
        further = (
            distribution
            for name, distribution in trial.distributions.items()
            if name not in self.coding.distributions
        )
        if located is not None and any(not distribution.single() for distribution in further):
            self.open_identities.add(located.identity)
        return located


class Seen(NamedTuple):
    """What the trials of a study say."""

    history: History
    """Values to minimize."""
    known: frozenset[bytes]
    """Identities of points that need not be evaluated again."""
    n_finished: int
    """Trials with a value or constraints, also of other parameters."""
    n_usable: int
    """Those of them that the history holds."""


def look(
    trials: Iterable[FrozenTrial],
    sign: float | np.ndarray,
    coding: Coding,
    memory: Memory,
    *,
    oldest: datetime,
    n_design: int,
) -> Seen:
    """Return what the trials say.

    Args:
        trials: the trials.
        sign: -1 where the study maximizes; an array of them where it has several objectives.
        coding: the way to the unit cube.
        memory: what is known of finished trials.
        oldest: running trials that began earlier are those of killed workers, and left out.
        n_design: number of trials that say something and were chosen before there was a model.
    """
    signs = np.atleast_1d(sign)
    kept: list[FrozenTrial] = []
    evaluated: list[Located] = []
    pending: list[Located] = []
    waiting: list[Proposal] = []
    by: list[str] = []
    n_finished = 0
    n_usable = 0
    for trial in trials:
        if trial.state == TrialState.WAITING:
            continue
        if trial.state == TrialState.RUNNING and not _diverged(trial):
            if trial.datetime_start is None or trial.datetime_start >= oldest:
                located = coding.locate_running(trial)
                if located is not None:
                    pending.append(located)
                    waiting.append(Proposal("", private.looked_with(trial)))
            continue
        says = trial.state in (TrialState.COMPLETE, TrialState.PRUNED) or _has_constraints(trial)
        n_finished += says
        finished = trial.state.is_finished()
        located = memory.locate(trial) if finished else coding.locate(trial.params)
        if located is None:
            continue
        n_usable += says
        by.append("design" if n_usable <= n_design else private.chosen_by(trial))
        kept.append(trial)
        evaluated.append(located)
    dimension = coding.space.dimension
    losses = np.array([_values(trial, signs) for trial in kept]).reshape(-1, len(signs))
    is_pruned = np.array([trial.state == TrialState.PRUNED for trial in kept], dtype=bool)
    losses = np.stack([_finite(column, is_pruned) for column in losses.T], axis=1)
    history = History(
        np.array([located.unit for located in evaluated]).reshape(-1, dimension),
        losses[:, 0],
        np.array([located.unit for located in pending]).reshape(-1, dimension),
        coding.space.rounding,
        (*_proposals(by, kept), *waiting),
        constraints=constraint_table(kept, memory.odd_trials),
        objectives=losses if len(signs) > 1 else np.empty((0, 0)),
    )
    known = {located.identity for located in (*evaluated, *pending)} - memory.open_identities
    return Seen(history, frozenset(known), n_finished, n_usable)


def constraint_table(trials: Sequence[FrozenTrial], warned: set[int]) -> np.ndarray:
    """Return constraint values, one trial per row; NaN where a trial came without one.

    Those of a `constraints_func` go by their numbers, so that a trial with more or fewer than most
    leaves open which is which: its own are left out, with a warning.

    Args:
        trials: the trials.
        warned: numbers of trials that a warning has named; further ones are added.
    """
    rows = [private.constraints(trial) for trial in trials]
    if all(name.isdecimal() for row in rows for name in row):
        counts = Counter(len(row) for row in rows if row)
        usual = max(counts, key=counts.__getitem__, default=0)
        for i, row in enumerate(rows):
            if row and len(row) != usual:
                _warn_of_count(trials[i].number, len(row), usual, warned)
                rows[i] = {}
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = np.array([[row.get(name, math.nan) for name in names] for row in rows])
    table = table.reshape(len(rows), len(names))
    return np.where(np.isfinite(table), table, np.nan)


def _warn_of_count(number: int, given: int, usual: int, warned: set[int]) -> None:
    if number not in warned:
        warned.add(number)
        _log.warning(
            "trial %d has %d constraints, where most trials have %d: they are left out; let "
            "constraints_func return as many for every trial",
            number,
            given,
            usual,
        )


def _has_constraints(trial: FrozenTrial) -> bool:
    return any(math.isfinite(value) for value in private.constraints(trial).values())


def _proposals(by: Iterable[str], trials: Sequence[FrozenTrial]) -> Iterator[Proposal]:
    """Yield who chose each trial, and how many others had ended by then."""
    ends = sorted(t.datetime_complete for t in trials if t.datetime_complete is not None)
    for who, trial in zip(by, trials, strict=True):
        start = trial.datetime_start
        known = {} if start is None else {"known": bisect_right(ends, start)}
        yield Proposal(who, {**known, **private.looked_with(trial)})


def _last_reported(trial: FrozenTrial) -> float | None:
    reported = trial.intermediate_values
    return float(reported[max(reported)]) if reported else None


def _diverged(trial: FrozenTrial) -> bool:
    """Tell whether a trial reported NaN last.

    Ray Tune leaves such trials running for ever, since Optuna does not accept NaN as a value.
    """
    last = _last_reported(trial)
    return last is not None and math.isnan(last)


def _values(trial: FrozenTrial, signs: np.ndarray) -> np.ndarray:
    """Return the values to minimize; NaN where there are none."""
    if trial.state == TrialState.COMPLETE:
        return signs * np.array(trial.values, dtype=np.float64)
    last = _last_reported(trial)
    if trial.state != TrialState.PRUNED or last is None or len(signs) > 1:
        return np.full(len(signs), np.nan)
    return signs * last


def losses(trials: Iterable[FrozenTrial], sign: float) -> np.ndarray:
    """Return values to minimize of finished trials, NaN where there is none, as models see them."""
    finished = list(trials)
    pruned = np.array([trial.state == TrialState.PRUNED for trial in finished], dtype=bool)
    signs = np.array([sign])
    return _finite(np.array([_values(trial, signs)[0] for trial in finished]), pruned)


def _finite(y: np.ndarray, pruned: np.ndarray) -> np.ndarray:
    """Return values, those of pruned trials no better than the median.

    Infinities count as failures, also the one that would be good: it is no value of a function, and
    the logarithm of zero in a simulation that broke must not attract the search.
    """
    y = np.where(np.isinf(y), np.nan, y)
    completed = y[np.isfinite(y) & ~pruned]
    return np.where(pruned, np.maximum(y, np.median(completed)), y) if len(completed) else y
