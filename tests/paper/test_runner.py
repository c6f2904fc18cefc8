"""Sweeps over real workers: processes of this machine, and a Dask cluster on it."""

import os
import signal
import threading
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import nullcontext

import numpy as np
import pytest

from infold import Optimizer, problems
from infold.paper import runner
from infold.paper.store import Cell, Run, Store

SMALL = 24  # evaluations per run


def cells(names=("full_space", "random"), seeds=(0, 1)) -> list[Cell]:
    return runner.grid("thomson", names, ["pi"], seeds, [3])


def values(store: Store) -> dict[Cell, tuple[float, ...]]:
    return {run.cell: run.values for run in store.runs()}


@pytest.fixture(scope="module")
def reference() -> dict[Cell, tuple[float, ...]]:
    """Values of the small sweep, each run in this process and in one go."""
    return {cell: runner.advance(Run(cell=cell), SMALL).values for cell in cells()}


def test_a_grid_has_every_cell_once_and_only_settings_that_methods_have():
    grid = runner.grid(
        "thomson", ["mgpc", "full_space", "random+uniform"], ["ei", "pi"], range(3), [2, 3]
    )
    assert len(grid) == len(set(grid)) == 3 * (2 * 2 + 2 + 1)
    assert Cell(problem="thomson", method="random+uniform", seed=2) in grid
    assert Cell(problem="thomson", method="full_space", acquisition="ei", seed=0) in grid
    assert {cell.n_features for cell in runner.grid("thomson", ["add"], ["pi"], [0])} == {
        2,
        3,
        4,
        6,
    }
    assert {cell.n_features for cell in runner.grid("rosenbrock-linear", ["add"], ["pi"], [0])} == {
        10
    }


def test_runs_begin_with_ten_uniform_points_that_all_methods_share():
    """Also `auto`, which begins at the centre of the box where nobody says otherwise."""
    problem = problems.get("thomson")
    for seed in (0, 1):
        grid = cells(("full_space", "auto", "add", "random+uniform"), [seed])
        runs = [runner.advance(Run(cell=cell), 12) for cell in grid]
        assert len({run.values[:10] for run in runs}) == 1
        assert len({run.values[10:] for run in runs}) == len(grid)
        points = np.array(Optimizer.from_text(runs[1].state).points)[:10]
        assert not np.any(np.all(points == 0.5, axis=1))
        assert runs[1].values[:10] == tuple(problem(points).tolist())


def test_steps_add_up_to_the_run_in_one_go(reference):
    cell = cells()[0]
    run = Run(cell=cell)
    for evaluations in (3, 11, 17, SMALL):
        run = runner.advance(run, evaluations)
    assert run.values == reference[cell]
    assert run.seconds > 0.0


def test_a_stopped_sweep_continues_and_repeats_nothing(tmp_path, reference, monkeypatch):
    monkeypatch.setattr(runner, "STEP", 7)
    store = Store(tmp_path)

    def stop(done, running, evaluations):
        if evaluations >= 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.sweep(cells(), store, runner.local(2), evaluations=SMALL, report=stop)
    before = values(store)
    assert any(0 < len(known) < SMALL for known in before.values())
    reports = []
    outcome = runner.sweep(
        cells(),
        store,
        runner.local(2),
        evaluations=SMALL,
        report=lambda *report: reports.append(report),
    )
    assert (outcome.done, outcome.failed) == (4, {})
    assert values(store) == reference
    assert reports[0][2] >= 30
    assert reports[-1] == (4, 0, 4 * SMALL)
    runner.sweep(cells(), store, _nobody, evaluations=SMALL)
    longer = runner.sweep(cells(), store, runner.local(2), evaluations=SMALL + 2)
    assert longer.done == 4
    assert {cell: found[:SMALL] for cell, found in values(store).items()} == reference


def _nobody():
    raise AssertionError("workers were asked for, though nothing is left to do")


def test_lost_processes_are_replaced(tmp_path, reference, monkeypatch):
    monkeypatch.setattr(runner, "STEP", 7)
    victims = []

    class Deadly(Store):
        def write(self, run):
            super().write(run)
            if not victims:
                import psutil

                children = psutil.Process().children()
                victims.extend(
                    child.pid for child in children if "popen_loky" in " ".join(child.cmdline())
                )
                os.kill(victims[0], signal.SIGKILL)

    outcome = runner.sweep(cells(), Deadly(tmp_path), runner.local(2), evaluations=SMALL)
    assert victims
    assert (outcome.done, outcome.failed) == (4, {})
    assert values(Store(tmp_path)) == reference


class Fragile(Executor):
    """An executor in this process that finds all workers lost at the calls numbered in `broken`."""

    def __init__(self, broken: set[int]) -> None:
        self.calls, self.broken = 0, broken

    def submit(self, function, *args):
        self.calls += 1
        if self.calls in self.broken:
            raise BrokenExecutor
        future = Future()
        future.set_result(function(*args))
        return future


def test_no_run_is_lost_when_the_workers_are_found_dead(tmp_path, reference):
    executor = Fragile({2, 6, 9})
    outcome = runner.sweep(
        cells(),
        Store(tmp_path),
        lambda: nullcontext(runner.Workers(executor, 2)),
        evaluations=SMALL,
    )
    assert (outcome.done, outcome.failed) == (4, {})
    assert values(Store(tmp_path)) == reference


def test_workers_that_die_again_and_again_end_the_sweep(tmp_path):
    executor = Fragile(set(range(100)))
    with pytest.raises(ChildProcessError, match="all workers were lost 3 times in a row"):
        runner.sweep(
            cells(),
            Store(tmp_path),
            lambda: nullcontext(runner.Workers(executor, 2)),
            evaluations=SMALL,
        )


def test_one_run_that_fails_does_not_stop_the_others(tmp_path):
    store = Store(tmp_path)
    broken = Run(cell=cells()[0], values=(1.0,), state="not a run")
    store.write(broken)
    outcome = runner.sweep(cells(), store, runner.local(2), evaluations=12)
    assert outcome.done == 3
    assert "is not a run file of infold" in outcome.failed[broken.cell]
    assert store.read(broken.cell) == broken


@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_gives_the_same_numbers_though_a_worker_is_killed(
    tmp_path, reference, monkeypatch
):
    from distributed import Client, LocalCluster

    monkeypatch.setattr(runner, "STEP", 7)
    killed = threading.Event()
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=str(tmp_path / "dask"),
        ) as cluster,
        Client(cluster) as client,
    ):

        def kill_one(done, running, evaluations):
            if evaluations > 0 and running == 2 and not killed.is_set():
                killed.set()
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

        store = Store(tmp_path / "runs")
        outcome = runner.sweep(
            cells(),
            store,
            runner.dask(cluster.scheduler_address),
            evaluations=SMALL,
            report=kill_one,
        )
    assert killed.is_set()
    assert (outcome.done, outcome.failed) == (4, {})
    found = values(store)
    assert found.keys() == reference.keys()
    for cell in found:
        np.testing.assert_array_equal(found[cell], reference[cell])
