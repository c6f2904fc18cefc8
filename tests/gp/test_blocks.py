"""Blocks with a covariance each, against dense Gaussians and against `kronecker`."""

import jax
import numpy as np
import pytest
from scipy.stats import multivariate_normal
from tests import laws

from infold.gp import blocks, kernels, kronecker

pytestmark = pytest.mark.usefixtures("x64")

NOISE = np.array(0.05)
Q, S, FEATURES = 3, 2, 2


def covariances(features):
    unit = np.ones(FEATURES)
    k = np.stack([laws.matern52(a, a, unit) for a in features])
    return k, np.stack([np.asarray(kernels.slope("matern52", a, a, unit)) for a in features])


def setup(rng, n):
    a = rng.normal(size=(Q, S, S))
    prior = blocks.Prior(rng.uniform(size=(Q, n, FEATURES)), a @ a.transpose(0, 2, 1), NOISE)
    return prior, rng.normal(size=(Q, n, S))


def solved_at(prior, x):
    n = x.shape[1]
    return blocks.solve(prior, *covariances(prior.features), x, n)


def test_likelihood_is_that_of_dense_gaussians(rng):
    prior, x = setup(rng, 9)
    k, _ = covariances(prior.features)
    expected = sum(
        multivariate_normal(np.zeros(9 * S), np.kron(b, one) + NOISE * np.eye(9 * S)).logpdf(
            data.T.reshape(-1)
        )
        for one, b, data in zip(k, prior.b, x, strict=True)
    )
    assert solved_at(prior, x).value == pytest.approx(expected, abs=1e-9)


def test_gradient_matches_finite_differences(rng):
    prior, x = setup(rng, 9)
    gradient = jax.grad(blocks.likelihood)(prior, solved_at(prior, x))
    for name, array in prior._asdict().items():
        direction = rng.normal(size=array.shape)
        if name == "b":
            direction = direction + direction.transpose(0, 2, 1)

        def f(at, name=name, shape=array.shape):
            return float(solved_at(prior._replace(**{name: at.reshape(shape)}), x).value)

        slope = laws.finite_difference(f, np.ravel(array), np.ravel(direction), 1e-5)
        assert np.sum(getattr(gradient, name) * direction) == pytest.approx(slope, rel=1e-6)


def test_many_data_are_solved_as_by_eigenvectors(rng):
    """150 rows are more than one triangle of `_triangular_inverse`."""
    prior, x = setup(rng, 150)

    def by_eigenvectors(features, b, noise):
        k = jax.vmap(lambda a: kernels.covariance("matern52", a, a, np.ones(FEATURES)))(features)
        infer = jax.vmap(kronecker.infer, (0, 0, 0, None))
        return jax.numpy.sum(infer(k, b[:, None], x[:, :, None], noise)[0])

    solved = solved_at(prior, x)
    assert solved.value == pytest.approx(float(by_eigenvectors(*prior)), rel=1e-10)
    gradients = jax.grad(by_eigenvectors, argnums=(0, 1, 2))(*prior)
    for found, expected in zip(solved.gradient, gradients, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


def test_a_covariance_that_is_none_has_no_likelihood(rng):
    prior, x = setup(rng, 9)
    k, slopes = covariances(prior.features)
    k[1] = -k[1]
    assert np.isnan(blocks.solve(prior, k, slopes, x, 9).value)
