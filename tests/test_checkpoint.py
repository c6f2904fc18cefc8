"""Laws of checkpoints: one run at a time, no contradictions, nothing lost, a true last word."""

import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from tests.chained import Chained
from tests.test_durability import n_evaluations

import infold
from infold import Int, Optimizer, methods
from infold.running import checkpoint as _checkpoint
from infold.running.checkpoint import open_run

BOUNDS = [(-1.0, 1.0)] * 3

PROGRAM = """
import os, sys, time
import infold

def slow(x):
    if os.fork() == 0:  # a child that outlives its parent must not have the lock
        time.sleep(20)
        os._exit(0)
    time.sleep(0.1)
    return float(sum(x**2))

infold.minimize(
    slow, [(-1.0, 1.0)] * 3, method="random", n_trials=1000, seed=0, checkpoint=sys.argv[1]
)
"""


def sphere(x) -> float:
    return float(np.sum(np.asarray(x) ** 2))


def run(path, n_trials=5, fun=sphere, **settings):
    settings = {"bounds": BOUNDS, **settings}
    return infold.minimize(fun, checkpoint=path, n_trials=n_trials, **settings)


def test_a_second_process_on_a_checkpoint_is_refused_until_the_first_is_dead(tmp_path):
    path, link = tmp_path / "run.jsonl", tmp_path / "link.jsonl"
    link.symlink_to(path)
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(path)], start_new_session=True
    )
    try:
        while n_evaluations(path) < 2:
            assert process.poll() is None
            time.sleep(0.01)
        calls = []
        for name in (path, link):
            with pytest.raises(BlockingIOError, match=f"in use by process {process.pid} on ") as e:
                run(name, 1000, calls.append)
            assert str(path) in str(e.value)
        assert calls == []
        loaded = Optimizer.load(path)  # reading is free
        assert len(loaded) >= 2
        loaded.ask()
        with pytest.raises(BlockingIOError, match="in use by process"):
            loaded.save(path)
        loaded.save(tmp_path / "copy.jsonl")
        os.kill(process.pid, signal.SIGKILL)  # its children live on
        process.wait()
        kept = n_evaluations(path)
        result = run(path, kept + 3)
        assert result.nfev == 3
        assert len(Optimizer.load(path)) == kept + 3
        assert sorted(os.listdir(tmp_path)) == ["copy.jsonl", "link.jsonl", "run.jsonl"]
    finally:
        os.killpg(process.pid, signal.SIGKILL)


def test_a_second_run_of_the_same_process_is_refused_and_the_lock_ends_with_the_first(tmp_path):
    path = tmp_path / "run.jsonl"
    found = []

    def nested(x):
        if not found:
            with pytest.raises(BlockingIOError, match="in use by another run of this process"):
                run(path, 50)
            thread = threading.Thread(target=lambda: found.append(_error(run, path, 50)))
            thread.start()
            thread.join()
        return sphere(x)

    assert run(path, 3, nested).nfev == 3
    assert isinstance(found[0], BlockingIOError)
    assert run(path, 5).nfev == 2
    with pytest.raises(ZeroDivisionError):
        run(path, 9, callback=lambda result: 1 / 0)
    assert run(path, 9).nfev == 3
    assert os.listdir(tmp_path) == ["run.jsonl"]


def _error(function, *arguments):
    try:
        function(*arguments)
    except Exception as error:
        return error
    return None


def test_lock_is_taken_once_by_many_processes_that_race_for_it(tmp_path):
    """Each adds one to a number, with a pause between reading and writing."""
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from infold.runfile.locks import Lock\n"
        "path = Path(sys.argv[1])\n"
        "for _ in range(20):\n"
        "    lock = Lock(path)\n"
        "    while True:\n"
        "        try:\n"
        "            lock.acquire()\n"
        "            break\n"
        "        except BlockingIOError:\n"
        "            time.sleep(0.0005)\n"
        "    n = int(path.read_text())\n"
        "    time.sleep(0.001)\n"
        "    path.write_text(str(n + 1))\n"
        "    lock.release()\n"
    )
    path = tmp_path / "n"
    path.write_text("0")
    processes = [subprocess.Popen([sys.executable, "-c", program, str(path)]) for _ in range(3)]
    assert [process.wait() for process in processes] == [0] * 3
    assert path.read_text() == "60"
    assert os.listdir(tmp_path) == ["n"]


@pytest.mark.parametrize(
    ("name", "same", "other"),
    [
        ("method", "full_space", "random"),
        ("acquisition", "pi", "ei"),
        ("n_initial", 4, 5),
        ("initial", "uniform", "sobol"),
        ("seed", 7, 8),
        ("direction", "maximize", "minimize"),
    ],
)
def test_given_settings_that_contradict_a_checkpoint_are_an_error(tmp_path, name, same, other):
    path = tmp_path / "run.jsonl"
    settings = {
        "method": "full_space",
        "acquisition": "pi",
        "n_initial": 4,
        "initial": "uniform",
        "seed": 7,
        "direction": "maximize",
    }
    run(path, 3, **settings)
    before = path.read_bytes()
    calls = []
    expected = f"{name} = {other!r}: {path} holds a run with {name} = {same!r}"
    with pytest.raises(ValueError, match=re.escape(expected)):
        run(path, 5, calls.append, **{name: other})
    assert calls == []
    assert path.read_bytes() == before
    assert run(path, 4, **{name: same}).nfev == 1
    assert run(path, 5).nfev == 1  # defaults are not compared
    assert run(path, 6, **settings).nfev == 1


def test_features_are_compared_with_what_the_run_has(tmp_path):
    path = tmp_path / "run.jsonl"
    bounds = [(0.0, 1.0)] * 8
    run(path, 2, bounds=bounds, method="mgpc", seed=0)
    assert run(path, 3, bounds=None, n_features=4).nfev == 1  # the default for 8 parameters
    with pytest.raises(ValueError, match=r"n_features = 3: .* holds a run with n_features = 4"):
        run(path, 4, bounds=None, n_features=3)
    other = tmp_path / "random.jsonl"
    run(other, 2, method="random")
    with pytest.raises(ValueError, match="holds a run with a method that has no n_features"):
        run(other, 4, n_features=3)


def test_methods_as_objects_are_compared_too(tmp_path):
    path = tmp_path / "run.jsonl"

    class Other(Chained):
        pass

    run(path, 2, method=Chained(), seed=0)
    assert run(path, 3, method=Chained()).nfev == 1
    with pytest.raises(ValueError, match=r"method = 'Other': .* a run with method = 'Chained'"):
        run(path, 4, method=Other())
    known = tmp_path / "known.jsonl"
    run(known, 2, method=methods.RandomSearch(design="uniform"))
    with pytest.raises(ValueError, match=r"known\.jsonl, line 1: method = .*sobol.*uniform"):
        run(known, 4, method=methods.RandomSearch())
    assert run(known, 4, method="random").nfev == 2


def test_open_run_takes_defaults_for_new_runs_alone(tmp_path):
    path = tmp_path / "run.jsonl"
    given = {"method": "random", "seed": None}
    with open_run(path, space=BOUNDS, given=given, defaults={"seed": 3, "method": "mgpc"}) as new:
        assert not new.resumed
        assert new.optimizer.seed == 3
        assert methods.name_of(new.optimizer.method) == "random"
        new.save_or_raise()
    with open_run(path, given=given, defaults={"seed": 4}) as again:
        assert again.resumed
        assert again.optimizer.seed == 3
    with open_run(None, space=BOUNDS, given=given) as unkept:
        assert unkept.path is None
        assert unkept.save()
    with pytest.raises(ValueError, match="bounds = None: expected a space"), open_run(None):
        pass
    with (
        pytest.raises(ValueError, match="setting = 'colour': expected one of method"),
        open_run(None, space=BOUNDS, given={"colour": "red"}),
    ):
        pass


class FullDisk:
    """A disk that is full from one evaluation on: the kernel lets no file grow."""

    def __init__(self, path, after: int, until: float = np.inf) -> None:
        self.path, self.after, self.until, self.n = path, after, until, 0
        self.limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def __call__(self, x) -> float:
        self.n += 1
        full = self.after <= self.n < self.until
        size = os.path.getsize(self.path) if full else self.limits[0]
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, self.limits[1]))
        return sphere(x)

    def __enter__(self) -> "FullDisk":
        return self

    def __exit__(self, *error) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self.limits)


def test_disk_that_is_full_for_a_while_loses_nothing(tmp_path, caplog):
    path = tmp_path / "run.jsonl"
    with FullDisk(path, after=4, until=8) as disk:
        result = run(path, 12, disk, method="random", seed=0)
    assert result.nfev == 12
    assert result.message == "all 12 evaluations done"
    assert caplog.text.count(f"{path} could not be written ([Errno 27] File too large") == 4
    assert "the last 4 evaluations are in memory alone" in caplog.text
    assert f"{path} is written again" in caplog.text
    loaded = Optimizer.load(path)
    np.testing.assert_array_equal(loaded.points, result.x_iters)
    assert loaded.values.tolist() == result.func_vals.tolist()


@pytest.mark.parametrize(("seconds", "n"), [(0.0, 13), (1e9, 20)])
def test_disk_that_stays_full_ends_the_run_with_its_result(tmp_path, monkeypatch, seconds, n):
    monkeypatch.setattr(_checkpoint, "_SECONDS", seconds)
    path = tmp_path / "run.jsonl"
    with FullDisk(path, after=4) as disk:
        result = run(path, 20, disk, method="random", seed=0)
    assert result.nfev == len(result.x_iters) == n
    assert result.success
    how = "stopped after 13 evaluations" if n == 13 else "all 20 evaluations done"
    assert result.message.startswith(f"{how}; {path} could not be written (")
    assert result.message.endswith(f"the last {n - 3} evaluations are in memory alone")
    assert len(Optimizer.load(path)) == 3
    result.optimizer.save(path)
    assert len(Optimizer.load(path)) == n


def test_file_that_is_no_run_file_any_more_stays_and_the_result_is_returned(tmp_path):
    path = tmp_path / "run.jsonl"

    def objective(x):
        path.write_text("notes")
        return sphere(x)

    result = run(path, 3, objective, method="random")
    assert result.nfev == 3
    assert "is not a run file of infold and is not overwritten" in result.message
    assert path.read_text() == "notes"


def test_what_is_full_at_the_start_is_an_error_before_the_first_evaluation(tmp_path):
    path, calls = tmp_path / "run.jsonl", []
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            run(path, 3, calls.append)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert calls == []
    assert os.listdir(tmp_path) == []


def test_pipes_and_devices_are_no_checkpoints(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/null"):
        with pytest.raises(ValueError, match="is a pipe or a device: expected a file"):
            run(path)
    assert os.listdir(tmp_path) == ["pipe"]


def test_nothing_left_to_do_is_said_and_is_no_success(tmp_path):
    x0 = np.linspace(-1.0, 1.0, 30).reshape(10, 3)
    known = {"x0": x0, "y0": [sphere(x) for x in x0], "method": "random"}
    result = run(None, 5, **known)
    assert result.message == "0 evaluations made: 10 known already, n_trials = 5"
    assert not result.success
    assert result.fun == min(known["y0"])
    path = tmp_path / "run.jsonl"
    run(path, 4)
    result = run(path, 4)
    assert result.message == "0 evaluations made: 4 known already, n_trials = 4"
    assert (result.success, result.nfev, result.nit) == (False, 0, 4)
    assert run(path, 6).message == "all 6 evaluations done"


@pytest.mark.parametrize("workers", [1, 2])
def test_exhausted_space_stops_the_run_and_evaluates_no_point_twice(workers):
    space = {"n": Int(1, 3), "m": Int(0, 3)}
    result = infold.minimize(_product, space, method="random", n_trials=50, seed=0, workers=workers)
    assert result.nfev == len({tuple(x.values()) for x in result.x_iters}) == 12
    assert result.success
    assert result.message == "stopped after 12 evaluations: all 12 points of the space are known"
    assert result.optimizer.exhausted
    assert result.optimizer.pending == []
    again = infold.minimize(
        _product, space, x0=result.x_iters, y0=result.func_vals, n_trials=50, method="random"
    )
    assert again.message == "0 evaluations made: all 12 points of the space are known already"
    assert not again.success


def _product(p: dict) -> float:
    return float(p["n"] * p["m"])


def test_the_last_points_of_a_space_are_found_however_rare_they_are():
    """A hundred random points would miss them: large numbers of a logarithmic scale are rare."""
    optimizer = Optimizer({"n": Int(1, 3000, log=True)}, method="random", seed=0)
    for n in range(1, 2999):
        optimizer.tell({"n": n}, 1.0)
    assert {x["n"] for x in optimizer.ask(2)} == {2999, 3000}
    assert optimizer.exhausted
    assert not Optimizer([(0.0, 1.0)]).exhausted


def test_y0_is_checked_as_told_values_are():
    for y0, message in (
        (["1.5"], r"y0\[0\] = '1.5': expected a number"),
        ([1j], r"y0\[0\] = 1j: expected a number"),
        ([10**400], r"y0\[0\] = 1000.*: expected a number of at most 1.8e308"),
    ):
        with pytest.raises(ValueError, match=message):
            run(None, 5, x0=[[0.0] * 3], y0=y0, method="random")
    result = run(None, 2, x0=[[0.0] * 3], y0=[np.array([2.0])], method="random")
    assert result.func_vals[0] == 2.0


def test_printed_results_and_optimizers_are_short():
    result = infold.minimize(sphere, [(-1.0, 1.0)] * 40, method="random", n_trials=30, seed=0)
    assert len(str(result)) < 400
    assert str(result) == repr(result)
    assert "(40 values)" in str(result)
    assert f"fun: {result.fun}" in str(result)
    assert "all 30 evaluations done" in str(result)
    text = repr(result.optimizer)
    assert text.startswith("<Optimizer: minimize over 40 parameters with random, 30 evaluations, ")
    assert len(text) < 150
    named = infold.minimize(_product, {"n": Int(1, 3), "m": Int(0, 3)}, method="random", n_trials=2)
    assert f"[n={named.x['n']}, m={named.x['m']}]" in repr(named)
    failed = infold.minimize(lambda x: None, BOUNDS, method="random", n_trials=1)
    assert "x: None" in repr(failed)
    assert repr(infold._minimize.Result()).startswith(" message: None")


def test_an_objective_may_go_to_another_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def wandering(x):
        os.makedirs("deeper", exist_ok=True)
        os.chdir("deeper")
        return float(x[0])

    infold.minimize(wandering, BOUNDS, method="random", n_trials=3, checkpoint="run.json")
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["run.json"]
    assert len(Optimizer.load(tmp_path / "run.json")) == 3


@pytest.mark.parametrize("path", ["", 3, True, b"run.json", "a\0b"])
def test_what_is_no_path_is_refused_by_name(path):
    said = re.escape(f"{path!r}: expected the path of a file")
    with pytest.raises(ValueError, match=f"^checkpoint = {said}"):
        infold.minimize(lambda x: 0.0, BOUNDS, method="random", checkpoint=path)
    for use in (Optimizer(BOUNDS, method="random").save, Optimizer.load):
        with pytest.raises(ValueError, match=f"^path = {said}"):
            use(path)


def test_a_missing_folder_is_named_by_the_file_that_was_wanted(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing/run\.json'$"):
        Optimizer(BOUNDS, method="random").save(tmp_path / "missing" / "run.json")
