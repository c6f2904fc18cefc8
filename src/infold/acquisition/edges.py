"""Ascent along the edges of constraints, by sequential quadratic programming.

Where the models are sure of a constraint, the probability that it is satisfied is a cliff. Gradient
steps zigzag along it and stop far from where several edges meet, which is where most constrained
optima are. SciPy's SLSQP sees each edge as what it is:

    maximize log EI(z)  subject to  t_k - μ_k(z) - q σ_k(z) >= 0 for each constraint k

The symbols are those of `infold.acquisition.feasibility`. What it finds is one more point to
compare by the acquisition function itself.
"""

import warnings
from collections.abc import Callable

import numpy as np
import scipy.optimize
from jaxtyping import Bool, Float

_MARGIN = 1.5  # q: the probability of each constraint is 0.93; where deviations are small all do
_STEPS = 15  # most iterations: each costs as much as a step of the gradient search
_GAIN = 1e-4  # it has converged where log EI gains less
_LEAST_VARIANCE = 1e-10  # of a constraint, where the slope of its root is still a number

Surface = Callable[[np.ndarray], tuple[np.ndarray, ...]]


def follow_edges(
    improvement: Surface,
    constraints: Surface,
    limits: Float[np.ndarray, " k"],
    start: Float[np.ndarray, " d"],
    box: tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]],
    free: Bool[np.ndarray, " d"],
) -> Float[np.ndarray, " d"]:
    """Return where the improvement is largest on the safe side of all edges, seen from a start.

    Args:
        improvement: returns log EI at some points, and its gradients.
        constraints: returns means and variances of the constraints there, one column each, and
            their gradients.
        limits: means up to which constraints are satisfied.
        start: where to begin.
        box: lower and upper limits.
        free: coordinates that may change.
    """
    lower, upper = box
    free = free & (lower < upper)
    if not np.any(free):
        return start
    lower, upper = lower[free], upper[free]
    known: dict[bytes, tuple] = {}  # SciPy asks for values and slopes one by one

    def placed(v: np.ndarray) -> np.ndarray:
        z = start.copy()
        z[free] = np.clip(v, lower, upper)
        return z

    def at(v: np.ndarray) -> tuple:
        key = v.tobytes()
        if key not in known:
            z = placed(v)[None]
            value, slope = (array[0] for array in improvement(z))
            mean, variance, mean_slope, variance_slope = (array[0] for array in constraints(z))
            sigma = np.sqrt(variance + _LEAST_VARIANCE)
            room_slope = -mean_slope - 0.5 * _MARGIN / sigma[:, None] * variance_slope
            room = limits - mean - _MARGIN * sigma
            known[key] = (-float(value), -slope[free], room, room_slope[:, free])
        return known[key]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # steps that leave the box by rounding
        found = scipy.optimize.minimize(
            lambda v: at(v)[0],
            np.clip(start[free], lower, upper),
            jac=lambda v: at(v)[1],
            method="SLSQP",
            bounds=np.column_stack([lower, upper]),
            constraints={"type": "ineq", "fun": lambda v: at(v)[2], "jac": lambda v: at(v)[3]},
            options={"maxiter": _STEPS, "ftol": _GAIN},
        ).x
    return placed(found) if np.all(np.isfinite(found)) else start
