import numpy as np
import pytest
from scipy import stats

from infold.gp.outputs import PowerTransform, Standardization, without_outliers

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


@pytest.mark.parametrize("name", SAMPLES)
def test_values_end_five_interquartile_ranges_above_the_upper_quartile(name, rng):
    y = SAMPLES[name](rng)
    fence = np.quantile(y, 0.75) + 5.0 * stats.iqr(y)
    clipped = without_outliers(y)
    np.testing.assert_array_equal(clipped[y <= fence], y[y <= fence])
    np.testing.assert_allclose(clipped[y > fence], fence)
    assert np.any(y > fence) == (name == "heavy right tail")


@pytest.mark.parametrize("penalty", [1e2, 1e10, 1e308])
def test_how_large_a_penalty_is_does_not_matter(penalty, rng):
    y = rng.normal(size=40)
    y[3] = 50.0
    expected = PowerTransform.of(without_outliers(y)).apply(without_outliers(y))
    y[3] = penalty
    np.testing.assert_array_equal(PowerTransform.of(without_outliers(y)).apply(without_outliers(y)), expected)


def test_among_equal_values_nothing_is_an_outlier():
    y = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 7.0])
    np.testing.assert_array_equal(without_outliers(y), y)
