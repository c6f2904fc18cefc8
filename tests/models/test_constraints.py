"""GPs of constraints against the same GPs one by one, SciPy and finite differences."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy import stats

from infold.acquisition.feasibility import _EDGE, Feasibility, _log_improvement
from infold.gp.outputs import AsinhTransform, without_outliers
from infold.gp.training import Start, train, train_together
from infold.models import regression
from infold.models.constraints import FittedConstraints, fit_constraints
from infold.models.full_space import FullSpaceGP
from infold.models.together import _GP, _NOISE_PRIOR
from infold.record import History

D = 3


def history_of(rng: np.random.Generator, n: int = 25, n_pending: int = 0) -> History:
    x = rng.uniform(size=(n, D))
    c = np.stack([x[:, 0] - 0.5, np.sin(4.0 * x[:, 1]) - 0.4 + x[:, 2]], axis=1)
    c[3, 0] = np.nan
    y = np.sum(x, axis=1)
    y[[3, 5]] = np.nan
    return History(x, y, rng.uniform(size=(n_pending, D)), constraints=c)


def fitted_to(history: History) -> FittedConstraints:
    surface = FullSpaceGP().fit(history, (0,), {}).surfaces[0]
    return fit_constraints(history, surface, {})


@pytest.fixture(scope="module")
def fitted() -> FittedConstraints:
    return fitted_to(history_of(np.random.default_rng(0)))


def test_the_batch_predicts_what_each_gp_predicts_alone(fitted, rng):
    history = history_of(np.random.default_rng(0))
    z = rng.uniform(size=(7, D))
    mean, variance = fitted.predict(z)
    for k in range(2):
        known = np.isfinite(history.constraints[:, k])
        transform = AsinhTransform.of(history.constraints[known, k])
        with jax.enable_x64(True):
            data = regression.make_data(
                history.x[known],
                transform.apply(history.constraints[known, k]),
                extent=np.asarray(fitted.posterior.batch.extent),
                noise_prior=_NOISE_PRIOR,
            )
            posterior = regression.evaluate(_GP, fitted.flat[k], data)[2]
            alone = regression.predict(_GP, posterior, z)
        np.testing.assert_allclose(mean[k], alone[0], atol=1e-9)
        np.testing.assert_allclose(variance[k], alone[1], atol=1e-7)  # a line is nearly known
        assert fitted.limits[k] == transform.limit


def test_training_together_takes_the_steps_of_training_alone(rng):
    matrices = [np.diag(rng.uniform(0.5, 20.0, size=4)) for _ in range(3)]
    centres = rng.normal(size=(3, 4))

    def loss(i: int, x: np.ndarray) -> tuple:
        way = x - centres[i]
        return float(way @ matrices[i] @ way), 2.0 * matrices[i] @ way, i

    def together(x: np.ndarray) -> tuple:
        values, gradients, _ = zip(*(loss(i, row) for i, row in enumerate(x)), strict=True)
        return np.array(values), np.stack(gradients), x.copy()

    limits = (np.full(4, -0.7), np.full(4, 5.0))
    starts = [Start("fresh", np.ones(4), 4 + 3 * i) for i in range(3)]
    trained, posterior = train_together(together, starts, limits)
    for i, (start, found) in enumerate(zip(starts, trained, strict=True)):
        alone = train(lambda x, i=i: loss(i, x), [start], limits)
        np.testing.assert_array_equal(found.flat, alone.flat)
        np.testing.assert_array_equal(found.curvature, alone.curvature)
        assert found.n_likelihoods == alone.n_likelihoods
        np.testing.assert_array_equal(posterior[i], alone.flat)


def test_log_probability_of_feasibility_matches_scipy_and_its_gradient_finite_differences(rng):
    history = history_of(rng)
    noise = rng.normal(size=history.constraints.shape)
    fitted = fitted_to(replace(history, constraints=history.constraints + noise))
    feasibility = Feasibility(fitted, True)
    z = rng.uniform(0.1, 0.9, size=(6, D))
    mean, variance = fitted.predict(z)
    deviation = np.sqrt(variance + _EDGE)
    expected = stats.norm.logcdf(fitted.limits[:, None], mean, deviation).sum(axis=0)
    value, gradient = feasibility.value_and_gradient(z)
    np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(feasibility.value(z), expected, rtol=1e-9, atol=1e-12)
    for j in range(D):
        step = 1e-5 * np.eye(D)[j]
        ahead, behind = feasibility.value(z + step), feasibility.value(z - step)
        np.testing.assert_allclose(gradient[:, j], (ahead - behind) / 2e-5, rtol=1e-4, atol=1e-5)


def test_it_knows_where_the_constraints_are_satisfied(fitted, rng):
    z = rng.uniform(size=(300, D))
    probability = np.exp(Feasibility(fitted, True).value(z))
    satisfied = (z[:, 0] <= 0.5) & (np.sin(4.0 * z[:, 1]) - 0.4 + z[:, 2] <= 0.0)
    assert np.mean((probability > 0.5) == satisfied) > 0.9


def test_pending_points_are_conditioned_on_what_is_predicted_there():
    history = history_of(np.random.default_rng(1), n_pending=2)
    fitted = fitted_to(history)
    told = fitted.condition(history.everywhere)
    before, after = fitted.predict(history.pending), told.predict(history.pending)
    np.testing.assert_allclose(after[0], before[0], atol=0.05)
    assert np.all(after[1] <= before[1])
    assert np.all(after[1][1] < before[1][1])  # the first, a line, is known without them
    assert fitted.condition(history.x) is fitted


def test_while_nothing_is_feasible_a_pending_point_promises_nothing(rng):
    x = rng.uniform(0.5, 1.0, size=(20, D))
    history = History(x, np.ones(20), np.full((1, D), 0.1), constraints=(x[:, :1] - 0.3))
    fitted = fitted_to(history)
    told = fitted.condition(history.everywhere)
    near = Feasibility(told, True).value(history.pending)
    assert near[0] < np.log(0.6)
    assert told.least_violation < fitted.least_violation


def test_improvement_of_the_violation_matches_sampling_and_its_gradient_finite_differences(rng):
    mean, variance = rng.normal(size=(3, 5)), rng.uniform(0.1, 1.0, size=(3, 5))
    found = _log_improvement(mean, variance, 1.5)
    draws = mean + np.sqrt(variance) * rng.normal(size=(200_000, 3, 5))
    violation = np.sum(np.maximum(draws, 0.0), axis=1)
    total, spread = violation.mean(axis=0), violation.std(axis=0)
    u = (1.5 - total) / spread
    expected = spread * (u * stats.norm.cdf(u) + stats.norm.pdf(u))
    np.testing.assert_allclose(np.exp(found.value), expected, rtol=0.02)
    for k in range(3):
        for array, slope in ((mean, found.in_mean), (variance, found.in_variance)):
            step = np.zeros((3, 1))
            step[k] = 1e-6
            moved = [
                _log_improvement(
                    mean + (s * step if array is mean else 0.0),
                    variance + (s * step if array is variance else 0.0),
                    1.5,
                ).value
                for s in (1.0, -1.0)
            ]
            np.testing.assert_allclose(slope[k], (moved[0] - moved[1]) / 2e-6, rtol=1e-5, atol=1e-8)


def test_an_evaluation_that_left_nothing_is_avoided_and_a_constraint_never_seen_is_none(rng):
    x = rng.uniform(size=(12, D))
    c = np.stack([x[:, 0] - 2.0, np.full(12, np.nan)], axis=1)
    c[4] = np.nan
    y = np.where(np.arange(12) == 4, np.nan, 1.0)
    fitted = fitted_to(History(x, y, constraints=c))
    batch = fitted.posterior.batch
    assert np.asarray(batch.mask)[:, :12].sum(axis=1).tolist() == [12, 1]
    assert np.asarray(batch.y)[0, 4] == np.max(np.asarray(batch.y)[0])
    assert np.all(np.isfinite(fitted.predict(x)))


@pytest.mark.parametrize("worst", [0.6, -0.2])
def test_an_unknown_constraint_beside_a_value_is_a_violation_unless_others_always_are(worst, rng):
    x = rng.uniform(size=(12, D))
    c = np.stack([worst - x[:, 0], x[:, 1] - 0.9], axis=1)
    c[4:6, 0] = np.nan
    c[4:6, 1] = 0.5
    for satisfied, n_known in (([], 10), ([4], 12)):
        c[satisfied, 1] = -0.5
        fitted = fitted_to(History(x, np.sum(x, axis=1), constraints=c))
        y, mask = np.asarray(fitted.posterior.batch.y)[0], np.asarray(fitted.posterior.batch.mask)
        assert mask[:, :12].sum(axis=1).tolist() == [n_known, 12]
    assert y[4] == y[5] == np.max(y[:12])
    assert y[4] > fitted.limits[0]


@pytest.mark.parametrize(
    "c", [[-3.0, 2.0, 1e6], [-1e-9, 1e-9], [0.0, 0.0], [-5.0], [-1e308, 1e308]]
)
def test_the_transform_of_constraints_is_finite_and_keeps_their_signs(c):
    transform = AsinhTransform.of(np.array(c))
    values = transform.apply(np.array(c))
    assert np.all(np.isfinite(values))
    np.testing.assert_array_equal(np.sign(values - transform.limit), np.sign(c))


def test_the_transform_of_constraints_is_smooth_at_zero_and_nearly_a_line_around_it(rng):
    c = rng.normal(size=200)
    transform = AsinhTransform.of(c)
    inner = np.linspace(-1.0, 1.0, 201) * np.quantile(np.abs(c), 0.75)
    slopes = np.diff(transform.apply(inner))
    assert np.min(slopes) > 0.9 * np.max(slopes)
    assert np.max(np.abs(np.diff(slopes))) < 2e-3 * np.max(slopes)


def test_the_values_of_feasible_points_are_not_cut_like_outliers():
    y = np.append(np.linspace(0.0, 1.0, 30), [100.0, 110.0, 120.0])
    feasible = y >= 100.0
    assert np.max(without_outliers(y)) < 100.0
    kept = without_outliers(y, keep=feasible)
    assert kept[-3:].tolist() == [100.0, 110.0, 110.0]
