import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import jax.numpy as jnp
import numpy as np
import pytest
from tests.evaluation import process_objectives

from infold.evaluation.outcome import Guarded, Outcome
from infold.evaluation.workers import open_workers


def test_value_has_no_error():
    outcome = Guarded(abs)(-2)
    assert outcome == Outcome(2.0, None, outcome.seconds)
    assert outcome.seconds >= 0.0


@pytest.mark.parametrize(
    ("fun", "error"),
    [
        (lambda x: 1 / x, "ZeroDivisionError: division by zero"),
        (lambda x: float("nan"), "the value is nan"),
        (lambda x: float("inf"), "the value is inf"),
        (lambda x: "1.5", "ValueError: the value = '1.5': expected a number, or None for a failed"),
        (lambda x: None, "the value is None"),
        (lambda x: 1 + 2j, "ValueError: the value = (1+2j): expected a number"),
        (lambda x: [1.0], "ValueError: the value = [1.0]: expected a number"),
        (lambda x: np.ones(2), "ValueError: the value = array([1., 1.]): expected a"),
        (lambda x: x == 0, "ValueError: the value = True: expected a number"),
        (lambda x: jnp.array(x == 0), "ValueError: the value = Array(True"),
        (lambda x: 10**400, "ValueError: the value = 1000"),
    ],
)
def test_failure_says_what_went_wrong(fun, error):
    outcome = Guarded(fun)(0)
    assert outcome.value is None
    assert outcome.error.startswith(error)


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.array([[2.0]]), jnp.array(2.0)])
def test_whatever_holds_one_real_number_is_a_value(value):
    assert Guarded(lambda x: value)(0).value == float(np.asarray(value).item())


def test_trace_of_a_failure_ends_with_the_line_that_raised():
    def deeper(x):
        return x["rate"]

    trace = Guarded(lambda x: deeper(x))({}).trace
    assert trace.count("File ") == 2
    assert f'File "{__file__}", line ' in trace
    assert trace.splitlines()[-2:][0].strip().startswith('return x["rate"]')
    assert "outcome.py" not in trace.replace("test_outcome.py", "")


def test_exceptions_pass_where_they_are_not_to_be_caught():
    with pytest.raises(ZeroDivisionError):
        Guarded(lambda x: 1 / x, catch=False)(0)


def test_failures_take_time_as_well():
    def fun(x):
        time.sleep(0.1)
        raise RuntimeError

    assert 0.1 <= Guarded(fun)(0).seconds < 5.0


def test_every_way_of_working_measures_the_evaluation_and_not_the_waiting():
    """Two points at once for one worker: the second one's wait is not part of its time."""
    spawn = get_context("spawn")
    with (
        ThreadPoolExecutor(1) as threads,
        ProcessPoolExecutor(1, mp_context=spawn) as processes,
        spawn.Pool(1) as pool,
    ):
        ways = [(1, None), (2, None), (map, 2)]
        ways += [(owner.map, 2) for owner in (threads, processes, pool)]
        for workers, n_parallel in ways:
            with open_workers(process_objectives.sleep, workers, n_parallel) as place:
                waiting = [place.submit(0.8), place.submit(0.05)]
                futures = list(waiting)
                while waiting:
                    for future in place.wait(waiting):
                        waiting.remove(future)
            first, second = (future.result() for future in futures)
            assert type(second) is Outcome, workers
            assert first.seconds >= 0.8, workers
            assert 0.05 <= second.seconds < 0.8, workers


def test_point_that_never_reached_its_executor_is_a_failure_with_a_time():
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes,
        open_workers(lambda x: x, processes.map, 1) as pool,
    ):
        (future,) = pool.wait([pool.submit(1.0)])
    assert future.result().value is None
    assert "pickle" in future.result().error
    assert future.result().seconds >= 0.0


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("never")


def fails_with(error: Exception) -> str | None:
    def fun(x):
        raise error

    return Guarded(fun)(0).error


def test_an_exception_without_a_text_is_a_failure_as_well():
    assert fails_with(Unspeakable()) == "Unspeakable: (its text cannot be had: RuntimeError)"


def test_of_a_very_long_message_the_beginning_is_kept():
    error = fails_with(ValueError("x" * 1_000_000))
    assert error is not None
    assert len(error) < 2100
    assert error.endswith("x... (1000000 characters)")


def test_a_message_can_always_be_printed():
    assert fails_with(ValueError("half \ud800")) == "ValueError: half \\ud800"


def test_a_masked_value_is_a_failure():
    for masked in (np.ma.masked, np.ma.array([1.0], mask=[True])):
        assert Guarded(lambda x, value=masked: value)(0).value is None
    assert Guarded(lambda x: np.ma.array([1.0]))(0).value == 1.0
