"""Independent formulas that the tests compare with."""

import numpy as np


def random_covariance(rng: np.random.Generator, n: int, rank: int | None = None) -> np.ndarray:
    """Return a random covariance matrix of the given rank (default: full)."""
    a = rng.normal(size=(n, rank or n))
    return a @ a.T


def matern52(a: np.ndarray, b: np.ndarray, lengthscale: np.ndarray) -> np.ndarray:
    """Return the Matern-5/2 kernel by the textbook formula, pair by pair."""
    r = np.sqrt((((a[:, None] - b[None]) / lengthscale) ** 2).sum(-1))
    return (1 + np.sqrt(5) * r + 5 / 3 * r**2) * np.exp(-np.sqrt(5) * r)


def finite_difference(f, x: np.ndarray, direction: np.ndarray, step: float = 1e-5) -> float:
    """Return the directional derivative by central differences of fourth order."""

    def g(h):
        return float(f(x + h * direction))

    return (8 * (g(step) - g(-step)) - (g(2 * step) - g(-2 * step))) / (12 * step)
