"""Laws of the problems on which optimizers are compared."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from infold.comparison import suite
from infold.comparison.suite import functions, hidden, lasso, rover
from infold.comparison.suite.functions import Function

FUNCTIONS = {
    "ackley": functions.ackley(4),
    "levy": functions.levy(4),
    "rosenbrock": functions.rosenbrock_function(4),
    "styblinski-tang": functions.styblinski_tang(4),
    "branin": functions.branin(),
    "hartmann6": functions.hartmann6(),
}
WITH_MINIMUM = [name for name in suite.NAMES if suite.get(name).minimum is not None]


def at(function: Function, *z: float) -> float:
    return float(function.values(np.array([z]))[0])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_minimizer_attains_the_minimum_and_nothing_is_lower(name, rng):
    function = FUNCTIONS[name]
    assert at(function, *function.minimizer) == pytest.approx(function.minimum, abs=1e-9)
    centre, width = function.minimizer, function.width
    z = centre + width * rng.uniform(-1.0, 1.0, size=(5000, len(centre)))
    values = function.values(z)
    assert values.min() > function.minimum
    for start in (z[np.argmin(values)], centre + 0.02 * width):
        found = minimize(lambda z: at(function, *z), start, method="L-BFGS-B")
        assert found.fun >= function.minimum - 1e-9


def test_values_are_the_published_ones():
    """Minima as the Virtual Library of Simulation Experiments gives them, and values by hand."""
    for z in ((-np.pi, 12.275), (np.pi, 2.275), (9.42478, 2.475)):
        assert at(FUNCTIONS["branin"], *z) == pytest.approx(0.397887, abs=1e-6)
    assert at(FUNCTIONS["branin"], 0.0, 0.0) == pytest.approx(55.602113, abs=1e-6)
    best = (0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573)
    assert at(FUNCTIONS["hartmann6"], *best) == pytest.approx(-3.32237, abs=1e-5)
    assert FUNCTIONS["styblinski-tang"].minimum == pytest.approx(-39.166166 * 4, abs=1e-5)
    assert FUNCTIONS["styblinski-tang"].minimizer == pytest.approx([-2.903534] * 4, abs=1e-6)
    assert at(FUNCTIONS["ackley"], 1.0, 1.0, 1.0, 1.0) == pytest.approx(
        20.0 - 20.0 * math.exp(-0.2)
    )
    # All w_i are 2 at z_i = 5: 0 + 3 (1 + 10 sin²(1)) + 1.
    assert at(FUNCTIONS["levy"], 5.0, 5.0, 5.0, 5.0) == pytest.approx(
        3.0 * (1.0 + 10.0 * math.sin(1.0) ** 2) + 1.0
    )
    assert at(FUNCTIONS["rosenbrock"], 0.0, 0.0, 0.0, 0.0) == 3.0


@pytest.mark.parametrize("name", suite.NAMES)
def test_problems_are_finite_and_the_same_each_time(name, rng):
    one, other = suite.get(name), suite.get(name)
    for unit in (np.full(one.dimension, 0.5), *rng.uniform(size=(2, one.dimension))):
        value = one(one.space.decode(unit))
        assert math.isfinite(value)
        assert value == other(other.space.decode(unit))
        assert one.minimum is None or value > one.minimum


@pytest.mark.parametrize("name", WITH_MINIMUM)
def test_minimum_is_attained_inside_the_box_and_not_at_its_centre(name, rng):
    problem = suite.get(name)
    units = problem.space.encode(problem.minimizer)
    assert problem(problem.minimizer) == pytest.approx(problem.minimum, abs=1e-6)
    first = [problem(problem.space.decode(u)) for u in rng.uniform(size=(20, len(units)))]
    centre = problem(problem.space.decode(np.full(len(units), 0.5)))
    assert centre - problem.minimum > 0.002 * (np.median(first) - problem.minimum)
    assert np.max(np.abs(units - 0.5)) > 0.1


def test_every_problem_is_in_one_half_and_the_short_list_is_continuous():
    assert len(set(suite.NAMES)) == len(suite.NAMES) == 22
    assert {half: len(makers) for half, makers in suite.HALVES.items()} == {
        "choice": 10,
        "report": 12,
    }
    assert len(suite.SHORT) == 10
    for name in suite.SHORT:
        assert suite.get(name).continuous
        assert suite.get(name).dimension <= 100
    with pytest.raises(ValueError, match="'nothing': expected one of"):
        suite.get("nothing")


@pytest.mark.parametrize("hide", [hidden.axis, hidden.dense])
def test_a_hidden_function_varies_in_as_many_directions_as_it_has_variables(hide, rng):
    problem = hide("test", functions.hartmann6(), 20)
    steps = 1e-5 * np.eye(20)
    gradients = [
        [(problem(x + step) - problem(x - step)) / 2e-5 for step in steps]
        for x in rng.uniform(0.3, 0.7, size=(15, 20))
    ]
    assert np.linalg.matrix_rank(gradients, tol=1e-7) == 6
    used = np.any(np.abs(gradients) > 1e-7, axis=0)
    assert np.sum(used) == (6 if hide is hidden.axis else 20)


def test_the_cost_of_a_straight_path_is_its_length_and_what_it_crosses():
    problem = rover.rover("rover")
    ends = np.array([[0.05, 0.05], [0.95, 0.95]])
    line = ends[0] + np.linspace(0.0, 1.0, 30)[:, None] * (ends[1] - ends[0])
    dense = ends[0] + np.linspace(0.0, 1.0, 100_001)[:, None] * (ends[1] - ends[0])
    centres = rover._obstacles(np.random.default_rng(2018))
    crossed = np.zeros(len(dense), dtype=bool)
    for centre in centres:
        crossed |= np.max(np.abs(dense - centre), axis=1) <= 0.025
    expected = 0.9 * math.sqrt(2.0) * (0.05 + 20.0 * crossed.mean())
    assert 0.0 < crossed.mean() < 0.8
    assert problem(line.ravel()) == pytest.approx(expected, abs=0.1)
    outside = problem(np.full(60, 1.1))
    assert outside > 10.0 * 2 * (1.05 + 0.15) - 0.1


def test_equal_weights_are_the_plain_lasso(rng):
    from sklearn.linear_model import Lasso

    x = rng.normal(size=(40, 6))
    y = x @ np.array([1.0, -1.0, 0.0, 0.0, 0.0, 0.5]) + 0.1 * rng.normal(size=40)
    penalty = np.max(np.abs(x.T @ y)) / 40 / 10.0  # at the centre of the box
    errors = []
    for held in np.array_split(np.random.default_rng(0).permutation(40), 5):
        kept = np.setdiff1d(np.arange(40), held)
        model = Lasso(alpha=penalty, fit_intercept=False).fit(x[kept], y[kept])
        errors.append(np.mean((model.predict(x[held]) - y[held]) ** 2))
    problem = lasso._weighted_lasso("test", x, y, 2.0)
    assert problem(np.zeros(6)) == pytest.approx(np.mean(errors) / 2.0, rel=1e-3)


def test_small_penalties_on_the_true_columns_beat_equal_ones():
    problem = suite.get("lasso-100")
    right = np.ones(100)
    right[::20] = -1.0
    assert problem(right) < 2.0
    assert problem(right) < min(problem(np.full(100, c)) for c in np.linspace(-1.0, 1.0, 9))


@pytest.mark.parametrize(("name", "guess"), [("boosting", math.log(2.0)), ("mlp", math.log(10.0))])
def test_tuned_classifiers_learn_something(name, guess, rng):
    problem = suite.get(name)
    values = [problem(problem.space.decode(u)) for u in rng.uniform(size=(8, problem.dimension))]
    assert 0.0 < min(values) < guess
    assert max(values) <= 5.0
