"""The problems on which optimizers are compared.

Settings may be chosen on the half "choice". The half "report" says how good they are elsewhere.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from infold import _checks, problems
from infold.comparison.suite import functions, hidden, lasso, rover, tuning
from infold.comparison.suite.benchmark import Benchmark
from infold.space import Space


def _of_paper(name: str) -> Benchmark:
    """Return a problem of the paper, without noise."""
    problem = problems.get(name)
    return Benchmark(
        name=name,
        space=Space.of([(0.0, 1.0)] * problem.dimension),
        function=lambda x: float(problem(np.asarray(x))),
        minimum=problem.minimum,
        minimizer=problem.minimizer,
    )


def _axis(make: Callable[[], functions.Function], dimension: int) -> Callable[[str], Benchmark]:
    return lambda name: hidden.axis(name, make(), dimension)


def _dense(make: Callable[[], functions.Function], dimension: int) -> Callable[[str], Benchmark]:
    return lambda name: hidden.dense(name, make(), dimension)


HALVES: dict[str, dict[str, Callable[[str], Benchmark]]] = {
    "choice": {
        "rosenbrock-linear": _of_paper,
        "product-of-sines-linear": _of_paper,
        "hartmann6-dense-60": _dense(functions.hartmann6, 60),
        "branin-axis-60": _axis(functions.branin, 60),
        "levy10-dense-300": _dense(partial(functions.levy, 10), 300),
        "ackley10-axis-300": _axis(partial(functions.ackley, 10), 300),
        "rosenbrock-60": _axis(partial(functions.rosenbrock_function, 60), 60),
        "lasso-60": lambda name: lasso.synthetic(name, 60, 3),
        "lasso-300": lambda name: lasso.synthetic(name, 300, 15),
        "boosting": tuning.boosting,
    },
    "report": {
        "product-of-sines-nonlinear": _of_paper,
        "thomson": _of_paper,
        "hartmann6-axis-100": _axis(functions.hartmann6, 100),
        "branin-dense-100": _dense(functions.branin, 100),
        "levy10-axis-60": _axis(partial(functions.levy, 10), 60),
        "ackley10-dense-60": _dense(partial(functions.ackley, 10), 60),
        "ackley-60": _axis(partial(functions.ackley, 60), 60),
        "styblinski-tang-60": _axis(partial(functions.styblinski_tang, 60), 60),
        "rover-60": rover.rover,
        "lasso-100": lambda name: lasso.synthetic(name, 100, 5),
        "lasso-diabetes": lasso.diabetes,
        "mlp": tuning.mlp,
    },
}
"""Makers of the problems, by half and name."""

NAMES = tuple(name for half in HALVES.values() for name in half)
SHORT = (
    "rosenbrock-linear",
    "lasso-60",
    "thomson",
    "hartmann6-axis-100",
    "branin-dense-100",
    "levy10-axis-60",
    "ackley-60",
    "styblinski-tang-60",
    "rover-60",
    "lasso-diabetes",
)
"""Problems for optimizers that take seconds for a suggestion: continuous ones of D <= 100."""


def half_of(name: str) -> str:
    """Return the half of the suite that has the problem `name`."""
    _checks.one_of("problem", name, NAMES)
    return next(half for half, makers in HALVES.items() if name in makers)


def get(name: str) -> Benchmark:
    """Return the problem `name`, one of `NAMES`."""
    return HALVES[half_of(name)][name](name)


__all__ = ["HALVES", "NAMES", "SHORT", "Benchmark", "get", "half_of"]
