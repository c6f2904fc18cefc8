import numpy as np
import pytest
from scipy.stats import lognorm, multivariate_normal
from tests import laws

from infold.models import regression
from infold.models.regression import Regression

pytestmark = pytest.mark.usefixtures("x64")

FULL_SPACE = Regression(scaled_priors=True, learn_variance=False)
PLAIN = Regression()
EXTENT = np.array([0.1, 0.1, 1.0, 0.5])


def problem(rng, n=15, dimension=4):
    x = rng.uniform(size=(n, dimension))
    return x, np.sin(3 * x[:, 0]) + 0.1 * rng.normal(size=n)


def test_plain_objective_is_the_log_density_of_the_data(rng):
    x, y = problem(rng)
    flat = np.log([0.5, 1.0, 2.0, 0.7, 0.03, 1.7])
    covariance = 1.7 * laws.matern52(x, x, np.array([0.5, 1.0, 2.0, 0.7])) + 0.03 * np.eye(15)
    expected = multivariate_normal(np.zeros(15), covariance).logpdf(y)
    assert regression.infer(PLAIN, flat, regression.make_data(x, y))[0] == pytest.approx(
        expected, abs=1e-8
    )


@pytest.mark.parametrize(("extent", "prior"), [(np.ones(4), (-4.0, 1.0)), (EXTENT, (-9.0, 2.0))])
def test_priors_are_log_normal_densities_in_lengthscale_and_noise(extent, prior, rng):
    """Lengthscales are in units of how far the inputs reach."""
    x, y = problem(rng)
    data = regression.make_data(x, y, extent=extent, noise_prior=prior)
    values = []
    for ell, noise in (([0.5, 1.0, 2.0, 0.7], 0.03), ([3.0, 0.2, 1.0, 1.1], 0.2)):
        covariance = laws.matern52(x, x, np.array(ell)) + noise * np.eye(15)
        inverse = np.linalg.inv(covariance)
        mean = inverse.sum(axis=0) @ y / inverse.sum()
        expected = multivariate_normal(np.full(15, mean), covariance).logpdf(y)
        of_lengthscale = lognorm(np.sqrt(3), scale=np.exp(np.sqrt(2) + np.log(4) / 2))
        expected += of_lengthscale.logpdf(ell / extent).sum()
        expected += lognorm(prior[1], scale=np.exp(prior[0])).logpdf(noise)
        values.append(
            (float(regression.infer(FULL_SPACE, np.log([*ell, noise]), data)[0]), expected)
        )
    for got, expected in values:
        assert got == pytest.approx(expected, abs=1e-8)


def test_initial_parameters_are_the_modes_of_the_priors():
    data = regression.make_data(np.zeros((1, 60)), np.zeros(1))
    flat = regression.initial_params(FULL_SPACE, data)
    grid = np.linspace(flat[0] - 1, flat[0] + 1, 2001)
    density = lognorm(np.sqrt(3), scale=np.exp(np.sqrt(2) + np.log(60) / 2)).pdf(np.exp(grid))
    assert grid[np.argmax(density)] == pytest.approx(flat[0], abs=2e-3)


@pytest.mark.parametrize("settings", [PLAIN, FULL_SPACE])
def test_gradient_matches_finite_differences(settings, rng):
    data = regression.make_data(*problem(rng), size=20)
    flat = regression.initial_params(settings, data)
    flat = flat + 0.1 * rng.normal(size=len(flat))
    gradient = np.asarray(regression.evaluate(settings, flat, data)[1])

    def f(flat):
        return regression.evaluate(settings, flat, data)[0]

    direction = rng.normal(size=flat.size)
    assert gradient @ direction == pytest.approx(
        laws.finite_difference(f, flat, direction, 1e-4), rel=1e-6
    )


@pytest.mark.parametrize("settings", [PLAIN, FULL_SPACE])
def test_padded_and_unpadded_agree(settings, rng):
    x, y = problem(rng)
    flat = regression.initial_params(settings, regression.make_data(x, y))
    z = rng.uniform(size=(3, 4))
    results = []
    for size in (15, 64):
        data = regression.make_data(x, y, size=size)
        value, posterior = regression.infer(settings, flat, data)
        results.append([value, *regression.predict(settings, posterior, z)])
    for plain, padded in zip(*results, strict=True):
        np.testing.assert_allclose(padded, plain, atol=1e-10)


@pytest.mark.parametrize("settings", [PLAIN, FULL_SPACE])
def test_leave_one_out_is_the_prediction_from_the_other_points(settings, rng):
    x, y = problem(rng)
    flat = regression.initial_params(settings, regression.make_data(x, y))
    _, posterior = regression.infer(settings, flat, regression.make_data(x, y, size=20))
    mean, variance = regression.leave_one_out(settings, posterior)
    for i in range(15):
        rest = np.arange(15) != i
        _, others = regression.infer(settings, flat, regression.make_data(x[rest], y[rest]))
        expected_mean, expected_variance = regression.predict(settings, others, x[i : i + 1])
        assert mean[i] == pytest.approx(float(expected_mean[0]), abs=1e-9)
        assert variance[i] - others.params.noise == pytest.approx(
            float(expected_variance[0]), abs=1e-9
        )


@pytest.mark.parametrize("settings", [PLAIN, FULL_SPACE])
def test_training_finds_the_inputs_that_matter_and_predicts(settings, rng):
    x, y = problem(rng, n=60)
    data = regression.make_data(x, (y - y.mean()) / y.std())
    posterior = regression.fit(settings, data).posterior
    assert np.argmin(posterior.params.lengthscale) == 0
    new = rng.uniform(size=(200, 4))
    mean, _ = regression.predict(settings, posterior, new)
    truth = (np.sin(3 * new[:, 0]) - y.mean()) / y.std()
    assert np.sqrt(np.mean((np.asarray(mean) - truth) ** 2)) < 0.3
