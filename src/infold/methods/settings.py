"""Settings that nest: changed by name, written to run files and read back.

A file names kinds of settings, of which `_HOMES` is the whole list: reading one never imports
anything else.
"""

import dataclasses
import importlib
import logging
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from infold import _checks
from infold.acquisition.functions import FUNCTIONS

S = TypeVar("S")
_log = logging.getLogger(__name__)
_HOMES = {
    "AdditiveGP": "infold.models.additive",
    "Autoencoder": "infold.paper.vae",
    "BayesianOptimization": "infold.methods.bayesian",
    "DesignsGP": "infold.models.designs",
    "EmbeddedGP": "infold.models.embedded",
    "FullSpaceGP": "infold.models.full_space",
    "LearnedFeatures": "infold.models.features",
    "LipschitzConstraint": "infold.acquisition.lipschitz",
    "RandomSearch": "infold.methods.random",
    "RandomSubspace": "infold.models.embedded",
    "Search": "infold.acquisition.search",
    "TaughtGP": "infold.models.taught",
    "Team": "infold.models.team",
    "TrustConstr": "infold.paper.trust_constr",
    "TrustRegion": "infold.acquisition.trust_region",
    "WholeCube": "infold.acquisition.regions",
    **{function.__name__: function.__module__ for function in FUNCTIONS.values()},
}


def _nests(value: object) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _inside(settings: object) -> Iterator[tuple[str, Any]]:
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]
        yield field.name, getattr(settings, field.name)


def names(settings: object) -> Iterator[str]:
    """Give the names of all settings, those of settings inside included."""
    for name, value in _inside(settings):
        nested = [part for part in value if _nests(part)] if isinstance(value, tuple) else []
        if _nests(value):
            nested = [value]
        for part in nested:
            yield from names(part)
        if not nested:
            yield name


def value(settings: object, name: str) -> Any:
    """Return a setting by its name, wherever it is inside; None where there is none."""
    if not _nests(settings):
        return None
    for own, inside in _inside(settings):
        if own == name:
            return inside
        parts = inside if isinstance(inside, tuple) else (inside,)
        for part in parts:
            if (found := value(part, name)) is not None:
                return found
    return None


def changed(settings: S, given: Mapping[str, Any]) -> S:
    """Return the settings with the given ones in place, wherever they are inside."""
    changes = {}
    for name, value in _inside(settings):
        new = given.get(name, value)
        if _nests(new):
            new = changed(new, given)
        elif isinstance(new, tuple):
            new = tuple(changed(part, given) if _nests(part) else part for part in new)
        if new is not value:
            changes[name] = new
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
    return {"kind": kind, **{name: _plain(value) for name, value in _inside(settings)}}


def _plain(value: Any) -> Any:
    if _nests(value):
        return to_json(value)
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def from_json(data: object) -> Any:
    """Return the settings that `to_json` made plain. Those that no longer exist are left out."""
    if not isinstance(data, dict) or "kind" not in data:
        raise ValueError(f"{data!r}: expected settings with their kind")
    kind = _checks.one_of("kind of settings", str(data["kind"]), _HOMES)
    made = getattr(importlib.import_module(_HOMES[kind]), kind)
    known = {field.name for field in dataclasses.fields(made)}
    restored = {}
    for name, value in data.items():
        if name in known:
            restored[name] = _restored(value)
        elif name != "kind":
            _log.warning("%s has no setting %s any more; it is left out", kind, name)
    try:
        return made(**restored)
    except TypeError as error:
        raise ValueError(f"{kind}: {error}") from error


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        return from_json(value)
    return tuple(_restored(part) for part in value) if isinstance(value, list) else value
