import numpy as np
import pytest
from scipy import stats

from infold.gp.outputs import PowerTransform, Standardization

SAMPLES = {
    "normal": lambda rng: rng.normal(size=200),
    "heavy right tail": lambda rng: np.exp(2 * rng.normal(size=200)),
    "heavy left tail": lambda rng: -np.exp(2 * rng.normal(size=200)),
    "huge": lambda rng: 1e12 * rng.normal(size=200) + 5e13,
}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("kind", [Standardization, PowerTransform])
def test_transformed_values_are_standard_and_come_back(name, kind, rng):
    y = SAMPLES[name](rng)
    transform = kind.of(y)
    s = transform.apply(y)
    assert np.mean(s) == pytest.approx(0.0, abs=1e-9)
    assert np.std(s) == pytest.approx(1.0)
    np.testing.assert_allclose(transform.invert(s), y, rtol=1e-6, atol=1e-9 * np.std(y))
    np.testing.assert_array_equal(np.argsort(s), np.argsort(y))


def test_power_matches_scipy(rng):
    y = rng.gamma(20.0, size=300)
    s = Standardization.of(y).apply(y)
    assert PowerTransform.of(y).power == pytest.approx(stats.yeojohnson_normmax(s), abs=1e-3)


def test_power_transform_reduces_skewness(rng):
    y = SAMPLES["heavy right tail"](rng)
    assert abs(stats.skew(PowerTransform.of(y).apply(y))) < 0.6 * abs(stats.skew(y))


@pytest.mark.parametrize("value", [0.0, 3.0, -1e300, 1e-300])
def test_constant_values_keep_their_place(value):
    y = np.full(5, value)
    for transform in (Standardization.of(y), PowerTransform.of(y)):
        assert np.all(np.isfinite(transform.apply(y)))
        np.testing.assert_allclose(transform.invert(transform.apply(y)), y)
