"""Numbers at the ends of what floats hold, and steps."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import infold
from infold import Float, Int, Space


@pytest.mark.parametrize(
    ("low", "high"), [(-1.7e308, 1.7e308), (-1.7e308, 1.0), (0.0, 5e-324), (1e300, 1.79e308)]
)
@pytest.mark.parametrize("log", [False, True])
def test_bounds_as_far_apart_as_floats_reach(low, high, log):
    if log and low <= 0:
        low = 5e-324
    if low == high:
        return
    parameter = Float(low, high, log=log)
    parameter.check("p")
    units = np.linspace(0.0, 1.0, 101)
    values = [parameter.decode(np.array([unit])) for unit in units]
    assert values[0] == low
    assert values[-1] == high
    assert values == sorted(values)
    if high > 5e-324:
        assert len(set(values)) == 101
        np.testing.assert_allclose([parameter.encode("p", v)[0] for v in values], units, atol=1e-6)


def test_limits_that_have_one_logarithm_are_refused():
    with pytest.raises(ValueError, match="the limits are too close for a logarithmic scale"):
        Space.of([Float(1e300, float(np.nextafter(1e300, math.inf)), log=True)])


def test_small_values_of_a_log_scale_are_not_taken_for_rounding_errors():
    parameter = Float(1e-9, 1.0, log=True)
    assert parameter.normalize("p", 1e-9 * (1 - 1e-10)) == 1e-9
    for value in (0.0, 5e-10, -1e-10):
        with pytest.raises(ValueError, match=r"expected a value in \[1e-09, 1.0\]"):
            parameter.normalize("p", value)


@pytest.mark.parametrize("limits", [(0, 2**53 + 1), (-(2**60), 0), (0, 10**400), (0, 10**5000)])
def test_whole_numbers_that_floats_cannot_hold_are_refused(limits):
    with pytest.raises(ValueError, match=r"expected whole numbers from -2\*\*53 to 2\*\*53"):
        Space.of([Int(*limits)])


@pytest.mark.parametrize(("low", "high"), [(0, 2**52), (-(2**51), 2**51), (2**53 - 9, 2**53)])
def test_whole_numbers_keep_their_digits_and_places_up_to_the_limit(low, high, rng):
    parameter = Int(low, high)
    parameter.check("n")
    for value in (low, low + 1, high - 1, high, *rng.integers(low, high, size=200).tolist()):
        assert parameter.normalize("n", value) == value
        assert parameter.normalize("n", float(value)) == value
        assert parameter.decode(np.array(parameter.encode("n", value))) == value


def test_large_whole_numbers_are_not_moved_to_a_step_or_a_limit_nearby():
    parameter = Int(0, 10**15, step=1000)
    for value in (10**14 + 500, 10.0**14 + 500, 10**15 + 1000, -1000, 10**5000):
        with pytest.raises(ValueError, match=r"n = .*: expected"):
            parameter.normalize("n", value)


@pytest.mark.parametrize("high", [9, 1000, 10**6, 10**12, 10**15])
def test_snap_of_whole_numbers_on_a_log_scale_is_exact_at_every_size(high, rng):
    parameter = Int(1, high, log=True)
    units = rng.uniform(size=(2000, 1))
    expected = [parameter.encode("n", parameter.decode(unit)) for unit in units]
    np.testing.assert_array_equal(parameter.snap(units), expected)


def test_steps_are_the_decimal_numbers_that_were_written():
    parameter = Float(0.1, 1.05, step=0.1)
    values = [parameter.decode(np.array([(i + 0.5) / 10])) for i in range(10)]
    assert values == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert [parameter.encode("p", value)[0] for value in values] == [
        (i + 0.5) / 10 for i in range(10)
    ]
    thirds = Float(0.0, 1.0, step=1 / 3)
    assert thirds.decode(np.array([1.0])) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(("low", "high", "step"), [(5000.05, 5000.4, 0.05), (925.0, 925.002, 1e-3)])
def test_all_steps_of_a_small_space_are_evaluated(low, high, step):
    result = infold.minimize(
        lambda p: -p["w"], {"w": Float(low, high, step=step)}, n_trials=20, method="random", seed=0
    )
    assert result.fun == -high
    assert result.nit == round((high - low) / step) + 1


def test_numbers_near_a_step_are_that_step_and_others_are_refused():
    parameter = Float(0.0, 1.0, step=0.1)
    for value in (0.1 + 0.2, np.float32(0.3), 0.3):
        assert parameter.normalize("p", value) == 0.3
    with pytest.raises(ValueError, match=r"p = 0.301: expected a number in steps of 0.1 from 0.0"):
        parameter.normalize("p", 0.301)
    far = Float(1.7e9, 1.7e9 + 100, step=0.1)
    assert far.normalize("p", 1.7e9 + 0.1 * 3) == far.decode(np.array([3.5 / 1001]))


@given(st.integers(2, 2**50), st.data())
def test_places_of_many_steps_survive_rounding(n, data):
    parameter = Float(0.0, float(n - 1), step=1.0)
    parameter.check("p")
    index = data.draw(st.integers(0, n - 1))
    place = parameter.encode("p", float(index))
    assert parameter.decode(np.array(place)) == float(index)
    assert parameter.snap(np.array([place])).tolist() == [place]


def test_stepped_floats_are_discrete_in_the_cube():
    space = Space.of([(0.0, 1.0), Float(0.0, 1.0, step=0.5)])
    assert space.rounding is not None
    assert space.rounding.coordinates.tolist() == [False, True]
    assert isinstance(space.decode(np.array([0.5, 0.9])), np.ndarray)
    np.testing.assert_array_equal(space.rounding.snap(np.array([[0.2, 0.9]])), [[0.2, 2.5 / 3]])
