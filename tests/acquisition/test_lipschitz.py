import functools

import jax
import numpy as np
import pytest
import scipy.optimize

from infold.acquisition import lipschitz
from infold.acquisition.lipschitz import Region
from infold.methods import feature_space
from infold.models.joint import Encoder, FitSettings, JointModel, fit
from infold.models.joint.fit import Fit


def fitted_model(rng, n=25, dimension=8, features=3) -> Fit:
    x = rng.uniform(size=(n, dimension))
    y = np.sin(x @ rng.normal(size=dimension))
    model = JointModel(encoder=Encoder(n_features=features))
    return fit(x, y, model, key=0, settings=FitSettings(max_iterations=30))


@pytest.fixture
def region(rng) -> Region:
    return Region(rng.uniform(size=(30, 3)), rng.uniform(0.0, 0.15, size=30))


def test_no_output_moves_more_than_the_constant_allows(rng):
    fitted = fitted_model(rng)
    with jax.enable_x64(True):
        constant, _ = feature_space.lipschitz_region(
            fitted.model, fitted.posterior, fitted_features(fitted), 8, rng
        )
        mean = lambda z: np.asarray(
            feature_space.joint.decoder_mean(fitted.model, fitted.posterior, z, 8)
        )
        a = rng.uniform(size=(10_000, 3))
        near = np.clip(a + 0.01 * rng.normal(size=a.shape), 0, 1)
        for b in (rng.uniform(size=a.shape), near):
            moved = np.max(np.abs(mean(a) - mean(b)), axis=1)
            assert np.all(moved <= constant * np.sum(np.abs(a - b), axis=1) * (1 + 1e-9))


def test_constant_is_attained_not_invented(rng):
    """L is the slope at some point: no larger than the largest of a dense sample near the data, by more than its steps gain."""
    fitted = fitted_model(rng)
    with jax.enable_x64(True):
        constant, _ = feature_space.lipschitz_region(
            fitted.model, fitted.posterior, fitted_features(fitted), 8, rng
        )
        z = np.clip(
            np.repeat(fitted_features(fitted), 400, axis=0) + 0.05 * rng.normal(size=(10_000, 3)),
            0,
            1,
        )
        dense = np.asarray(feature_space._survey(fitted.model, fitted.posterior, z, 8))[:, 0]
    assert 0.9 * dense.max() <= constant <= 1.5 * dense.max()


def test_the_papers_constant_is_the_largest_slope_at_some_of_the_data(rng):
    fitted = fitted_model(rng)
    z = fitted_features(fitted)
    with jax.enable_x64(True):
        region = functools.partial(
            feature_space.lipschitz_region, fitted.model, fitted.posterior, z, 8
        )
        slopes = np.asarray(feature_space._survey(fitted.model, fitted.posterior, z, 8))[:, 0]
        constants, regions = zip(*(region(rng, n_slopes=3) for _ in range(20)), strict=True)
        everywhere, smaller = region(rng)
        assert region(rng, n_slopes=1000)[0] == pytest.approx(slopes.max(), rel=1e-12)
    for constant, larger in zip(constants, regions, strict=True):
        assert (
            np.sum(slopes >= constant * (1 - 1e-12)) <= len(z) - 2
        )  # at least two of the data are less steep
        assert np.min(np.abs(slopes / constant - 1.0)) < 1e-12
        assert constant <= everywhere
        np.testing.assert_allclose(larger.radii * constant, smaller.radii * everywhere)
    assert len(set(constants)) > 1


def fitted_features(fitted: Fit) -> np.ndarray:
    return np.asarray(fitted.posterior.z)[np.asarray(fitted.posterior.mask)]


def test_projection_is_feasible_idempotent_and_leaves_feasible_points(region, rng):
    z = rng.uniform(-0.5, 1.5, size=(5000, 3))
    projected = lipschitz.project(region, z)
    assert np.all(lipschitz.contains(region, projected))
    np.testing.assert_allclose(lipschitz.project(region, projected), projected, atol=1e-12)
    inside = z[lipschitz.contains(region, z, tolerance=0.0)]
    assert len(inside) > 10
    np.testing.assert_array_equal(lipschitz.project(region, inside), inside)


def test_membership_is_the_papers_inequality(region, rng):
    z = rng.uniform(size=(500, 3))
    distance = np.linalg.norm(z[:, None] - region.centers[None], axis=-1)
    expected = distance.min(axis=1) <= region.radii[distance.argmin(axis=1)]
    np.testing.assert_array_equal(lipschitz.contains(region, z), expected)


def test_samples_are_feasible_and_reach_every_ball(region, rng):
    samples = lipschitz.sample(region, 3000, rng)
    assert np.all(lipschitz.contains(region, samples))
    assert len(np.unique(lipschitz.nearest(region, samples)[0])) == 30


def test_projection_onto_one_ball_in_the_cube_matches_a_solver(rng):
    for _ in range(20):
        region = Region(rng.uniform(size=(1, 3)) ** 3, rng.uniform(0.05, 0.4, size=1))
        z = rng.uniform(-1, 2, size=3)
        result = scipy.optimize.minimize(
            lambda p, z=z: np.sum((p - z) ** 2),
            region.centers[0],
            method="SLSQP",
            bounds=[(0, 1)] * 3,
            constraints={
                "type": "ineq",
                "fun": lambda p, r=region: r.radii[0] ** 2 - np.sum((p - r.centers[0]) ** 2),
            },
            options={"ftol": 1e-14, "maxiter": 500},
        )
        projected = lipschitz.project(region, z[None])[0]
        assert np.sum((projected - z) ** 2) <= result.fun + 1e-7
        assert lipschitz.contains(region, projected[None])[0]
