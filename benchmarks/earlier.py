"""What earlier runs are worth: runs with lessons beside runs from scratch, on the same tasks.

    python benchmarks/earlier.py hidden growth unrelated designs

Every run and every lesson is kept under results/earlier, so that an interrupted study goes on where
it was; the summary is written to results/earlier.json. `real` compares with other libraries too,
which the extra `peers` installs.
"""

import itertools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import driving
import families
import numpy as np
import real_families
import scipy.stats

from infold import methods
from infold.comparison import suite
from infold.history import History
from infold.learning.lessons import Lessons, Run, learn
from infold.learning.tried import tried_and_untried

_RESULTS = Path(__file__).resolve().parent.parent / "results"
_KEPT = _RESULTS / "earlier"
_EARLIER_BUDGET = 150
_NEW = range(1000, 1004)
# Some of the four forms of tasks are solved, some not: a median of few lies anywhere between.
_MANY_NEW = range(1000, 1040)
_MAPS = (1, 2, 3)
_REPEATS = 6  # of each unrelated pair: regrets of single runs differ by factors
_SOLVED = 1e-6  # regrets below this share of that after the initial design count as that


def kept_run(
    name: str, task: families.Task, budget: int, seed: int, lessons: Lessons | None = None
) -> dict[str, np.ndarray]:
    """Return the run of that name, made if it is not kept yet."""
    return _kept(name, lambda: driving.run(task.value, task.dimension, budget, seed, lessons))


def _kept(name: str, make: Callable[[], driving.Trace]) -> dict[str, np.ndarray]:
    path = _KEPT / f"{name}.npz"
    if not path.exists():
        trace = make()
        np.savez(path, x=trace.x, y=trace.y, seconds=trace.seconds, by=np.array(trace.by))
    return dict(np.load(path))


def hidden_run(kind: str, seed: int, number: int, budget: int) -> dict[str, np.ndarray]:
    """Return a run from scratch on a task of a hidden map."""
    task = families.hidden(kind, seed, number)
    return kept_run(task.name, task, budget, seed * 100 + number)


def lessons_of(name: str, runs: list[Run]) -> Lessons:
    """Return what these runs teach, learned if it is not kept yet."""
    path = _KEPT / f"lessons-{name}.json"
    if not path.exists():
        began = time.perf_counter()
        lessons = learn(runs)
        data = {**lessons.to_json(), "seconds": time.perf_counter() - began}
        path.write_text(json.dumps(data))
    return Lessons.from_json(json.loads(path.read_text()))


def lessons_of_map(kind: str, seed: int, count: int) -> Lessons:
    """Return what the first runs on a hidden map teach."""
    runs = []
    for number in range(count):
        run = hidden_run(kind, seed, number, _EARLIER_BUDGET)
        runs.append(Run(str(number), run["x"], run["y"]))
    return lessons_of(f"{kind}-{seed}-{count}", runs)


def _ratio(a: list[float], b: list[float]) -> dict:
    """Return how the regrets a compare with the regrets b, pair by pair."""
    logs = np.log(np.array(a) / np.array(b))
    test = scipy.stats.wilcoxon(logs, alternative="less") if len(logs) > 1 else None
    return {
        "pairs": len(logs),
        "median": float(np.median(a)),
        "median_scratch": float(np.median(b)),
        "median_ratio": float(np.exp(np.median(logs))),
        "mean_ratio": float(np.exp(np.mean(logs))),
        "p": None if test is None else float(test.pvalue),
    }


def _compared(
    kind: str, seed: int, lessons: Lessons, tag: str, at: int, numbers: range = _NEW
) -> tuple[list, list]:
    """Return regrets after `at` evaluations with and without lessons."""
    taught, scratch = [], []
    for number in numbers:
        task = families.hidden(kind, seed, number)
        before = hidden_run(kind, seed, number, 100)
        name = f"{task.name}-after-{tag}"
        after = kept_run(name, task, 60, seed * 100 + number, lessons)
        taught.append(float(np.min(after["y"][:at])) - task.minimum)
        scratch.append(float(np.min(before["y"][:at])) - task.minimum)
    return taught, scratch


def hidden() -> dict:
    """Return regrets with 16 earlier runs on maps that settings were not chosen with."""
    found = {}
    for kind in ("linear", "sigmoid"):
        parts: tuple[list, list] = ([], [])
        for seed in _MAPS:
            lessons = lessons_of_map(kind, seed, 16)
            some = _compared(kind, seed, lessons, "16", 60, _MANY_NEW)
            for all_, more in zip(parts, some, strict=True):
                all_ += more
        found[kind] = _ratio(*parts)
        print(kind, found[kind], flush=True)
    return found


def ideal() -> dict:
    """Return regrets after 60 evaluations of `auto` on the hidden variables themselves."""
    found = {}
    for kind in ("linear", "sigmoid"):
        regrets = []
        for seed, number in itertools.product(_MAPS, _MANY_NEW):
            task = families.unhidden(kind, seed, number)
            run = kept_run(task.name, task, 60, seed * 100 + number)
            regrets.append(float(np.min(run["y"])) - task.minimum)
        found[kind] = {"runs": len(regrets), "median": float(np.median(regrets))}
    return found


COUNTS = (1, 2, 4, 8, 16)


def growth() -> dict:
    """Return regrets after 60 evaluations with more and more earlier runs."""
    found: dict = {}
    for kind in ("linear", "sigmoid"):
        for count in COUNTS:
            taught, scratch, numbers = [], [], []
            for seed in _MAPS:
                lessons = lessons_of_map(kind, seed, count)
                some = _compared(kind, seed, lessons, str(count), 60)
                taught += some[0]
                scratch += some[1]
                numbers.append(0 if lessons.features is None else lessons.features.number)
            found[f"{kind}-{count}"] = {**_ratio(taught, scratch), "features": numbers}
            print(kind, count, found[f"{kind}-{count}"], flush=True)
    return found


_UNRELATED = (
    ("linear", 1, "linear-2-1000"),
    ("linear", 1, "linear-3-1001"),
    ("linear", 2, "sigmoid-3-1002"),
    ("sigmoid", 1, "sigmoid-2-1003"),
    ("linear", 1, "styblinski-tang-60"),
    ("linear", 2, "ackley-60"),
    ("sigmoid", 1, "levy10-axis-60"),
    ("sigmoid", 2, "rosenbrock-60"),
    ("linear", 1, "product-of-sines-linear"),
    ("linear", 2, "hartmann6-dense-60"),
    ("sigmoid", 1, "branin-axis-60"),
    ("sigmoid", 2, "rosenbrock-linear"),
)
"""Lessons, and a task that has nothing to do with them: another map, all inputs, few inputs."""


def _unrelated_task(name: str) -> families.Task:
    if name.startswith(("linear-", "sigmoid-")):
        kind, seed, number = name.split("-")
        return families.hidden(kind, int(seed), int(number))
    problem = suite.get(name)
    assert problem.minimum is not None
    return families.Task(
        name, problem.space.dimension, lambda x: problem.function(x), problem.minimum
    )


def _unrelated_pair(
    name: str, task: families.Task, lessons: Lessons, seed: int, tag: str
) -> tuple[float, float]:
    """Return regrets after 100 evaluations with lessons and without, those solved at the limit."""
    after = kept_run(f"{name}-after-{tag}", task, 100, seed, lessons)
    before = kept_run(f"{name}-before-{tag}", task, 100, seed)
    least = _SOLVED * (float(np.min(before["y"][: driving.N_INITIAL])) - task.minimum)
    a, b = (max(float(np.min(run["y"])) - task.minimum, least) for run in (after, before))
    return a, b


def unrelated(repeats: range = range(_REPEATS)) -> dict:
    """Return regrets after 100 evaluations where earlier runs have nothing to do with the new."""
    pairs: dict[str, list[tuple[float, float]]] = {}
    for again in repeats:
        for pair, (kind, seed, name) in enumerate(_UNRELATED):
            found = _unrelated_pair(
                name,
                _unrelated_task(name),
                lessons_of_map(kind, seed, 16),
                7000 + pair + 100 * again,
                f"{kind}-{seed}-{again}",
            )
            pairs.setdefault(name, []).append(found)
    return _summary_of_pairs(pairs)


def _summary_of_pairs(pairs: dict[str, list[tuple[float, float]]]) -> dict:
    """Return the ratios of all pairs, and their geometric mean with an interval over tasks."""
    logs = {name: float(np.mean(np.log([a / b for a, b in of]))) for name, of in pairs.items()}
    means = np.array(list(logs.values()))
    drawn = np.random.default_rng(0).choice(means, size=(10000, len(means)))
    low, high = np.exp(np.quantile(np.mean(drawn, axis=1), (0.025, 0.975)))
    taught, scratch = zip(*(pair for of in pairs.values() for pair in of), strict=True)
    return {
        **_ratio(list(taught), list(scratch)),
        "interval": [float(low), float(high)],
        "each": {name: float(np.exp(mean)) for name, mean in logs.items()},
    }


def _on_principal_components(designs: np.ndarray, lessons: Lessons, task: families.Task) -> dict:
    """Return a run of the same method on as many principal components, from the same designs."""
    assert lessons.manifold is not None
    count = lessons.manifold.z.shape[1]
    centre = np.mean(designs, axis=0)
    rows = np.linalg.svd(designs - centre, full_matrices=False)[2][:count]
    z = (designs - centre) @ rows.T
    lower, width = np.min(z, axis=0), np.ptp(z, axis=0)
    lower, width = lower - 0.05 * width, 1.1 * width
    first = np.clip(((lessons.points - centre) @ rows.T - lower) / width, 0.0, 1.0)

    def value(u: np.ndarray) -> float:
        return task.value(np.clip(centre + (lower + width * u) @ rows, 0.0, 1.0))

    inner = families.Task(task.name, count, value)
    known = Lessons(dimension=count, points=first)
    return kept_run(f"{task.name}-components", inner, 60, 60, known)


def designs(seeds: range = range(1, 11)) -> dict:
    """Return regrets after 60 evaluations with 300 designs without values, 10 seeds."""
    taught, scratch, components = [], [], []
    for seed in seeds:
        task = families.profile_task(seed)
        curves = families.profiles(seed, 300)
        lessons = lessons_of(f"profiles-{seed}", [Run("designs", curves)])
        after = kept_run(f"{task.name}-after", task, 60, seed, lessons)
        before = kept_run(task.name, task, 60, seed)
        linear = _on_principal_components(curves, lessons, task)
        taught.append(float(np.min(after["y"])))
        scratch.append(float(np.min(before["y"])))
        components.append(float(np.min(linear["y"])))
        print(task.name, taught[-1], scratch[-1], components[-1], flush=True)
    return {
        "scratch": _ratio(taught, scratch),
        "components": _ratio(taught, components),
    }


def _unseen_tasks() -> list[families.Task]:
    tasks = [families.hidden("linear", 51, 2000), families.hidden("sigmoid", 52, 2001)]
    tasks += [families.hidden("linear", 53, 2002), families.hidden("sigmoid", 54, 2003)]
    problems = [
        suite.hidden.axis("unseen-levy", suite.functions.levy(20), 60),
        suite.hidden.axis("unseen-ackley", suite.functions.ackley(10), 60),
        suite.hidden.axis("unseen-styblinski", suite.functions.styblinski_tang(20), 60),
        suite.hidden.axis("unseen-rosenbrock", suite.functions.rosenbrock_function(10), 60),
        suite.hidden.dense("unseen-levy-dense", suite.functions.levy(10), 60),
        suite.hidden.dense("unseen-ackley-dense", suite.functions.ackley(10), 60),
        suite.hidden.dense("unseen-styblinski-dense", suite.functions.styblinski_tang(10), 60),
        suite.hidden.axis("unseen-hartmann", suite.functions.hartmann6(), 60),
    ]
    for problem in problems:
        assert problem.minimum is not None
        tasks.append(families.Task(problem.name, 60, problem.function, problem.minimum))
    return tasks


_N_UNSEEN = 12


def unseen(numbers: range = range(_N_UNSEEN), repeats: range = range(4)) -> dict:
    """Return what `unrelated` does, on pairs that no setting was chosen with."""
    tasks = _unseen_tasks()
    pairs: dict[str, list[tuple[float, float]]] = {}
    for pair in numbers:
        kind, seed = (("linear", 2), ("sigmoid", 3), ("linear", 3), ("sigmoid", 1))[pair % 4]
        lessons = lessons_of_map(kind, seed, 16)
        for again in repeats:
            own_seed = 9000 + pair + 100 * again
            task = tasks[pair]
            found = _unrelated_pair(task.name, task, lessons, own_seed, f"{kind}-{seed}-{again}")
            pairs.setdefault(task.name, []).append(found)
    return _summary_of_pairs(pairs)


REAL = {
    "rovers": real_families.rover,
    "swimmers": real_families.swimmers,
    "schedules": real_families.schedules,
    "tanks": real_families.tanks,
    "pixels": real_families.pixels,
}
"""Families of real problems by name: their tasks by number."""
# Tasks 0 to 239 and 1000 to 1219 are those that the order of points was chosen on.
_EARLIER = range(240, 264)
_OTHERS = tuple(range(first, first + 24) for first in range(264, 384, 24))
"""Further sets of earlier runs: what one set is worth may be luck."""
_NEW_REAL = range(1240, 1280)  # tasks differ by factors
_NEW_OTHERS = 20  # new tasks for each of the other sets
_EARLIER_PIXELS, _NEW_PIXELS = range(24), range(32, 42)  # of 45 pairs
_AT = (20, 60)  # evaluations
# Minutes for each new task: not made again for other tasks than those before.
_EARLIER_RGPE, _NEW_RGPE = range(24), {"rovers": range(1000, 1010), "swimmers": range(1000, 1020)}


def real_runs(family: str, numbers: range = _EARLIER) -> list[Run]:
    """Return the earlier runs of a real family, of 100 evaluations each."""
    runs = []
    for number in numbers:
        task = REAL[family](number)
        run = kept_run(task.name, task, 100, number)
        runs.append(Run(task.name, run["x"], run["y"]))
    return runs


def real_run(
    family: str, number: int, who: str, earlier: range = _EARLIER, budget: int = _AT[1]
) -> dict[str, np.ndarray]:
    """Return the run of one contender on a new task, after the earlier ones of these numbers."""
    task = REAL[family](number)
    if who == "scratch":
        return kept_run(f"{task.name}-{who}", task, budget, number)
    runs = real_runs(family, earlier)
    name = f"{task.name}-{who}-{len(runs)}"
    if who in ("cmaes", "rgpe"):
        import earlier_peers

        peer = getattr(earlier_peers, who)
        budget = _AT[0] if who == "rgpe" else budget  # minutes for 20 evaluations
        return _kept(name, lambda: peer(task, runs, budget, number))
    lessons = lessons_of(f"{family}-{earlier.start}-{earlier.stop}", runs)
    if who == "taught":
        return kept_run(name, task, budget, number, lessons)
    if who == "points":
        nothing = History(np.empty((0, task.dimension)), np.empty(0), lessons=lessons)
        first, *rest = tried_and_untried(nothing, number)[1][:9]
    else:
        some = np.random.default_rng(number).permutation(len(runs))[:9]
        first, *rest = [runs[i].x[np.nanargmin(runs[i].y)] for i in some]
    given = [first, np.full(task.dimension, 0.5), *rest]
    return _kept(name, lambda: driving.run(task.value, task.dimension, budget, number, given=given))


CONTENDERS = ("taught", "scratch", "points", "bests", "cmaes")


def real() -> dict:
    """Return values after 20 and 60 evaluations on families of real problems.

    `points` begins with the same points of earlier runs and knows nothing else of them, `bests`
    with the best points of nine of them drawn at random.
    """
    found = {}
    for family in REAL:
        new, earlier = _NEW_REAL, _EARLIER
        if family == "pixels":
            new, earlier = _NEW_PIXELS, _EARLIER_PIXELS
        found[family] = _real(family, new, earlier)
    return found


def rgpe() -> dict:
    """Return how `taught` compares with RGPE after 20 evaluations."""
    found = {}
    for family, new in _NEW_RGPE.items():
        values = [
            [np.min(real_run(family, number, who, _EARLIER_RGPE, _AT[0])["y"]) for number in new]
            for who in ("taught", "rgpe")
        ]
        found[family] = _beside(*np.array(values))
        print(family, json.dumps(found[family]), flush=True)
    return found


_ALONE = ("points", "bests")
"""Contenders that know nothing but good points."""


def sets() -> dict:
    """Return how `taught` compares with good points alone after 20 evaluations, set by set."""
    found: dict[str, dict] = {}
    for family in REAL:
        if family == "pixels":
            continue
        each = [_values_of_set(family, _EARLIER, _NEW_REAL, _AT[1])]
        for i, earlier in enumerate(_OTHERS):
            begin = _NEW_REAL.stop + i * _NEW_OTHERS
            each.append(_values_of_set(family, earlier, range(begin, begin + _NEW_OTHERS), _AT[0]))
        parts = {"all": np.concatenate(each, axis=1)}
        parts["all but the first"] = np.concatenate(each[1:], axis=1)
        found[family] = {}
        for i, who in enumerate(_ALONE, start=1):
            found[family][who] = {
                "each": [_beside(values[0], values[i]) for values in each],
                **{name: _beside(values[0], values[i]) for name, values in parts.items()},
            }
        print(family, json.dumps(found[family]), flush=True)
    return found


def _values_of_set(family: str, earlier: range, new: range, budget: int) -> np.ndarray:
    """Return values of `taught` and of good points, each a row of new tasks."""
    return np.array(
        [
            [
                np.min(real_run(family, number, who, earlier, budget)["y"][: _AT[0]])
                for number in new
            ]
            for who in ("taught", *_ALONE)
        ]
    )


def _beside(ours: np.ndarray, theirs: np.ndarray) -> dict:
    """Return how values compare, pair by pair."""
    gap = ours - theirs
    p = scipy.stats.wilcoxon(gap, alternative="less").pvalue if np.any(gap) else 1.0
    return {
        "better_worse": [int(np.sum(gap < 0.0)), int(np.sum(gap > 0.0))],
        "p": float(p),
        "medians": [float(np.median(ours)), float(np.median(theirs))],
    }


def _real(family: str, new: range, earlier: range) -> dict:
    """Return medians of all contenders, and how `taught` compares with them."""
    values: dict[str, list[float]] = {}
    for who, number, at in itertools.product(CONTENDERS, new, _AT):
        y = real_run(family, number, who, earlier)["y"]
        values.setdefault(f"{who}_{at}", []).append(float(np.min(y[:at])))
    ours = np.array(values["taught_20"])
    others = ("scratch_60", *(f"{who}_20" for who in CONTENDERS if who != "taught"))
    beside = {name: _beside(ours, np.array(values[name])) for name in others}
    medians = {name: float(np.median(value)) for name, value in values.items()}
    found = {"medians": medians, "taught_20_beside": beside}
    print(family, json.dumps(found), flush=True)
    return found


def speed() -> dict:
    """Return processor seconds per suggestion with lessons over those without, as a run goes on.

    Both runs have the same evaluations, one more for each suggestion, and take turns in one
    process. All of it is done twice: the first time compiles and is not counted.
    """
    found = {}
    task = families.hidden("linear", 1, 1000)
    lessons = lessons_of_map("linear", 1, 16)
    run = hidden_run("linear", 1, 1000, 100)
    y = np.array([task.value(x) for x in run["x"]])
    curves = families.profiles(1, 300)
    of_designs = lessons_of("profiles-1", [Run("designs", curves)])
    auto = methods.by_name("auto")
    for name, known in (("runs", lessons), ("designs", of_designs)):
        for _ in range(2):
            seconds: dict[str, list[float]] = {"with": [], "without": []}
            caches: dict[str, dict] = {"with": {}, "without": {}}
            for count in range(11, 101):
                for kind, taught in (("with", known), ("without", None)):
                    history = History(run["x"][:count], y[:count], lessons=taught)
                    began = time.process_time()
                    said = auto.suggest(history, 1, (0, count), caches[kind])
                    seconds[kind].append(time.process_time() - began)
                    caches[kind] = said.cache
        parts = zip(*(np.split(np.array(seconds[kind]), 3) for kind in seconds), strict=True)
        found[name] = [float(np.mean(part) / np.mean(plain)) for part, plain in parts]
    return found


def main() -> None:
    """Run the parts that are named, and write what they found."""
    _KEPT.mkdir(parents=True, exist_ok=True)
    path = _RESULTS / "earlier.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    parts = {"hidden": hidden, "ideal": ideal, "growth": growth, "unrelated": unrelated}
    parts |= {"designs": designs, "unseen": unseen, "real": real, "sets": sets, "rgpe": rgpe}
    parts["speed"] = speed
    for name in sys.argv[1:] or parts:
        found[name] = parts[name]()
        path.write_text(json.dumps(found, indent=1) + "\n")
        print(name, json.dumps(found[name]))


if __name__ == "__main__":
    main()
