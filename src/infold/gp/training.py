"""Maximum likelihood by L-BFGS-B on a compiled value and gradient."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.optimize

_FAILED = 1e12  # what the line search sees where the likelihood cannot be evaluated: more than any value it accepts


@dataclass(frozen=True)
class Trained:
    """The best parameters found and what they cost."""

    flat: np.ndarray
    log_likelihood: float
    converged: bool
    message: str
    start: str
    n_evaluations: int
    n_iterations: int


@dataclass(frozen=True)
class Start:
    """Where one run of training begins and how long it may take."""

    name: str
    flat: np.ndarray
    max_iterations: int


def train(
    loss: Callable[[np.ndarray], tuple],
    starts: list[Start],
    bounds: tuple[np.ndarray, np.ndarray],
    tolerance: float,
) -> Trained:
    """The best of L-BFGS-B from every start; `loss` returns a negative log-likelihood and its gradient.

    Stops when the loss improves by less than `tolerance`, relatively. Raises FloatingPointError when the likelihood could
    not be evaluated at any start.
    """

    def guarded(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = loss(flat)
        gradient = np.asarray(gradient)
        if not (math.isfinite(value) and np.all(np.isfinite(gradient))):
            return _FAILED, np.zeros_like(flat)
        return float(value), gradient

    results = [
        scipy.optimize.minimize(
            guarded,
            np.clip(start.flat, *bounds),
            jac=True,
            method="L-BFGS-B",
            bounds=scipy.optimize.Bounds(*bounds),
            options={"maxiter": start.max_iterations, "ftol": tolerance, "gtol": 1e-6},
        )
        for start in starts
    ]
    best = min(range(len(starts)), key=lambda i: results[i].fun)
    if results[best].fun >= _FAILED:
        raise FloatingPointError("the likelihood could not be evaluated at any start of training")
    return Trained(
        flat=results[best].x,
        log_likelihood=-float(results[best].fun),
        converged=bool(results[best].success),
        message=str(results[best].message),
        start=starts[best].name,
        n_evaluations=sum(result.nfev for result in results),
        n_iterations=sum(result.nit for result in results),
    )
