import json
import resource

import numpy as np
import pytest
from scipy.optimize import Bounds

from infold import Bool, Categorical, Float, Int, Optimizer, Space
from infold.methods import FeatureSpace, FullSpace, Suggestion

BOUNDS = [(-1.0, 2.0)] * 4
CHEAP = FeatureSpace(
    n_features=2,
    n_candidates=64,
    n_starts=8,
    max_iterations=5,
    max_warm_iterations=3,
    restart_every=4,
)


def sphere(x) -> float:
    return float(np.sum(np.asarray(x) ** 2))


def advance(optimizer: Optimizer, n: int) -> np.ndarray:
    points = []
    for _ in range(n):
        x = optimizer.ask()
        optimizer.tell(x, sphere(x))
        points.append(x)
    return np.array(points)


def test_same_seed_same_sequence():
    runs = [
        advance(Optimizer(BOUNDS, method=CHEAP, n_initial=5, seed=seed), 9) for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


def test_resumed_run_equals_uninterrupted_run(tmp_path):
    expected = advance(Optimizer(BOUNDS, method=CHEAP, n_initial=4, seed=0), 12)
    optimizer, points = Optimizer(BOUNDS, method=CHEAP, n_initial=4, seed=0), []
    for _ in range(12):
        points.append(advance(optimizer, 1)[0])
        optimizer.save(tmp_path / "run.json")
        optimizer = Optimizer.load(tmp_path / "run.json")
    np.testing.assert_array_equal(points, expected)


def test_pending_points_survive_saving(tmp_path):
    optimizer = Optimizer(BOUNDS, method="random", seed=0)
    asked = optimizer.ask(3)
    optimizer.tell(asked[1], 1.0)
    optimizer.save(tmp_path / "run.json")
    loaded = Optimizer.load(tmp_path / "run.json")
    np.testing.assert_array_equal(loaded.pending, [asked[0], asked[2]])
    np.testing.assert_array_equal(loaded.ask(), optimizer.ask())


def test_run_file_is_readable_without_infold(tmp_path):
    optimizer = Optimizer(
        {"rate": Float(1e-4, 1.0, log=True), "depth": (0, 10)}, method=CHEAP, seed=0, n_initial=2
    )
    for _ in range(3):
        x = optimizer.ask()
        optimizer.tell(x, x["depth"])
    optimizer.tell(optimizer.ask(), None)
    optimizer.save(tmp_path / "run.json", {"note": "hello"})
    data = json.loads((tmp_path / "run.json").read_text())
    assert data["metadata"] == {"note": "hello"}
    assert [set(e["x"]) for e in data["evaluations"]] == [{"rate", "depth"}] * 4
    assert data["evaluations"][3]["y"] is None
    assert Optimizer.load(tmp_path / "run.json").points == optimizer.points


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a run file of infold, or is cut short"),
        (
            '{"format": "infold-run", "version": 1, "evalu',
            "is not a run file of infold, or is cut short",
        ),
        ('{"format": "something"}', "is not a run file of infold"),
        ("[1, 2]", "is not a run file of infold"),
        ('{"format": "infold-run", "version": 99}', "has version 99: this infold reads version 1"),
    ],
)
def test_foreign_and_truncated_files_are_named(tmp_path, text, message):
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        Optimizer.load(path)


def test_disk_full_while_saving_keeps_the_previous_file(tmp_path):
    """The kernel refuses to write more than so many bytes, as a full disk would."""
    optimizer = Optimizer(BOUNDS, method="random", seed=0)
    advance(optimizer, 20)
    path = tmp_path / "run.json"
    optimizer.save(path)
    before = path.read_text()
    advance(optimizer, 1)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            optimizer.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_text() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run.json"]
    optimizer.save(path)
    assert len(Optimizer.load(path)) == 21


def test_points_never_asked_for_and_repeated_points_are_welcome():
    optimizer = Optimizer(BOUNDS, method=CHEAP, n_initial=3, seed=0)
    for _ in range(4):
        optimizer.tell([0.5, 0.5, 0.5, 0.5], 1.0)
    assert len(optimizer) == 4
    x = optimizer.ask()
    assert optimizer.diagnostics  # the model was used: told points count as initial ones
    assert np.all((x >= -1) & (x <= 2))


def test_told_in_any_order_and_some_never():
    optimizer = Optimizer(BOUNDS, method=CHEAP, n_initial=3, seed=0)
    asked = optimizer.ask(5)
    for i in (3, 0, 4):
        optimizer.tell(asked[i], float(i))
    np.testing.assert_array_equal(optimizer.pending, [asked[1], asked[2]])
    assert optimizer.best[1] == 0.0
    new = optimizer.ask(2)
    assert len({tuple(p) for p in [*asked, *new]}) == 7


def test_maximize_is_minimize_of_the_negative():
    runs = []
    for direction, sign in (("minimize", 1.0), ("maximize", -1.0)):
        optimizer = Optimizer(
            BOUNDS, method=FullSpace(n_candidates=50), direction=direction, n_initial=4, seed=0
        )
        for _ in range(7):
            x = optimizer.ask()
            optimizer.tell(x, sign * sphere(x))
        runs.append((optimizer.points, sign * optimizer.best[1]))
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    assert runs[0][1] == runs[1][1]


def test_failed_evaluations_are_kept_and_never_best():
    optimizer = Optimizer(BOUNDS, method=CHEAP, n_initial=2, seed=0)
    assert optimizer.best is None
    for value in (None, float("nan"), float("inf"), 2.0):
        optimizer.tell(optimizer.ask(), value)
    assert len(optimizer) == 4
    assert optimizer.best[1] == 2.0
    assert np.all(np.isfinite(optimizer.ask()))


def test_history_is_read_only():
    optimizer = Optimizer(BOUNDS, method="random", seed=0)
    advance(optimizer, 2)
    with pytest.raises(ValueError, match="read-only"):
        optimizer.history.x[0, 0] = 5.0


def test_default_method_and_number_of_features():
    for dimension, features in ((1, 1), (3, 1), (12, 6), (60, 10)):
        optimizer = Optimizer([(0, 1)] * dimension)
        assert isinstance(optimizer.method, FeatureSpace)
        assert optimizer.method.constrained
        assert optimizer.method.decoder == "full"
        assert optimizer.method.model(dimension).encoder.n_features == features


@pytest.mark.parametrize(
    "space",
    [
        BOUNDS,
        np.array(BOUNDS),
        Bounds([-1] * 4, [2] * 4),
        Space.of(BOUNDS),
        {"abcd"[i]: b for i, b in enumerate(BOUNDS)},
    ],
)
def test_spaces_of_every_kind(space):
    optimizer = Optimizer(space, method="random", seed=0)
    x = optimizer.ask()
    assert isinstance(x, dict) == isinstance(space, dict)
    values = list(x.values()) if isinstance(x, dict) else x
    assert all(-1 <= v <= 2 for v in values)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"space": [(0, 1), (1.0, 0.0)]}, r"bounds\[1\] = \(1.0, 0.0\): lower must be below upper"),
        (
            {"space": [(0, 1), (0, float("nan"))]},
            r"bounds\[1\] = \(0.0, nan\): expected finite limits",
        ),
        ({"space": []}, "space is empty: expected at least one parameter"),
        ({"space": "abc"}, "bounds = 'abc': expected a list of"),
        (
            {"space": [(0, 1, 2)]},
            r"bounds\[0\] = \(0, 1, 2\): expected a \(low, high\) pair or a Float",
        ),
        (
            {"space": {"a": Float(0, 1, log=True)}},
            r"a = \(0.0, 1.0\): a logarithmic scale needs a lower limit above 0",
        ),
        ({"space": BOUNDS, "method": "bayes"}, "method = 'bayes': expected one of mgpc"),
        ({"space": BOUNDS, "method": 3}, "method = 3: expected one of mgpc"),
        (
            {"space": BOUNDS, "n_features": 5},
            "n_features = 5: expected at most the dimension of the space, 4",
        ),
        (
            {"space": BOUNDS, "direction": "up"},
            "direction = 'up': expected one of minimize, maximize",
        ),
        ({"space": BOUNDS, "n_initial": 0}, "n_initial = 0: expected a whole number of at least 1"),
        ({"space": BOUNDS, "seed": -1}, "seed = -1: expected a whole number of at least 0"),
        ({"space": BOUNDS, "initial": "grid"}, "design = 'grid': expected one of sobol, uniform"),
    ],
)
def test_misuse_is_named(arguments, message):
    space = arguments.pop("space")
    with pytest.raises(ValueError, match=message):
        Optimizer(space, **arguments)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([0.0] * 3, 1.0, "x has 3 values: expected 4, one per parameter"),
        ([0.0, 0.0, 0.0, 2.5], 1.0, r"x\[3\] = 2.5: expected a value in \[-1.0, 2.0\]"),
        ([0.0, 0.0, 0.0, "a"], 1.0, r"x\[3\] = 'a': expected a number"),
        ([0.0] * 4, "good", "y = 'good': expected a number, or None for a failed evaluation"),
    ],
)
def test_bad_evaluations_are_named_and_nothing_is_kept(x, y, message):
    optimizer = Optimizer(BOUNDS, method="random")
    with pytest.raises(ValueError, match=message):
        optimizer.tell(x, y)
    assert len(optimizer) == 0


def test_small_discrete_space_is_searched_without_repeats_until_it_is_exhausted():
    space = {"n": Int(1, 3), "c": Categorical(["a", "b"]), "b": Bool()}
    optimizer = Optimizer(space, method=FullSpace(n_candidates=20), n_initial=3, seed=0)
    seen = []
    for _ in range(12):
        x = optimizer.ask()
        seen.append(tuple(x.values()))
        optimizer.tell(x, x["n"] + x["b"])
    assert len(set(seen)) == 12
    assert optimizer.best[1] == 1


def test_where_everything_is_known_the_best_is_repeated_and_not_a_random_one():
    optimizer = Optimizer({"n": Int(0, 5)}, method=FullSpace(n_candidates=20), n_initial=3, seed=0)
    for n in range(6):
        optimizer.tell({"n": n}, (n - 2.0) ** 2)
    asked = []
    for _ in range(10):
        x = optimizer.ask()
        asked.append(x["n"])
        optimizer.tell(x, (x["n"] - 2.0) ** 2)
    assert sum(abs(n - 2) <= 1 for n in asked) >= 9


def test_points_that_differ_however_little_are_not_known():
    """The unconstrained variants go to nearly the same point again and again; that is theirs, and not random search."""

    class Near:
        def suggest(self, history, q, key, cache=None):
            return Suggestion(history.x[-1:] + 1e-12, {}, {})

    optimizer = Optimizer([(0.0, 1.0)] * 3, method=Near(), n_initial=1, seed=0)
    optimizer.tell([0.2, 0.3, 0.4], 1.0)
    np.testing.assert_array_equal(optimizer.ask(), np.array([0.2, 0.3, 0.4]) + 1e-12)


def test_what_is_told_to_the_model_is_the_point_that_was_evaluated():
    optimizer = Optimizer({"n": Int(0, 10), "x": Float(0, 1)}, method="random", seed=0)
    x = optimizer.ask()
    optimizer.tell(x, 1.0)
    np.testing.assert_array_equal(optimizer.history.x[0], optimizer.space.encode(x))
    assert (optimizer.history.x[0, 0] * 11 - 0.5) % 1 == pytest.approx(0.0, abs=1e-9)


def test_400_parallel_suggestions_have_no_duplicates():
    optimizer = Optimizer([(0.0, 1.0)] * 10, method="full_space", n_initial=8, seed=0)
    seen = set()
    for _ in range(100):
        points = optimizer.ask(4)
        seen |= {tuple(x) for x in points}
        for x in points:
            optimizer.tell(x, sphere(x))
    assert len(seen) == 400
