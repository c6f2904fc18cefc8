"""Functions of d variables hidden in a cube of D dimensions (section 5 of the paper).

A point x of the cube gives u = R (2x - 1), where R (d x D) has orthonormal rows. A map of u to the
domain of the function follows.
"""

from collections.abc import Callable, Iterable
from itertools import product

import numpy as np
import scipy.optimize
from scipy.special import expit

from infold import _checks
from infold.problems.problem import Problem


def rosenbrock(z: np.ndarray) -> np.ndarray:
    """Return Σ 100 (z_{i+1} - z_i²)² + (z_i - 1)², whose minimum is 0 at z = 1."""
    return np.sum(100.0 * (z[:, 1:] - z[:, :-1] ** 2) ** 2 + (z[:, :-1] - 1.0) ** 2, axis=1)


def product_of_sines(z: np.ndarray) -> np.ndarray:
    """Return 10 sin(z_1) Π sin(z_i).

    The minimum is -10, where sin(z_1) = ±1 and the sines of the others multiply to -1.
    """
    return 10.0 * np.sin(z[:, 0]) * np.prod(np.sin(z), axis=1)


def embedding(dimension: int, n_variables: int, seed: int) -> np.ndarray:
    """Return R, by the QR decomposition of a random matrix.

    That matrix is drawn by NumPy's legacy generator, whose stream never changes.
    """
    m = np.random.RandomState(seed).normal(size=(n_variables, dimension))
    return np.linalg.qr(m.T)[0].T


def _solve_in_box(r: np.ndarray, u: np.ndarray) -> np.ndarray | None:
    """Return a point x of the cube with R (2x - 1) = u, or None if there is none."""
    w = r.T @ u  # the solution of least norm
    if np.max(np.abs(w)) > 1.0:
        n_variables, dimension = r.shape
        # minimize t subject to R w = u and -t <= w <= t
        edge = np.hstack(
            [np.vstack([np.eye(dimension), -np.eye(dimension)]), -np.ones((2 * dimension, 1))]
        )
        solution = scipy.optimize.linprog(
            np.append(np.zeros(dimension), 1.0),
            A_ub=edge,
            b_ub=np.zeros(2 * dimension),
            A_eq=np.hstack([r, np.zeros((n_variables, 1))]),
            b_eq=u,
            bounds=[(None, None)] * (dimension + 1),
        )
        if not solution.success or solution.x[-1] > 1.0:
            return None
        w = solution.x[:-1]
    return (w + 1.0) / 2.0


def _embedded(
    name: str,
    function: Callable[[np.ndarray], np.ndarray],
    to_domain: Callable[[np.ndarray], np.ndarray],
    minimum: float,
    candidates: Iterable[np.ndarray],
    dimension: int,
    n_variables: int,
    seed: int,
) -> Problem:
    """Return the problem function(to_domain(u)).

    Args:
        name: name of the problem.
        function: the function of d variables.
        to_domain: the map from u to its domain.
        minimum: its minimum.
        candidates: values of u that attain it; the first that the cube can reach is published.
        dimension: D.
        n_variables: d.
        seed: seed of R.
    """
    _checks.at_least("n_variables", n_variables, 2)
    _checks.at_least("dimension", dimension, n_variables)
    r = embedding(dimension, n_variables, seed)
    for u in candidates:
        minimizer = _solve_in_box(r, u)
        if minimizer is not None:
            return Problem(
                name=name,
                dimension=dimension,
                minimum=minimum,
                minimizer=minimizer,
                function=lambda x: function(to_domain((2.0 * x - 1.0) @ r.T)),
            )
    raise ValueError(
        f"{name} with dimension = {dimension}, n_variables = {n_variables}, seed = {seed}: "
        "the minimum lies outside the cube; "
        "expected a larger dimension, fewer variables or another seed"
    )


def rosenbrock_linear(*, dimension: int = 60, n_variables: int = 10, seed: int = 44) -> Problem:
    """Rosenbrock's function on [-5, 10]^d, linearly embedded."""
    u = np.full(n_variables, 2.0 * 6.0 / 15.0 - 1.0)
    return _embedded(
        "rosenbrock-linear",
        rosenbrock,
        lambda u: 15.0 * (u + 1.0) / 2.0 - 5.0,
        0.0,
        [u],
        dimension,
        n_variables,
        seed,
    )


def _sine_minimizers(n_variables: int, size: float) -> Iterable[np.ndarray]:
    """Yield every u at which all |sin| are 1 and the sines of all but the first multiply to -1.

    The map to the domain takes -size to π/2 and +size to 3π/2.
    """
    for signs in product((-1.0, 1.0), repeat=min(n_variables, 12)):
        u = np.append(signs, -np.ones(n_variables - len(signs)))
        if np.prod(-u[1:]) < 0:
            yield size * u


def product_of_sines_linear(
    *, dimension: int = 60, n_variables: int = 10, seed: int = 44
) -> Problem:
    """The product of sines on [0, 2π]^d, linearly embedded."""
    return _embedded(
        "product-of-sines-linear",
        product_of_sines,
        lambda u: np.pi * (u + 1.0),
        -10.0,
        _sine_minimizers(n_variables, 0.5),
        dimension,
        n_variables,
        seed,
    )


def product_of_sines_nonlinear(
    *, dimension: int = 60, n_variables: int = 10, seed: int = 30
) -> Problem:
    """The product of sines of 2π sigmoid(u), nonlinearly embedded."""
    return _embedded(
        "product-of-sines-nonlinear",
        product_of_sines,
        lambda u: 2.0 * np.pi * expit(u),
        -10.0,
        _sine_minimizers(n_variables, float(np.log(3.0))),
        dimension,
        n_variables,
        seed,
    )
