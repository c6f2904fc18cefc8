import jax
import numpy as np
import pytest
import scipy.optimize

from infold.acquisition import lipschitz, search
from infold.acquisition.functions import Acquisition
from infold.acquisition.lipschitz import Region
from infold.methods import FullSpace, feature_space
from infold.models import regression
from infold.models.joint import Encoder, FitSettings, JointModel, fit


def concave(center, scale):
    """A quadratic with its maximum at `center`, badly scaled."""

    def value_and_gradient(z):
        return -np.sum(scale * (z - center) ** 2, axis=1), -2 * scale * (z - center)

    return value_and_gradient


def test_finds_the_maximum_of_a_badly_scaled_quadratic_in_the_cube(rng):
    center, scale = np.array([0.2, 1.7, 0.5, -0.3]), np.array([1.0, 50.0, 1000.0, 3.0])
    found = search.projected_ascent(
        concave(center, scale), lambda z: np.clip(z, 0, 1), rng.uniform(size=(10, 4))
    )
    np.testing.assert_allclose(found.point, [0.2, 1.0, 0.5, 0.0], atol=1e-4)


def test_finds_the_point_of_a_ball_nearest_to_the_maximum(rng):
    region = Region(np.array([[0.3, 0.3]]), np.array([0.1]))
    found = search.projected_ascent(
        concave(np.array([0.9, 0.9]), np.ones(2)),
        lambda z: lipschitz.project(region, z),
        rng.uniform(size=(5, 2)),
    )
    np.testing.assert_allclose(found.point, 0.3 + 0.1 / np.sqrt(2), atol=1e-5)


def test_starts_that_are_not_finite_do_not_win(rng):
    def value_and_gradient(z):
        value, gradient = concave(np.full(2, 0.5), np.ones(2))(z)
        return np.where(z[:, 0] > 0.5, np.nan, value), gradient

    found = search.projected_ascent(
        value_and_gradient, lambda z: np.clip(z, 0, 1), rng.uniform(size=(20, 2))
    )
    assert np.isfinite(found.value)


def constrained_problem(seed: int):
    """A random fitted model, its region and its acquisition function."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(40, 10))
    y = np.sin(3 * x @ rng.normal(size=10) / 3) + x[:, 0]
    model = JointModel(encoder=Encoder(n_features=3))
    fitted = fit(x, y, model, key=seed, settings=FitSettings(max_iterations=25))
    posterior, acquisition = fitted.posterior, Acquisition(name=("ei", "pi", "ucb")[seed % 3])
    y_min = np.min(fitted.standardization.apply(y))
    _, region = feature_space.lipschitz_region(
        model, posterior, np.asarray(posterior.z)[:40], 10, rng
    )
    starts = lipschitz.sample(region, 100, rng)
    return (
        feature_space.search_objective(model, posterior, acquisition, y_min).value_and_gradient,
        region,
        starts,
    )


def test_projected_search_is_as_good_as_trust_constr_in_19_of_20_models():
    as_good = 0
    with jax.enable_x64(True):
        for seed in range(20):
            value_and_gradient, region, starts = constrained_problem(seed)
            ours = search.projected_ascent(
                value_and_gradient, lambda z, r=region: lipschitz.project(r, z), starts
            )
            assert lipschitz.contains(region, ours.point[None])[0]
            # The reference is slow: it gets the ten best of the same starts.
            best = starts[np.argsort(value_and_gradient(starts)[0])[-10:]]
            reference = search.trust_constr(value_and_gradient, region, best)
            logarithmic = (
                seed % 3 < 2
            )  # values are log EI and log PI, in which 1e-3 is a relative error of EI and PI
            as_good += ours.value >= reference.value - 1e-3 * (
                1.0 if logarithmic else abs(reference.value)
            )
    assert as_good >= 19


@pytest.mark.parametrize("n_starts", [1, 7])
def test_best_starts_are_the_best(n_starts, rng):
    candidates = rng.uniform(size=(50, 2))
    chosen = search.best_starts(lambda z: z[:, 0], candidates, n_starts)
    np.testing.assert_array_equal(np.sort(chosen[:, 0]), np.sort(candidates[:, 0])[-n_starts:])


def test_box_search_is_as_good_as_lbfgsb_from_the_same_starts():
    """Log EI of a GP on 20 inputs, five random data sets."""
    as_good = 0
    with jax.enable_x64(True):
        for seed in range(5):
            rng = np.random.default_rng(seed)
            x = rng.uniform(size=(40, 20))
            y = np.sum((x - 0.4) ** 2, axis=1)
            data = regression.make_data(x, (y - y.mean()) / y.std())
            posterior = regression.fit(FullSpace().gp, data).extra
            value_and_gradient = (
                FullSpace()._objective(posterior, np.min(data.y)).value_and_gradient
            )
            starts = rng.uniform(size=(8, 20))
            ours = search.projected_ascent(
                value_and_gradient, lambda z: np.clip(z, 0, 1), starts, max_iterations=100
            )
            theirs = max(
                -scipy.optimize.minimize(
                    lambda z, f=value_and_gradient: tuple(-v[0] for v in f(z[None])),
                    start,
                    jac=True,
                    method="L-BFGS-B",
                    bounds=[(0, 1)] * 20,
                ).fun
                for start in starts
            )
            as_good += ours.value >= theirs - 1e-3
    assert as_good >= 4
