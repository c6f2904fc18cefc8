"""Executors, pools and clients given as `workers`, and functions that do not reach processes."""

import multiprocessing
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.pool import ThreadPool

import numpy as np
import pytest
from tests import objectives
from tests.leftovers import is_left, marked, wait_until

import infold
from infold.evaluation.workers import open_workers

BOUNDS = [(-1.0, 1.0)] * 3


def run(fun=objectives.sphere, n_trials=12, **options):
    return infold.minimize(fun, BOUNDS, method="random", n_trials=n_trials, seed=0, **options)


def test_executors_are_given_as_themselves_or_as_their_map():
    expected = {tuple(x) for x in run().x_iters}
    spawn = get_context("spawn")
    with (
        ThreadPoolExecutor(3) as threads,
        ProcessPoolExecutor(2, mp_context=spawn) as processes,
        spawn.Pool(2, maxtasksperchild=3) as pool,
        ThreadPool(2) as thread_pool,
    ):
        for workers in (threads, processes, pool, thread_pool, thread_pool.map, np.int64(2)):
            assert {tuple(x) for x in run(workers=workers).x_iters} == expected, workers


def test_executors_say_how_many_evaluations_they_take_at_once():
    with ThreadPoolExecutor(3) as threads, open_workers(abs, threads, None) as pool:
        assert pool.capacity == 3
    with ThreadPoolExecutor(3) as threads, open_workers(abs, threads, 2) as pool:
        assert pool.capacity == 2


def test_multiprocessing_pool_whose_process_dies_ends_the_run_with_its_points_saved(tmp_path):
    path = tmp_path / "run.jsonl"
    start = time.monotonic()
    with (
        get_context("spawn").Pool(1) as pool,
        pytest.raises(RuntimeError, match="the executor given as workers is broken"),
    ):
        run(objectives.deadly, n_trials=50, workers=pool, checkpoint=path)
    assert time.monotonic() - start < 20.0
    expected = run(n_trials=50).x_iters
    n_before = next(i for i, x in enumerate(expected) if x[0] > 0.5)
    assert len(infold.Optimizer.load(path)) == n_before > 0


def test_functions_of_a_prompt_get_advice_to_use_threads(tmp_path):
    """As in a notebook: __main__ is no file."""
    program = (
        "import infold\ndef f(x):\n    return 1.0\n"
        "for fun in (f, lambda x: 1.0):\n"
        "    try:\n"
        "        infold.minimize(fun, [(0, 1)], method='random', n_trials=2, workers=2)\n"
        "    except ValueError as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=marked()[0],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    advice = "use threads, with workers=concurrent.futures.ThreadPoolExecutor(4)"
    assert done.stdout.count(f"in a notebook or at the prompt {advice}") == 2


def test_function_that_cannot_be_pickled_gets_advice():
    with pytest.raises(ValueError, match=r"cannot be sent to other processes .* use threads"):
        run(lambda x: 1.0, workers=2)


DASK_PROGRAM = """
import infold
from distributed import Client, LocalCluster
from infold.evaluation.workers import open_workers
from tests import objectives

if __name__ == "__main__":
    cluster = LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None)
    with cluster, Client(cluster) as client:
        for workers in (client, client.map):
            with open_workers(objectives.counted, workers, None) as pool:
                waiting = [pool.submit([PATH]), pool.submit([PATH])]
                while waiting:
                    for future in pool.wait(waiting):
                        waiting.remove(future)
"""


def test_equal_points_on_a_dask_cluster_are_evaluated_each(tmp_path):
    script, path = tmp_path / "program.py", tmp_path / "calls.txt"
    script.write_text(DASK_PROGRAM.replace("PATH", repr(str(path))))
    subprocess.run([sys.executable, str(script)], env=marked()[0], check=True, capture_output=True)
    assert path.read_text().count("called") == 4


PARENT = """
import infold
from tests import objectives

if __name__ == "__main__":
    infold.minimize(objectives.busy, [(0.0, 1.0)], method="random", workers=2)
"""


def test_busy_workers_and_what_they_started_end_when_the_optimizer_is_killed(tmp_path):
    """Also when they hold the interpreter's lock, or have forked, so that pipes stay open."""
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    environment, mark = marked()
    with subprocess.Popen([sys.executable, str(script)], env=environment) as parent:
        wait_until(lambda: sum("sleep" in p.name() for p in is_left(mark)) >= 2)
        parent.kill()
    wait_until(lambda: not is_left(mark), 5.0)


def test_workers_in_a_thread_end_with_the_run():
    """No signal handlers there; the rest is the same."""
    results = []
    thread = threading.Thread(target=lambda: results.append(run(workers=2)))
    thread.start()
    thread.join()
    assert results[0].nfev == 12
    assert multiprocessing.active_children() == []
