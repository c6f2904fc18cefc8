import logging
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from tests import objectives

import infold
from infold.evaluation.workers import open_workers

BOUNDS = [(-1.0, 1.0)] * 3


def run(fun=objectives.sphere, n_trials=12, **options):
    return infold.minimize(fun, BOUNDS, method="random", n_trials=n_trials, seed=0, **options)


def test_every_way_of_working_evaluates_every_point_once():
    expected = {tuple(x) for x in run().x_iters}
    spawn = get_context("spawn")
    with (
        ThreadPoolExecutor(3) as threads,
        ProcessPoolExecutor(2, mp_context=spawn) as processes,
        spawn.Pool(2) as pool,
    ):
        for workers in (2, threads.map, processes.map, pool.map, map):
            result = run(workers=workers)
            assert result.nfev == 12, workers
            assert {tuple(x) for x in result.x_iters} == expected, workers
            assert all(
                y == objectives.sphere(x)
                for x, y in zip(result.x_iters, result.func_vals, strict=True)
            )


def test_executors_are_used_asynchronously():
    """One evaluation that takes long does not hold up the others."""
    release = threading.Event()
    seen = []

    def fun(x):
        seen.append(x)
        if len(seen) == 1:
            assert release.wait(30)
        if len(seen) == 8:
            release.set()
        return objectives.sphere(x)

    with ThreadPoolExecutor(2) as threads:
        result = run(fun, n_trials=10, workers=threads.map)
    assert np.all(np.isfinite(result.func_vals))


def test_parallel_evaluations_never_exceed_n_parallel():
    lock = threading.Lock()
    now = [0]
    most = [0]

    def fun(x):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        value = objectives.slow_sphere(x)
        with lock:
            now[0] -= 1
        return value

    with ThreadPoolExecutor(8) as threads:
        run(fun, workers=threads.map, n_parallel=3)
    assert most[0] == 3


def test_point_that_kills_its_process_fails_alone(caplog):
    with caplog.at_level(logging.WARNING):
        result = run(objectives.deadly, n_trials=10, workers=2)
    assert result.nfev == 10
    for x, y in zip(result.x_iters, result.func_vals, strict=True):
        assert np.isnan(y) == (x[0] > 0.5)
    assert 0 < np.sum(np.isnan(result.func_vals)) < 10


def test_evaluations_beside_one_that_kills_its_process_go_on_undisturbed(tmp_path):
    """Only the point whose process died is tried twice."""
    path = tmp_path / "evaluations.txt"
    with open_workers(objectives.logged, 3, None) as pool:
        waiting = [pool.submit((x, str(path))) for x in (0.1, 0.9, 0.2)]
        outcomes = {}
        while waiting:
            for future in pool.wait(waiting):
                waiting.remove(future)
                outcomes[future] = future.result().value
    assert list(outcomes.values()).count(None) == 1
    assert sorted(map(float, path.read_text().split())) == [0.1, 0.2, 0.9, 0.9]


def test_executor_of_the_caller_that_breaks_ends_the_run_with_its_points_saved(tmp_path):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        with pytest.raises(RuntimeError, match="the executor given as workers is broken"):
            run(
                objectives.deadly,
                n_trials=50,
                workers=processes.map,
                checkpoint=tmp_path / "run.json",
            )
        optimizer = infold.Optimizer.load(tmp_path / "run.json")
        with pytest.raises(RuntimeError, match="the executor given as workers is broken"):
            run(objectives.deadly, workers=processes.map)
    expected = run(n_trials=50).x_iters
    assert len(optimizer) == next(i for i, x in enumerate(expected) if x[0] > 0.5) > 0


def test_exceptions_are_failures_that_are_kept_and_logged(caplog):
    def fun(x):
        if x[0] > 0:
            raise RuntimeError("the simulator diverged")
        return objectives.sphere(x)

    with caplog.at_level(logging.WARNING):
        result = run(fun)
    failed = np.isnan(result.func_vals)
    np.testing.assert_array_equal(failed, np.array(result.x_iters)[:, 0] > 0)
    assert result.success
    assert np.isfinite(result.fun)
    assert "the simulator diverged" in caplog.text


def test_failures_in_a_row_end_the_run_with_what_was_found():
    calls = []

    def fun(x):
        calls.append(x)
        if len(calls) > 3:
            raise RuntimeError("licence expired")
        return objectives.sphere(x)

    result = run(fun, n_trials=50, max_failures=4)
    assert result.nfev == 7
    assert (
        result.message
        == "stopped after 4 failures in a row, the last: RuntimeError: licence expired"
    )
    assert result.fun == min(result.func_vals[:3])


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_exceptions_that_mean_stop_do(error, tmp_path):
    path = tmp_path / "run.json"
    calls = []

    def fun(x):
        calls.append(x)
        if len(calls) == 5:
            raise error
        return objectives.sphere(x)

    with pytest.raises(error):
        run(fun, checkpoint=path)
    assert len(infold.Optimizer.load(path)) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"workers": 0},
            "workers = 0: expected a number of at least 1, -1 for one per core, "
            "or a map-like callable",
        ),
        ({"workers": True}, "workers = True: expected a number"),
        ({"workers": "many"}, "workers = 'many': expected a number"),
        ({"workers": 2, "fun": lambda x: 1.0}, "cannot be sent to other processes"),
        (
            {"workers": 2, "n_parallel": 4},
            "n_parallel = 4 goes with a map-like callable: workers = 2 says how many",
        ),
        (
            {"workers": map, "n_parallel": 0},
            "n_parallel = 0: expected a whole number of at least 1",
        ),
        ({"max_failures": 0}, "max_failures = 0: expected a whole number of at least 1"),
    ],
)
def test_misuse_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        run(**options)


def test_parallel_mixed_parameters_reach_the_objective_in_their_types():
    space = {
        "a": infold.Float(-1, 1),
        "n": infold.Int(0, 5),
        "kind": infold.Categorical(["good", "bad"]),
        "flag": infold.Bool(),
    }
    result = infold.minimize(
        objectives.named, space, method="random", n_trials=10, seed=0, workers=2
    )
    assert {type(v) for x in result.x_iters for v in x.values()} == {float, int, str, bool}
    assert result.nfev == 10


def test_processes_that_die_while_the_optimizer_thinks_do_not_end_the_run():
    with open_workers(objectives.deadly, 2, None) as pool:
        deadly = pool.submit([0.9, 0.0, 0.0])
        time.sleep(2.0)  # its process is long dead
        harmless = pool.submit([0.1, 0.0, 0.0])
        waiting = {deadly, harmless}
        while waiting:
            waiting -= set(pool.wait(waiting))
    assert deadly.result().value is None
    assert harmless.result().value == pytest.approx(0.01)


def test_stopped_run_waits_for_what_is_under_way():
    with ThreadPoolExecutor(3) as threads:
        result = run(
            objectives.slow_sphere, n_trials=50, workers=threads.map, callback=lambda r: r.nfev == 5
        )
    assert 5 <= result.nfev <= 7
    assert np.all(np.isfinite(result.func_vals))
    assert result.optimizer.pending == []


def test_function_that_worker_processes_cannot_find_is_an_error_before_any_evaluation(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import infold\n\ndef f(x):\n    return 1.0\n\n"
        "infold.minimize(f, [(0, 1)] * 2, method='random', n_trials=5, workers=2, "
        f"checkpoint={str(tmp_path / 'run.json')!r})\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "does not arrive in other processes" in done.stderr
    assert len(infold.Optimizer.load(tmp_path / "run.json")) == 0


DASK_PROGRAM = """
import infold
from distributed import Client, LocalCluster
from tests import objectives

if __name__ == "__main__":
    bounds = [(-1.0, 1.0)] * 3
    options = {"method": "random", "n_trials": 12, "seed": 0}
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        result = infold.minimize(objectives.slow_sphere, bounds, workers=client.map, **options)
    print(sorted(map(tuple, result.x_iters)) == EXPECTED, len(result.func_vals))
"""


def test_dask_cluster_evaluates_the_same_points(tmp_path):
    script = tmp_path / "program.py"
    expected = [tuple(map(float, x)) for x in run().x_iters]
    script.write_text(DASK_PROGRAM.replace("EXPECTED", repr(sorted(expected))))
    path = os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "12"]


@pytest.mark.parametrize(
    "mapping",
    [
        lambda fun, points: [],
        lambda fun, points: None,
        lambda fun, points: [1.0 for _ in points],
    ],
    ids=["too few", "none", "not of the function"],
)
def test_a_map_that_is_none_is_refused_in_words(mapping):
    with pytest.raises(ValueError, match=r"^workers = .* returned .*: expected what map\("):
        run(workers=mapping)
