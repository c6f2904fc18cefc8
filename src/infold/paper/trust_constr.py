"""The paper's route to the constrained maximum: SciPy's interior-point method, start by start.

It finds the same maximum as projected ascent, some hundred times slower. The study and the tests
use it. The study follows the few best of the starts, and no farther than matters: all of them to
the last digit would take an hour for a run.
"""

import dataclasses
import warnings
from dataclasses import dataclass

import numpy as np
import scipy.optimize
from jaxtyping import Float

from infold.acquisition.lipschitz import LipschitzBalls, LipschitzConstraint
from infold.acquisition.regions import Region
from infold.acquisition.search import Found, Objective, Search, ValueAndGradient
from infold.methods.base import Method
from infold.methods.bayesian import BayesianOptimization

_TOLERANCES = ("xtol", "gtol", "barrier_tol")


@dataclass(frozen=True, kw_only=True)
class TrustConstr(Search):
    """Search of Lipschitz balls with SciPy's trust-constr."""

    n_followed: int = 3
    """Number of starts that are followed, the best ones."""
    tolerance: float = 1e-4
    """Steps, gradients and barriers below which a start has converged."""
    barrier: float = 5e-4
    """Barrier in the beginning. SciPy's own, 0.1, drives a start far from where it began, and out
    of small balls' best corners: 200 iterations do not lead back."""

    def climb(
        self,
        objective: Objective,
        region: Region,
        starts: Float[np.ndarray, "m d"],
        rng: np.random.Generator,
    ) -> Found:
        assert isinstance(region, LipschitzBalls)
        one_by_one = dataclasses.replace(objective, batch=1)
        best = starts[-self.n_followed :]  # they come in the order of their values
        return trust_constr(
            one_by_one.value_and_gradient, region, best, self.tolerance, self.barrier
        )


def with_trust_constr(method: Method) -> Method:
    """Return the method, which must have the Lipschitz constraint, with this search."""
    if not isinstance(method, BayesianOptimization) or not isinstance(
        method.region, LipschitzConstraint
    ):
        raise ValueError(f"method = {method!r}: trust-constr expects the Lipschitz constraint")
    fields = {f.name: getattr(method.search, f.name) for f in dataclasses.fields(method.search)}
    return dataclasses.replace(method, search=TrustConstr(**fields))


def trust_constr(
    value_and_gradient: ValueAndGradient,
    region: LipschitzBalls,
    starts: Float[np.ndarray, "m d"],
    tolerance: float = 1e-8,
    barrier: float = 0.1,
) -> Found:
    """Return the best feasible point that the method reaches from any start.

    Args:
        value_and_gradient: what is maximized.
        region: the balls; the first step is as long as their usual radius.
        starts: points to begin at.
        tolerance: steps, gradients and barriers below which a start has converged.
        barrier: barrier in the beginning, in units of the function.
    """

    def negative(z: np.ndarray) -> tuple[float, np.ndarray]:
        f, g = value_and_gradient(z[None])
        return -float(f[0]), -g[0]

    def slack(z: np.ndarray) -> float:
        index, distance = region.nearest(z[None])
        return float(region.radii[index[0]] ** 2 - distance[0] ** 2)

    def slack_gradient(z: np.ndarray) -> np.ndarray:
        index, _ = region.nearest(z[None])
        return -2.0 * (z - region.centers[index[0]])

    d = starts.shape[1]
    constraint = scipy.optimize.NonlinearConstraint(
        slack, 0.0, np.inf, jac=slack_gradient, hess=scipy.optimize.BFGS()
    )
    options = {
        "maxiter": 200,
        "initial_tr_radius": float(np.median(region.radii)),
        "initial_barrier_parameter": barrier,
        "initial_barrier_tolerance": barrier,
        **dict.fromkeys(_TOLERANCES, tolerance),
    }
    best = Found(starts[0], -np.inf)
    for start in np.clip(
        region.project(starts), 1e-6, 1.0 - 1e-6
    ):  # from a face of the cube it cannot move
        with warnings.catch_warnings():
            # The quasi-Newton update remarks on starts at which the function is flat.
            warnings.filterwarnings("ignore", message="delta_grad == 0.0", category=UserWarning)
            result = scipy.optimize.minimize(
                negative,
                start,
                jac=True,
                method="trust-constr",
                bounds=scipy.optimize.Bounds(np.zeros(d), np.ones(d), keep_feasible=True),
                constraints=constraint,
                hess=scipy.optimize.BFGS(),
                options=options,
            )
        # Interior points end inside to within a tolerance; the comparison is between feasible
        # points.
        point = region.project(result.x[None])
        value = float(value_and_gradient(point)[0][0])
        if value > best.value:
            best = Found(point[0], value)
    return best
