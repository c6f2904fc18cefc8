"""Optuna studies as subjects of a report."""

import math
from typing import TYPE_CHECKING

import numpy as np

from infold import _checks, methods
from infold.objectives import values_of
from infold.optimizer import Optimizer
from infold.record import Evaluation
from infold.report.subject import FIRST_TRIALS, Subject, contents_of, lent_model
from infold.space import Space

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial

_N_FIRST = 10  # trials that are taken for random: samplers do not say which are


def load_subject(url: str, name: str, *, method: str | None = None) -> Subject:
    """Return the study of that name in an Optuna storage."""
    try:
        import optuna
    except ImportError as error:
        raise ImportError("--optuna needs optuna: pip install 'infold[optuna]'") from error
    from sqlalchemy.exc import SQLAlchemyError

    _checks.existing_storage(url)
    try:
        study = optuna.load_study(study_name=name, storage=url)
    except KeyError as error:
        raise ValueError(f"{url} has no study {name!r}") from error
    except SQLAlchemyError as error:
        raise ValueError(f"{url:.60} cannot be opened: {error!s:.200}") from error
    return subject_of_study(study, method=method)


def subject_of_study(study: "Study", *, method: str | None = None) -> Subject:
    """Return a study as the subject of a report.

    It shows the parameters that every finished trial has, with the same range; others are left
    out. Trials that were pruned or failed count as failed evaluations. The first ten trials are
    taken for random ones, as most samplers begin.

    Args:
        study: the study; it may have several objectives.
        method: name of the method whose model is fitted to the trials.
    """
    from infold.integrations import _optuna_private as private
    from infold.integrations._optuna_trials import user_parameter

    directions = tuple(each.name.lower() for each in study.directions)
    trials = [trial for trial in study.get_trials(deepcopy=False) if trial.state.is_finished()]
    with_parameters = [trial for trial in trials if trial.distributions]
    shared = _shared(with_parameters)
    if not any(not distribution.single() for distribution in shared.values()):
        raise ValueError(
            f"the study {study.study_name} has no parameter that all its finished trials share"
        )
    space = Space({name: user_parameter(distribution) for name, distribution in shared.items()})
    constraints = [private.constraints(trial) for trial in with_parameters]
    names = list(dict.fromkeys(name for each in constraints for name in each))
    # A trial may lack constraints, as those from before there were any.
    rows = [tuple(_finite(each.get(name, math.nan)) for name in names) for each in constraints]
    evaluations = [
        _evaluation(trial, i, space, len(directions), row)
        for i, (trial, row) in enumerate(zip(with_parameters, rows, strict=True))
    ]
    lent = methods.by_name(method) if method else lent_model(len(evaluations))
    contents = contents_of(space, evaluations, directions, lent)
    shown = [f"constraint {name}" if name.isdecimal() else name for name in names]
    return Subject(
        Optimizer.restore(contents), title=study.study_name, lent=True, constraint_names=shown
    )


def _shared(trials: "list[FrozenTrial]") -> "dict[str, BaseDistribution]":
    """Return the parameters that all trials have with the same range."""
    if not trials:
        return {}
    return {
        name: distribution
        for name, distribution in trials[0].distributions.items()
        if all(trial.distributions.get(name) == distribution for trial in trials)
    }


def _finite(value: float) -> float:
    return value if math.isfinite(value) else math.nan


def _evaluation(
    trial: "FrozenTrial",
    number: int,
    space: Space,
    n_objectives: int,
    constraints: tuple[float, ...],
) -> Evaluation:
    from infold.integrations._optuna_trials import user_params

    params = user_params(trial)
    point = space.normalize({name: params[name] for name in space.parameters})
    state = trial.state.name.lower()
    complete = state == "complete"
    values = values_of(trial.values if complete else None, n_objectives)
    user = "fixed_params" in trial.system_attrs
    seconds = trial.duration
    told = trial.datetime_complete
    return Evaluation(
        point=point,
        unit=space.place(point),
        value=values[0],
        values=values if n_objectives > 1 and math.isfinite(values[0]) else (),
        error=None if complete else str(trial.system_attrs.get("fail_reason", state)),
        seconds=None if seconds is None else seconds.total_seconds(),
        told_at=np.nan if told is None else told.timestamp(),
        constraints=constraints,
        proposed_by="user" if user else FIRST_TRIALS if number < _N_FIRST else "sampler",
    )
