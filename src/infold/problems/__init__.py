"""Test problems with known minima: the paper's, for any dimension and seed."""

import inspect
from collections.abc import Callable

from infold import _checks
from infold.problems import embedded, thomson
from infold.problems.problem import Problem

_PROBLEMS: dict[str, Callable[..., Problem]] = {
    "rosenbrock-linear": embedded.rosenbrock_linear,
    "product-of-sines-linear": embedded.product_of_sines_linear,
    "product-of-sines-nonlinear": embedded.product_of_sines_nonlinear,
    "thomson": thomson.thomson,
}
NAMES = tuple(_PROBLEMS)


def get(name: str, **overrides: int) -> Problem:
    """Return the problem `name`.

    Args:
        name: one of `NAMES`.
        overrides: dimension, n_variables and seed of an embedded problem; n_electrons of Thomson's.
    """
    make = _PROBLEMS[_checks.one_of("problem", name, NAMES)]
    for argument in overrides:
        _checks.one_of(f"argument of {name}", argument, inspect.signature(make).parameters)
    return make(**overrides)


def summary(name: str) -> str:
    """Return one line about the problem `name`."""
    return (_PROBLEMS[name].__doc__ or "").strip()


__all__ = ["NAMES", "Problem", "get", "summary"]
