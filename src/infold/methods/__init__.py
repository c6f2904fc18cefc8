"""How the next point is chosen. `by_name` finds a method, `NAMES` lists them."""

import dataclasses
from typing import Any

from infold import _checks
from infold.methods.base import Cache, Key, Method, Suggestion
from infold.methods.feature_space import FeatureSpace
from infold.methods.full_space import FullSpace
from infold.methods.random import RandomSearch

_PRESETS: dict[str, tuple[type, dict[str, Any], str]] = {
    "mgpc": (FeatureSpace, {"decoder": "full", "constrained": True}, "learned features, full decoder, Lipschitz constraint"),
    "mgp": (FeatureSpace, {"decoder": "full", "constrained": False}, "learned features, full decoder"),
    "hmgpc": (
        FeatureSpace,
        {"decoder": "hierarchical", "constrained": True},
        "learned features, decoder in blocks of 3 with a kernel each, Lipschitz constraint",
    ),
    "hmgp": (
        FeatureSpace,
        {"decoder": "hierarchical", "constrained": False},
        "learned features, decoder in blocks of 3 with a kernel each",
    ),
    "dmgpc": (
        FeatureSpace,
        {"decoder": "shared", "constrained": True},
        "learned features, decoder in blocks of 3 with one kernel, Lipschitz constraint",
    ),
    "dmgp": (
        FeatureSpace,
        {"decoder": "shared", "constrained": False},
        "learned features, decoder in blocks of 3 with one kernel",
    ),
    "full_space": (FullSpace, {}, "a GP on all inputs"),
    "random": (RandomSearch, {}, "a Sobol sequence, no model"),
}
NAMES = tuple(_PRESETS)


def summary(name: str) -> str:
    """One line about the method."""
    return _PRESETS[name][2]


def by_name(name: str, **settings: Any) -> Method:
    """The method `name`. Settings that are None are left at their default; those that the method does not have are errors."""
    kind, preset, _ = _PRESETS[_checks.one_of("method", name, NAMES)]
    given = {key: value for key, value in settings.items() if value is not None}
    for key in given:
        _checks.one_of(f"setting of {name}", key, (field.name for field in dataclasses.fields(kind)))
    return kind(**{**preset, **given})


def accepts(name: str, setting: str) -> bool:
    """Whether the method `name` has the setting."""
    return any(field.name == setting for field in dataclasses.fields(_PRESETS[name][0]))


__all__ = [
    "NAMES",
    "Cache",
    "FeatureSpace",
    "FullSpace",
    "Key",
    "Method",
    "RandomSearch",
    "Suggestion",
    "accepts",
    "by_name",
    "summary",
]
