"""The names of Optuna that are not public and that a sampler cannot do without. Seen to work with Optuna 4.9 and 5.0."""

import json
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

_KEY = "infold:params"
_LONGEST = 2000  # characters of an attribute; relational storages take 2045


def trials(study: Study) -> list[FrozenTrial]:
    """All trials as the storage has them now; not to be changed."""
    return study._get_trials(deepcopy=False, use_cache=False)


def contains(distribution: BaseDistribution, value: Any) -> bool:
    """Whether the distribution could have produced the value."""
    try:
        return distribution._contains(distribution.to_internal_repr(value))
    except (ValueError, TypeError):
        return False


def announce(study: Study, trial: FrozenTrial, internal: dict[str, float]) -> None:
    """Tell other workers what a trial will evaluate, before it asks for its parameters one by one. In internal numbers."""
    text = json.dumps(internal)
    for i, start in enumerate(range(0, len(text), _LONGEST)):
        study._storage.set_trial_system_attr(trial._trial_id, f"{_KEY}:{i}", text[start : start + _LONGEST])


def announced(trial: FrozenTrial, distributions: dict[str, BaseDistribution]) -> dict[str, Any]:
    """What `announce` told of a trial, as far as the distributions have it."""
    parts: list[str] = []
    while (part := trial.system_attrs.get(f"{_KEY}:{len(parts)}")) is not None:
        parts.append(part)
    try:
        internal = json.loads("".join(parts)) if parts else {}
    except ValueError:  # read while it was being written
        return {}
    return {
        name: distribution.to_external_repr(internal[name])
        for name, distribution in distributions.items()
        if name in internal and distribution._contains(internal[name])
    }
