"""Bayesian optimization of expensive functions of many variables."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infold import plot, problems, report
    from infold._minimize import minimize
    from infold.compilation import cache_compilations
    from infold.evaluation.outcome import Outcome
    from infold.learning.learned import Learned, learn
    from infold.objectives import hypervolume
    from infold.optimizer import Optimizer
    from infold.space import Bool, Categorical, Float, Int, Space

    __version__: str

__all__ = [
    "Bool",
    "Categorical",
    "Float",
    "Int",
    "Learned",
    "Optimizer",
    "Outcome",
    "Space",
    "__version__",
    "cache_compilations",
    "hypervolume",
    "learn",
    "minimize",
    "plot",
    "problems",
    "report",
]

# JAX is loaded when something needs it: worker processes and `infold --help` do not.
_HOMES = {
    "cache_compilations": "infold.compilation",
    "hypervolume": "infold.objectives",
    "learn": "infold.learning.learned",
    "Learned": "infold.learning.learned",
    "minimize": "infold._minimize",
    "Optimizer": "infold.optimizer",
    "Outcome": "infold.evaluation.outcome",
    **dict.fromkeys(("Bool", "Categorical", "Float", "Int", "Space"), "infold.space"),
}

_MODULES = ("plot", "problems", "report")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"infold.{name}")
    elif name == "__version__":
        value = importlib.import_module("importlib.metadata").version("infold")
    else:
        raise AttributeError(f"module 'infold' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
