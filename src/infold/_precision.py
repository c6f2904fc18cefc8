"""Double precision for infold's own computations, and for nobody else's."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import jax

P = ParamSpec("P")
R = TypeVar("R")


def float64(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function to run in float64, whatever precision its caller has set for JAX.

    Meant for functions that users reach directly. Those behind them inherit the precision.
    """

    @functools.wraps(function)
    def scoped(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return scoped
