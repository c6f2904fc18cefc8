import jax
import numpy as np
import pytest
import scipy.optimize

from infold.acquisition.lipschitz import LipschitzBalls, LipschitzConstraint, lipschitz_balls
from infold.models.features import FittedFeatures, LearnedFeatures
from infold.models.full_space import FullSpaceGP
from infold.models.joint import joint
from infold.record import History


def fitted_features(rng, n=25, dimension=8, features=3) -> FittedFeatures:
    x = rng.uniform(size=(n, dimension))
    y = np.sin(x @ rng.normal(size=dimension))
    model = LearnedFeatures(n_features=features, training_iterations=30, weight_deviation=None)
    return model.fit(History(x, y), (0,), {})


@pytest.fixture
def region(rng) -> LipschitzBalls:
    return LipschitzBalls(rng.uniform(size=(30, 3)), rng.uniform(0.0, 0.15, size=30))


def test_no_output_moves_more_than_the_constant_allows(rng):
    with jax.enable_x64(True):
        fitted = fitted_features(rng)
        constant = LipschitzConstraint().around(fitted.surface, rng).constant

        def mean(z):
            return np.asarray(joint.decoder_mean(fitted.fit.model, fitted.posterior, z, 8))

        a = rng.uniform(size=(10_000, 3))
        near = np.clip(a + 0.01 * rng.normal(size=a.shape), 0, 1)
        for b in (rng.uniform(size=a.shape), near):
            moved = np.max(np.abs(mean(a) - mean(b)), axis=1)
            assert np.all(moved <= constant * np.sum(np.abs(a - b), axis=1) * (1 + 1e-9))


def test_constant_is_attained_not_invented(rng):
    """L is no larger than the largest slope of a dense sample, by more than its steps gain."""
    with jax.enable_x64(True):
        surface = fitted_features(rng).surface
        constant = LipschitzConstraint().around(surface, rng).constant
        near = np.repeat(surface.data, 400, axis=0) + 0.05 * rng.normal(size=(10_000, 3))
        dense = surface.slopes(np.clip(near, 0, 1)).slope
    assert 0.9 * dense.max() <= constant <= 1.5 * dense.max()


def test_gradients_of_the_slopes_match_finite_differences(rng):
    with jax.enable_x64(True):
        surface = fitted_features(rng).surface
        z = np.clip(surface.data + 0.02, 0.0, 1.0)
        direction = rng.normal(size=z.shape)
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        step = 1e-6
        ahead, behind = (surface.slopes(z + h * direction).slope for h in (step, -step))
        expected = (ahead - behind) / (2 * step)
        found = np.sum(surface.slopes(z).gradient * direction, axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_the_papers_constant_is_the_largest_slope_at_some_of_the_data(rng):
    with jax.enable_x64(True):
        surface = fitted_features(rng).surface
        z = surface.data
        slopes = surface.slopes(z).slope
        some = [lipschitz_balls(surface.slopes, z, rng, 50, n_slopes=3) for _ in range(20)]
        everywhere = LipschitzConstraint().around(surface, rng)
        all_data = LipschitzConstraint(n_slopes=1000).around(surface, rng)
    assert all_data.constant == pytest.approx(slopes.max(), rel=1e-12)
    for region in some:
        # At least two of the data are less steep.
        assert np.sum(slopes >= region.constant * (1 - 1e-12)) <= len(z) - 2
        assert np.min(np.abs(slopes / region.constant - 1.0)) < 1e-12
        assert region.constant <= everywhere.constant
        np.testing.assert_allclose(
            region.radii * region.constant, everywhere.radii * everywhere.constant
        )
    assert len({region.constant for region in some}) > 1


def test_a_model_without_a_decoder_is_named(rng):
    x = rng.uniform(size=(9, 3))
    with jax.enable_x64(True):
        fitted = FullSpaceGP().fit(History(x, x[:, 0]), (0,), {})
    with pytest.raises(ValueError, match="expected a model with a decoder, such as LearnedFeat"):
        LipschitzConstraint().around(fitted.surfaces[0], rng)


def test_projection_is_feasible_idempotent_and_leaves_feasible_points(region, rng):
    z = rng.uniform(-0.5, 1.5, size=(5000, 3))
    projected = region.project(z)
    assert np.all(region.contains(projected))
    np.testing.assert_allclose(region.project(projected), projected, atol=1e-12)
    inside = z[region.contains(z, tolerance=0.0)]
    assert len(inside) > 10
    np.testing.assert_array_equal(region.project(inside), inside)


def test_membership_is_the_papers_inequality(region, rng):
    z = rng.uniform(size=(500, 3))
    distance = np.linalg.norm(z[:, None] - region.centers[None], axis=-1)
    expected = distance.min(axis=1) <= region.radii[distance.argmin(axis=1)]
    np.testing.assert_array_equal(region.contains(z), expected)


def test_samples_are_feasible_and_reach_every_ball(region, rng):
    for samples in (region.sample(3000, rng), region.sample_inside(3000, rng)):
        assert samples.shape == (3000, 3)
        assert np.all(region.contains(samples))
    assert len(np.unique(region.nearest(samples)[0])) == 30


def test_projection_onto_one_ball_in_the_cube_matches_a_solver(rng):
    for _ in range(20):
        region = LipschitzBalls(rng.uniform(size=(1, 3)) ** 3, rng.uniform(0.05, 0.4, size=1))
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
        projected = region.project(z[None])[0]
        assert np.sum((projected - z) ** 2) <= result.fun + 1e-7
        assert region.contains(projected[None])[0]
