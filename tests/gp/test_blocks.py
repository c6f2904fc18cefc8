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


def covariance(a):
    unit = np.ones(FEATURES)
    return laws.matern52(a, a, unit), np.asarray(kernels.slope("matern52", a, a, unit))


def setup(rng, n):
    a = rng.normal(size=(Q, S, S))
    prior = blocks.Prior(rng.uniform(size=(Q, n, FEATURES)), a @ a.transpose(0, 2, 1), NOISE)
    return prior, rng.normal(size=(Q, n, S))


def solved_at(prior, x):
    return blocks.solve(prior, covariance, x, x.shape[1])


def test_likelihood_is_that_of_dense_gaussians(rng):
    prior, x = setup(rng, 9)
    expected = 0.0
    for a, b, data in zip(prior.features, prior.b, x, strict=True):
        dense = np.kron(b, covariance(a)[0]) + NOISE * np.eye(9 * S)
        expected += multivariate_normal(np.zeros(9 * S), dense).logpdf(data.T.reshape(-1))
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


def test_outputs_that_are_multiples_of_each_other_have_a_likelihood(rng):
    prior, x = setup(rng, 9)
    a = 1e4 * rng.normal(size=(Q, S, 1))
    prior = prior._replace(b=a @ a.transpose(0, 2, 1))  # the least eigenvalue is rounding alone
    k = np.stack([covariance(one)[0] for one in prior.features])
    infer = jax.vmap(kronecker.infer, (0, 0, 0, None))
    expected = np.sum(infer(k, prior.b[:, None], x[:, :, None], NOISE)[0])
    assert solved_at(prior, x).value == pytest.approx(float(expected), rel=1e-6)


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

    def negative(a):
        k, slopes = covariance(a)
        return -k, slopes

    assert np.isnan(blocks.solve(prior, negative, x, 9).value)


@pytest.mark.parametrize("name", ["features", "b"])
def test_what_overflows_has_no_likelihood(name, rng):
    prior, x = setup(rng, 9)
    array = getattr(prior, name).copy()
    array[1, 0, 0] = np.inf
    with np.errstate(invalid="ignore"):
        assert np.isnan(solved_at(prior._replace(**{name: array}), x).value)
