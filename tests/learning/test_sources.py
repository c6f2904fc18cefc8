"""Whatever people have of earlier runs is read, and what cannot be is refused by name."""

import pickle

import numpy as np
import optuna
import pandas
import pytest
from tests.learning.made import MIXED, loss, saved, told

import infold
from infold import Categorical, Optimizer
from infold.integrations.optuna import InfoldSampler
from infold.learning.sources import Source, read, teaches_nothing

optuna.logging.set_verbosity(optuna.logging.WARNING)


def one(earlier, **options) -> Source:
    (source,) = read(earlier, **options)
    return source


def same(a: Source, b: Source) -> bool:
    values = (a.values is None) == (b.values is None)
    if a.values is not None:
        values = np.array_equal(a.values, b.values, equal_nan=True)
    points = [dict(point) for point in a.points] == [dict(point) for point in b.points]
    return values and points and a.direction == b.direction


def test_run_files_results_and_optimizers_say_the_same(tmp_path):
    result = infold.minimize(
        lambda x: float(x @ x),
        [(-1.0, 1.0)] * 3,
        n_trials=6,
        method="random",
        seed=0,
        direction="maximize",
        checkpoint=tmp_path / "run.json",
    )
    sources = read([result, result.optimizer, tmp_path / "run.json", str(tmp_path / "run.json")])
    assert all(same(sources[0], source) for source in sources)
    assert sources[0].direction == "maximize"
    assert np.array_equal(sources[0].losses, -result.func_vals)


def test_a_result_has_the_evaluations_it_had_when_it_was_returned():
    result = infold.minimize(lambda x: float(x @ x), [(0.0, 1.0)] * 2, n_trials=4, method="random")
    result.optimizer.tell(result.optimizer.ask(), 1.0)
    assert len(one(result).points) == 4
    assert len(one(result.optimizer).points) == 5


def test_patterns_give_files_in_the_order_of_their_names(tmp_path):
    paths = saved(tmp_path)
    sources = read(str(tmp_path / "run-*.json"))
    assert [source.name for source in sources] == [str(path) for path in paths]
    with pytest.raises(ValueError, match=r"no file has such a name"):
        read(str(tmp_path / "nothing-*.json"))
    with pytest.raises(ValueError, match=r"is a folder"):
        read(tmp_path)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "missing.json")


def test_failed_evaluations_are_failed_and_infeasible_ones_are_no_good():
    optimizer = told(n=3)
    optimizer.tell(optimizer.ask(), None, error="it broke")
    source = one(optimizer)
    assert np.isnan(source.values[3])
    assert not np.any(np.isnan(source.values[:3]))
    constrained = Source(
        name="",
        named=True,
        parameters={"x": None},
        points=[{"x": 0.1}, {"x": 0.2}],
        values=np.array([1.0, 2.0]),
        constraints=[(-1.0, 0.0), (-1.0, 0.1)],
    )
    assert constrained.losses.tolist()[:1] == [1.0]
    assert np.isnan(constrained.losses[1])


def test_run_files_without_values_are_designs(tmp_path):
    asked, empty = (Optimizer([(0.0, 1.0)] * 2, method="random", seed=0) for _ in range(2))
    asked.ask(5)
    for x in empty.ask(5):
        empty.tell(x, None)
    failed = Optimizer.from_text(empty.to_text())
    failed.tell(failed.ask(), None, error="no licence")
    for i, optimizer in enumerate((asked, empty, failed)):
        optimizer.save(tmp_path / f"{i}.json")
    first, second, third = read(str(tmp_path / "*.json"))
    assert first.values is None
    assert len(first.points) == 5
    assert same(first, second)
    assert teaches_nothing(third) == "no evaluation succeeded"


def test_points_that_break_constraints_are_no_designs():
    optimizer = Optimizer([(0.0, 1.0)] * 2, method="random", seed=0)
    for x in optimizer.ask(5):
        optimizer.tell(x, None, constraints=[1.0])
    for source in read([optimizer, optimizer.to_frame()]):
        assert teaches_nothing(source) == "no evaluation succeeded"


def test_tables_of_a_run_that_failed_throughout_are_no_designs(tmp_path):
    optimizer = Optimizer([(0.0, 1.0)] * 2, method="random", seed=0)
    for x in optimizer.ask(5):
        optimizer.tell(x, None)
    optimizer.to_frame().to_csv(tmp_path / "designs.csv")
    for source in read([optimizer.to_frame(), tmp_path / "designs.csv"]):
        assert source.values is None
    optimizer.tell(optimizer.ask(), None, error="no licence")
    optimizer.to_frame().to_csv(tmp_path / "failed.csv")
    for source in read([optimizer, optimizer.to_frame(), tmp_path / "failed.csv"]):
        assert teaches_nothing(source) == "no evaluation succeeded"


def test_arrays_are_points_with_or_without_values(rng):
    x, y = rng.uniform(size=(5, 3)), np.array([1.0, np.nan, 2.0, np.inf, 3.0])
    pair, alone = read([(x, y), x])
    assert [list(point.values()) for point in pair.points] == x.tolist()
    assert np.array_equal(pair.values, [1.0, np.nan, 2.0, np.nan, 3.0], equal_nan=True)
    assert alone.values is None
    assert same(one((x.tolist(), y.tolist())), pair)
    assert same(one((x, y)), pair)
    assert same(one((x, (1.0, None, 2.0, None, 3.0))), pair)
    assert same(one(x.tolist()), alone)
    named = one([{"a": 1.0, "b": "left"}, {"a": 2.0, "b": "right"}])
    assert named.named
    assert named.points[1] == {"a": 2.0, "b": "right"}


@pytest.mark.parametrize(
    ("earlier", "message"),
    [
        (np.array([[0.1, np.nan]]), r"earlier\[0, 1\] = nan"),
        ((np.ones((2, 2)), [1.0]), "y of earlier has 1 values: expected one for each of the 2"),
        (np.ones(3), "expected \\(points, parameters\\)"),
        ([np.ones((3, 2)), np.ones(3)], r"earlier\[1\] has shape \(3,\).* a pair \(X, y\)"),
        ((np.ones((2, 2)), ["a", "b"]), r"y of earlier\[0\] = 'a': expected a number"),
        ([], "expected at least one"),
        (3, "earlier = 3: expected a run file"),
        ([None], r"earlier\[0\] = None: expected a run file"),
        ([{"a": 1.0}, {"b": 1.0}], r"earlier\[1\]"),
        ([{"a": 1.0}, {"a": np.nan}], r"earlier\[1\]"),
    ],
)
def test_what_is_no_source_is_named(earlier, message):
    with pytest.raises(ValueError, match=message):
        read(earlier)


def test_csv_files_have_names_and_perhaps_values(tmp_path):
    path = tmp_path / "old.csv"
    path.write_text("rate,kind,value\n0.1,a,1.5\n0.2,b,\n")
    source = one(path)
    assert list(source.parameters) == ["rate", "kind"]
    assert np.array_equal(source.values, [1.5, np.nan], equal_nan=True)
    path.write_text("\ufeffrate;kind;y\r\n0.1;a;\r\n0.2;b;\r\n")
    designs = one(path)
    assert designs.values is None
    assert designs.points[1] == {"rate": "0.2", "kind": "b"}
    path.write_text("x,y\n1,2\n3,4\n")
    assert one(path, known=["x", "y"]).values is None
    assert one(path).values.tolist() == [2.0, 4.0]


def test_tables_that_to_frame_made_are_runs(tmp_path):
    space = {**MIXED, "kind": Categorical(["a", "b"])}
    optimizer = told(space, n=4)
    optimizer.tell(optimizer.ask(), None, error="it broke")
    frame = optimizer.to_frame()
    frame.to_csv(tmp_path / "run.csv")
    for source in read([frame, tmp_path / "run.csv"]):
        assert list(source.parameters) == list(MIXED)
        assert np.array_equal(source.values, optimizer.values, equal_nan=True)


def test_tables_that_to_frame_made_keep_constraints(tmp_path):
    optimizer = Optimizer({"a": (0.0, 1.0), "constraint": (0.0, 1.0)}, method="random", seed=0)
    for i, x in enumerate(optimizer.ask(6)):
        optimizer.tell(x, float(i), constraints=[-1.0, 3.0 - i])
    frame = optimizer.to_frame()
    frame.to_csv(tmp_path / "run.csv")
    for source in read([optimizer, frame, tmp_path / "run.csv"]):
        assert list(source.parameters) == ["a", "constraint"]
        assert np.array_equal(source.losses, [np.nan] * 3 + [3.0, 4.0, 5.0], equal_nan=True)


def test_tables_of_several_objectives_are_refused(tmp_path):
    optimizer = Optimizer([(0.0, 1.0)] * 2, direction=["minimize", "minimize"], seed=0)
    for x in optimizer.ask(3):
        optimizer.tell(x, [1.0, 2.0])
    frame = optimizer.to_frame()
    frame.to_csv(tmp_path / "run.csv")
    for table in (frame, tmp_path / "run.csv"):
        with pytest.raises(ValueError, match="has several objectives: expected a run with one"):
            read(table)


@pytest.mark.parametrize("cell", [[1.0, 2.0], pandas.Timestamp(2020, 1, 1)])
def test_cells_that_are_no_values_are_refused_by_column(cell):
    with pytest.raises(ValueError, match=r"earlier: when of row 0 = .*: expected a number, a text"):
        read(pandas.DataFrame({"a": [0.1, 0.2], "when": [cell, cell]}))


def test_a_missing_database_is_not_made(tmp_path):
    with pytest.raises(ValueError, match="there is no such file"):
        read((f"sqlite:///{tmp_path / 'no.db'}", "study"))
    assert not list(tmp_path.iterdir())


def test_tables_of_pandas_hold_designs_and_values():
    frame = pandas.DataFrame({"a": [0.1, 0.2], "b": [1.0, 3.0], "value": [5.0, np.nan]})
    assert np.array_equal(one(frame).values, [5.0, np.nan], equal_nan=True)
    nullable = frame.astype({"value": "Float64"})
    assert np.array_equal(one(nullable).values, [5.0, np.nan], equal_nan=True)
    pair = one((frame[["a", "b"]], frame["value"]))
    assert pair.named
    assert np.array_equal(pair.values, [5.0, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    ("header", "known", "free", "meant"),
    [
        ("a,b,loss,note", ["a", "b"], "value or y", "loss"),
        ("a,mse,seconds,note", ["a", "c"], "value or y", "mse or seconds"),
        ("a,y,loss,note", ["a", "y"], "value", "loss"),
        ("a,b,Loss,note", [], "value or y", "Loss"),
        ("a,b,loss,note", ["a", "b", "loss"], "", ""),
        ("a,b,value,note", ["a"], "", ""),
        ("a,b,seconds,note", [], "", ""),
        ("a,b,c,result", [], "", ""),
    ],
)
def test_values_under_another_name_are_asked_about(tmp_path, caplog, header, known, free, meant):
    path = tmp_path / "old.csv"
    path.write_text(f"{header}\n0.1,1,1.5,low\n0.2,3,2.5,high\n")
    for label, table in (("earlier", pandas.read_csv(path)), (str(path), path)):
        caplog.clear()
        read(table, known=known)
        expected = f"{label} has no column {free}, so its rows are taken for designs without values"
        asked = f"If {meant} holds their values, rename it to value"
        assert caplog.messages == ([f"{expected}. {asked}"] if meant else [])


def test_values_under_another_name_are_asked_about_where_some_are_empty(tmp_path, caplog):
    path = tmp_path / "old.csv"
    path.write_text("a,loss\n0.1,1.5\n0.2,\n")
    with pytest.raises(ValueError, match="line 3: loss is empty"):
        infold.learn(path, space={"a": (0.0, 1.0)})
    assert "If loss holds their values" in caplog.text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b\n1\n", "line 2: 1 values, expected 2"),
        ("a,b\n1,\n", "line 2: b is empty"),
        ("1,2\n3,4\n", "expected the names of parameters"),
        ("a,a\n3,4\n", "two columns 'a'"),
        ("a,value\n3,high\n", "line 2: the value is 'high'"),
        ("value\n3\n", "no column with a parameter"),
    ],
)
def test_bad_csv_files_are_refused_by_name(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "contents",
    [b"", b"hello", b"[1, 2]", b'{"format": "other"}', b"\x80\x04", pickle.dumps({"a": 1}), b"{"],
)
def test_files_of_another_format_are_refused_by_name(tmp_path, contents):
    path = tmp_path / "other.json"
    path.write_bytes(contents)
    with pytest.raises(ValueError, match=r"other.json"):
        read(path)


def study(direction="minimize", name="old", n=6, **options) -> optuna.Study:
    sampler = optuna.samplers.RandomSampler(seed=0)
    made = optuna.create_study(study_name=name, direction=direction, sampler=sampler, **options)
    sign = -1.0 if direction == "maximize" else 1.0

    def objective(trial):
        rate = trial.suggest_float("rate", 1e-3, 1.0, log=True)
        layers = trial.suggest_int("layers", 1, 4)
        kind = trial.suggest_categorical("kind", ["a", "b"])
        if trial.number == 2:
            raise ValueError("it broke")
        return sign * (rate + layers + (kind == "a"))

    made.optimize(objective, n_trials=n, catch=ValueError)
    return made


def test_studies_are_runs_in_their_own_direction(tmp_path):
    url = f"sqlite:///{tmp_path}/studies.db"
    stored = study(storage=url)
    small, by_name, large = read([stored, (url, "old"), study("maximize")])
    assert same(small, by_name)
    assert np.isnan(small.values[2])
    assert np.array_equal(small.losses, large.losses, equal_nan=True)
    assert small.parameters["rate"].log
    assert small.parameters["kind"].choices == ("a", "b")
    assert len(one((url, "old")).points) == 6  # a pair by itself, too
    with pytest.raises(ValueError, match=r"has no study 'new'"):
        read([(url, "new")])
    with pytest.raises(ValueError, match=r"nowhere"):
        read([("nowhere://x", "new")])


def test_studies_with_several_objectives_are_refused_by_name():
    several = optuna.create_study(study_name="two", directions=["minimize", "maximize"])
    with pytest.raises(ValueError, match=r"study two has 2 objectives"):
        read(several)


@pytest.mark.parametrize("by_trials", [False, True])
def test_constraints_of_studies_are_kept_and_unknown_ones_are_not_satisfied(by_trials):
    def constraints(trial) -> list[float]:
        return [0.5 - trial.params["x"], -1.0]

    sampler = InfoldSampler(
        method="random", seed=0, constraints_func=None if by_trials else constraints
    )
    constrained = optuna.create_study(sampler=sampler)

    def objective(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        if by_trials:
            trial.set_constraint("a", 0.5 - x)
            if trial.number:
                trial.set_constraint("b", -1.0)
        return x

    if by_trials and not hasattr(optuna.Trial, "set_constraint"):
        pytest.skip("came with Optuna 5")
    constrained.optimize(objective, n_trials=6)
    source = one(constrained)
    assert source.constraints[1] == (0.5 - source.values[1], -1.0)
    feasible = source.values >= 0.5
    feasible[0] &= not by_trials
    assert 0 < sum(feasible) < 6
    np.testing.assert_array_equal(np.isfinite(source.losses), feasible)


def test_parameters_that_only_some_trials_have_and_ranges_that_change_are_kept():
    changing = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))

    def objective(trial):
        x = trial.suggest_float("x", 0.0, 1.0 + trial.number)
        return x + (trial.suggest_float("deep", 0.0, 1.0) if trial.number % 2 else 0.0)

    changing.optimize(objective, n_trials=4)
    source = one(changing)
    assert set(source.parameters) == {"x", "deep"}
    assert max(parameter.high for parameter in source.hull["x"]) == 4.0


def test_what_teaches_nothing_says_why():
    optimizer = told(n=1)
    assert teaches_nothing(one(optimizer)) == "one evaluation has a value"
    assert teaches_nothing(one((np.eye(3), np.ones(3)))) == "all its values are equal"
    assert teaches_nothing(one(Optimizer([(0.0, 1.0)]))) == "it is empty"
    assert teaches_nothing(one(optuna.create_study())) == "it is empty"
    assert teaches_nothing(one(told(n=5))) == ""
    assert loss(optimizer, optimizer.points[0]) == optimizer.values[0]
