"""Weights of a LASSO regression: one penalty for each column, chosen by cross-validation.

After K. Sehic, A. Gramfort, J. Salmon and L. Nardi, LassoBench (2021). A point of [-1, 1]^D is a
logarithm of the penalties, on a scale from a hundredth of the smallest penalty that makes all
coefficients vanish up to that penalty. The value is the mean squared error of five-fold
cross-validation; on synthetic data it is relative to that of the true coefficients. Needs
scikit-learn.
"""

import functools
import warnings

import numpy as np

from infold.comparison.suite.benchmark import Benchmark
from infold.space import Space

_N_FOLDS = 5
_CORRELATION = 0.6  # of neighbouring columns
_SIGNAL_TO_NOISE = 10.0


def synthetic(name: str, dimension: int, n_nonzero: int) -> Benchmark:
    """Return the problem on random data with D columns, D / 2 rows and a few true coefficients."""
    n_rows = dimension // 2
    rng = np.random.default_rng(dimension)
    columns = [rng.normal(size=n_rows)]
    for _ in range(dimension - 1):
        fresh = np.sqrt(1.0 - _CORRELATION**2) * rng.normal(size=n_rows)
        columns.append(_CORRELATION * columns[-1] + fresh)
    x = np.stack(columns, axis=1)
    truth = np.zeros(dimension)
    truth[:: dimension // n_nonzero] = (-1.0) ** np.arange(n_nonzero)
    signal = x @ truth
    noise = rng.normal(size=n_rows)
    noise *= np.linalg.norm(signal) / (_SIGNAL_TO_NOISE * np.linalg.norm(noise))
    return _weighted_lasso(name, x, signal + noise, float(np.mean(noise**2)))


def diabetes(name: str) -> Benchmark:
    """Return the problem on scikit-learn's diabetes data with squares and products of columns."""
    x, y = _diabetes_data()
    return _weighted_lasso(name, x, y, 1.0)


@functools.cache
def _diabetes_data() -> tuple[np.ndarray, np.ndarray]:
    """Return the 442 x 65 columns and the response, all of mean 0 and variance 1."""
    from sklearn.datasets import load_diabetes

    x, y = load_diabetes(return_X_y=True)
    i, j = np.triu_indices(x.shape[1])
    wide = np.hstack([x, x[:, i] * x[:, j]])
    return (wide - wide.mean(axis=0)) / wide.std(axis=0), (y - y.mean()) / y.std()


def _weighted_lasso(name: str, x: np.ndarray, y: np.ndarray, scale: float) -> Benchmark:
    n_rows, dimension = x.shape
    order = np.random.default_rng(0).permutation(n_rows)
    held_out = np.array_split(order, _N_FOLDS)
    log_largest = np.log(np.max(np.abs(x.T @ y)) / n_rows)

    def value(point: object) -> float:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import Lasso

        fraction = (np.asarray(point, dtype=float) - 1.0) / 2.0
        penalties = np.exp(log_largest + np.log(100.0) * fraction)
        scaled = x / penalties  # a penalty of 1 on these columns is that of the weights
        errors = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for rows in held_out:
                kept = np.setdiff1d(order, rows)
                model = Lasso(alpha=1.0, fit_intercept=False, tol=1e-4, max_iter=1000)
                model.fit(scaled[kept], y[kept])
                errors.append(np.mean((scaled[rows] @ model.coef_ - y[rows]) ** 2))
        return float(np.mean(errors)) / scale

    return Benchmark(name=name, space=Space.of([(-1.0, 1.0)] * dimension), function=value)
