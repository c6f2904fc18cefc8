"""Double precision, and one BLAS thread, for infold's own computations only."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import jax

from infold._threads import one_blas_thread

P = ParamSpec("P")
R = TypeVar("R")


def float64(function: Callable[P, R]) -> Callable[P, R]:
    """Run `function` in float64, on one BLAS thread, and leave the caller's own settings as they were.

    Decorates the doors of the package. The formulas behind them follow the precision of their caller.
    """

    @functools.wraps(function)
    def scoped(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.enable_x64(True), one_blas_thread():
            return function(*args, **kwargs)

    return scoped
