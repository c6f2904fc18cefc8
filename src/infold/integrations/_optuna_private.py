"""What a sampler needs of Optuna that is not public.

Seen to work with Optuna 4.9 and 5.0.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.samplers._base import _CONSTRAINTS_KEY, _process_constraints_after_trial
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from infold.models.base import FORECASTS

_KEY = "infold:params"
_WEIGHTS = "infold:weights"
_FORECASTS = "infold:forecasts"
_LONGEST = 2000  # characters of an attribute; relational storages take 2045


def trials(study: Study) -> list[FrozenTrial]:
    """Return all trials as the storage has them now; they are not to be changed."""
    return study._get_trials(deepcopy=False, use_cache=False)


def chosen_by(trial: FrozenTrial) -> str:
    """Return "user" where somebody enqueued the trial, else nothing."""
    return "user" if "fixed_params" in trial.system_attrs else ""


def keep_weights(study: Study, trial: FrozenTrial, weights: Iterable[float]) -> None:
    """Keep with which weights of the objectives a trial looked for a gap of the front."""
    study._storage.set_trial_system_attr(trial._trial_id, _WEIGHTS, [float(w) for w in weights])


def keep_forecasts(study: Study, trial: FrozenTrial, forecasts: Mapping[str, Any]) -> None:
    """Keep what models said of a trial before it ran, by which they are compared later."""
    study._storage.set_trial_system_attr(trial._trial_id, _FORECASTS, dict(forecasts))


def looked_with(trial: FrozenTrial) -> dict[str, Any]:
    """Return what `keep_weights` and `keep_forecasts` kept, as proposals have it."""
    weights = trial.system_attrs.get(_WEIGHTS)
    said = {} if weights is None else {"weights": weights, "narrow": True}
    forecasts = trial.system_attrs.get(_FORECASTS)
    return said if forecasts is None else {**said, FORECASTS: forecasts}


def keep_constraints(
    constraints_func: Callable[[FrozenTrial], Sequence[float]],
    study: Study,
    trial: FrozenTrial,
    state: TrialState,
) -> None:
    """Ask for the constraints of a trial that has ended and keep them with it, as Optuna does."""
    _process_constraints_after_trial(constraints_func, study, trial, state)


def constraints(trial: FrozenTrial) -> dict[str, float]:
    """Return the constraint values of a trial by name, or by number where they have no names.

    Names came with Optuna 5. None where nobody has asked for constraints.
    """
    if hasattr(trial, "constraints"):
        return {name: float(value) for name, value in trial.constraints.items()}
    kept = trial.system_attrs.get(_CONSTRAINTS_KEY) or ()
    return {str(k): float(value) for k, value in enumerate(kept)}


def contains(distribution: BaseDistribution, value: Any) -> bool:
    """Tell whether the distribution could have produced the value."""
    try:
        return _contains(distribution, distribution.to_internal_repr(value))
    except (ValueError, TypeError):
        return False


def _contains(distribution: BaseDistribution, internal: float) -> bool:
    """Tell whether the distribution could have produced a value, in internal numbers.

    Stepped floats may be off by a thousandth of a step, where Optuna refuses a rounding error.
    """
    if isinstance(distribution, FloatDistribution) and distribution.step is not None:
        steps = (internal - distribution.low) / distribution.step
        return (
            distribution.low <= internal <= distribution.high and abs(steps - round(steps)) < 1e-3
        )
    return distribution._contains(internal)


def announce(study: Study, trial: FrozenTrial, internal: dict[str, float]) -> None:
    """Tell other workers what a trial will evaluate, in internal numbers.

    The trial itself asks for its parameters one by one, later. What was announced of other
    parameters before stays announced.
    """
    text = json.dumps({**_announced(trial), **internal})
    parts = [text[start : start + _LONGEST] for start in range(0, len(text), _LONGEST)]
    for i, part in enumerate(parts):
        study._storage.set_trial_system_attr(trial._trial_id, f"{_KEY}:{i}", part)
    study._storage.set_trial_system_attr(trial._trial_id, _KEY, len(parts))


def announced(trial: FrozenTrial, distributions: dict[str, BaseDistribution]) -> dict[str, Any]:
    """Return what `announce` told of a trial, as far as the distributions have it."""
    internal = _announced(trial)
    return {
        name: distribution.to_external_repr(internal[name])
        for name, distribution in distributions.items()
        if name in internal and _contains(distribution, internal[name])
    }


def _announced(trial: FrozenTrial) -> dict[str, float]:
    attributes = trial.system_attrs
    try:
        return json.loads("".join(attributes[f"{_KEY}:{i}"] for i in range(attributes[_KEY])))
    except (KeyError, ValueError):  # none, or read while it was being written
        return {}
