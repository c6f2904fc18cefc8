import numpy as np
import pytest
from scipy.stats import multivariate_normal
from tests import laws

from infold.models import additive_gp as additive

pytestmark = pytest.mark.usefixtures("x64")

N, D, SIZE = 11, 7, 3  # three groups, the last of one input


@pytest.fixture
def gp(rng):
    """Data, parameters as training sees them, and the dense covariances of the components."""
    x, y = rng.uniform(size=(N, D)), rng.normal(size=N)
    flat = additive.initial_params(3, SIZE) + 0.3 * rng.normal(size=13)
    return x, y, flat


def dense(flat, group, a, b):
    columns = slice(SIZE * group, min(SIZE * (group + 1), D))
    ell = np.exp(flat[: 3 * SIZE])[columns]
    return np.exp(flat[3 * SIZE + group]) * laws.matern52(a[:, columns], b[:, columns], ell)


def whole(flat, a, b):
    return sum(dense(flat, group, a, b) for group in range(3))


@pytest.mark.parametrize("rows", [N, 20])
def test_likelihood_is_that_of_the_summed_kernel(gp, rows):
    x, y, flat = gp
    covariance = whole(flat, x, x) + np.exp(flat[-1]) * np.eye(N)
    expected = multivariate_normal(np.zeros(N), covariance).logpdf(y)
    assert additive.infer(flat, additive.make_data(x, y, SIZE, rows))[0] == pytest.approx(
        expected, abs=1e-9
    )


@pytest.mark.parametrize("rows", [N, 20])
def test_components_match_dense_algebra_and_sum_to_the_whole(gp, rows, rng):
    x, y, flat = gp
    _, posterior = additive.infer(flat, additive.make_data(x, y, SIZE, rows))
    new = rng.uniform(size=(5, D))
    solve = np.linalg.inv(whole(flat, x, x) + np.exp(flat[-1]) * np.eye(N))
    total = np.zeros(5)
    for group in range(3):
        values = additive.grouped(new, SIZE)[:, group]
        mean, variance = additive.predict(posterior, np.asarray(group), values)
        cross = dense(flat, group, new, x)
        np.testing.assert_allclose(mean, cross @ solve @ y, atol=1e-9)
        prior = np.exp(flat[3 * SIZE + group])
        np.testing.assert_allclose(
            variance, prior - np.sum(cross @ solve * cross, axis=1), atol=1e-9
        )
        total += np.asarray(mean)
        columns = np.asarray(additive.predict_with_gradients(posterior, np.asarray(group), values))
        np.testing.assert_allclose(columns[:, :2].T, [mean, variance], atol=1e-12)
        direction = rng.normal(size=SIZE)

        def mean_at(point, group=group):
            return additive.predict(posterior, np.asarray(group), point[None])[0][0]

        slope = laws.finite_difference(mean_at, values[0], direction)
        assert columns[0, 2 : 2 + SIZE] @ direction == pytest.approx(slope, rel=1e-6, abs=1e-8)
    np.testing.assert_allclose(total, whole(flat, new, x) @ solve @ y, atol=1e-9)


def test_leave_one_out_is_the_prediction_of_the_sum_from_the_other_points(gp):
    x, y, flat = gp
    _, posterior = additive.infer(flat, additive.make_data(x, y, SIZE, 20))
    mean, variance = additive.leave_one_out(posterior)
    covariance = whole(flat, x, x) + np.exp(flat[-1]) * np.eye(N)
    for i in range(N):
        rest = np.arange(N) != i
        weights = np.linalg.solve(covariance[np.ix_(rest, rest)], covariance[rest, i])
        assert mean[i] == pytest.approx(weights @ y[rest], abs=1e-9)
        expected = covariance[i, i] - weights @ covariance[rest, i]
        assert variance[i] == pytest.approx(expected, abs=1e-9)


def test_gradient_matches_finite_differences(gp, rng):
    x, y, flat = gp
    data = additive.make_data(x, y, SIZE)
    direction = rng.normal(size=flat.size)
    slope = laws.finite_difference(
        lambda flat: additive.evaluate(flat, data)[0], flat, direction, 1e-4
    )
    assert np.asarray(additive.evaluate(flat, data)[1]) @ direction == pytest.approx(
        slope, rel=1e-6
    )


def test_training_learns_a_sum(rng):
    x = rng.uniform(size=(60, 6))

    def f(x):
        return np.sin(5 * x[:, 0]) + (x[:, 2] - 0.3) ** 2 + x[:, 4] * x[:, 5]

    y, new = f(x), rng.uniform(size=(200, 6))
    posterior = additive.fit(additive.make_data(x, (y - y.mean()) / y.std(), 2)).posterior
    groups = additive.grouped(new, 2)
    mean = sum(
        np.asarray(additive.predict(posterior, np.asarray(g), groups[:, g])[0]) for g in range(3)
    )
    assert np.sqrt(np.mean((y.mean() + y.std() * mean - f(new)) ** 2)) < 0.1 * y.std()
