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


def test_in_symmetric_values_the_limit_is_five_interquartile_ranges_above_the_upper_quartile():
    y = np.concatenate([np.linspace(-1.0, 1.0, 101), [-1e3, 1e3]])
    limit = np.quantile(y, 0.75) + 5.0 * stats.iqr(y)
    np.testing.assert_allclose(without_outliers(y), np.minimum(y, limit))
    assert limit < 1e3


@pytest.mark.parametrize("name", SAMPLES)
def test_only_values_in_a_heavy_right_tail_are_clipped(name, rng):
    y = SAMPLES[name](rng)
    clipped = without_outliers(y)
    changed = clipped != y
    assert np.any(changed) == (name == "heavy right tail")
    assert np.all(clipped[changed] == np.max(clipped))
    assert np.all(y[changed] > np.max(clipped))
    assert np.mean(changed) < 0.25


@pytest.mark.parametrize("n_penalties", [1, 15])
@pytest.mark.parametrize("penalty", [1e2, 1e10, 1e308])
def test_how_large_penalties_are_does_not_matter(penalty, n_penalties, rng):
    y = rng.normal(size=40)
    transformed = []
    for value in (50.0, penalty):
        y[:n_penalties] = value
        clipped = without_outliers(y)
        transformed.append(PowerTransform.of(clipped).apply(clipped))
    np.testing.assert_array_equal(transformed[0], transformed[1])


def test_among_equal_values_the_smallest_sets_the_scale():
    y = np.array([1.0] * 8 + [0.5, 1e6])
    np.testing.assert_allclose(without_outliers(y), [1.0] * 8 + [0.5, 6.5])
    np.testing.assert_array_equal(without_outliers(np.array([1.0, 1.0, 7.0])), [1.0, 1.0, 7.0])


def test_the_largest_floats_are_no_trouble():
    y = np.array([-1e308, -1e308, 0.0, 1e308, 1e308])
    np.testing.assert_array_equal(without_outliers(y), y)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("kind", [Standardization, PowerTransform])
def test_log_slope_matches_finite_differences(name, kind, rng):
    y = SAMPLES[name](rng)
    transform = kind.of(y)
    step = 1e-5 * np.std(y)
    slope = (transform.apply(y + step) - transform.apply(y - step)) / (2 * step)
    np.testing.assert_allclose(transform.log_slope(y), np.log(slope), atol=1e-6)


@pytest.mark.parametrize(
    "y",
    [
        np.full(5, 3.0),
        np.full(5, 1e300),
        np.full(5, -1e-300),
        np.array([1e300, -1e300, 3e299, 0.0]),
        np.array([1e-300, -1e-300, 3e-301, 0.0]),
        np.array([1e300, 1e-300, 1.0, 0.0]),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [Standardization, PowerTransform])
def test_log_slope_is_finite_for_extreme_values(y, kind):
    transform = kind.of(y)
    for values in (y, np.array([1e300, -1e300, 1e-300, 0.0, 1.0])):
        slope = transform.log_slope(values)
        assert slope.shape == values.shape
        assert np.all(np.isfinite(slope))


@pytest.mark.parametrize("kind", [Standardization, PowerTransform])
def test_spread_is_the_distance_to_one_deviation_higher(kind, rng):
    transform = kind.of(np.exp(rng.normal(size=50)))
    mean, deviation = rng.normal(size=6), rng.uniform(size=6)
    centre, spread = transform.spread(mean, deviation)
    np.testing.assert_array_equal(centre, transform.invert(mean))
    np.testing.assert_allclose(transform.apply(centre + spread), mean + deviation, atol=1e-9)


def test_spread_of_a_standardization_is_exact():
    _, spread = Standardization(1e9, 2.0).spread(np.array([0.3]), np.array([1e-9]))
    assert spread[0] == 2e-9
