import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from tests import laws

from infold.acquisition import functions
from infold.acquisition.functions import Acquisition

pytestmark = pytest.mark.usefixtures("x64")


def exact_log_h(u: float) -> float:
    with mpmath.workdps(60):
        u = mpmath.mpf(u)
        return float(mpmath.log(u * mpmath.ncdf(u) + mpmath.npdf(u)))


def exact_log_ndtr(u: float) -> float:
    with mpmath.workdps(60):
        return float(mpmath.log(mpmath.erfc(-mpmath.mpf(u) / mpmath.sqrt(2)) / 2))


@pytest.mark.parametrize(("mean", "variance", "y_min"), [(0.0, 1.0, 0.5), (2.0, 0.3, 1.0), (-1.0, 4.0, -1.0)])
def test_ei_and_pi_match_numerical_integration(mean, variance, y_min):
    density = norm(mean, np.sqrt(variance)).pdf
    ei = quad(lambda f: (y_min - f) * density(f), -np.inf, y_min)[0]
    pi = quad(density, -np.inf, y_min)[0]
    arguments = [np.array(v) for v in (mean, variance, y_min)]
    assert functions.expected_improvement(*arguments) == pytest.approx(ei, rel=1e-7)
    assert functions.probability_of_improvement(*arguments) == pytest.approx(pi, rel=1e-7)


@pytest.mark.parametrize("u", [-1e5, -1e4, -1000.0, -50.0, -20.01, -19.99, -5.0, -1.001, -0.999, 0.0, 3.0, 50.0, 1e4])
def test_log_forms_match_high_precision(u):
    assert functions.log_h(np.array(u)) == pytest.approx(exact_log_h(u), rel=1e-10)
    log_pi = functions.log_probability_of_improvement(np.array(-u), np.array(1.0), np.array(0.0))
    assert log_pi == pytest.approx(exact_log_ndtr(u), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("u", [-1e4, -1000.0, -50.0, -20.01, -19.99, -5.0, -1.001, -0.999, 0.0, 3.0, 50.0, 1e4])
def test_gradient_of_log_forms_matches_high_precision(u):
    with mpmath.workdps(60):
        m = mpmath.mpf(u)
        phi, cdf = mpmath.npdf(m), mpmath.erfc(-m / mpmath.sqrt(2)) / 2
        ei, pi = float(cdf / (m * cdf + phi)), float(phi / cdf)
    assert jax.grad(functions.log_h)(jnp.array(u)) == pytest.approx(ei, rel=1e-7)
    log_pi = lambda u: functions.log_probability_of_improvement(-u, jnp.ones(()), jnp.zeros(()))  # noqa: E731
    assert jax.grad(log_pi)(jnp.array(u)) == pytest.approx(pi, rel=1e-6, abs=1e-300)


@pytest.mark.parametrize("name", functions.NAMES)
def test_gradients_match_finite_differences(name):
    acquisition = Acquisition(name=name)
    value = lambda v: functions.evaluate(acquisition, *jnp.asarray(v), jnp.array(-0.4))  # noqa: E731
    point, direction = np.array([0.3, 0.8]), np.array([0.6, -0.7])
    assert jax.grad(value)(point) @ direction == pytest.approx(laws.finite_difference(value, point, direction), rel=1e-7)


def test_ucb_is_minus_mean_plus_beta_deviations():
    value = functions.evaluate(Acquisition(name="ucb"), np.array(2.0), np.array(9.0), np.array(0.0))
    assert value == pytest.approx(-2.0 + np.sqrt(3.0) * 3.0)


def test_unknown_acquisition_is_named():
    with pytest.raises(ValueError, match="acquisition = 'eii': expected one of ei, pi, ucb"):
        Acquisition(name="eii")
