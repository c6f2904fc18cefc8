import jax
import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
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
    f = lambda k: log_marginal_likelihood(k, y, ALL)  # noqa: E731
    assert np.sum(jax.grad(f)(k_y) * direction) == pytest.approx(
        laws.finite_difference(f, k_y, direction), rel=1e-6
    )
    g = lambda y: log_marginal_likelihood(k_y, y, ALL)  # noqa: E731
    v = rng.normal(size=9)
    assert jax.grad(g)(y) @ v == pytest.approx(laws.finite_difference(g, y, v), rel=1e-6)


def test_posterior_matches_dense_conditioning(gp):
    k_y, y, k_star, prior = gp
    mean, variance = exact.predict(condition(k_y, y, ALL), k_star, prior)
    np.testing.assert_allclose(mean, k_star @ np.linalg.solve(k_y, y), atol=1e-9)
    dense = prior - np.diagonal(k_star @ np.linalg.solve(k_y, k_star.T))
    np.testing.assert_allclose(variance, dense, atol=1e-9)


def test_leave_one_out_matches_refitting_without_each_point(gp):
    k_y, y, *_ = gp
    mean, variance = exact.leave_one_out(k_y, y, ALL)
    total = 0.0
    for i in range(9):
        rest = np.arange(9) != i
        w = np.linalg.solve(k_y[np.ix_(rest, rest)], k_y[rest, i])
        assert mean[i] == pytest.approx(w @ y[rest], abs=1e-9)
        assert variance[i] == pytest.approx(k_y[i, i] - w @ k_y[rest, i], abs=1e-9)
        total += norm(w @ y[rest], np.sqrt(k_y[i, i] - w @ k_y[rest, i])).logpdf(y[i])
    assert exact.log_leave_one_out_density(k_y, y, ALL) == pytest.approx(total, abs=1e-9)


def test_padding_changes_nothing(gp):
    k_y, y, k_star, prior = gp
    mask = padding.row_mask(9, 16)
    big = np.full((16, 16), 7.0)
    big[:9, :9] = k_y
    k_pad, y_pad = padding.identity_pad(big, mask), padding.pad_rows(y, 16)
    lml = log_marginal_likelihood
    assert lml(k_pad, y_pad, mask) == pytest.approx(float(lml(k_y, y, ALL)), abs=1e-10)
    assert exact.log_leave_one_out_density(k_pad, y_pad, mask) == pytest.approx(
        float(exact.log_leave_one_out_density(k_y, y, ALL)), abs=1e-10
    )
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
    density = lambda m: multivariate_normal(np.full(9, m), k_y).logpdf(y)  # noqa: E731
    assert best == pytest.approx(density(mean), abs=1e-9)
    assert best > max(density(mean - 0.01), density(mean + 0.01))
    f = lambda k: log_marginal_likelihood(k, y, ALL, True)  # noqa: E731
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
    k_star = lambda x: 1.5 * kernels.covariance("matern52", x, z, ell)  # noqa: E731
    predict = lambda x: exact.predict(posterior, k_star(x), np.array(1.5))  # noqa: E731
    x, direction = rng.uniform(size=(4, 3)), rng.normal(size=3)
    columns = np.asarray(exact.predict_with_gradients(posterior, k_star, x, np.array(1.5)))
    np.testing.assert_allclose(columns[:, :2].T, predict(x), rtol=1e-12)
    for i in range(4):
        for which, gradient in ((0, columns[i, 2:5]), (1, columns[i, 5:])):
            f = lambda point, which=which: predict(point[None])[which][0]  # noqa: E731
            assert gradient @ direction == pytest.approx(
                laws.finite_difference(f, x[i], direction), rel=1e-6
            )
