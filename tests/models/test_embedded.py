import numpy as np
import pytest

from infold.methods import by_name
from infold.models.embedded import (
    RandomSubspace,
    from_subspace,
    located,
    random_basis,
    to_subspace,
)
from infold.record import History, Proposal

CHEAP = {"n_candidates": 50, "n_starts": 5, "search_iterations": 3}


@pytest.mark.parametrize(("dimension", "features"), [(60, 10), (12, 3), (5, 5)])
def test_map_stays_in_the_box_and_inverts_on_the_subspace(dimension, features, rng):
    a = random_basis(dimension, features, 3)
    np.testing.assert_allclose(a.T @ a, np.eye(features), atol=1e-12)
    inner = 0.5 + 0.05 * rng.normal(size=(200, features))  # nothing is clipped
    np.testing.assert_allclose(to_subspace(a, from_subspace(a, inner)), inner, atol=1e-10)
    anywhere = rng.uniform(size=(200, features))
    x = from_subspace(a, anywhere)
    assert np.all((x >= 0) & (x <= 1))
    # Clipped coordinates tell nothing; from d others the point is found all the same.
    enough = np.array([np.linalg.matrix_rank(a[(p > 0) & (p < 1)]) == features for p in x])
    np.testing.assert_allclose(to_subspace(a, x[enough]), anywhere[enough], atol=1e-8)
    assert dimension < 60 or np.sum(enough) > 100
    assert np.any((x == 0) | (x == 1))


@pytest.mark.parametrize("dimension", [2, 6, 30])
def test_points_are_located_where_they_were_searched(dimension, rng):
    """Clipping hides where a point came from; its proposal says so."""
    d = dimension // 2
    maps = RandomSubspace().maps(random_basis(dimension, d, 1).ravel(), dimension, d)
    corners = rng.integers(2, size=(30, d)).astype(float)
    x = maps.point(corners)
    if dimension < 30:
        assert not np.allclose(maps.point(maps.place(x)), x)
    proposals = tuple(Proposal("", {"features": corner.tolist()}) for corner in corners)
    history = History(x[:20], rng.normal(size=20), x[20:], proposals=proposals)
    inside = located(maps, history)
    np.testing.assert_array_equal(inside.x, corners[:20])
    np.testing.assert_array_equal(inside.pending, corners[20:])


def test_features_of_other_methods_say_nothing(rng):
    maps = RandomSubspace().maps(random_basis(8, 3, 1).ravel(), 8, 3)
    x = rng.uniform(size=(5, 8))
    strange = (rng.uniform(size=3).tolist(), [0.5] * 4, [np.nan] * 3, None, [5.0, -5.0, 0.0])
    proposals = tuple(Proposal("", {"features": features}) for features in strange)
    inside = located(maps, History(x, np.zeros(5), proposals=proposals))
    np.testing.assert_array_equal(inside.x, maps.place(x))
    vertices = History(np.eye(8), np.zeros(8))  # nothing but zeros and ones
    assert np.all(np.isfinite(located(maps, vertices).x))


def test_a_suggestion_says_where_in_the_box_it_is(rng):
    method = by_name("rembo", n_features=2, **CHEAP)
    history = History(rng.uniform(size=(6, 4)), rng.normal(size=6))
    first = method.suggest(history, 2, (1, 0))
    places = np.array([proposal.diagnostics["features"] for proposal in first.proposals])
    np.testing.assert_allclose(from_subspace(random_basis(4, 2, 1), places), first.x)


@pytest.mark.parametrize("scaled_priors", [False, True])
def test_the_gp_is_that_of_the_full_space_in_the_subspace(scaled_priors, rng):
    sizes = {
        "n_candidates": 50,
        "n_starts": 5,
        "search_iterations": 3,
        "scaled_priors": scaled_priors,
    }
    a, x, y = random_basis(8, 3, 1), rng.uniform(size=(9, 8)), rng.normal(size=9)
    plain = by_name("full_space", transform=False, clip_outliers=False, vary_best=False, **sizes)
    inside = plain.suggest(History(to_subspace(a, x), y), 1, (1, 0)).x
    found = by_name("rembo", n_features=3, **sizes).suggest(History(x, y), 1, (1, 0)).x
    np.testing.assert_array_equal(found, from_subspace(a, inside))


def test_points_off_the_subspace_go_to_the_nearest_of_it(rng):
    a, x = random_basis(20, 4, 0), rng.uniform(size=(5, 20))
    z = (2 * to_subspace(a, x) - 1) * 5 / 2
    np.testing.assert_allclose(z, (2 * x - 1) @ np.linalg.pinv(a).T, atol=1e-12)


def test_one_seed_one_subspace(rng):
    method = by_name("rembo", n_features=2, **CHEAP)
    x = rng.uniform(size=(12, 9))
    history = History(x, np.sum(x, axis=1))
    a = random_basis(9, 2, 7)
    for iteration in range(3):
        suggestion = method.suggest(history, 2, (7, iteration)).x
        np.testing.assert_allclose(
            from_subspace(a, to_subspace(a, suggestion)), suggestion, atol=1e-9
        )


def test_finds_the_minimum_of_a_function_of_its_subspace(rng):
    a = random_basis(30, 2, 0)
    target = np.array([0.62, 0.41])
    f = lambda x: float(np.sum((to_subspace(a, x[None])[0] - target) ** 2))  # noqa: E731
    x = rng.uniform(size=(8, 30))
    history, cache = History(x, np.array([f(p) for p in x])), None
    for i in range(15):
        suggestion = by_name("rembo", n_features=2, n_candidates=500, n_starts=20).suggest(
            history, 1, (0, i), cache
        )
        cache = suggestion.cache
        history = History(
            np.vstack([history.x, suggestion.x]), np.append(history.y, f(suggestion.x[0]))
        )
    assert np.min(history.y) < 1e-4
