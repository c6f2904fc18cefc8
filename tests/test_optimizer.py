import pickle
import sys
import types
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import Bounds
from tests.chained import Chained

from infold import Bool, Categorical, Float, Int, Optimizer, Space
from infold.methods import Suggestion
from infold.record import Proposal

BOUNDS = [(-1.0, 2.0)] * 4


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
        advance(Optimizer(BOUNDS, method=Chained(), n_initial=5, seed=seed), 9)
        for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


def test_resumed_run_equals_uninterrupted_run(tmp_path):
    expected = advance(Optimizer(BOUNDS, method="full_space", n_initial=4, seed=0), 12)
    optimizer, points = Optimizer(BOUNDS, method="full_space", n_initial=4, seed=0), []
    for _ in range(12):
        points.append(advance(optimizer, 1)[0])
        optimizer.save(tmp_path / "run.jsonl")
        optimizer = Optimizer.load(tmp_path / "run.jsonl")
    np.testing.assert_array_equal(points, expected)


def test_pending_points_survive_saving(tmp_path):
    optimizer = Optimizer(BOUNDS, method="random", seed=0)
    asked = optimizer.ask(3)
    optimizer.tell(asked[1], 1.0)
    optimizer.save(tmp_path / "run.json")
    loaded = Optimizer.load(tmp_path / "run.json")
    np.testing.assert_array_equal(loaded.pending, [asked[0], asked[2]])
    np.testing.assert_array_equal(loaded.ask(), optimizer.ask())


@pytest.mark.parametrize(
    "space",
    [
        [(0.0, 1.0)],
        [(0.0, 1.0)] * 3,
        [(0.0, 1.0), Int(0, 9), Categorical(["a", "b"])],
        [Categorical([("a", "b"), ("b", "a")]), Bool()],
        {"rate": (0.0, 1.0), "kind": Categorical(["a", None])},
        {"only": Bool(), "always": (2.0, 2.0)},
    ],
    ids=repr,
)
def test_a_batch_is_told_one_by_one(space):
    optimizer = Optimizer(space, method="random", direction=["minimize"] * 2, seed=0)
    single = Optimizer(space, method="random", seed=0)
    for batch in (optimizer.ask(3), tuple(optimizer.ask(2))):
        for run, y in ((single, range(len(batch))), (single, 1.0), (optimizer, [1.0, 2.0])):
            with pytest.raises(ValueError, match="tell the points of a batch one by one"):
                run.tell(batch, y)
        for x in batch:
            single.tell(x, 1.0)
            single.tell(list(x.values()) if isinstance(x, dict) else list(x), 1.0)
    assert len(single) == 10


def test_points_whose_values_are_tuples_or_arrays_are_no_batches():
    pairs = [("a", "b"), ("b", "a")]
    optimizer = Optimizer([Categorical(pairs)] * 2, method="random", seed=0)
    optimizer.tell(pairs, 1.0)
    optimizer = Optimizer([(0.0, 1.0)] * 2, method="random", seed=0)
    optimizer.tell([np.array(0.5), np.array(0.25)], 1.0)
    np.testing.assert_array_equal(optimizer.points, [[0.5, 0.25]])


def test_choices_may_be_tuples_beside_other_parameters():
    space = [Categorical([("a", "b"), ("b", "a")]), Bool(), (0.0, 1.0)]
    optimizer = Optimizer(space, method="random", seed=0)
    x, other = optimizer.ask(2)
    optimizer.tell(x, 1.0)
    optimizer.forget(other)
    assert optimizer.points == [x]
    assert optimizer.pending == []


def test_points_never_asked_for_and_repeated_points_are_welcome():
    optimizer = Optimizer(BOUNDS, method=Chained(), n_initial=3, seed=0)
    for _ in range(4):
        optimizer.tell([0.5, 0.5, 0.5, 0.5], 1.0)
    assert len(optimizer) == 4
    x = optimizer.ask()
    assert optimizer.diagnostics  # the model was used: told points count as initial ones
    assert np.all((x >= -1) & (x <= 2))


def test_told_in_any_order_and_some_never():
    optimizer = Optimizer(BOUNDS, method=Chained(), n_initial=3, seed=0)
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
        optimizer = Optimizer(BOUNDS, method="full_space", direction=direction, n_initial=4, seed=0)
        for _ in range(7):
            x = optimizer.ask()
            optimizer.tell(x, sign * sphere(x))
        runs.append((optimizer.points, sign * optimizer.best[1]))
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    assert runs[0][1] == runs[1][1]


def test_failed_evaluations_are_kept_and_never_best():
    optimizer = Optimizer(BOUNDS, method=Chained(), n_initial=2, seed=0)
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
        ({"space": BOUNDS, "method": "bayes"}, "method = 'bayes': expected one of auto"),
        ({"space": BOUNDS, "method": 3}, "method = 3: expected one of auto"),
        (
            {"space": BOUNDS, "method": "mgpc", "n_features": 5},
            "n_features = 5: expected at most the dimension of the space, 4",
        ),
        (
            {"space": BOUNDS, "direction": "up"},
            "direction = 'up': expected one of minimize, maximize",
        ),
        ({"space": BOUNDS, "n_initial": 0}, "n_initial = 0: expected a whole number of at least 1"),
        ({"space": BOUNDS, "seed": -1}, "seed = -1: expected a whole number of at least 0"),
        (
            {"space": BOUNDS, "initial": "grid"},
            "initial = 'grid': expected one of centre, sobol, uniform",
        ),
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
    optimizer = Optimizer(space, method="full_space", n_initial=3, seed=0)
    seen = []
    for _ in range(12):
        x = optimizer.ask()
        seen.append(tuple(x.values()))
        optimizer.tell(x, x["n"] + x["b"])
    assert len(set(seen)) == 12
    assert optimizer.best[1] == 1


def test_where_everything_is_known_the_best_is_repeated_and_not_a_random_one():
    optimizer = Optimizer({"n": Int(0, 5)}, method="full_space", n_initial=3, seed=0)
    for n in range(6):
        optimizer.tell({"n": n}, (n - 2.0) ** 2)
    asked = []
    for _ in range(10):
        x = optimizer.ask()
        asked.append(x["n"])
        optimizer.tell(x, (x["n"] - 2.0) ** 2)
    assert sum(abs(n - 2) <= 1 for n in asked) >= 9


def test_points_that_differ_however_little_are_not_known():
    """Unconstrained variants go to nearly the same point again and again: it is their choice."""

    class Near:
        def suggest(self, history, q, key, cache=None):
            return Suggestion(history.x[-1:] + 1e-12)

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


def told(optimizer: Optimizer) -> list[str]:
    return [evaluation.proposed_by for evaluation in optimizer.evaluations]


def test_evaluations_say_who_proposed_them_and_what_was_said_about_them():
    optimizer = Optimizer(BOUNDS, method=Chained(), n_initial=2, seed=0)
    asked = optimizer.ask(5)  # two of the design, then the method's "", "wide" and "deep"
    optimizer.expect([0.1] * 4)
    for x in (*reversed(asked), [0.1] * 4, [0.2] * 4):
        optimizer.tell(x, 1.0, seconds=2, error=None)
    assert told(optimizer) == [
        "Chained/deep",
        "Chained/wide",
        "Chained",
        "design",
        "design",
        "user",
        "user",
    ]
    deep = optimizer.evaluations[0]
    assert deep.diagnostics == {"first": optimizer.space.encode(asked[4])[0], "shape": [1, 2]}
    assert deep.seconds == 2.0
    assert not deep.failed
    assert optimizer.diagnostics == deep.diagnostics
    assert optimizer.history.proposals[0] == Proposal("deep", deep.diagnostics)
    assert optimizer.history.proposals[3] == Proposal("design", {})


def test_a_point_told_twice_is_the_methods_once():
    optimizer = Optimizer(BOUNDS, method="random", n_initial=1, seed=0)
    x = optimizer.ask()
    optimizer.tell(x, 1.0)
    optimizer.tell(x, 2.0)
    assert told(optimizer) == ["design", "user"]


def test_failures_keep_the_error_and_the_time():
    optimizer = Optimizer(BOUNDS, method="random", seed=0)
    optimizer.tell([0.0] * 4, None, error="ZeroDivisionError: division by zero", seconds=0.25)
    evaluation = optimizer.evaluations[0]
    assert evaluation.failed
    assert evaluation.error == "ZeroDivisionError: division by zero"
    assert evaluation.seconds == 0.25
    assert evaluation.told_at > 1.7e9


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf"), "soon"])
def test_seconds_that_cannot_be_are_refused(seconds):
    optimizer = Optimizer(BOUNDS, method="random", seed=0)
    with pytest.raises(ValueError, match="expected a number of at least 0, or None"):
        optimizer.tell([0.0] * 4, 1.0, seconds=seconds)
    assert len(optimizer) == 0


def test_a_random_point_in_place_of_a_known_one_is_noted(caplog):
    @dataclass(frozen=True)
    class Stubborn:
        def suggest(self, history, q, key, cache=None):
            return Suggestion(np.full((q, 1), 0.3), (Proposal("part", {"sure": True}),) * q)

    optimizer = Optimizer({"n": Int(0, 4)}, method=Stubborn(), n_initial=1, seed=0)
    optimizer.tell({"n": 0}, 1.0)
    for x in optimizer.ask(2):
        optimizer.tell(x, 1.0)
    assert told(optimizer) == ["user", "Stubborn/part", "Stubborn/part/replaced"]
    assert optimizer.history.proposals[2].by == "part/replaced"
    assert caplog.text.count("is known already: a random one replaces it") == 1


def test_what_the_user_told_stays_as_it_was_written():
    optimizer = Optimizer([(0.1, 0.3)] * 2, method="random", seed=0)
    optimizer.tell([0.2008, 0.204], 1.0)
    assert optimizer.points[0].tolist() == [0.2008, 0.204]


def test_suggestions_of_the_wrong_size_are_named():
    @dataclass(frozen=True)
    class Generous:
        def suggest(self, history, q, key, cache=None):
            return Suggestion(np.full((q + 1, 4), 0.3))

    optimizer = Optimizer(BOUNDS, method=Generous(), n_initial=1, seed=0)
    optimizer.tell([0.0] * 4, 1.0)
    with pytest.raises(
        ValueError, match="Generous suggested 2 points with 1 proposals: expected 1"
    ):
        optimizer.ask()
    assert optimizer.pending == []


def test_frame_has_a_column_for_everything():
    space = {"rate": Float(0, 1), "seconds": Int(0, 9), "kind": Categorical(["a", "b"])}
    optimizer = Optimizer(space, method=Chained(), n_initial=1, seed=0)
    for x, value in zip(optimizer.ask(3), (1.0, None, 2.0), strict=True):
        optimizer.tell(x, value, error="broke" if value is None else None, seconds=0.5)
    frame = optimizer.to_frame()
    assert list(frame.columns) == [
        *("rate", "seconds", "kind", "value", "failed", "error"),
        *("evaluation.seconds", "told_at", "proposed_by", "first"),
    ]
    assert frame["rate"].tolist() == [x["rate"] for x in optimizer.points]
    assert frame["failed"].tolist() == [False, True, False]
    assert frame["error"].tolist()[1] == "broke"
    assert frame["evaluation.seconds"].tolist() == [0.5] * 3
    assert frame["told_at"].dt.year.min() >= 2024
    assert frame["proposed_by"].tolist() == ["design", "Chained", "Chained/wide"]
    assert np.isnan(frame["first"][0])
    assert len(Optimizer(space, method="random").to_frame()) == 0


def test_frame_without_pandas_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'infold\[experiments\]'"):
        Optimizer(BOUNDS, method="random").to_frame()


@pytest.fixture
def view(monkeypatch):
    """A stand-in for the view of a model."""
    module = types.ModuleType("infold.model_view")
    module.ModelView = lambda *arguments: types.SimpleNamespace(
        **dict(zip(("space", "fitted", "history", "points", "sign"), arguments, strict=True))
    )
    monkeypatch.setitem(sys.modules, "infold.model_view", module)


class Counting(Chained):
    """Counts how often it fits apart from suggestions."""

    fits: list = []  # noqa: RUF012

    def fit(self, *arguments):
        self.fits.append(1)
        return super().fit(*arguments)


@pytest.mark.usefixtures("view")
def test_model_is_that_of_the_last_suggestion_until_something_is_told(tmp_path):
    Counting.fits.clear()
    optimizer = Optimizer(BOUNDS, method=Counting(), n_initial=2, seed=0, direction="maximize")
    advance(optimizer, 3)
    x = optimizer.ask()
    model = optimizer.model()
    assert Counting.fits == []
    assert model.fitted.n_told == len(model.history.y) == 3
    assert model.sign == -1.0
    assert model.space is optimizer.space
    optimizer.save(tmp_path / "run.jsonl")
    loaded = Optimizer.load(tmp_path / "run.jsonl", method=Counting())
    optimizer.tell(x, 1.0)
    assert optimizer.model().fitted.n_told == 4
    assert optimizer.model().fitted == optimizer.model().fitted
    assert Counting.fits == [1]
    loaded.tell(x, 1.0)
    np.testing.assert_array_equal(loaded.ask(), optimizer.ask())  # it changes no suggestion
    assert loaded.model().fitted == optimizer.model().fitted
    assert Counting.fits == [1]


@pytest.mark.usefixtures("view")
def test_model_after_loading_is_that_of_the_last_suggestion(tmp_path):
    Counting.fits.clear()
    optimizer = Optimizer(BOUNDS, method=Counting(), n_initial=2, seed=0)
    optimizer.save(tmp_path / "run.jsonl")
    advance(optimizer, 5)
    optimizer.ask()
    optimizer.save(tmp_path / "run.jsonl")
    loaded = Optimizer.load(tmp_path / "run.jsonl", method=Counting())
    assert loaded.model().fitted == optimizer.model().fitted
    assert Counting.fits == []


@pytest.mark.usefixtures("view")
def test_model_that_cannot_be_is_an_error_that_says_why():
    optimizer = Optimizer(BOUNDS, method="random", n_initial=1, seed=0)
    with pytest.raises(ValueError, match="no model yet: expected an evaluation that succeeded"):
        optimizer.model()
    optimizer.tell([0.0] * 4, 1.0)
    with pytest.raises(ValueError, match="the method random has no model to fit"):
        optimizer.model()


def test_optimizers_pickle_without_their_model():
    optimizer = Optimizer(BOUNDS, method=Chained(), n_initial=2, seed=0)
    advance(optimizer, 4)
    copy = pickle.loads(pickle.dumps(optimizer))
    np.testing.assert_array_equal(copy.ask(), optimizer.ask())
