"""Methods and caches as run files of version 1 have them."""

import logging
from typing import Any

import numpy as np

from infold import _checks
from infold.methods import presets, settings
from infold.methods.base import Cache, Method

_log = logging.getLogger(__name__)
_SEARCH = {"max_iterations": "search_iterations"}
_NAMES_NOW: dict[str, dict[str, str]] = {
    "FeatureSpace": {
        "max_iterations": "training_iterations",
        "max_warm_iterations": "warm_training_iterations",
        "max_search_iterations": "search_iterations",
    },
    "FullSpace": {
        **_SEARCH,
        "max_warm_iterations": "warm_training_iterations",
        "local": "vary_best",
    },
    "Rembo": _SEARCH,
    "Additive": _SEARCH,
    "Vae": _SEARCH,
    "RandomSearch": {},
}
_PRESETS = {
    "FullSpace": "full_space",
    "Rembo": "rembo",
    "Additive": "add",
    "Vae": "vae",
    "RandomSearch": "random",
}
_LETTERS = {"full": "mgp", "hierarchical": "hmgp", "shared": "dmgp"}


def method_of(kind: str, given: dict[str, Any]) -> Method:
    """Return the method of a file of version 1. Settings that no longer exist are left out."""
    names_now = _NAMES_NOW[_checks.one_of("method", kind, _NAMES_NOW)]
    given = {names_now.get(name, name): value for name, value in given.items()}
    name = _PRESETS.get(kind, "")
    if kind == "FeatureSpace":
        decoder = _LETTERS[_checks.one_of("decoder", given.pop("decoder", "full"), _LETTERS)]
        name = decoder + ("c" if given.pop("constrained", True) else "")
    if given.get("acquisition") != "ucb":
        given.pop("beta", None)  # every method had it
    interior_point = given.pop("solver", None) == "trust-constr"
    known = presets.settings_of(name)
    for setting in [setting for setting in given if setting not in known]:
        _log.warning("%s has no setting %s any more; it is left out", name, setting)
        del given[setting]
    # None was a value there, such as no prior on the weights; `by_name` takes it for the default.
    none = {setting: None for setting, value in given.items() if value is None}
    lists = {key: tuple(value) for key, value in given.items() if isinstance(value, list)}
    method = settings.changed(presets.by_name(name, **{**given, **lists}), none)
    if interior_point:
        from infold.paper.trust_constr import with_trust_constr

        method = with_trust_constr(method)
    return method


def cache_of(cache: dict[str, np.ndarray]) -> Cache:
    """Return the cache of a file of version 1 as methods nest it now."""
    by_owner: dict[str, Cache] = {"feature_space": {}, "full_space": {}, "additive": {}}
    for owner, state in by_owner.items():
        for old, new in ((owner, "parameters"), (f"{owner}_curvature", "curvature")):
            if old in cache:
                state[new] = cache[old]
    features, full_space, additive = by_owner.values()
    if "restarted" in cache:
        features["restarted"] = cache["restarted"]
    if "embedding" in cache:
        return {"model": {"embedding": cache["embedding"], "gp": full_space}}
    if features or additive:
        return {"model": features or additive, "fallback": {"model": full_space}}
    return {"model": full_space} if full_space else {}
