import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds

from infold import Bool, Categorical, Float, Int, Space
from infold.space.finite import unknown_point
from infold.space.fixed import Fixed
from infold.space.space import as_points

UNIT = st.floats(min_value=0, max_value=1)
CHOICES = st.lists(
    st.one_of(st.text("abcxyzäß", max_size=5), st.integers(), st.booleans(), st.none()),
    min_size=2,
    max_size=6,
)


def unique(choices: list) -> list:
    kept: list = []
    for choice in choices:
        if not any(
            choice == other and isinstance(choice, bool) == isinstance(other, bool)
            for other in kept
        ):
            kept.append(choice)
    return kept


@st.composite
def parameters(draw):
    kind = draw(
        st.sampled_from(
            ["float", "log float", "stepped", "int", "log int", "categorical", "bool", "fixed"]
        )
    )
    if kind == "float":
        low = draw(st.floats(-1e6, 1e6))
        return Float(low, low + draw(st.floats(1e-3, 1e6)))
    if kind == "log float":
        low = draw(st.floats(1e-9, 1e3))
        return Float(low, low * draw(st.floats(1.1, 1e9)), log=True)
    if kind == "stepped":
        step = draw(st.sampled_from([0.1, 0.25, 0.3, 1e-3, 7.0, 1 / 3]))
        low = draw(st.sampled_from([0.0, -1.0, 0.1, 12.7, -1e6]))
        return Float(low, low + step * draw(st.floats(1.0, 1000.0)), step=step)
    if kind == "fixed":
        return draw(
            st.sampled_from(
                [
                    Float(0.1, 0.1),
                    Float(2.0, 2.0, log=True),
                    Float(2.0, 2.0, step=0.5),
                    Int(7, 7),
                    Int(7, 7, step=3),
                    Int(10**400, 10**400),
                    Categorical(["only"]),
                ]
            )
        )
    if kind == "int":
        low, step = draw(st.integers(-1000, 1000)), draw(st.integers(1, 7))
        return Int(
            low, low + step * draw(st.integers(1, 500)) + draw(st.integers(0, step - 1)), step=step
        )
    if kind == "log int":
        low = draw(st.integers(1, 100))
        return Int(low, low + draw(st.integers(1, 10_000)), log=True)
    if kind == "categorical":
        choices = unique(draw(CHOICES))
        return Categorical(choices if len(choices) > 1 else ["a", "b"])
    return Bool()


def spaces(max_size: int) -> st.SearchStrategy[Space]:
    """Spaces of all kinds of parameters, at least one of which is free."""
    return (
        st.lists(parameters(), min_size=1, max_size=max_size)
        .filter(lambda drawn: not all(parameter.fixed for parameter in drawn))
        .map(lambda drawn: Space({f"p{i}": parameter for i, parameter in enumerate(drawn)}))
    )


@given(spaces(5), st.data())
def test_points_round_trip_exactly(space, data):
    """From the cube to values, to the place that stands for them, and back; also through JSON."""
    unit = np.array(data.draw(st.lists(UNIT, min_size=space.dimension, max_size=space.dimension)))
    point = space.decode(unit)
    place = space.encode(point)
    assert np.all((place >= 0) & (place <= 1))
    again = space.decode(place)
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Float) and not parameter.discrete:
            assert parameter.low <= point[name] <= parameter.high
            assert math.isclose(
                again[name],
                point[name],
                rel_tol=1e-9,
                abs_tol=1e-9 * (parameter.high - parameter.low),
            )
        else:
            assert again[name] == point[name]
            assert type(again[name]) is type(point[name])
    copy = Space.from_json(space.to_json())
    assert copy == space
    assert copy.decode(unit) == point


@given(parameters())
def test_integers_take_every_value_and_equal_shares(parameter):
    if isinstance(parameter, Int) and not parameter.log and not parameter.fixed:
        values = list(range(parameter.low, parameter.high + 1, parameter.step))
        middles = (np.arange(len(values)) + 0.5) / len(values)
        assert [parameter.decode(np.array([m])) for m in middles] == values
        assert [parameter.encode("p", v)[0] for v in values] == pytest.approx(middles, abs=1e-9)


def test_log_scale_puts_the_geometric_mean_in_the_middle():
    assert math.isclose(Float(1e-4, 1.0, log=True).decode(np.array([0.5])), 1e-2)
    assert Int(1, 10_000, log=True).decode(np.array([0.5])) in range(60, 90)


def test_ends_are_exact():
    parameter = Float(0.1, 0.7, log=True)
    assert [parameter.decode(np.array([u])) for u in (0.0, 1.0)] == [0.1, 0.7]


def test_categorical_is_one_hot():
    space = Space({"c": Categorical(["a", "b", "c"]), "x": Float(0, 1)})
    assert space.dimension == 4
    np.testing.assert_array_equal(space.encode({"c": "b", "x": 0.5}), [0.25, 0.75, 0.25, 0.5])
    assert space.decode(np.array([0.1, 0.2, 0.9, 0.5]))["c"] == "c"


def test_true_and_one_are_different_choices():
    choice = Categorical([True, 1, None])
    assert choice.decode(np.array(choice.encode("c", 1))) is not True
    assert choice.decode(np.array(choice.encode("c", True))) is True


def test_lists_come_back_as_lists_where_not_all_are_floats():
    assert isinstance(Space.of([(0, 1), (0, 1)]).decode(np.array([0.5, 0.5])), np.ndarray)
    assert Space.of([(0, 1), Int(0, 9)]).decode(np.array([0.5, 0.55])) == [0.5, 5]


def test_scipy_bounds():
    assert Space.of(Bounds([0, -1], [1, 1])) == Space.of([(0, 1), (-1, 1)])


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ({"x": 0.5, "n": 3, "c": "a"}, "x has no 'b': expected the parameters x, n, c, b"),
        (
            {"x": 0.5, "n": 3, "c": "a", "b": True, "d": 1},
            "x has an unknown parameter 'd': expected x, n, c, b",
        ),
        ([0.5, 3], "x has 2 values: expected 4, one per parameter"),
        ({"x": 1.5, "n": 3, "c": "a", "b": True}, r"x = 1.5: expected a value in \[0.0, 1.0\]"),
        ({"x": "0.5", "n": 3, "c": "a", "b": True}, "x = '0.5': expected a number"),
        (
            {"x": math.nan, "n": 3, "c": "a", "b": True},
            r"x = nan: expected a value in \[0.0, 1.0\]",
        ),
        (
            {"x": 0.5, "n": 4, "c": "a", "b": True},
            "n = 4: expected a whole number in steps of 2 from 1",
        ),
        ({"x": 0.5, "n": 11, "c": "a", "b": True}, r"n = 11: expected a value in \[1, 9\]"),
        ({"x": 0.5, "n": 3, "c": "z", "b": True}, "c = 'z': expected one of 'a', 'b'"),
        ({"x": 0.5, "n": 3, "c": "a", "b": "yes"}, "b = 'yes': expected True or False"),
    ],
)
def test_bad_points_are_named(point, message):
    space = Space(
        {"x": Float(0, 1), "n": Int(1, 9, step=2), "c": Categorical(["a", "b"]), "b": Bool()}
    )
    with pytest.raises(ValueError, match=message):
        space.encode(point)


def test_rounding_takes_every_point_to_where_its_value_is_encoded(rng):
    space = Space.of(
        {
            "float": Float(1e-3, 1.0, log=True),
            "int": Int(-3, 12),
            "steps": Int(1, 10, step=4),
            "log": Int(1, 1000, log=True),
            "kind": Categorical(["a", "b", "c"]),
            "bool": Bool(),
        }
    )
    units = np.concatenate(
        [
            rng.uniform(size=(500, space.dimension)),
            np.eye(space.dimension),
            1 - np.eye(space.dimension),
        ]
    )
    expected = [space.encode(space.decode(unit)) for unit in units]
    np.testing.assert_allclose(space.rounding.snap(units), expected, rtol=0, atol=1e-12)
    assert space.rounding.coordinates.tolist() == [False] + [True] * 7
    assert Space.of([(0.0, 1.0)] * 3).rounding is None


@given(parameters(), st.lists(UNIT, min_size=1, max_size=8), st.data())
def test_snap_equals_encoding_what_was_decoded_to_the_last_bit(parameter, numbers, data):
    """Also at the border between two whole numbers, and one bit to either side of it."""
    borders = [0.0, 0.5, 1.0]
    if isinstance(parameter, Int) and not parameter.fixed:
        between = data.draw(st.integers(parameter.low, parameter.high - 1)) + parameter.step / 2
        first, last = parameter._edges
        if parameter.log:
            borders.append(math.log(between / first) / math.log(last / first))
        else:
            borders.append(min(1.0, (between - first) / (last - first)))
    near = [
        unit
        for middle in (*numbers, *borders)
        for unit in (middle, np.nextafter(middle, 0.0), np.nextafter(middle, 1.0))
    ]
    units = np.repeat(np.array(near)[:, None], parameter.width, axis=1)
    if isinstance(parameter, Categorical) and not parameter.fixed:
        units = np.random.default_rng(len(near)).permuted(units, axis=0)
    snapped = parameter.snap(units)
    if not parameter.discrete:
        np.testing.assert_array_equal(snapped, units)
    else:
        expected = [parameter.encode("p", parameter.decode(unit)) for unit in units]
        np.testing.assert_array_equal(snapped, expected)


@given(spaces(4), st.data())
def test_points_are_the_same_exactly_where_the_user_sees_equal_values(space, data):
    units = [
        np.array(data.draw(st.lists(UNIT, min_size=space.dimension, max_size=space.dimension)))
        for _ in range(2)
    ]
    a, b = (space.decode(unit) for unit in units)
    types = [[(type(value), value) for value in point.values()] for point in (a, b)]
    assert (space.identity(a) == space.identity(b)) == (types[0] == types[1])
    assert space.normalize(a) == a
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Float) and not parameter.discrete:
            near = {**a, name: float(np.nextafter(a[name], parameter.low))}
            assert (space.identity(near) == space.identity(a)) == (near[name] == a[name])


def test_what_is_written_in_another_type_is_the_same_point():
    space = Space.of({"n": Int(0, 9), "x": Float(-1, 1), "c": Categorical([1, "a"]), "b": Bool()})
    a = {"n": 3, "x": 0.0, "c": 1, "b": True}
    b = {"b": np.True_, "c": np.int64(1), "x": -0.0, "n": np.float64(3.0)}
    assert space.identity(a) == space.identity(b) == space.identity([3.0, np.float32(0), 1.0, True])
    assert space.identity({**a, "x": 1e-300}) != space.identity(a)


def test_the_one_point_that_is_not_known_is_found_and_none_where_all_are(rng):
    space = Space.of([Int(0, 3), Bool()])
    points = [[n, b] for n in range(4) for b in (False, True)]
    known = {space.identity(point) for point in points if point != [1, False]}
    assert unknown_point(Fixed(space, {}), known, rng) == [1, False]
    known.add(space.identity([1, False]))
    assert unknown_point(Fixed(space, {}), known, rng) is None


def test_a_rare_point_that_random_ones_miss_is_found_too(rng):
    space = Space.of([Int(0, 9999)])
    known = {space.identity([n]) for n in range(10_000) if n != 1234}
    assert unknown_point(Fixed(space, {}), known, rng) == [1234]


def test_a_printed_space_is_short():
    space = Space.of({"rate": Float(1e-5, 1.0, log=True), "kind": Categorical(["a", "b"])})
    assert repr(space) == "Space(2 parameters, D = 3: rate float, kind categorical)"
    fixed = Space.of([(0, 1), Int(3, 3)])
    assert repr(fixed) == "Space(2 parameters, D = 1: x0 float, x1 fixed int)"
    long = repr(Space.of({"long name" * 9 + str(i): (0, 1) for i in range(2000)}))
    assert len(long) < 300
    assert long.endswith("and 1994 more)")


def test_rows_of_tables_are_points():
    pandas = pytest.importorskip("pandas")
    named = Space.of({"a": (0.0, 1.0), "n": Int(1, 9)})
    table = pandas.DataFrame({"n": [3, 4], "a": [0.5, 0.25]}, index=[7, 8])
    expected = [{"a": 0.5, "n": 3}, {"a": 0.25, "n": 4}]
    assert [named.normalize(x) for x in as_points(table)] == expected
    assert named.normalize(table.loc[8]) == expected[1]
    assert len(as_points(table.loc[8])) == 1
    numbered = Space.of([(0.0, 1.0)] * 2)
    rows = as_points(pandas.DataFrame([[0.1, 0.2], [0.3, 0.4]]))
    assert [list(numbered.normalize(x)) for x in rows] == [[0.1, 0.2], [0.3, 0.4]]
    assert list(numbered.normalize(pandas.Series([0.1, 0.2]))) == [0.1, 0.2]
    assert list(numbered.normalize(pandas.Series({"x1": 0.1, "x0": 0.2}))) == [0.2, 0.1]
    with pytest.raises(ValueError, match="unknown parameter 'b'"):
        named.normalize(pandas.Series({"a": 0.5, "n": 3, "b": 1}))


@pytest.mark.parametrize("point", [None, {0.1, 0.2}, iter([0.1, 0.2]), "ab", 0.5])
def test_what_is_no_point_is_shown(point):
    with pytest.raises(ValueError, match=r"^x = .*: expected 2 values, one per parameter$"):
        Space.of([(0.0, 1.0)] * 2).normalize(point)


def test_points_of_several_lengths_are_refused_in_words():
    space = Space.of([(0.0, 1.0)] * 2)
    with pytest.raises(ValueError, match=r"^x has 1 values: expected 2"):
        [space.normalize(x) for x in as_points([[0.1, 0.2], [0.3]])]
