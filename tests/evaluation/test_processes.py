import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from tests.evaluation import process_objectives

from infold.evaluation.outcome import Guarded
from infold.evaluation.processes import Processes
from infold.evaluation.program import Command
from infold.evaluation.workers import open_workers


@pytest.fixture(autouse=True)
def no_process_is_left():
    """Every test of this file is a test of this as well."""
    yield
    assert multiprocessing.active_children() == []


def outcomes(pool, futures) -> list:
    waiting = list(futures)
    while waiting:
        for future in pool.wait(waiting):
            waiting.remove(future)
    return [future.result() for future in futures]


def wait_until(condition, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.01)


def read_pid(path) -> int:
    """Wait for a file that a process writes its number to, and return the number."""
    wait_until(lambda: path.exists() and path.read_text())
    return int(path.read_text())


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("pause", [0.0, 0.5])
def test_idle_processes_that_are_killed_are_replaced(pause):
    """Also when the next point comes at the moment of the death."""
    with open_workers(process_objectives.square, 2, None) as pool:
        for _ in range(3):
            values = [o.value for o in outcomes(pool, [pool.submit(3.0), pool.submit(4.0)])]
            assert values == [9.0, 16.0]
            for process in multiprocessing.active_children():
                process.kill()
            time.sleep(pause)


def test_death_is_noticed_when_forked_processes_hold_the_pipe_open():
    start = time.monotonic()
    with open_workers(process_objectives.fork_and_die, 2, None) as pool:
        (outcome,) = outcomes(pool, [pool.submit(20.0)])
    assert outcome.value is None
    assert time.monotonic() - start < 15.0


def test_point_whose_processes_die_fails_with_their_exit_code():
    with open_workers(os._exit, 2, None) as pool:
        (outcome,) = outcomes(pool, [pool.submit(7)])
    assert outcome.value is None
    assert outcome.error.startswith("WorkerDied: ")
    assert outcome.error.endswith("exit code 7")
    assert outcome.seconds > 0.0


def test_ctrl_c_leaves_evaluations_alone(tmp_path):
    with open_workers(process_objectives.announce_and_sleep, 2, None) as pool:
        future = pool.submit(str(tmp_path / "pid"))
        os.kill(read_pid(tmp_path / "pid"), signal.SIGINT)
        (outcome,) = outcomes(pool, [future])
    assert outcome.value == 1.0


def test_exceptions_that_mean_stop_come_back_from_processes():
    with (
        pytest.raises(SystemExit) as stop,
        open_workers(process_objectives.leave, 2, None) as pool,
    ):
        outcomes(pool, [pool.submit(3)])
    assert stop.value.code == 3


def test_evaluations_under_way_are_ended_after_an_exception():
    def fail_beside_two_evaluations() -> None:
        with open_workers(process_objectives.sleep, 2, None) as pool:
            outcomes(pool, [pool.submit(0.0)])
            pool.submit(60.0)
            pool.submit(60.0)
            raise RuntimeError("enough")

    start = time.monotonic()
    with pytest.raises(RuntimeError, match="enough"):
        fail_beside_two_evaluations()
    assert time.monotonic() - start < 30.0


def test_programs_are_ended_with_the_evaluations_that_started_them(tmp_path):
    script = tmp_path / "simulate.py"
    script.write_text(
        "import os, sys, time\nopen(sys.argv[1], 'w').write(str(os.getpid()))\ntime.sleep(60)\n"
    )
    command = Command(f"{sys.executable} {script} {{path}}")
    with open_workers(command, 2, None) as pool:
        pool.submit({"path": str(tmp_path / "pid")})
        pid = read_pid(tmp_path / "pid")
        assert is_running(pid)
    wait_until(lambda: not is_running(pid))


PARENT = """
import multiprocessing, time
from infold.evaluation.workers import open_workers
from tests.evaluation import process_objectives

if __name__ == "__main__":
    with open_workers(process_objectives.square, 2, None) as pool:
        waiting = {pool.submit(3.0), pool.submit(4.0)}
        while waiting:
            waiting -= set(pool.wait(waiting))
        print(*(process.pid for process in multiprocessing.active_children()), flush=True)
        time.sleep(60)
"""


def test_processes_end_when_the_optimizer_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    path = os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen(
        [sys.executable, str(script)], env=environment, stdout=subprocess.PIPE, text=True
    ) as parent:
        workers = [int(word) for word in parent.stdout.readline().split()]
        parent.kill()
    assert len(workers) == 2
    wait_until(lambda: not any(is_running(pid) for pid in workers))


def test_objective_that_cannot_be_loaded_is_an_error_that_says_why(tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def f(x):\n    return 1.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    import only_here

    processes = Processes(Guarded(only_here.f), 2)
    Path(only_here.__file__).unlink()
    with pytest.raises(ValueError, match="does not arrive in other processes") as error:
        processes.probe()
    processes.close()
    assert "ModuleNotFoundError: No module named 'only_here'" in str(error.value)
