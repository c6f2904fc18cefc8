"""How the next point is chosen. `by_name` finds a method, `NAMES` lists them."""

import dataclasses
from typing import Any

from infold import _checks
from infold.methods.additive import Additive
from infold.methods.base import Cache, Key, Method, Suggestion, features
from infold.methods.feature_space import FeatureSpace
from infold.methods.full_space import FullSpace
from infold.methods.random import RandomSearch
from infold.methods.rembo import Rembo
from infold.paper.vae import Vae

_PRESETS: dict[str, tuple[type, dict[str, Any], str]] = {
    "mgpc": (
        FeatureSpace,
        {"decoder": "full", "constrained": True},
        "learned features, full decoder, Lipschitz constraint",
    ),
    "mgp": (
        FeatureSpace,
        {"decoder": "full", "constrained": False},
        "learned features, full decoder",
    ),
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
    "rembo": (Rembo, {}, "a GP on a random subspace (REMBO)"),
    "add": (Additive, {}, "an additive GP over groups of inputs (ADD-BO)"),
    "vae": (
        Vae,
        {},
        "a GP on the latent space of an autoencoder trained on 500 extra evaluations (VAE-BO)",
    ),
    "random": (RandomSearch, {}, "a Sobol sequence, no model"),
}
NAMES = tuple(_PRESETS)
_KINDS: dict[str, type] = {kind.__name__: kind for kind, *_ in _PRESETS.values()}


def summary(name: str) -> str:
    """One line about the method."""
    return _PRESETS[name][2]


def settings_of(name: str) -> tuple[str, ...]:
    """The names of the settings that the method `name` has."""
    return tuple(
        field.name
        for field in dataclasses.fields(_PRESETS[_checks.one_of("method", name, NAMES)][0])
    )


def by_name(name: str, **settings: Any) -> Method:
    """The method `name`. Settings that are None are left at their default; those that the method does not have are errors."""
    known = settings_of(name)
    kind, preset, _ = _PRESETS[name]
    given = {key: value for key, value in settings.items() if value is not None}
    for key in given:
        _checks.one_of(f"setting of {name}", key, known)
    return kind(**{**preset, **given})


def of(method: object, *, n_features: int | None, acquisition: str | None) -> Method:
    """The method itself, or the one of that name with these settings."""
    if isinstance(method, str):
        return by_name(method, n_features=n_features, acquisition=acquisition)
    if not isinstance(method, Method):
        raise ValueError(f"method = {method!r}: expected one of {', '.join(NAMES)} or a method")
    if n_features is not None or acquisition is not None:
        raise ValueError(
            "n_features and acquisition go with the name of a method; set them on the method itself"
        )
    return method


def to_settings(method: Method) -> tuple[str, dict[str, Any]]:
    """Plain data from which `from_settings` restores the method."""
    kind = type(method).__name__
    if _KINDS.get(kind) is not type(method):
        raise ValueError(
            f"method {kind} cannot be written to a file: expected one of {', '.join(_KINDS)}"
        )
    return kind, dataclasses.asdict(method)  # type: ignore[call-overload]


def from_settings(kind: str, settings: dict[str, Any]) -> Method:
    """The inverse of `to_settings`, also for settings that went through JSON."""
    restored = {
        key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()
    }
    return _KINDS[_checks.one_of("method", kind, _KINDS)](**restored)


__all__ = [
    "NAMES",
    "Additive",
    "Cache",
    "FeatureSpace",
    "FullSpace",
    "Key",
    "Method",
    "RandomSearch",
    "Rembo",
    "Suggestion",
    "Vae",
    "by_name",
    "features",
    "from_settings",
    "of",
    "settings_of",
    "summary",
    "to_settings",
]
