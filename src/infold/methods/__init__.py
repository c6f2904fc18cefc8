"""How the next point is chosen. `by_name` finds a method, `NAMES` lists them."""

from infold.methods.base import Cache, Key, Method, Suggestion
from infold.methods.bayesian import BayesianOptimization
from infold.methods.presets import (
    DEFAULT,
    NAMES,
    by_name,
    check_dimension,
    name_of,
    of,
    settings_of,
    summary,
    with_features_in,
)
from infold.methods.random import RandomSearch
from infold.methods.settings import changed, from_json, to_json
from infold.record import Proposal

__all__ = [
    "DEFAULT",
    "NAMES",
    "BayesianOptimization",
    "Cache",
    "Key",
    "Method",
    "Proposal",
    "RandomSearch",
    "Suggestion",
    "by_name",
    "changed",
    "check_dimension",
    "from_json",
    "name_of",
    "of",
    "settings_of",
    "summary",
    "to_json",
    "with_features_in",
]
