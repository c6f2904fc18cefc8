import jax
import numpy as np
import pytest
from scipy.stats import multivariate_normal
from tests import laws

from infold.gp import exact, kernels, padding

pytestmark = pytest.mark.usefixtures("x64")

ALL = np.ones(9, bool)


def log_marginal_likelihood(*args):
    return exact.infer(*args)[0]


def condition(*args):
    return exact.infer(*args)[1]


@pytest.fixture
def gp(rng):
    """K_y, y, cross-covariances and prior variance of a small GP."""
    z, z_star, ell = rng.uniform(size=(9, 2)), rng.uniform(size=(4, 2)), np.array([0.4, 0.7])
    k_y = 1.5 * laws.matern52(z, z, ell) + 0.01 * np.eye(9)
    return k_y, rng.normal(size=9), 1.5 * laws.matern52(z_star, z, ell), np.array(1.5)


def test_log_marginal_likelihood_matches_scipy(gp):
    k_y, y, *_ = gp
    expected = multivariate_normal(np.zeros(9), k_y).logpdf(y)
    assert log_marginal_likelihood(k_y, y, ALL) == pytest.approx(expected, abs=1e-9)


def test_log_marginal_likelihood_gradient_matches_finite_differences(gp, rng):
    k_y, y, *_ = gp
    direction = laws.random_covariance(rng, 9)

    def f(k):
        return log_marginal_likelihood(k, y, ALL)

    assert np.sum(jax.grad(f)(k_y) * direction) == pytest.approx(
        laws.finite_difference(f, k_y, direction), rel=1e-6
    )

    def g(y):
        return log_marginal_likelihood(k_y, y, ALL)

    v = rng.normal(size=9)
    assert jax.grad(g)(y) @ v == pytest.approx(laws.finite_difference(g, y, v), rel=1e-6)


def test_posterior_matches_dense_conditioning(gp):
    k_y, y, k_star, prior = gp
    mean, variance = exact.predict(condition(k_y, y, ALL), k_star, prior)
    np.testing.assert_allclose(mean, k_star @ np.linalg.solve(k_y, y), atol=1e-9)
    dense = prior - np.diagonal(k_star @ np.linalg.solve(k_y, k_star.T))
    np.testing.assert_allclose(variance, dense, atol=1e-9)


def dense_prediction(k_y, y, i, fit_mean):
    """Mean and variance of y_i from the other values alone, by dense algebra."""
    rest = np.arange(len(y)) != i
    inverse = np.linalg.inv(k_y[np.ix_(rest, rest)])
    prior_mean = inverse.sum(axis=0) @ y[rest] / inverse.sum() if fit_mean else 0.0
    weights = inverse @ k_y[rest, i]
    mean = prior_mean + weights @ (y[rest] - prior_mean)
    return mean, k_y[i, i] - weights @ k_y[rest, i]


@pytest.mark.parametrize("fit_mean", [False, True])
@pytest.mark.parametrize("size", [9, 16], ids=["unpadded", "padded"])
def test_leave_one_out_matches_inference_without_each_point(gp, fit_mean, size):
    k_y, y, *_ = gp
    y = y + 3.0
    mask = padding.row_mask(9, size)
    k_pad = padding.identity_pad(np.pad(k_y, (0, size - 9), constant_values=7.0), mask)
    y_pad = padding.pad_rows(y, size)
    posterior = condition(k_pad, y_pad, mask, fit_mean)
    mean, variance = exact.leave_one_out(posterior, y_pad, mask, fit_mean)
    for i in range(9):
        expected = dense_prediction(k_y, y, i, fit_mean)
        assert (mean[i], variance[i]) == pytest.approx(expected, abs=1e-9)
    np.testing.assert_array_equal(mean[9:], 0.0)
    np.testing.assert_allclose(variance[9:], 1.0)


@pytest.mark.parametrize("fit_mean", [False, True])
def test_leave_one_out_variance_is_that_of_a_new_observation(gp, fit_mean):
    """What `predict` says from the other eight points, plus noise."""
    k_y, y, *_ = gp
    _, variance = exact.leave_one_out(condition(k_y, y, ALL, fit_mean), y, ALL, fit_mean)
    for i in range(9):
        rest = np.arange(9) != i
        others = condition(k_y[np.ix_(rest, rest)], y[rest], ALL[rest], fit_mean)
        _, predicted = exact.predict(others, k_y[i : i + 1, rest], np.array(1.5))
        assert variance[i] == pytest.approx(float(predicted[0]) + 0.01, abs=1e-9)


@pytest.mark.parametrize("fit_mean", [False, True])
@pytest.mark.parametrize("size", [1, 5], ids=["unpadded", "padded"])
@pytest.mark.parametrize("k_y", [1.51, 0.3, 1e-6, 1e6])
def test_leave_one_out_of_a_single_point_is_the_prior(fit_mean, size, k_y):
    mask = padding.row_mask(1, size)
    covariance = padding.identity_pad(np.full((size, size), k_y), mask)
    y = padding.pad_rows(np.array([0.7]), size)
    posterior = condition(covariance, y, mask, fit_mean)
    mean, variance = exact.leave_one_out(posterior, y, mask, fit_mean)
    np.testing.assert_allclose(mean, 0.0, atol=1e-12)
    assert variance[0] == pytest.approx(k_y)


@pytest.mark.parametrize("fit_mean", [False, True])
def test_leave_one_out_of_duplicated_points_is_accurate_at_the_smallest_noise(fit_mean, rng):
    z = np.repeat(rng.uniform(size=(5, 2)), 2, axis=0)
    k_y = laws.matern52(z, z, np.array([0.4, 0.7])) + 1e-6 * np.eye(10)
    y = np.repeat(rng.normal(size=5), 2) + 1e-3 * rng.normal(size=10)
    mask = np.ones(10, bool)
    mean, variance = exact.leave_one_out(condition(k_y, y, mask, fit_mean), y, mask, fit_mean)
    for i in range(10):
        expected_mean, expected_variance = dense_prediction(k_y, y, i, fit_mean)
        assert mean[i] == pytest.approx(expected_mean, abs=1e-7)
        assert variance[i] == pytest.approx(expected_variance, rel=1e-4)


def test_padding_changes_nothing(gp):
    k_y, y, k_star, prior = gp
    mask = padding.row_mask(9, 16)
    big = np.full((16, 16), 7.0)
    big[:9, :9] = k_y
    k_pad, y_pad = padding.identity_pad(big, mask), padding.pad_rows(y, 16)
    lml = log_marginal_likelihood
    assert lml(k_pad, y_pad, mask) == pytest.approx(float(lml(k_y, y, ALL)), abs=1e-10)
    k_star_pad = np.pad(k_star, ((0, 0), (0, 7)))
    for padded, plain in zip(
        exact.predict(condition(k_pad, y_pad, mask), k_star_pad, prior),
        exact.predict(condition(k_y, y, ALL), k_star, prior),
        strict=True,
    ):
        np.testing.assert_allclose(padded, plain, atol=1e-10)


def test_fitted_mean_maximizes_the_likelihood_and_keeps_the_gradient(gp, rng):
    k_y, y, *_ = gp
    y = y + 3.0
    best = float(log_marginal_likelihood(k_y, y, ALL, True))
    mean = float(condition(k_y, y, ALL, True).mean)

    def density(m):
        return multivariate_normal(np.full(9, m), k_y).logpdf(y)

    assert best == pytest.approx(density(mean), abs=1e-9)
    assert best > max(density(mean - 0.01), density(mean + 0.01))

    def f(k):
        return log_marginal_likelihood(k, y, ALL, True)

    direction = laws.random_covariance(rng, 9)
    assert np.sum(jax.grad(f)(k_y) * direction) == pytest.approx(
        laws.finite_difference(f, k_y, direction), rel=1e-6
    )


@pytest.mark.parametrize("n", [9, 64, 65, 150, 320, 600])
def test_inverse_by_halves_is_the_inverse(n, rng):
    k_y = laws.random_covariance(rng, n) + np.eye(n)
    _, posterior = exact.infer(k_y, rng.normal(size=n), np.ones(n, bool))
    np.testing.assert_allclose(posterior.k_y_inverse @ k_y, np.eye(n), atol=1e-9)


def test_predictions_with_gradients_are_predictions_and_their_derivatives(rng):
    z, y, ell = rng.uniform(size=(9, 3)), rng.normal(size=9), np.array([0.4, 0.7, 1.1])
    _, posterior = exact.infer(1.5 * laws.matern52(z, z, ell) + 0.01 * np.eye(9), y, ALL, True)

    def k_star(x):
        return 1.5 * kernels.covariance("matern52", x, z, ell)

    def predict(x):
        return exact.predict(posterior, k_star(x), np.array(1.5))

    x, direction = rng.uniform(size=(4, 3)), rng.normal(size=3)
    columns = np.asarray(exact.predict_with_gradients(posterior, k_star, x, np.array(1.5)))
    np.testing.assert_allclose(columns[:, :2].T, predict(x), rtol=1e-12)
    for i in range(4):
        for which, gradient in ((0, columns[i, 2:5]), (1, columns[i, 5:])):

            def f(point, which=which):
                return predict(point[None])[which][0]

            assert gradient @ direction == pytest.approx(
                laws.finite_difference(f, x[i], direction), rel=1e-6
            )
