import numpy as np
import pytest
from scipy.stats import norm

from infold.models.joint.warp import expected_squash, probit

pytestmark = pytest.mark.usefixtures("x64")


def test_probit_inverts_the_normal_cdf_and_is_finite_at_the_edges():
    x = np.linspace(0.001, 0.999, 101)
    np.testing.assert_allclose(norm.cdf(probit(x)), x, atol=1e-12)
    assert np.all(np.isfinite(probit(np.array([0.0, 1.0]))))


@pytest.mark.parametrize(("mean", "variance"), [(0.3, 0.5), (-2.0, 4.0), (1.5, 0.0)])
def test_expected_squash_matches_monte_carlo(mean, variance, rng):
    samples = norm.cdf(mean + np.sqrt(variance) * rng.normal(size=400_000))
    value = float(expected_squash(np.array([mean]), np.array([variance]))[0])
    assert value == pytest.approx(samples.mean(), abs=5 * samples.std() / np.sqrt(400_000) + 1e-9)
