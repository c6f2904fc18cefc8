"""Arguments that make no sense get one clear line, whatever their type."""

import fractions
import math

import numpy as np
import pytest

import infold
from infold import Optimizer, _checks

BOUNDS = [(0.0, 1.0)] * 2
BAD_VALUES = [
    "1.5",
    b"1.5",
    bytearray(b"1"),
    np.str_("1.5"),
    1 + 2j,
    1 + 0j,
    np.complex64(1),
    np.clongdouble(1),
    np.array([1j]),
    {1.5},
    np.array([1.0, 2.0]),
    np.array([]),
    np.array(["1.5"]),
    [1.5],
    {},
    pytest.param(object(), id="object"),
    np.datetime64("2020-01-01"),
    np.timedelta64(5, "ns"),
]


@pytest.mark.parametrize(
    "y",
    [
        1.5,
        np.float32(1.5),
        np.longdouble(1.5),
        np.array(1.5),
        np.array([1.5]),
        np.array([[1.5]]),
        np.array([fractions.Fraction(3, 2)], dtype=object),
        fractions.Fraction(3, 2),
    ],
)
def test_numbers_and_arrays_of_one_are_values(y):
    assert _checks.value_of(y) == 1.5
    optimizer = Optimizer(BOUNDS, method="random")
    optimizer.tell([0.5, 0.5], y)
    assert optimizer.values.tolist() == [1.5]
    result = infold.minimize(lambda x: y, BOUNDS, method="random", n_trials=1)
    assert result.fun == 1.5


def test_arrays_of_jax_are_values():
    import jax.numpy as jnp

    assert _checks.value_of(jnp.array([1.5])) == _checks.value_of(jnp.array(1.5)) == 1.5
    with pytest.raises(ValueError, match="expected a number"):
        _checks.value_of(jnp.ones(2))


@pytest.mark.parametrize("y", [None, math.nan, math.inf, -math.inf, np.array([np.nan])])
def test_failures_are_nan(y):
    assert math.isnan(_checks.value_of(y))


@pytest.mark.parametrize("y", BAD_VALUES, ids=repr)
def test_what_is_no_real_number_is_refused_when_told_and_failed_when_returned(y):
    optimizer = Optimizer(BOUNDS, method="random")
    with pytest.raises(ValueError, match=r"y = .*: expected a number, or None for a failed"):
        optimizer.tell([0.5, 0.5], y)
    assert len(optimizer) == 0
    result = infold.minimize(lambda x: y, BOUNDS, method="random", n_trials=1)
    assert result.evaluations[0].failed
    assert "the value = " in result.evaluations[0].error
    assert ": expected a number" in result.evaluations[0].error


@pytest.mark.parametrize("digits", [400, 5000])
def test_whole_numbers_beyond_doubles_are_named_shortly(digits):
    optimizer = Optimizer(BOUNDS, method="random")
    with pytest.raises(ValueError, match=r"y = .*: expected a number of at most 1.8e308") as found:
        optimizer.tell([0.5, 0.5], 10**digits)
    assert len(str(found.value)) < 200
    with pytest.raises(ValueError, match=r"seconds = .*: expected a number of at least 0"):
        optimizer.tell([0.5, 0.5], 1.0, seconds=10**digits)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "3",
        1.5,
        math.nan,
        math.inf,
        True,
        np.bool_(True),
        [3],
        np.array([3]),
        {},
        pytest.param(object(), id="object"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("name", ["n_initial", "seed"])
def test_what_is_no_whole_number_is_named(name, value):
    if name == "seed" and value is None:
        return
    with pytest.raises(ValueError, match=f"{name} = .*: expected a whole number of at least "):
        Optimizer(BOUNDS, method="random", **{name: value})


def test_generators_are_no_seeds():
    message = r"seed = Generator\(PCG64\).*: expected a whole number of at least 0"
    with pytest.raises(ValueError, match=message):
        Optimizer(BOUNDS, seed=np.random.default_rng(0))
    with pytest.raises(ValueError, match=message):
        infold.minimize(sum, BOUNDS, seed=np.random.default_rng(0))


@pytest.mark.parametrize(
    "value", [None, 3, ["sobol"], np.array(["sobol", "uniform"]), {}], ids=repr
)
@pytest.mark.parametrize("name", ["initial", "direction"])
def test_what_is_no_choice_is_named(name, value):
    if name == "initial" and value is None:
        return
    with pytest.raises(ValueError, match=rf"{name}(\[0\])? = .*: expected one of "):
        Optimizer(BOUNDS, method="random", **{name: value})


def test_other_slips_of_the_optimizer_are_named():
    for settings, message in (
        ({"method": infold.methods.RandomSearch}, r"expected RandomSearch\(\), not its class"),
        ({"method": None}, "method = None: expected one of"),
        ({"n_features": "3"}, "n_features = '3': expected a whole number of at least 1"),
        ({"n_features": 0}, "n_features = 0: expected a whole number of at least 1"),
        ({"acquisition": 3}, "acquisition = 3: expected one of"),
        ({"acquisition": "best"}, "acquisition = 'best': expected one of"),
    ):
        with pytest.raises(ValueError, match=message):
            Optimizer(BOUNDS, **settings)
    optimizer = Optimizer(BOUNDS, method="random")
    for n in (0, -1, 1.5, "2", int, [1]):
        with pytest.raises(ValueError, match=r"n = .*: expected a whole number of at least 1"):
            optimizer.ask(n)
    assert len(optimizer.ask(np.int64(2))) == 2


@pytest.mark.parametrize("name", ["max_seconds", "target", "timeout"])
def test_numbers_beyond_doubles_are_refused_by_name(name):
    with pytest.raises(ValueError, match=f"^{name} = 1000.*: expected a"):
        infold.minimize(lambda x: 0.0, BOUNDS, method="random", **{name: 10**400})


def test_a_whole_float_counts_trials():
    result = infold.minimize(lambda x: 0.0, BOUNDS, method="random", n_trials=2.0)
    assert result.message == "all 2 evaluations done"


def test_errors_stay_on_one_line():
    class Table:
        def __repr__(self) -> str:
            return "a\nb"

    with pytest.raises(ValueError, match=r"^bounds = a b: expected"):
        infold.Space.of(Table())


def test_what_went_wrong_may_be_an_exception_without_a_text():
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("never")

    optimizer = Optimizer(BOUNDS, method="random")
    optimizer.tell([0.5, 0.5], None, error=Unspeakable())
    assert optimizer.evaluations[0].error == "(its text cannot be had: RuntimeError)"


def test_an_objective_that_sets_the_clock_back_loses_nothing(monkeypatch):
    def objective(x):
        monkeypatch.setattr("time.perf_counter", lambda: -1e9)
        return 1.0

    result = infold.minimize(objective, BOUNDS, method="random", n_trials=2)
    assert [evaluation.seconds for evaluation in result.evaluations] == [0.0, 0.0]
