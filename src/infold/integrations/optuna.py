"""A sampler for Optuna studies.

>>> study = optuna.create_study(sampler=InfoldSampler())
"""

import logging
import secrets
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from infold import _checks, methods, objectives
from infold.history import History
from infold.learning.lessons import Lessons
from infold.methods import Method, RandomSearch
from infold.models.base import FORECASTS
from infold.space.finite import unknown_point
from infold.space.fixed import Fixed

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
from infold.integrations._optuna_earlier import first_point, learn_from, lessons_about
from infold.integrations._optuna_trials import (
    Coding,
    Groups,
    Memory,
    Seen,
    can_model,
    groups_of,
    look,
)

_DAY = 86400.0
_ATTEMPTS = 10  # choices before a point that another worker chose at once is evaluated twice
_RANDOM_SEEDS = 2**32  # RandomSampler takes seeds below it only
_log = logging.getLogger(__name__)


class InfoldSampler(BaseSampler):
    """Bayesian optimization with infold's methods.

    The model is made anew from the study's trials for every suggestion, so any number of workers
    may share a study. Trials that are running are pending: other workers stay away from them.
    Failed trials are points to avoid, and so are running ones that reported NaN. A pruned trial
    counts with its last reported value, but never as better than the median of the completed.

    A study may have several objectives: each trial draws weights of them, and looks for the best
    point with these. Constraints that trials have count, whether they came from `constraints_func`
    or, from Optuna 5 on, from `trial.set_constraint`.

    Parameters that only some trials have are modelled apart, each group of those that occur in the
    same trials by a model of its own.
    """

    def __init__(
        self,
        *,
        method: str | Method = methods.DEFAULT,
        n_features: int | str | None = None,
        acquisition: str | None = None,
        noise: float | None = None,
        n_startup_trials: int = 10,
        search_space: Mapping[str, BaseDistribution] | None = None,
        group: bool = True,
        independent_sampler: BaseSampler | None = None,
        seed: int | None = None,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        max_running_seconds: float = _DAY,
        earlier: Any = None,
    ) -> None:
        """
        Args:
            method: a name from `infold.methods.NAMES`, or a method.
            n_features: dimension of the feature space, never more than D, or "auto" for the number
                that predicts the next trials best; default min(10, D // 2).
            acquisition: "ei" (the default), "pi" or "ucb".
            noise: variance of the noise of a trial's value, 0 where there is none; learned when
                None.
            n_startup_trials: number of trials that finish before the model is used; for parameters
                that only some trials have, the number of trials that have them.
            search_space: parameters to model, and no others; default all of them.
            group: whether to model parameters that only some trials have. Otherwise the
                independent sampler chooses them.
            independent_sampler: sampler of the first trials and of parameters without a model;
                default the method's own initial points for the former, which may begin with the
                centre, and a `RandomSampler` for the latter.
            seed: seed of every random choice; drawn when None.
            constraints_func: function of a trial that has ended which returns its constraint
                values, feasible where none is above 0, as Optuna's own samplers take it.
            max_running_seconds: seconds after which a trial that still runs is taken for that of a
                killed worker.
            earlier: studies of the same family that were made before, as objects or as
                (storage URL, study name), run files, arrays and more, one or a list; or what
                `infold.learn` found in them. See there. It is read here and now. Workers that are
                given the same learn the same.
        """
        if not max_running_seconds > 0:
            raise ValueError(
                f"max_running_seconds = {max_running_seconds}: expected a positive number"
            )
        self._method = methods.of(
            method, n_features=n_features, acquisition=acquisition, noise=noise
        )
        self._n_startup_trials = _checks.at_least("n_startup_trials", n_startup_trials, 1)
        self._search_space = None if search_space is None else _checked(search_space)
        if independent_sampler is not None and not isinstance(independent_sampler, BaseSampler):
            raise ValueError(
                f"independent_sampler = {_checks.shown(independent_sampler)}: "
                "expected a sampler of Optuna"
            )
        if not isinstance(group, bool):
            raise ValueError(f"group = {_checks.shown(group)}: expected True or False")
        self._group = group
        self._seed = secrets.randbits(32) if seed is None else _checks.at_least("seed", seed, 0)
        self._first_seed = self._seed  # the first trial asks for its parameters one by one
        self._design: RandomSearch | None = None
        """How the first trials are chosen; None: by the independent sampler."""
        if independent_sampler is None:
            self._design = RandomSearch(design=getattr(self._method, "initial", "sobol"))
        self._independent_sampler = independent_sampler or RandomSampler(
            seed=None if seed is None else _random_seed(self._seed)
        )
        if constraints_func is not None and not callable(constraints_func):
            raise ValueError(
                f"constraints_func = {_checks.shown(constraints_func)}: "
                "expected a function of a trial"
            )
        self._constraints_func = constraints_func
        self._max_running_seconds = float(max_running_seconds)
        self._intersection = IntersectionSearchSpace()
        self._memories: dict[frozenset[str], Memory] = {}
        self._groups: dict[tuple[str, int], Groups] = {}
        """By study and number of a trial that is running, what it may still need."""
        self._warned: set[str] = set()
        self._learned = None if earlier is None else learn_from(earlier, self._search_space)
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
        return {name: d for name, d in known.items() if can_model(name, d)}

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        if self._begins_unknown(trial) and can_model(param_name, param_distribution):
            coding = Coding({param_name: param_distribution})
            first = self._first_of_lessons(coding)
            if first is not None:
                return first[param_name]
            if self._design is not None and self._design.design == "centre":
                return coding.centre()[param_name]
        chosen = private.announced(trial, {param_name: param_distribution})
        if not chosen:
            chosen = self._sample_group(study, trial, param_name)
        # Announced already: a further one of its group, or a stepped float that Optuna, stricter
        # than rounding allows, refused.
        if param_name in chosen and private.contains(param_distribution, chosen[param_name]):
            return chosen[param_name]
        return self._independent_sampler.sample_independent(
            study, trial, param_name, param_distribution
        )

    def _begins_unknown(self, trial: FrozenTrial) -> bool:
        """Tell whether the trial is the first of all, whose parameters nobody knows beforehand."""
        return trial.number == 0 and self._design is not None

    def _first_of_lessons(self, coding: Coding) -> dict[str, Any] | None:
        """Return the point that earlier runs would begin with; None where they know none."""
        lessons = self._lessons(coding)
        if lessons is None or self._design is None:
            return None
        return first_point(lessons, coding, self._design, self._first_seed)

    def _lessons(self, coding: Coding) -> Lessons | None:
        """Return what earlier runs teach about these parameters; None where that is nothing."""
        return None if self._learned is None else lessons_about(self._learned, coding)

    def _with_lessons(self, history: History, coding: Coding, memory: Memory) -> History:
        """Return the history with what earlier runs teach about its parameters."""
        if self._learned is None:
            return history
        if not memory.asked_lessons:
            memory.asked_lessons = True
            memory.lessons = self._lessons(coding)
            if memory.lessons is None:
                _log.warning(
                    "nothing is learned from earlier runs about these parameters: %s",
                    ", ".join(coding.distributions),
                )
        return replace(history, lessons=memory.lessons)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        self._independent_sampler.before_trial(study, trial)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        self._groups.pop((study.study_name, trial.number), None)
        if self._constraints_func is not None:
            private.keep_constraints(self._constraints_func, study, trial, state)
        self._independent_sampler.after_trial(study, trial, state, values)

    def _sample_group(self, study: Study, trial: FrozenTrial, name: str) -> dict[str, Any]:
        """Return values of the parameters that occur together with `name`.

        They are empty where they have been asked for before, where too few trials have them, and
        where all trials have them: then `sample_relative` has chosen already.
        """
        if self._search_space is not None:
            return {}
        groups = self._groups.get((study.study_name, trial.number))
        if groups is None:
            groups = groups_of(private.trials(study))
            self._groups[study.study_name, trial.number] = groups
        self._warn(groups, name)
        group = next((group for group in groups.together if name in group), None)
        if group is None or not self._group:
            return {}
        groups.together.remove(group)
        return self._suggest(study, trial, group, zlib.crc32(repr(list(group)).encode()))

    def _warn(self, groups: Groups, name: str) -> None:
        """Say once which parameters are left to the independent sampler."""
        if name in self._warned or groups.n_completed < self._n_startup_trials:
            return
        left = {name for name in groups.changing if name not in self._warned}
        why = "their range is not the same in all trials"
        if name in groups.beyond:
            left = set(groups.beyond - self._warned)
            why = "their range is too wide, or too narrow, for a model"
        if name not in left and not self._group:
            left = {name for group in groups.together for name in group} - self._warned
            why = "only some trials have them, and group = False"
        if name in left:
            self._warned |= left
            sampler = type(self._independent_sampler).__name__
            names = ", ".join(sorted(left))
            _log.warning(
                "%s chooses these parameters without a model: %s (%s)", sampler, names, why
            )

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        if not search_space:
            return {}
        return self._suggest(study, trial, search_space)

    def _suggest(
        self,
        study: Study,
        trial: FrozenTrial,
        search_space: dict[str, BaseDistribution],
        group: int | None = None,
    ) -> dict[str, Any]:
        """Return and announce what the model suggests, or the design while too few are finished.

        Nothing where the independent sampler is to choose.

        Args:
            study: the study.
            trial: the trial that is running.
            search_space: the parameters to choose.
            group: number of the group, for the random choices; None for what all trials have.
        """
        coding = Coding(search_space)
        memory = self._memory(study, coding)
        memory.warned |= group is not None  # that few trials have a group is no surprise
        method = methods.with_features_in(self._method, coding.space.dimension)
        methods.check_dimension(method, coding.space.dimension)
        params: dict[str, Any] = {}
        forecasts: Mapping[str, Any] = {}
        own = [] if group is None else [group]
        seen = self._look(study, trial, coding, memory)
        for attempt in range(_ATTEMPTS):
            suggestion = None
            history = seen.history
            if group is None:
                history = self._with_lessons(history, coding, memory)
            seed = self._seed + sum(own) + attempt
            if seen.n_usable >= self._n_startup_trials:
                key = (seed, trial.number)
                if history.n_objectives > 1:
                    draw = objectives.draw_of(key, history.n_objectives)
                    draw = objectives.towards_gaps(history, draw, key)
                    if draw.narrow:
                        private.keep_weights(study, trial, draw.weights)
                    history = objectives.with_draw(replace(history, lessons=None), draw)
                suggestion = method.suggest(history, 1, key, dict(memory.cache))
                memory.cache = suggestion.cache
            elif self._design is not None and group is None:
                suggestion = self._design.suggest(history, 1, (seed, trial.number))
            if suggestion is None:
                break
            rng = np.random.default_rng([self._seed, trial.number, 1, *own])
            point = coding.space.decode(suggestion.x[0])
            said = suggestion.proposals[0].diagnostics if suggestion.proposals else {}
            forecasts = said.get(FORECASTS, {})
            if coding.space.identity(point) in seen.known:
                other = unknown_point(Fixed(coding.space, {}), seen.known, rng)
                point = point if other is None else other
                forecasts = {}
            assert isinstance(point, dict)
            params = coding.params(point)
            private.announce(study, trial, coding.internal(params))
            # Everybody announces before looking again, so that of two workers that chose the same
            # point at least one notices.
            before = seen
            seen = self._look(study, trial, coding, memory)
            if coding.space.identity(point) not in seen.known - before.known:
                break
        if forecasts:
            private.keep_forecasts(study, trial, forecasts)
        return params

    def _memory(self, study: Study, coding: Coding) -> Memory:
        names = frozenset(coding.distributions)
        with self._lock:
            memory = self._memories.get(names, Memory()).of(study.study_name, coding)
            self._memories[names] = memory
        return memory

    def _look(self, study: Study, trial: FrozenTrial, coding: Coding, memory: Memory) -> Seen:
        """Return what the other trials say, with a warning where too many have other parameters."""
        others = [other for other in private.trials(study) if other.number != trial.number]
        sign = np.array([1.0 if d == StudyDirection.MINIMIZE else -1.0 for d in study.directions])
        oldest = datetime.now() - timedelta(seconds=self._max_running_seconds)
        seen = look(
            others,
            sign,
            coding,
            memory,
            oldest=oldest,
            n_design=self._n_startup_trials,
        )
        few = seen.n_usable < self._n_startup_trials <= seen.n_finished
        if few and not memory.warned:
            memory.warned = True
            _log.warning(
                "%d of %d finished trials have values of all these parameters, "
                "and the model waits for %d: %s",
                seen.n_usable,
                seen.n_finished,
                self._n_startup_trials,
                ", ".join(coding.distributions),
            )
        return seen


def _checked(search_space: Any) -> dict[str, BaseDistribution]:
    """Return the parameters to model, or raise ValueError where they are none."""
    if not isinstance(search_space, Mapping):
        raise ValueError(
            f"search_space = {_checks.shown(search_space)}: expected distributions by name"
        )
    for name, distribution in search_space.items():
        if not isinstance(distribution, BaseDistribution):
            raise ValueError(
                f"search_space[{name!r}] = {_checks.shown(distribution)}: "
                "expected a distribution of Optuna, such as FloatDistribution(0.0, 1.0)"
            )
    return dict(search_space)


def _random_seed(seed: int) -> int:
    """Return a seed that `RandomSampler` takes: the same one where it does."""
    if seed < _RANDOM_SEEDS:
        return seed
    return int(np.random.SeedSequence(seed).generate_state(1)[0])
