import numpy as np
import pytest

from infold.methods import FullSpace, Rembo
from infold.methods.low_dimensional import located
from infold.methods.rembo import from_subspace, random_basis, to_subspace
from infold.record import History


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
def test_places_are_remembered_where_clipping_hides_them(dimension, rng):
    a = random_basis(dimension, dimension // 2, 1)
    embedding = Rembo().embedding(a.ravel(), dimension, dimension // 2)
    corners = rng.integers(2, size=(30, dimension // 2)).astype(float)
    x = from_subspace(a, corners)
    if dimension < 30:
        assert not np.allclose(from_subspace(a, to_subspace(a, x)), x)
    np.testing.assert_allclose(from_subspace(a, located(embedding, x, corners)), x, atol=1e-9)
    vertices = np.eye(dimension)  # nothing but zeros and ones
    assert np.all(np.isfinite(located(embedding, vertices, corners)))


def test_the_cache_says_where_suggestions_were(rng):
    method = Rembo(n_features=2, n_candidates=50, n_starts=5, max_iterations=3)
    history = History(rng.uniform(size=(6, 4)), rng.normal(size=6))
    first = method.suggest(history, 2, (1, 0))
    second = method.suggest(history.with_pending(first.x), 1, (1, 2), first.cache)
    np.testing.assert_array_equal(second.cache["places"][:4], first.cache["places"])
    np.testing.assert_allclose(
        from_subspace(random_basis(4, 2, 1), second.cache["places"].reshape(-1, 2))[2:], second.x
    )


@pytest.mark.parametrize("scaled_priors", [False, True])
def test_the_gp_is_that_of_the_full_space_in_the_subspace(scaled_priors, rng):
    sizes = {"n_candidates": 50, "n_starts": 5, "max_iterations": 3, "scaled_priors": scaled_priors}
    a, x, y = random_basis(8, 3, 1), rng.uniform(size=(9, 8)), rng.normal(size=9)
    plain = FullSpace(transform=False, clip_outliers=False, local=False, **sizes)
    inside = plain.suggest(History(to_subspace(a, x), y), 1, (1, 0)).x
    found = Rembo(n_features=3, **sizes).suggest(History(x, y), 1, (1, 0)).x
    np.testing.assert_array_equal(found, from_subspace(a, inside))


def test_points_off_the_subspace_go_to_the_nearest_of_it(rng):
    a, x = random_basis(20, 4, 0), rng.uniform(size=(5, 20))
    z = (2 * to_subspace(a, x) - 1) * 5 / 2
    np.testing.assert_allclose(z, (2 * x - 1) @ np.linalg.pinv(a).T, atol=1e-12)


def test_one_seed_one_subspace(rng):
    method = Rembo(n_features=2, n_candidates=50, n_starts=5, max_iterations=3)
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
        suggestion = Rembo(n_features=2, n_candidates=500, n_starts=20).suggest(
            history, 1, (0, i), cache
        )
        cache = suggestion.cache
        history = History(
            np.vstack([history.x, suggestion.x]), np.append(history.y, f(suggestion.x[0]))
        )
    assert np.min(history.y) < 1e-4
