"""Improvement of several objectives against sampling, quadrature and finite differences."""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

from infold.acquisition.several import _STEPS, ChebyshevImprovement
from infold.models.full_space import FullSpaceGP
from infold.models.objectives import FittedObjectives, fit_objectives
from infold.objectives import Draw, with_draw
from infold.record import History

D = 2


def fitted_to(weights, n_pending: int = 0) -> tuple[History, FittedObjectives]:
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(20, D))
    y = np.stack([np.sum(x**2, axis=1), np.exp(np.sum((x - 1.0) ** 2, axis=1)), x[:, 0]], axis=1)
    y[3] = np.nan
    scalar = np.where(np.isnan(y[:, 0]), np.nan, 0.0)
    pending = rng.uniform(size=(n_pending, D))
    history = with_draw(History(x, scalar, pending, objectives=y), Draw(np.array(weights), False))
    surface = FullSpaceGP().fit(history, (0,), {}).surfaces[0]
    return history, fit_objectives(history, surface, {})


@pytest.fixture(scope="module")
def fitted() -> FittedObjectives:
    return fitted_to([0.3, 0.5, 0.2])[1]


def test_improvement_matches_sampling(fitted, rng):
    start = fitted.limits(np.array([fitted.least]))
    mean = start + rng.uniform(-1.0, 0.5, size=(3, 5))
    variance = rng.uniform(0.05, 0.5, size=(3, 5))
    draws = mean + np.sqrt(variance) * rng.normal(size=(200_000, 3, 5))
    values = np.stack([t.invert(draws[:, k]) for k, t in enumerate(fitted.transforms)], axis=-1)
    worst = fitted.scalarization.worst(values.reshape(-1, 3)).reshape(-1, 5)
    gains = np.clip(fitted.least - worst, 0.0, 1.0)
    error = gains.std(axis=0) / np.sqrt(len(gains))
    improvement = ChebyshevImprovement(fitted)
    fine, coarse = (
        np.sum(np.exp(grid.log_terms(mean, variance).terms), axis=0)
        for grid in (improvement._fine, improvement._coarse)
    )
    assert np.all(np.abs(fine - gains.mean(axis=0)) < 4.0 * error + 0.01 * fine)
    np.testing.assert_allclose(coarse, fine, rtol=0.1)


def test_improvement_matches_quadrature_for_small_and_large_improvements(fitted, rng):
    for shift, deviation in ((0.0, 1e-3), (-0.5, 0.1), (1.0, 0.5)):
        start = fitted.limits(np.array([fitted.least]))
        mean = start + shift * deviation
        variance = np.full(mean.shape, deviation**2)

        def share(step, mean=mean, deviation=deviation):
            limits = fitted.limits(np.array([fitted.least - step]))
            return float(np.prod(stats.norm.cdf(limits, mean, deviation)))

        edges = itertools.pairwise([0.0, *np.geomspace(1e-9, 1.0, 30)])
        expected = sum(integrate.quad(share, a, b)[0] for a, b in edges)
        terms = ChebyshevImprovement(fitted)._fine.log_terms(mean, variance).terms
        np.testing.assert_allclose(np.sum(np.exp(terms)), expected, rtol=0.01)


def test_its_gradient_matches_finite_differences(fitted, rng):
    improvement = ChebyshevImprovement(fitted)
    z = rng.uniform(0.1, 0.9, size=(6, D))
    value, gradient = improvement.value_and_gradient(z)
    assert np.all(np.isfinite(value))
    for j in range(D):
        step = 1e-5 * np.eye(D)[j]
        ahead, behind = (improvement.value_and_gradient(z + s * step)[0] for s in (1, -1))
        np.testing.assert_allclose(gradient[:, j], (ahead - behind) / 2e-5, rtol=1e-3, atol=1e-4)


def test_pending_points_promise_little():
    history, fitted = fitted_to([0.5, 0.5, 0.0], n_pending=2)
    told = fitted.condition(history.everywhere)
    before = ChebyshevImprovement(fitted).value(history.pending)
    after = ChebyshevImprovement(told).value(history.pending)
    assert np.all(after < before)
    assert fitted.condition(history.x) is fitted


def test_an_objective_without_weight_is_ignored(rng):
    _, fitted = fitted_to([0.5, 0.5, 0.0])
    z = rng.uniform(size=(4, D))
    mean, variance = fitted.predict(z)
    terms, u, _ = ChebyshevImprovement(fitted)._fine.log_terms(mean, variance)
    possible = fitted.least > _STEPS
    assert np.all(u[2][possible] > 30.0)
    terms, u = terms[possible], u[:, possible]
    alone = np.sum(stats.norm.logcdf(u[:2]), axis=0)
    np.testing.assert_allclose(np.diff(terms, axis=1), np.diff(alone, axis=1), rtol=1e-9, atol=1e-9)
