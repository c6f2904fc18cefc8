import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.stats import multivariate_normal
from tests import laws

from infold.gp import kronecker, padding

pytestmark = pytest.mark.usefixtures("x64")

NOISE = np.array(0.3)


def dense(factors):
    return functools.reduce(np.kron, factors)


@pytest.mark.parametrize("sizes", [(5,), (4, 6), (3, 2, 5)])
def test_matvec_solve_and_logdet_match_dense(sizes, rng):
    factors = [laws.random_covariance(rng, n) for n in sizes]
    big = dense(factors)
    x = rng.normal(size=len(big))
    noisy = big + NOISE * np.eye(len(big))
    np.testing.assert_allclose(kronecker.matvec(factors, x), big @ x, rtol=1e-10)
    np.testing.assert_allclose(
        kronecker.solve(factors, x, NOISE), np.linalg.solve(noisy, x), atol=1e-8
    )
    assert kronecker.logdet(factors, NOISE) == pytest.approx(np.linalg.slogdet(noisy)[1], abs=1e-8)
    quadratic = x @ kronecker.solve(factors, x, NOISE)
    likelihood = -0.5 * (
        quadratic + kronecker.logdet(factors, NOISE) + len(big) * np.log(2 * np.pi)
    )
    assert likelihood == pytest.approx(
        multivariate_normal(np.zeros(len(big)), noisy).logpdf(x), abs=1e-8
    )


def test_matvec_takes_nonsymmetric_factors(rng):
    factors = [rng.normal(size=(n, n)) for n in (3, 4)]
    x = rng.normal(size=12)
    np.testing.assert_allclose(kronecker.matvec(factors, x), dense(factors) @ x, atol=1e-12)


def log_likelihood(*args):
    return kronecker.infer(*args)[0]


def condition(*args):
    return kronecker.infer(*args)[1]


def dense_covariance(k, b):
    """Covariance of X~ stacked column by column, B's blocks on the diagonal."""
    return np.kron(block_diag(*b), k) + NOISE * np.eye(len(k) * b.shape[0] * b.shape[1])


def stacked(x):
    return x.reshape(len(x), -1).T.reshape(-1)


@pytest.fixture(params=[(1, 5), (3, 2)], ids=["one block", "three blocks"])
def data(request, rng):
    q, s = request.param
    k = laws.random_covariance(rng, 7)
    b = np.stack([laws.random_covariance(rng, s) for _ in range(q)])
    return k, b, rng.normal(size=(7, q, s))


def test_log_likelihood_matches_dense(data):
    k, b, x = data
    expected = multivariate_normal(np.zeros(x.size), dense_covariance(k, b)).logpdf(stacked(x))
    assert log_likelihood(k, b, x, NOISE) == pytest.approx(expected, abs=1e-8)


def test_log_likelihood_gradients_match_finite_differences(data, rng):
    k, b, x = data
    args = [k, b, x, NOISE]
    directions = [
        laws.random_covariance(rng, 7) / 7,
        np.stack([laws.random_covariance(rng, b.shape[1]) for _ in b]),
        rng.normal(size=x.shape),
        np.array(1.0),
    ]
    gradients = jax.grad(log_likelihood, argnums=(0, 1, 2, 3))(*args)
    for i, (gradient, direction) in enumerate(zip(gradients, directions, strict=True)):

        def f(a, i=i):
            return log_likelihood(*args[:i], a, *args[i + 1 :])

        expected = laws.finite_difference(f, args[i], direction)
        assert np.sum(np.asarray(gradient) * direction) == pytest.approx(expected, rel=1e-6)


def test_gradients_are_finite_and_right_where_eigenvalues_repeat(rng):
    k, b, x = np.ones((6, 6)), np.eye(4)[None], rng.normal(size=(6, 1, 4))

    def f(k, b):
        return log_likelihood(k, b, x, NOISE)

    grad_k, grad_b = jax.grad(f, argnums=(0, 1))(k, b)
    inverse = np.linalg.inv(dense_covariance(k, b))
    alpha = inverse @ stacked(x)
    for gradient, derivative in (
        (grad_k, lambda e: np.kron(np.eye(4), e)),
        (grad_b[0], lambda e: np.kron(e, np.ones((6, 6)))),
    ):
        direction = laws.random_covariance(rng, len(gradient))
        d = derivative(direction)
        expected = 0.5 * alpha @ d @ alpha - 0.5 * np.trace(inverse @ d)
        assert np.sum(np.asarray(gradient) * direction) == pytest.approx(expected, rel=1e-9)


def test_posterior_matches_dense_conditioning(data, rng):
    k, b, x = data
    joint = laws.random_covariance(rng, 10)
    k, k_star = joint[:7, :7], joint[7:, :7]
    prior = np.asarray(joint[7:, 7:].diagonal().max() + 1)
    posterior = condition(k, b, x, NOISE)
    big_b = block_diag(*b)
    cross = np.kron(big_b, k_star)
    covariance = dense_covariance(k, b)
    mean = (cross @ np.linalg.solve(covariance, stacked(x))).reshape(len(big_b), 3).T
    explained = np.diagonal(cross @ np.linalg.solve(covariance, cross.T)).reshape(len(big_b), 3).T
    np.testing.assert_allclose(
        np.reshape(kronecker.mean(posterior.weights, k_star), (3, -1)), mean, atol=1e-8
    )
    variance = np.reshape(kronecker.variance(posterior, k_star, prior), (3, -1))
    np.testing.assert_allclose(
        variance, np.maximum(prior * big_b.diagonal() - explained, 0), atol=1e-8
    )


def test_padded_rows_and_outputs_change_nothing(data):
    k, b, x = data
    s = b.shape[1]
    k_pad = padding.eigen_pad(np.pad(k, (0, 5), constant_values=3.0), padding.row_mask(7, 12))
    outputs = padding.row_mask(s, s + 2)
    b_pad = jnp.stack(
        [padding.eigen_pad(np.pad(block, (0, 2), constant_values=2.0), outputs) for block in b]
    )
    x_pad = np.pad(x, ((0, 5), (0, 0), (0, 2)))
    assert log_likelihood(k_pad, b_pad, x_pad, NOISE) == pytest.approx(
        float(log_likelihood(k, b, x, NOISE)), abs=1e-10
    )
    plain, padded = condition(k, b, x, NOISE), condition(k_pad, b_pad, x_pad, NOISE)
    k_star = np.linspace(0, 1, 14).reshape(2, 7)
    np.testing.assert_allclose(
        kronecker.mean(padded.weights, np.pad(k_star, ((0, 0), (0, 5))))[:, :, :s],
        kronecker.mean(plain.weights, k_star),
        atol=1e-10,
    )
    np.testing.assert_allclose(
        kronecker.variance(padded, np.pad(k_star, ((0, 0), (0, 5))), np.array(9.0))[:, :, :s],
        kronecker.variance(plain, k_star, np.array(9.0)),
        atol=1e-10,
    )
