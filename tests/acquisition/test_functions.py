import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from tests import laws

from infold.acquisition import functions
from infold.acquisition.functions import (
    ExpectedImprovement,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
)

EI = ExpectedImprovement()
PI = ProbabilityOfImprovement()


def exact_log_h(u: float) -> float:
    with mpmath.workdps(60):
        u = mpmath.mpf(u)
        return float(mpmath.log(u * mpmath.ncdf(u) + mpmath.npdf(u)))


def exact_log_ndtr(u: float) -> float:
    with mpmath.workdps(60):
        return float(mpmath.log(mpmath.erfc(-mpmath.mpf(u) / mpmath.sqrt(2)) / 2))


@pytest.mark.parametrize(
    ("mean", "variance", "y_min"), [(0.0, 1.0, 0.5), (2.0, 0.3, 1.0), (-1.0, 4.0, -1.0)]
)
def test_ei_and_pi_match_numerical_integration(mean, variance, y_min):
    density = norm(mean, np.sqrt(variance)).pdf
    ei = quad(lambda f: (y_min - f) * density(f), -np.inf, y_min)[0]
    pi = quad(density, -np.inf, y_min)[0]
    arguments = np.array([mean]), np.array([variance]), y_min
    assert np.exp(EI.evaluate(*arguments).value) == pytest.approx(ei, rel=1e-7)
    assert np.exp(PI.evaluate(*arguments).value) == pytest.approx(pi, rel=1e-7)


TAILS = [-1e5, -1e4, -1000.0, -50.0, -20.01, -19.99, -5.0, -1.001, -0.999, 0.0, 3.0, 50.0, 1e4]


@pytest.mark.parametrize("u", TAILS)
def test_log_forms_match_high_precision(u):
    assert functions.improvement(np.array([u]))[0] == pytest.approx(exact_log_h(u), rel=1e-10)
    log_pi = PI.evaluate(np.array([-u]), np.array([1.0]), 0.0).value
    assert log_pi == pytest.approx(exact_log_ndtr(u), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("u", TAILS)
def test_ratios_of_the_gradients_match_high_precision(u):
    with mpmath.workdps(60):
        m = mpmath.mpf(u)
        phi, cdf = mpmath.npdf(m), mpmath.erfc(-m / mpmath.sqrt(2)) / 2
        h = m * cdf + phi
        expected = float(cdf / h), float(phi / h), float(phi / cdf)
    _, in_u, in_sigma = functions.improvement(np.array([u]))
    in_mean = PI.evaluate(np.array([-u]), np.array([1.0]), 0.0).in_mean
    np.testing.assert_allclose(
        np.ravel([in_u, in_sigma, -in_mean]), expected, rtol=1e-9, atol=1e-300
    )


@pytest.mark.parametrize("name", functions.NAMES)
@pytest.mark.parametrize("y_min", [-0.4, 2.0, -30.0])
def test_gradients_match_finite_differences(name, y_min):
    acquisition = functions.by_name(name)

    def value(v):
        return acquisition.evaluate(*np.asarray(v)[:, None], y_min).value[0]

    point = np.array([0.3, 0.8])
    direction = np.array([0.6, -0.7])
    at = acquisition.evaluate(*point[:, None], y_min)
    expected = laws.finite_difference(value, point, direction)
    assert np.array([at.in_mean[0], at.in_variance[0]]) @ direction == pytest.approx(
        expected, rel=1e-6
    )


def test_ucb_is_minus_mean_plus_beta_deviations():
    for beta, expected in ((np.sqrt(3.0), -2.0 + np.sqrt(3.0) * 3.0), (0.5, -0.5)):
        function = UpperConfidenceBound(beta=beta)
        value = function.evaluate(np.array([2.0]), np.array([9.0]), 0.0).value
        assert value == pytest.approx(expected)


def test_unknown_acquisition_is_named():
    with pytest.raises(ValueError, match="acquisition = 'eii': expected one of ei, pi, ucb"):
        functions.by_name("eii")
