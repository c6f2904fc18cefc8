"""The search along edges against optima that are known."""

import numpy as np
import pytest

from infold import Optimizer, Outcome
from infold.acquisition.edges import follow_edges

CUBE = (np.zeros(2), np.ones(2))
A = np.array([[1.0, 0.5], [0.5, 1.0]])


def improvement(z):
    """Rises towards (1, 1)."""
    return -np.sum((z - 1.0) ** 2, axis=1), -2.0 * (z - 1.0)


def wedge(deviation=1e-4):
    """Two half-spaces that meet at (0.4, 0.4), known up to a deviation."""

    def constraints(z):
        variance = np.full((len(z), 2), deviation**2)
        slopes = np.broadcast_to(A, (len(z), 2, 2))
        return z @ A.T, variance, slopes, np.zeros_like(slopes)

    return constraints


@pytest.mark.parametrize("start", [[0.1, 0.3], [0.9, 0.2], [0.0, 0.0]])
def test_the_way_along_edges_leads_to_where_they_meet(start):
    found = follow_edges(
        improvement, wedge(), np.full(2, 0.6), np.array(start), CUBE, np.ones(2, bool)
    )
    np.testing.assert_allclose(found, [0.4, 0.4], atol=1e-3)
    assert np.all(A @ found < 0.6)


def test_the_margin_grows_with_how_little_is_known():
    limits, start, free = np.full(2, 0.6), np.zeros(2), np.ones(2, bool)
    sure, unsure = (
        follow_edges(improvement, wedge(deviation), limits, start, CUBE, free)
        for deviation in (1e-4, 0.05)
    )
    np.testing.assert_allclose(A @ sure - A @ unsure, 1.5 * (0.05 - 1e-4), atol=1e-3)


def test_the_box_is_kept_and_so_are_coordinates_that_are_not_free():
    start = np.array([0.1, 0.25])
    box = (np.array([0.05, 0.0]), np.array([0.2, 1.0]))
    found = follow_edges(improvement, wedge(), np.full(2, 0.6), start, box, np.array([True, False]))
    np.testing.assert_allclose(found, [0.2, 0.25], atol=1e-9)
    none = follow_edges(improvement, wedge(), np.full(2, 0.6), start, box, np.zeros(2, bool))
    np.testing.assert_array_equal(none, start)


def test_a_start_from_which_nothing_can_be_told_is_returned():
    def nothing(z):
        return np.full(len(z), np.nan), np.full(z.shape, np.nan)

    start = np.array([0.1, 0.2])
    found = follow_edges(nothing, wedge(), np.full(2, 0.6), start, CUBE, np.ones(2, bool))
    np.testing.assert_array_equal(found, start)


def test_the_corner_of_several_constraints_is_found_to_four_digits():
    """Linear cost over a curved wedge, whose tip random candidates hardly ever hit."""

    def function(x):
        a, b = x
        return Outcome(
            float(a + b), constraints=[0.3 - a * b * 4.0, (a - 0.9) ** 2 + b**2 - 0.3, b - 0.6 * a]
        )

    optimizer = Optimizer([(0.0, 1.0)] * 2, seed=100)
    for _ in range(40):
        x = optimizer.ask()
        optimizer.tell(x, function(x))
    # Where the first two constraints meet, by SciPy with the functions themselves.
    assert optimizer.best[1] == pytest.approx(0.5810966, rel=1e-4)
