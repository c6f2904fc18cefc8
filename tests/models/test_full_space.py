"""What the full-space GP can be told: noise, how near inputs are, how alike they matter."""

import numpy as np
import pytest
from scipy import stats

from infold.models import regression
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


def test_lengthscales_that_are_drawn_together_have_a_normal_prior_about_their_mean():
    """Beside the likelihood, the density of logarithms about their mean, and of that mean."""
    gp = FullSpaceGP(spread=0.3).gp
    x = np.random.default_rng(0).uniform(size=(12, 4))
    spread = np.append(np.full(4, 0.3), 1.5)
    wide, drawn = (regression.make_data(x, bowl(x), spread=s) for s in (None, spread))

    def log_prior(flat):
        """Return the prior as it is in `infer`: what is left without that of wide ones."""
        of_wide = stats.lognorm(np.sqrt(3), scale=np.exp(np.sqrt(2) + np.log(4) / 2))
        likelihood = regression.infer(gp, flat, wide)[0] - of_wide.logpdf(np.exp(flat[:4])).sum()
        return float(regression.infer(gp, flat, drawn)[0] - likelihood)

    def expected(logs):
        mean = np.mean(logs)
        return stats.norm(mean, 0.3).logpdf(logs).sum() + stats.norm(0.0, 1.5).logpdf(mean)

    one = np.array([0.1, -0.2, 0.4, 0.0, -5.0])
    other = np.array([1.0, 0.7, 0.9, 1.3, -5.0])
    difference = log_prior(one) - log_prior(other)
    assert difference == pytest.approx(expected(one[:4]) - expected(other[:4]), abs=1e-8)


def _matters_in_part(x):
    return np.sum((x[:, :3] - 0.4) ** 2, axis=1)


def test_the_smaller_the_spread_the_more_alike_are_lengthscales(rng):
    x = rng.uniform(size=(60, 12))
    history = History(x, _matters_in_part(x))
    deviations = []
    for spread in (0.1, 0.6, None):
        fitted = FullSpaceGP(spread=spread).fit(history, (0, 0), {})
        deviations.append(np.std(np.log(fitted.surface.lengthscale)))
    assert deviations[0] < 0.3
    assert deviations[0] < 0.5 * deviations[1] < 0.5 * deviations[2]


def test_lengthscales_drawn_together_predict_better_from_few_evaluations(rng):
    """Where all inputs matter about alike, as many free lengthscales explain chance."""
    gains = []
    for seed in range(5):
        draw = np.random.default_rng(seed)
        x, new = draw.uniform(size=(40, 20)), draw.uniform(size=(200, 20))
        errors = []
        for spread in (None, 0.15):
            model = FullSpaceGP(spread=spread, noise_prior=(-9.0, 2.0))
            fitted = model.fit(History(x, bowl(x)), (0, 0), {})
            mean = fitted.outputs.invert(fitted.predict(new)[0])
            errors.append(np.sqrt(np.mean((mean - bowl(new)) ** 2)))
        gains.append(errors[0] / errors[1])
    assert np.median(gains) > 1.1


def test_pending_points_leave_the_prior_as_it_is(rng):
    """The same program, with the same prior, conditions and trains."""
    x = rng.uniform(size=(30, 5))
    fitted = FullSpaceGP(spread=0.3).fit(History(x, bowl(x)), (0, 0), {})
    pending = fitted.condition(History(x, bowl(x), pending=rng.uniform(size=(2, 5))))
    np.testing.assert_array_equal(pending.posterior.data.spread, fitted.posterior.data.spread)


@pytest.mark.parametrize("spread", [0.0, -1.0, np.nan])
def test_spread_must_be_a_deviation(spread):
    with pytest.raises(ValueError, match="spread = "):
        FullSpaceGP(spread=spread)
