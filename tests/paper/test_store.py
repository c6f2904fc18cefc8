import dataclasses
import json

import numpy as np
import pytest

from infold.paper.store import TABLE, Cell, Run, Store, tabulate

CELL = Cell(problem="thomson", method="mgpc", acquisition="pi", n_features=3, seed=4)


def test_what_is_written_is_read_back(tmp_path):
    store = Store(tmp_path)
    assert store.read(CELL) == Run(cell=CELL)
    run = Run(cell=CELL, values=(3.0, 0.1 + 0.2, 5.0), seconds=1.5, state="a text")
    store.write(run)
    assert store.read(CELL) == run
    assert store.runs() == [run]
    assert [path.name for path in (tmp_path / "thomson").iterdir()] == ["mgpc-pi-d3-s4.json"]


def test_the_table_alone_gives_back_every_curve(tmp_path, rng):
    store = Store(tmp_path)
    runs = [
        Run(
            cell=Cell(problem=problem, method="add", acquisition="ei", n_features=2, seed=seed),
            values=tuple(rng.normal(size=40)),
        )
        for problem in ("thomson", "rosenbrock-linear")
        for seed in (0, 1)
    ]
    for run in runs:
        store.write(run)
    path = store.write_table()
    for written in (store.path(run.cell) for run in runs):
        written.unlink()
    table = Store(tmp_path).table()
    assert path.stat().st_size < 20_000
    for run in runs:
        rows = table[(table["problem"] == run.cell.problem) & (table["seed"] == run.cell.seed)]
        steps = np.repeat(rows["best"].to_numpy(), np.diff(rows["evaluations"], append=41))
        np.testing.assert_array_equal(steps, np.minimum.accumulate(run.values))


def test_the_longer_of_two_runs_counts(tmp_path):
    store = Store(tmp_path)
    store.write(Run(cell=CELL, values=(5.0, 4.0)))
    store.write_table()
    store.write(Run(cell=CELL, values=(5.0, 3.0, 1.0)))
    assert store.table()["best"].tolist() == [5.0, 3.0, 1.0]
    store.write_table()
    store.write(Run(cell=CELL, values=(9.0,)))
    assert store.read(CELL).values == (5.0, 3.0, 1.0)
    store.path(CELL).unlink()
    store.write(Run(cell=CELL, values=(9.0,)))
    assert store.table()["best"].tolist() == [5.0, 3.0, 1.0]
    store.write(Run(cell=CELL, values=(9.0, 8.0, 7.0)))
    assert store.table()["best"].tolist() == [9.0, 8.0, 7.0]


def test_the_state_is_kept_until_the_run_is_as_long_as_the_papers(tmp_path):
    store = Store(tmp_path)
    store.write(Run(cell=CELL, values=(1.0,) * 309, state="a text"))
    assert store.read(CELL).state == "a text"
    store.write(Run(cell=CELL, values=(1.0,) * 310, state="a text"))
    assert store.read(CELL).state is None


def test_an_empty_folder_has_an_empty_table(tmp_path):
    assert len(Store(tmp_path / "none").table()) == 0
    assert len(tabulate([Run(cell=CELL)])) == 0


def test_files_that_hold_something_else_are_refused(tmp_path):
    store = Store(tmp_path)
    store.write(Run(cell=CELL, values=(5.0,)))
    path = store.path(CELL)
    text = path.read_text()
    path.write_text(text[:-20])
    with pytest.raises(
        ValueError,
        match=r"mgpc-pi-d3-s4\.json is not a run of an infold experiment, or is cut short",
    ):
        store.runs()
    path.write_text(json.dumps({**json.loads(text), "cell": {"colour": "red"}}))
    with pytest.raises(ValueError, match="is not a run of an infold experiment"):
        store.read(CELL)
    path.write_text(json.dumps({**json.loads(text), "version": 99}))
    with pytest.raises(ValueError, match="has version 99"):
        store.read(CELL)


def test_runs_with_the_former_name_of_the_papers_code_are_read(tmp_path):
    store = Store(tmp_path)
    former = dataclasses.replace(CELL, method="mgpc+paper")
    store.write(Run(cell=former, values=(5.0, 4.0)))
    assert [run.cell.method for run in store.runs()] == ["mgpc+code"]
    tabulate([Run(cell=former, values=(5.0, 4.0))]).to_parquet(tmp_path / TABLE)
    store.path(former).unlink()
    assert store.table()["method"].unique().tolist() == ["mgpc+code"]
    store.write(Run(cell=dataclasses.replace(CELL, method="mgpc+code"), values=(3.0, 2.0)))
    assert store.table()["best"].tolist() == [3.0, 2.0]
