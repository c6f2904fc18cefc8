import numpy as np
import pytest
import scipy.optimize

from infold import problems
from infold.problems import thomson
from infold.problems.embedded import embedding


@pytest.mark.parametrize("name", problems.NAMES)
def test_published_minimizer_attains_the_minimum(name):
    problem = problems.get(name)
    assert np.all((problem.minimizer >= 0) & (problem.minimizer <= 1))
    assert problem(problem.minimizer) == pytest.approx(problem.minimum, abs=1e-6)


def test_minima_are_those_of_the_paper():
    minima = {name: problems.get(name).minimum for name in problems.NAMES}
    assert minima == {
        "rosenbrock-linear": 0.0,
        "product-of-sines-linear": -10.0,
        "product-of-sines-nonlinear": -10.0,
        "thomson": pytest.approx(9.985281, abs=1e-6),
    }


@pytest.mark.parametrize("name", problems.NAMES)
def test_no_random_point_or_local_search_beats_the_minimum(name, rng):
    problem = problems.get(name)
    x = rng.uniform(size=(2000, problem.dimension))
    assert problem(x).min() >= problem.minimum
    start = x[np.argmin(problem(x))]
    result = scipy.optimize.minimize(
        problem, start, method="L-BFGS-B", bounds=[(0, 1)] * problem.dimension
    )
    assert result.fun >= problem.minimum - 1e-6


@pytest.mark.parametrize("name", problems.NAMES)
def test_one_point_and_many_agree(name, rng):
    problem = problems.get(name)
    x = rng.uniform(size=(4, problem.dimension))
    np.testing.assert_allclose(problem(x), [problem(row) for row in x])


@pytest.mark.parametrize("name", problems.NAMES[:3])
@pytest.mark.parametrize(("dimension", "n_variables", "seed"), [(30, 3, 1), (100, 10, 7)])
def test_embedded_problems_exist_for_other_sizes(name, dimension, n_variables, seed):
    problem = problems.get(name, dimension=dimension, n_variables=n_variables, seed=seed)
    assert problem.dimension == dimension
    assert problem(problem.minimizer) == pytest.approx(problem.minimum, abs=1e-6)


def test_embedding_has_orthonormal_rows_and_a_stable_stream():
    r = embedding(60, 10, 44)
    np.testing.assert_allclose(r @ r.T, np.eye(10), atol=1e-12)
    m = np.random.RandomState(44).normal(size=(10, 60))
    assert m[0, 0] == pytest.approx(-0.75061473, abs=1e-7)
    np.testing.assert_allclose(np.abs(np.sum(r[0] * m[0])) / np.linalg.norm(m[0]), 1.0)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 9])
def test_thomson_energies_are_attained(n):
    problem = problems.get("thomson", n_electrons=n)
    assert problem(problem.minimizer) == pytest.approx(thomson.BEST_KNOWN[n], abs=1e-6)


def test_coinciding_electrons_are_capped():
    assert problems.get("thomson")(np.zeros(12)) == 1e9


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("rosenbrok", {}, "problem = 'rosenbrok': expected one of rosenbrock-linear"),
        (
            "thomson",
            {"dimension": 3},
            "argument of thomson = 'dimension': expected one of n_electrons",
        ),
        ("thomson", {"n_electrons": 500}, "n_electrons = 500: expected at most 12"),
        (
            "rosenbrock-linear",
            {"dimension": 5},
            "dimension = 5: expected a whole number of at least 10",
        ),
        (
            "product-of-sines-nonlinear",
            {"dimension": 3, "n_variables": 3},
            "the minimum lies outside the cube",
        ),
    ],
)
def test_bad_requests_are_named(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        problems.get(name, **arguments)


def test_wrong_shape_is_named():
    with pytest.raises(
        ValueError, match=r"x has shape \(3,\): thomson expects \(12,\) or \(n, 12\)"
    ):
        problems.get("thomson")(np.zeros(3))
