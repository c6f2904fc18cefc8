"""What ends a run, what its failures say, how callbacks are called."""

import logging
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from tests import objectives
from tests.evaluation import process_objectives

import infold

BOUNDS = [(-1.0, 1.0)] * 3


def run(fun=objectives.sphere, n_trials=12, **options):
    return infold.minimize(fun, BOUNDS, method="random", n_trials=n_trials, seed=0, **options)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_target_ends_the_run_once_it_is_reached(direction):
    sign = 1.0 if direction == "minimize" else -1.0

    def fun(x):
        return sign * objectives.sphere(x)

    values = sign * run(fun, 50, direction=direction).func_vals
    target = np.sort(values)[3]
    result = run(fun, 50, direction=direction, target=sign * target)
    assert result.nfev == np.flatnonzero(values <= target)[0] + 1
    assert result.message.startswith(f"target {sign * target:g} reached: ")
    assert result.success


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_patience_ends_the_run_after_evaluations_that_brought_nothing(direction):
    calls = []
    sign = 1.0 if direction == "minimize" else -1.0

    def fun(x):
        calls.append(x)
        if len(calls) == 4:
            raise RuntimeError("one of those that bring nothing")
        return sign * [5, 4, 3, 9, 8, 2, 3, 3, 2][len(calls) - 1]

    result = run(fun, patience=3, direction=direction)
    assert result.nfev == 9
    assert result.message == "no better value in 3 evaluations (patience), 9 in all"


def test_patience_counts_what_a_checkpoint_holds(tmp_path):
    options = {"patience": 5, "n_trials": 200}
    whole = run(**options)
    run(n_trials=whole.nfev - 2, checkpoint=tmp_path / "run.jsonl")
    resumed = run(checkpoint=tmp_path / "run.jsonl", **options)
    assert resumed.nit == whole.nit < 200
    assert resumed.nfev == 2


def test_patience_does_not_count_before_the_first_value():
    result = run(lambda x: float("nan"), patience=3, max_failures=7)
    assert result.nfev == 7


def test_max_seconds_ends_the_run_and_lets_evaluations_finish():
    start = time.monotonic()
    result = run(objectives.slow_sphere, 100_000, max_seconds=0.5)
    assert 0.5 <= time.monotonic() - start < 3.0
    assert result.nfev > 1
    assert result.message.startswith("time is up: max_seconds = 0.5, ")
    with ThreadPoolExecutor(2) as threads:
        result = run(objectives.slow_sphere, 100_000, max_seconds=0.5, workers=threads)
    assert result.optimizer.pending == [] or len(result.optimizer.pending) == 1
    assert np.all(np.isfinite(result.func_vals))


@pytest.mark.parametrize("workers", [1, 2])
def test_evaluation_that_takes_too_long_has_failed(workers):
    start = time.monotonic()
    result = infold.minimize(
        process_objectives.sleep_when_large,
        [(0.0, 1.0)],
        method="random",
        n_trials=6,
        seed=0,
        workers=workers,
        timeout=1.0,
    )
    late = np.array(result.x_iters)[:, 0] > 0.5
    assert 0 < np.sum(late) < 6
    np.testing.assert_array_equal(np.isnan(result.func_vals), late)
    errors = {e.error for e in result.evaluations if e.failed}
    assert errors == {"TimeoutError: timed out after 1 s"}
    assert time.monotonic() - start < 30.0


def test_first_failure_is_shown_with_its_lines_and_the_others_in_short(caplog):
    def fun(x):
        return {}[0]

    with caplog.at_level(logging.WARNING):
        result = run(fun, n_trials=3)
    assert caplog.text.count("return {}[0]") == 1
    assert f'File "{__file__}", line ' in caplog.text
    assert "evaluation 3 failed: KeyError: 0" in caplog.text
    assert "on_error='raise'" in caplog.text
    assert all("return {}[0]" in e.error for e in result.evaluations)


def test_no_advice_where_a_later_evaluation_fails(caplog):
    calls = []

    def fun(x):
        calls.append(x)
        return 1.0 if len(calls) == 1 else 1 / 0

    with caplog.at_level(logging.WARNING):
        run(fun, n_trials=3)
    assert "1 / 0" in caplog.text
    assert "The first evaluation failed" not in caplog.text


def test_on_error_raise_raises_the_exception_and_keeps_the_point_pending(tmp_path):
    path = tmp_path / "run.jsonl"
    broken = [False, False, True]

    def fun(x):
        if broken and broken.pop(0):
            raise KeyError("rate")
        return objectives.sphere(x)

    with pytest.raises(KeyError, match="rate") as error:
        run(fun, checkpoint=path, on_error="raise")
    assert error.traceback[-1].name == "fun"
    assert len(infold.Optimizer.load(path)) == 2
    assert len(set(map(tuple, run(fun, checkpoint=path).x_iters))) == 12


def test_on_error_raise_raises_from_every_place():
    spawn = get_context("spawn")
    with (
        ThreadPoolExecutor(2) as threads,
        ProcessPoolExecutor(2, mp_context=spawn) as processes,
        spawn.Pool(2) as pool,
    ):
        for workers in (1, 2, threads, processes, pool, map):
            with pytest.raises(KeyError) as error:
                run(process_objectives.missing_key, workers=workers, on_error="raise")
            if workers == 2:
                assert "process_objectives.py" in "".join(error.value.__notes__)
    with pytest.raises(RuntimeError, match="OwnError"):
        run(process_objectives.own_error, workers=2, on_error="raise")
    with pytest.raises(TimeoutError, match=r"timed out after 0\.5 s"):
        run(process_objectives.hang, timeout=0.5, on_error="raise")


def test_callbacks_in_scipys_form_get_the_result_by_keyword():
    seen = []

    def by_keyword(*, intermediate_result):
        seen.append(intermediate_result.nfev)
        return intermediate_result.nfev == 3

    def by_either(intermediate_result):
        seen.append(intermediate_result.nfev)

    def with_default(result, verbose=False):
        seen.append(result.nfev)

    assert run(callback=by_keyword).nfev == 3
    assert run(n_trials=2, callback=by_either).nfev == 2
    assert run(n_trials=2, callback=with_default).nfev == 2
    assert run(n_trials=2, callback=seen.append).nfev == 2
    assert seen[:7] == [1, 2, 3, 1, 2, 1, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"callback": 3}, "callback = 3: expected a function"),
        ({"callback": lambda: None}, "cannot be called with the result so far"),
        ({"callback": lambda x, convergence: None}, "cannot be called with the result so far"),
        ({"fun": 3}, "fun = 3: expected a function of one point"),
        ({"n_trials": None}, "n_trials = None: expected a whole number of at least 1"),
        ({"n_trials": "10"}, "n_trials = '10': expected a whole number"),
        ({"n_trials": float("inf")}, "n_trials = inf: expected a whole number"),
        ({"n_trials": True}, "n_trials = True: expected a whole number"),
        ({"max_failures": 1.5}, "max_failures = 1.5: expected a whole number"),
        ({"max_seconds": 0}, "max_seconds = 0: expected a number above 0"),
        ({"max_seconds": float("nan")}, "max_seconds = nan: expected a number above 0"),
        ({"target": float("nan")}, "target = nan: expected a finite number"),
        ({"target": "low"}, "target = 'low': expected a finite number"),
        ({"patience": 0}, "patience = 0: expected a whole number of at least 1"),
        ({"on_error": "ignore"}, "on_error = 'ignore': expected one of continue, raise"),
        ({"timeout": -1}, "timeout = -1: expected a number above 0"),
        ({"timeout": 1, "workers": map}, "timeout = 1 goes with a number of processes"),
        ({"workers": "many"}, "workers = 'many': expected a number of at least 1"),
    ],
)
def test_misuse_is_named_before_anything_is_evaluated_or_written(options, message, tmp_path):
    calls = []
    path = tmp_path / "run.jsonl"
    with pytest.raises(ValueError, match=message):
        run(**{"fun": calls.append, "checkpoint": path, **options})
    assert calls == []
    assert not path.exists()


def test_generator_given_as_seed_is_named():
    with pytest.raises(ValueError, match=r"seed = Generator\(PCG64\).*: expected a whole number"):
        infold.minimize(objectives.sphere, BOUNDS, seed=np.random.default_rng(0))


def test_numbers_of_numpy_are_numbers():
    result = run(n_trials=np.int64(4), max_failures=np.int32(2), workers=np.int64(1))
    assert result.nfev == 4
    assert run(n_trials=4.0).nfev == 4
