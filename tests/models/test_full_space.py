"""What the full-space GP can be told: how noisy values are, and that inputs are near each other."""

import numpy as np
import pytest

from infold.models.full_space import FullSpaceGP
from infold.record import History, Rounding

pytestmark = pytest.mark.usefixtures("x64")


def bowl(x):
    return np.sum((x - 0.4) ** 2, axis=-1)


def test_known_noise_is_used_in_the_units_of_the_values(rng):
    x = rng.uniform(size=(80, 3))
    y = 1000.0 * (bowl(x) + 0.1 * rng.normal(size=80))
    fitted = FullSpaceGP(transform=False, noise=100.0**2).fit(History(x, y), (0, 0), {})
    assert np.sqrt(fitted.noise) * fitted.outputs.deviation == pytest.approx(100.0)


def test_without_noise_values_are_interpolated(rng):
    x = rng.uniform(size=(40, 3))
    y = bowl(x)
    fitted = FullSpaceGP(noise=0.0, least_noise=1e-10).fit(History(x, y), (0, 0), {})
    mean, _ = fitted.predict(x)
    np.testing.assert_allclose(mean, fitted.targets, atol=1e-4)


@pytest.mark.parametrize("noise", [-1.0, np.nan, np.inf])
def test_noise_must_be_a_variance(noise):
    with pytest.raises(ValueError, match="noise = "):
        FullSpaceGP(noise=noise)


def test_improvement_is_measured_from_predictions_where_noise_matters(rng):
    x = rng.uniform(size=(60, 2))
    y = bowl(x) + 0.3 * rng.normal(size=60)
    seen = FullSpaceGP(transform=False).fit(History(x, y), (0, 0), {})
    model = FullSpaceGP(transform=False, smooths=True, noise=0.09)
    fitted = model.fit(History(x, y), (0, 0), {})
    predicted, _ = fitted.predict(x)
    assert seen.surface.y_min == np.min(seen.targets)
    assert fitted.surface.y_min == pytest.approx(np.min(predicted), abs=1e-9)
    np.testing.assert_array_equal(fitted.surface.promising[0], x[np.argmin(predicted)])


def test_improvement_is_measured_from_values_where_there_is_no_noise(rng):
    x = rng.uniform(size=(40, 2))
    fitted = FullSpaceGP(smooths=True, noise=0.0).fit(History(x, bowl(x)), (0, 0), {})
    assert fitted.surface.y_min == np.min(fitted.targets)


def test_local_model_is_the_same_at_every_scale(rng):
    """Far from the walls, shrinking inputs towards the best point shrinks lengthscales alike."""
    x = rng.uniform(0.2, 0.8, size=(50, 3))
    y = bowl(x)
    best = x[np.argmin(y)]
    near = best + 0.01 * (x - best)
    model = FullSpaceGP(local=True)
    wide, narrow = (model.fit(History(points, y), (0, 0), {}) for points in (x, near))
    ratio = narrow.surface.lengthscale / wide.surface.lengthscale
    np.testing.assert_allclose(ratio, 0.01, rtol=1e-3)
    new = rng.uniform(0.3, 0.7, size=(5, 3))
    np.testing.assert_allclose(
        narrow.predict(best + 0.01 * (new - best)), wide.predict(new), rtol=1e-3, atol=1e-5
    )


def test_discrete_coordinates_reach_as_far_as_they_can(rng):
    discrete = np.array([True, False, False])
    rounding = Rounding(discrete, lambda x: np.where(discrete, np.round(x), x))
    x = rounding.snap(0.5 + 0.01 * rng.normal(size=(30, 3)))
    fitted = FullSpaceGP(local=True).fit(History(x, bowl(x), rounding=rounding), (0, 0), {})
    extent = np.asarray(fitted.trained.posterior.data.extent)
    assert extent[0] == 1.0
    assert np.all(extent[1:] < 0.1)


def test_other_data_are_trained_on_from_a_fresh_start_too(rng):
    """A warm start far off ends in a poor optimum: here one that takes everything for noise."""
    x = rng.uniform(size=(60, 3))
    model = FullSpaceGP(noise_prior=(-9.0, 2.0), retrain=True)
    noisy = model.fit(History(x, rng.normal(size=60)), (0, 0), {})
    after = model.fit(History(x, 1e-3 * bowl(x)), (0, 0), noisy.state)
    fresh = model.fit(History(x, 1e-3 * bowl(x)), (0, 0), {})
    assert after.trained.log_likelihood > fresh.trained.log_likelihood - 1.0
