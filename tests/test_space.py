import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from infold import Float, Space

LIMITS = st.floats(min_value=-1e6, max_value=1e6)


@given(low=LIMITS, width=st.floats(min_value=1e-3, max_value=1e6), unit=st.floats(min_value=0, max_value=1))
def test_linear_floats_round_trip(low, width, unit):
    parameter = Float(low, low + width)
    value = parameter.decode(unit)
    assert parameter.low <= value <= parameter.high
    assert math.isclose(parameter.encode("p", value), unit, abs_tol=1e-6)


@given(low=st.floats(min_value=1e-9, max_value=1e3), ratio=st.floats(min_value=1.1, max_value=1e9), unit=st.floats(0, 1))
def test_log_floats_round_trip(low, ratio, unit):
    parameter = Float(low, low * ratio, log=True)
    value = parameter.decode(unit)
    assert parameter.low <= value <= parameter.high
    assert math.isclose(parameter.encode("p", value), unit, abs_tol=1e-6)


def test_log_scale_puts_the_geometric_mean_in_the_middle():
    assert math.isclose(Float(1e-4, 1.0, log=True).decode(0.5), 1e-2)


def test_ends_are_exact():
    parameter = Float(0.1, 0.7, log=True)
    assert (parameter.decode(0.0), parameter.decode(1.0)) == (0.1, 0.7)


def test_space_survives_json():
    space = Space({"a": Float(1e-3, 1.0, log=True), "b": Float(-2, 3)})
    copy = Space.from_json(space.to_json())
    assert copy.parameters == space.parameters
    unit = np.array([0.3, 0.9])
    assert copy.decode(unit) == space.decode(unit)
