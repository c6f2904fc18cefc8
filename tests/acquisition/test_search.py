import jax
import numpy as np
import pytest
import scipy.optimize

from infold.acquisition import functions, search
from infold.acquisition.lipschitz import LipschitzBalls, LipschitzConstraint
from infold.acquisition.regions import Cube
from infold.acquisition.search import Objective, Search
from infold.models.base import Surface
from infold.models.features import LearnedFeatures
from infold.models.full_space import FullSpaceGP
from infold.paper.trust_constr import TrustConstr, trust_constr
from infold.record import History, Rounding


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
    region = LipschitzBalls(np.array([[0.3, 0.3]]), np.array([0.1]))
    found = search.projected_ascent(
        concave(np.array([0.9, 0.9]), np.ones(2)),
        region.project,
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
    """A random fitted model's acquisition function, its region and feasible starts."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(40, 10))
    y = np.sin(3 * x @ rng.normal(size=10) / 3) + x[:, 0]
    model = LearnedFeatures(n_features=3, training_iterations=25, weight_deviation=None)
    surface = model.fit(History(x, y), (seed,), {}).surface
    region = LipschitzConstraint().around(surface, rng)
    objective = Objective(functions.by_name(functions.NAMES[seed % 3]), surface)
    return objective, region, region.sample_inside(100, rng)


def test_projected_search_is_as_good_as_trust_constr_in_19_of_20_models():
    as_good = 0
    with jax.enable_x64(True):
        for seed in range(20):
            objective, region, starts = constrained_problem(seed)
            value_and_gradient = objective.value_and_gradient
            ours = search.projected_ascent(value_and_gradient, region.project, starts)
            assert region.contains(ours.point[None])[0]
            # The reference is slow: it gets the ten best of the same starts.
            best = starts[np.argsort(value_and_gradient(starts)[0])[-10:]]
            reference = trust_constr(value_and_gradient, region, best)
            # Of log EI and log PI 1e-3 is a relative error of EI and PI.
            scale = 1.0 if seed % 3 < 2 else abs(reference.value)
            as_good += ours.value >= reference.value - 1e-3 * scale
    assert as_good >= 19


def test_the_study_follows_the_best_starts_and_finds_what_all_of_them_find():
    as_good = 0
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        for seed in range(6):
            objective, region, starts = constrained_problem(seed)
            starts = search.best_starts(objective.value, starts, 15)
            one = TrustConstr(n_followed=1).climb(objective, region, starts, rng)
            few = TrustConstr().climb(objective, region, starts, rng)
            every = trust_constr(objective.value_and_gradient, region, starts)
            assert region.contains(few.point[None])[0]
            assert one.value <= few.value
            as_good += few.value >= every.value - 5e-3  # of log EI, log PI or a deviation
    assert as_good >= 5


class Bumps(Surface):
    """A surface without gradients; log EI is largest where the mean, a paraboloid, is smallest."""

    def __init__(self, center: np.ndarray, rounding: Rounding | None = None) -> None:
        self.center = center
        self.upper = np.ones(len(center))
        self.data = np.zeros((1, len(center)))
        self.promising = self.data
        self.y_min = 0.0
        self.rounding = rounding

    def predict(self, z):
        return np.sum((z - self.center) ** 2, axis=1), np.ones(len(z))


def test_a_surface_without_gradients_is_searched_all_the_same(rng):
    center = np.array([0.3, 0.8, 0.5])
    objective = Objective(functions.by_name("ei"), Bumps(center))
    found = Search(n_candidates=500, n_starts=20).maximize(objective, Cube(np.ones(3)), rng)
    np.testing.assert_allclose(found.point, center, atol=0.02)


def test_discrete_coordinates_stay_where_they_can_be_evaluated(rng):
    """Without gradients too: only candidates, which are snapped, move them."""

    def snap(z):
        return np.column_stack([np.round(4 * z[:, 0]) / 4, z[:, 1:]])

    rounding = Rounding(np.array([True, False]), snap)
    objective = Objective(functions.by_name("ei"), Bumps(np.array([0.3, 0.8]), rounding))
    found = Search(n_candidates=500, n_starts=20).maximize(objective, Cube(np.ones(2)), rng)
    assert found.point[0] == 0.25
    assert found.point[1] == pytest.approx(0.8, abs=0.02)


def test_a_coordinate_whose_limit_is_zero_is_not_searched(rng):
    cube = Cube(np.array([1.0, 0.0]))
    objective = Objective(functions.by_name("ei"), Bumps(np.array([0.3, 0.8])))
    assert np.all(cube.contains(cube.sample(50, rng)))
    assert Search(n_candidates=100, n_starts=9).maximize(objective, cube, rng).point[1] == 0.0


def test_the_best_evaluation_can_be_a_candidate(rng):
    surface = Bumps(np.array([0.3, 0.8]))
    surface.promising = surface.center[None]
    objective = Objective(functions.by_name("ei"), surface)
    found = Search(n_candidates=2, n_starts=1, keep_best=True).maximize(
        objective, Cube(np.ones(2)), rng
    )
    np.testing.assert_array_equal(found.point, surface.center)


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
            fitted = FullSpaceGP(transform=False).fit(History(x, y), (0,), {})
            objective = Objective(functions.by_name("ei"), fitted.surfaces[0], batch=8)
            value_and_gradient = objective.value_and_gradient
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


def test_points_that_do_not_win_are_kept_with_the_best_first(rng):
    center = np.array([0.3, 0.8])
    found = search.projected_ascent(
        concave(center, np.ones(2)), lambda z: np.clip(z, 0, 1), rng.uniform(size=(6, 2))
    )
    values = [other.value for other in found.others]
    assert len(values) == 11  # where the others arrived, and where all began
    assert values == sorted(values, reverse=True)
    assert found.value >= values[0]
    for other in found.others:
        assert other.value == pytest.approx(-np.sum((other.point - center) ** 2), abs=1e-12)


def test_known_places_are_no_candidates_while_there_are_others(rng):
    """Those that the surface is fitted to, or all that are given: it may be fitted to a part."""
    center = np.array([0.0, 0.0])
    whole = Rounding(np.array([True, True]), np.round)
    surface = Bumps(center, whole)  # fitted to the best corner
    objective = Objective(functions.by_name("ei"), surface)
    cube = Cube(np.ones(2))
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    effort = Search(n_candidates=99, n_starts=3)
    assert np.sum(effort.maximize(objective, cube, rng).point) == 1.0
    assert np.sum(effort.maximize(objective, cube, rng, corners[:3]).point) == 2.0
    assert np.sum(effort.maximize(objective, cube, rng, corners).point) == 0.0
