"""Settings that nest: changed by name, written to run files and read back.

A file names kinds of settings, of which `_HOMES` is the whole list: reading one never imports
anything else.
"""

import dataclasses
import importlib
import logging
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from infold import _checks

S = TypeVar("S")
_log = logging.getLogger(__name__)
_HOMES = {
    "AdditiveGP": "infold.models.additive",
    "Autoencoder": "infold.paper.vae",
    "BayesianOptimization": "infold.methods.bayesian",
    "EmbeddedGP": "infold.models.embedded",
    "ExpectedImprovement": "infold.acquisition.functions",
    "FullSpaceGP": "infold.models.full_space",
    "LearnedFeatures": "infold.models.features",
    "LipschitzConstraint": "infold.acquisition.lipschitz",
    "ProbabilityOfImprovement": "infold.acquisition.functions",
    "RandomSearch": "infold.methods.random",
    "RandomSubspace": "infold.models.embedded",
    "Search": "infold.acquisition.search",
    "TrustConstr": "infold.paper.trust_constr",
    "UpperConfidenceBound": "infold.acquisition.functions",
    "WholeCube": "infold.acquisition.regions",
}


def _nests(value: object) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def names(settings: object) -> Iterator[str]:
    """Give the names of all settings, those of settings inside included."""
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]
        value = getattr(settings, field.name)
        if _nests(value):
            yield from names(value)
        else:
            yield field.name


def changed(settings: S, given: Mapping[str, Any]) -> S:
    """Return the settings with the given ones in place, wherever they are inside."""
    changes = {}
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]
        value = getattr(settings, field.name)
        if field.name in given:
            value = given[field.name]
        if _nests(value):
            value = changed(value, given)
        if value is not getattr(settings, field.name):
            changes[field.name] = value
    if not changes:
        return settings
    return dataclasses.replace(settings, **changes)  # type: ignore[type-var]


def to_json(settings: object) -> dict[str, Any]:
    """Return plain data from which `from_json` restores the settings.

    Raises ValueError where they are not infold's own.
    """
    kind = type(settings).__name__
    if _HOMES.get(kind) != type(settings).__module__:
        raise ValueError(f"{kind} is not one of infold's own: a file cannot hold it")
    fields = dataclasses.fields(settings)  # type: ignore[arg-type]
    values = ((field.name, getattr(settings, field.name)) for field in fields)
    plain = {name: to_json(value) if _nests(value) else value for name, value in values}
    return {"kind": kind, **plain}


def from_json(data: object) -> Any:
    """Return the settings that `to_json` made plain. Those that no longer exist are left out."""
    if not isinstance(data, dict) or "kind" not in data:
        raise ValueError(f"{data!r}: expected settings with their kind")
    kind = _checks.one_of("kind of settings", str(data["kind"]), _HOMES)
    made = getattr(importlib.import_module(_HOMES[kind]), kind)
    known = {field.name for field in dataclasses.fields(made)}
    restored = {}
    for name, value in data.items():
        if name == "kind":
            continue
        if name not in known:
            _log.warning("%s has no setting %s any more; it is left out", kind, name)
            continue
        if isinstance(value, dict):
            value = from_json(value)
        restored[name] = tuple(value) if isinstance(value, list) else value
    try:
        return made(**restored)
    except TypeError as error:
        raise ValueError(f"{kind}: {error}") from error
