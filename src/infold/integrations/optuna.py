"""A sampler for Optuna studies.

>>> study = optuna.create_study(sampler=InfoldSampler())
"""

import logging
import secrets
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from infold import _checks, methods
from infold.methods import Method

try:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler, RandomSampler
    from optuna.search_space import IntersectionSearchSpace
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState
except ImportError as error:
    raise ImportError(
        "infold.integrations.optuna needs Optuna: pip install 'infold[optuna]'"
    ) from error

from infold.integrations import _optuna_private as private
from infold.integrations._optuna_trials import Coding, Memory, Seen, look

_DAY = 86400.0
_ATTEMPTS = 10  # choices before a point that another worker chose at once is evaluated twice
_log = logging.getLogger(__name__)


class InfoldSampler(BaseSampler):
    """Bayesian optimization with infold's methods.

    The model is made anew from the study's trials for every suggestion, so any number of workers
    may share a study. Trials that are running are pending: other workers stay away from them.
    Failed trials are points to avoid, and so are running ones that reported NaN. A pruned trial
    counts with its last reported value, but never as better than the median of the completed.
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
            n_features: dimension of the feature space, never more than D; default min(10, D // 2).
            acquisition: "ei" (the default), "pi" or "ucb".
            n_startup_trials: number of trials that finish before the model is used.
            search_space: parameters to model; default those that all trials have in common.
            independent_sampler: sampler of the first trials and of all other parameters; default a
                `RandomSampler`.
            seed: seed of every random choice; drawn when None.
            max_running_seconds: seconds after which a trial that still runs is taken for that of a
                killed worker.
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
        self._memory = Memory()
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
        if chosen:  # a stepped float that Optuna, stricter than rounding allows, refused
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
        coding = Coding(search_space)
        with self._lock:
            memory = self._memory = self._memory.of(study.study_name, coding)
        method = methods.with_features_in(self._method, coding.space.dimension)
        params: dict[str, Any] = {}
        seen = self._look(study, trial, coding, memory)
        for attempt in range(_ATTEMPTS):
            if seen is None:
                break
            key = (self._seed + attempt, trial.number)
            suggestion = method.suggest(seen.history, 1, key, dict(memory.cache))
            memory.cache = suggestion.cache
            rng = np.random.default_rng([self._seed, trial.number, 1])
            point, _ = coding.space.fresh_point(suggestion.x[0], seen.known, rng)
            assert isinstance(point, dict)
            params = coding.params(point)
            private.announce(study, trial, coding.internal(params))
            # Everybody announces before looking again, so that of two workers that chose the same
            # point at least one notices.
            before = seen
            seen = self._look(study, trial, coding, memory)
            if seen is None or coding.space.identity(point) not in seen.known - before.known:
                break
        return params

    def _look(
        self, study: Study, trial: FrozenTrial, coding: Coding, memory: Memory
    ) -> Seen | None:
        """Return what the other trials say; None while too few are finished."""
        others = [other for other in private.trials(study) if other.number != trial.number]
        sign = 1.0 if study.direction == StudyDirection.MINIMIZE else -1.0
        oldest = datetime.now() - timedelta(seconds=self._max_running_seconds)
        seen = look(others, sign, coding, memory, oldest)
        if seen.n_usable >= self._n_startup_trials:
            return seen
        if seen.n_finished >= self._n_startup_trials and not memory.warned:
            memory.warned = True
            _log.warning(
                "%d of %d finished trials have values of all these parameters, "
                "and the model waits for %d: %s",
                seen.n_usable,
                seen.n_finished,
                self._n_startup_trials,
                ", ".join(coding.distributions),
            )
        return None


def _check_objectives(study: Study) -> None:
    if len(study.directions) > 1:
        raise ValueError(
            f"InfoldSampler optimizes one objective and the study has {len(study.directions)}: "
            "use optuna.samplers.GPSampler, TPESampler or NSGAIISampler"
        )
