"""A sampler for Optuna studies.

>>> study = optuna.create_study(sampler=InfoldSampler())
"""

import dataclasses
import itertools
import logging
import math
import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from infold import _checks, methods
from infold.methods import Cache, Method
from infold.record import History
from infold.space import Categorical, Float, Int, Parameter, Space

try:
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )
    from optuna.samplers import BaseSampler, RandomSampler
    from optuna.search_space import IntersectionSearchSpace
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState
except ImportError as error:
    raise ImportError(
        "infold.integrations.optuna needs Optuna: pip install 'infold[optuna]'"
    ) from error

from infold.integrations import _optuna_private as private

_DAY = 86400.0
_TRIES = 100  # random points tried in place of a known one; a space that small is exhausted anyway
_ATTEMPTS = (
    10  # choices before a point that another worker chose at the same time is evaluated twice
)
_log = logging.getLogger(__name__)


class InfoldSampler(BaseSampler):
    """Bayesian optimization with infold's methods.

    The model is made anew from the study's trials for every suggestion, so any number of workers may share a study. Trials
    that are running are pending: other workers stay away from them. Failed trials are points to avoid, and so are running ones
    that reported NaN. A pruned trial counts with its last reported value, but never as better than the median of the completed.
    """

    def __init__(
        self,
        *,
        method: str | Method = "mgpc",
        n_features: int | None = None,
        acquisition: str | None = None,
        n_startup_trials: int = 10,
        search_space: Mapping[str, BaseDistribution] | None = None,
        independent_sampler: BaseSampler | None = None,
        seed: int | None = None,
        max_running_seconds: float = _DAY,
    ) -> None:
        """
        Args:
            method: a name from `infold.methods.NAMES`, or a method.
            n_features: dimension of the feature space; default min(10, D // 2), at least 1; never more than D.
            acquisition: "ei" (the default), "pi" or "ucb".
            n_startup_trials: trials that finish before the model is used.
            search_space: the parameters to model; default those that all trials have in common.
            independent_sampler: for the first trials and for all other parameters; default a `RandomSampler`.
            seed: of all randomness.
            max_running_seconds: trials that began longer ago and still run are taken for those of killed workers.
        """
        if not max_running_seconds > 0:
            raise ValueError(
                f"max_running_seconds = {max_running_seconds}: expected a positive number"
            )
        self._method = methods.of(method, n_features=n_features, acquisition=acquisition)
        self._n_startup_trials = _checks.at_least("n_startup_trials", n_startup_trials, 1)
        self._search_space = None if search_space is None else dict(search_space)
        self._independent_sampler = independent_sampler or RandomSampler(seed=seed)
        self._seed = secrets.randbits(32) if seed is None else _checks.at_least("seed", seed, 0)
        self._max_running_seconds = float(max_running_seconds)
        self._intersection = IntersectionSearchSpace()
        self._memory = _Memory()
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def reseed_rng(self) -> None:
        self._seed = secrets.randbits(32)
        self._independent_sampler.reseed_rng()

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        if self._search_space is not None:
            known = self._search_space
        else:
            with self._lock:  # it remembers how far it has read
                known = self._intersection.calculate(study)
        return {
            name: distribution for name, distribution in known.items() if not distribution.single()
        }

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        _check_objectives(study)
        chosen = private.announced(trial, {param_name: param_distribution})
        if (
            chosen
        ):  # a stepped float that Optuna, more exact than floats are, takes for none of the steps
            return chosen[param_name]
        return self._independent_sampler.sample_independent(
            study, trial, param_name, param_distribution
        )

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        self._independent_sampler.before_trial(study, trial)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        self._independent_sampler.after_trial(study, trial, state, values)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        _check_objectives(study)
        if not search_space:
            return {}
        coding = _Coding(search_space)
        with self._lock:
            memory = self._memory = self._memory.of(study.study_name, coding)
        history = self._history(study, trial, coding, memory)
        values: dict[str, Any] = {}
        for attempt in range(_ATTEMPTS):
            if history is None:
                break
            method = _fitting(self._method, history.dimension)
            suggestion = method.suggest(
                history, 1, (self._seed + attempt, trial.number), dict(memory.cache)
            )
            memory.cache = suggestion.cache
            values = self._fresh(coding, suggestion.x[0], memory.places(history), trial.number)
            private.announce(
                study,
                trial,
                {name: float(coding.internal(name, value)) for name, value in values.items()},
            )
            # Everybody announces before looking again, so of two workers that chose the same at least one notices.
            before, history = history, self._history(study, trial, coding, memory)
            if history is None or coding.encode(values).tobytes() not in memory.places(
                history
            ) - memory.places(before):
                break
        return values

    def _history(
        self, study: Study, trial: FrozenTrial, coding: "_Coding", memory: "_Memory"
    ) -> History | None:
        """What the trials say, as values to minimize; None while too few are finished."""
        sign = 1.0 if study.direction == StudyDirection.MINIMIZE else -1.0
        x, y, pruned, pending = [], [], [], []
        now = datetime.now()
        n_finished = n_usable = 0
        for other in private.trials(study):
            if other.number == trial.number or other.state == TrialState.WAITING:
                continue
            if other.state == TrialState.RUNNING and not _diverged(other):
                began = other.datetime_start
                if began is None or (now - began).total_seconds() <= self._max_running_seconds:
                    unit = coding.encode_running(other)
                    if unit is not None:
                        pending.append(unit)
                continue
            with_value = other.state in (TrialState.COMPLETE, TrialState.PRUNED)
            n_finished += with_value
            unit = (
                memory.unit(other)
                if other.state.is_finished()
                else coding.encode_trial(other.params)
            )
            if unit is None:
                continue
            n_usable += with_value
            x.append(unit)
            y.append(_value(other, sign))
            pruned.append(other.state == TrialState.PRUNED)
        if n_usable < self._n_startup_trials:
            if n_finished >= self._n_startup_trials and not memory.warned:
                memory.warned = True
                _log.warning(
                    "%d of %d finished trials have values of all these parameters, and the model waits for %d: %s",
                    *(
                        n_usable,
                        n_finished,
                        self._n_startup_trials,
                        ", ".join(coding.distributions),
                    ),
                )
            return None
        return History(
            np.array(x),
            _finite(np.array(y), np.array(pruned)),
            np.array(pending),
            coding.space.rounding,
        )

    def _fresh(
        self, coding: "_Coding", unit: np.ndarray, known: set[bytes], number: int
    ) -> dict[str, Any]:
        """The values at `unit`, or random ones where they are known already and others are not."""
        rng = np.random.default_rng([self._seed, number, 1])
        values = coding.decode(unit)
        drawn = (coding.decode(rng.uniform(size=len(unit))) for _ in range(_TRIES))
        return next(
            (
                v
                for v in itertools.chain([values], drawn)
                if coding.encode(v).tobytes() not in known
            ),
            values,
        )


def _check_objectives(study: Study) -> None:
    if len(study.directions) > 1:
        raise ValueError(
            f"InfoldSampler optimizes one objective and the study has {len(study.directions)}: "
            "use optuna.samplers.GPSampler, TPESampler or NSGAIISampler"
        )


def _fitting(method: Method, dimension: int) -> Method:
    """The method with no more features than there are dimensions, as parameters in common may become fewer."""
    wanted = getattr(method, "n_features", None)
    return (
        method
        if wanted is None or wanted <= dimension
        else dataclasses.replace(method, n_features=dimension)
    )  # type: ignore[type-var]


def _last_reported(trial: FrozenTrial) -> float | None:
    reported = trial.intermediate_values
    return float(reported[max(reported)]) if reported else None


def _diverged(trial: FrozenTrial) -> bool:
    """Whether it reported NaN last. Ray Tune leaves such trials running for ever, as Optuna takes no NaN for a value."""
    last = _last_reported(trial)
    return last is not None and math.isnan(last)


def _value(trial: FrozenTrial, sign: float) -> float:
    """To minimize; NaN where there is none."""
    if trial.state == TrialState.COMPLETE:
        return sign * float(trial.values[0])
    last = _last_reported(trial)
    return math.nan if last is None or trial.state != TrialState.PRUNED else sign * last


def _finite(y: np.ndarray, pruned: np.ndarray) -> np.ndarray:
    """Values without infinities: the bad one is a failure, the good one as good as the best. Pruned ones are held back."""
    y = np.where(np.isposinf(y), np.nan, y)
    completed = y[np.isfinite(y) & ~pruned]
    if len(completed) == 0:
        return np.where(np.isneginf(y), np.nan, y)
    y = np.where(np.isneginf(y), np.min(completed), y)
    return np.where(pruned, np.maximum(y, np.median(y[np.isfinite(y) & ~pruned])), y)


class _Coding:
    """Between the parameters of trials and the unit cube."""

    def __init__(self, search_space: dict[str, BaseDistribution]) -> None:
        self.distributions = dict(search_space)
        self.space = Space(
            {name: _parameter(name, distribution) for name, distribution in search_space.items()}
        )

    def encode(self, values: Mapping[str, Any]) -> np.ndarray:
        return self.space.place(
            {name: self._to_space(name, values[name]) for name in self.distributions}
        )

    def internal(self, name: str, value: Any) -> float:
        return self.distributions[name].to_internal_repr(value)

    def _to_space(self, name: str, value: Any) -> Any:
        distribution = self.distributions[name]
        if isinstance(distribution, CategoricalDistribution):
            return int(distribution.to_internal_repr(value))
        if isinstance(distribution, FloatDistribution) and distribution.step is not None:
            return round((value - distribution.low) / distribution.step)
        return value

    def decode(self, unit: np.ndarray) -> dict[str, Any]:
        values = self.space.decode(unit)
        return {name: self._from_space(name, value) for name, value in values.items()}  # type: ignore[union-attr]

    def _from_space(self, name: str, value: Any) -> Any:
        distribution = self.distributions[name]
        if isinstance(distribution, CategoricalDistribution):
            return distribution.choices[value]
        if isinstance(distribution, FloatDistribution) and distribution.step is not None:
            return min(distribution.high, distribution.low + value * distribution.step)
        return value

    def encode_trial(self, params: Mapping[str, Any]) -> np.ndarray | None:
        """None where parameters are missing or outside of the distributions."""
        for name, distribution in self.distributions.items():
            if name not in params or not private.contains(distribution, params[name]):
                return None
        return self.encode(params)

    def encode_running(self, trial: FrozenTrial) -> np.ndarray | None:
        """From the parameters that the trial has asked for already, and for the others from what its worker announced."""
        return self.encode_trial({**private.announced(trial, self.distributions), **trial.params})


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
        f"{name} has the distribution {distribution!r}: expected a float, an int or a categorical one"
    )


@dataclass
class _Memory:
    """What need not be computed twice, of one study and search space."""

    study_name: str | None = None
    coding: _Coding | None = None
    cache: Cache = field(default_factory=dict)
    units: dict[int, tuple[dict[str, Any], np.ndarray | None]] = field(default_factory=dict)
    open_places: set[bytes] = field(default_factory=set)
    """Where trials had further parameters, which may make the difference."""
    warned: bool = False

    def of(self, study_name: str, coding: _Coding) -> "_Memory":
        """This one, or an empty one where the study or the space is another."""
        if self.coding is not None and (study_name, coding.distributions) == (
            self.study_name,
            self.coding.distributions,
        ):
            return self
        return _Memory(study_name, coding)

    def unit(self, trial: FrozenTrial) -> np.ndarray | None:
        """The place of a finished trial, which does not change any more."""
        params, unit = self.units.get(trial.number, (None, None))
        if params != trial.params:  # another study may have the same name
            assert self.coding is not None
            unit = self.coding.encode_trial(trial.params)
            self.units[trial.number] = dict(trial.params), unit
            more = (
                distribution
                for name, distribution in trial.distributions.items()
                if name not in self.coding.distributions
            )
            if unit is not None and any(not distribution.single() for distribution in more):
                self.open_places.add(unit.tobytes())
        return unit

    def places(self, history: History) -> set[bytes]:
        """Places that need not be evaluated again."""
        return {row.tobytes() for row in (*history.x, *history.pending)} - self.open_places
