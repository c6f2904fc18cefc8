"""Timing of suggestions: all contenders get the same data and take turns.

What is timed is one suggestion with N evaluations known. Between two of them the contender is told
the value of the point that it suggested. The first suggestion is reported apart, as it includes
compilation and training from a fresh start.
"""

import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from infold.comparison import contenders
from infold.space import Space

_PATIENCE = 120.0  # seconds in one cell after which a contender is not timed again
_TOO_SLOW = 60.0  # a contender whose suggestion took longer is not tried on larger cells


@dataclass(frozen=True)
class Timing:
    """Times of one contender with N evaluations and D parameters."""

    name: str
    n: int
    """Number of evaluations known."""
    dimension: int
    first: float
    """Seconds of the first suggestion."""
    seconds: list[float]
    """Seconds of each suggestion after the first."""

    @property
    def median(self) -> float:
        """Median of `seconds`; NaN where there are none."""
        return float(np.median(self.seconds)) if self.seconds else math.nan


def objective(dimension: int) -> Callable[[np.ndarray], float]:
    """Make a smooth function that varies along ten random directions."""
    rng = np.random.default_rng(dimension)
    directions = rng.normal(size=(dimension, 10)) / math.sqrt(dimension)
    return lambda x: float(np.sum(np.sin(6.0 * (x - 0.5) @ directions)))


def _cube(dimension: int) -> Space:
    return Space.of([(0.0, 1.0)] * dimension)


def compare(
    names: Sequence[str],
    n: int,
    dimension: int,
    *,
    repeats: int = 5,
    seed: int = 0,
    report: Callable[[str], None] = lambda name: None,
) -> list[Timing]:
    """Time the contenders on the same evaluations, in turns.

    Args:
        names: names of the contenders.
        n: number of evaluations known at the first suggestion.
        dimension: number of parameters.
        repeats: number of suggestions timed per contender after the first; fewer where they take
            more than two minutes in all.
        seed: seed of the points and of every contender.
        report: called with the contender's name before each suggestion.
    """
    f = objective(dimension)
    x = np.random.default_rng(seed).uniform(size=(n, dimension))
    running: dict[str, contenders.Contender] = {}
    first: dict[str, float] = {}
    seconds: dict[str, list[float]] = {name: [] for name in names}

    def suggest(name: str) -> float:
        report(name)
        began = time.perf_counter()
        [point] = running[name].ask()
        took = time.perf_counter() - began
        running[name].tell(point, f(np.asarray(point)))
        return took

    for name in names:
        running[name] = contenders.create(name, _cube(dimension), seed)
        for point in x:
            running[name].tell(point, f(point))
        first[name] = suggest(name)
    for _ in range(repeats):
        for name in names:
            if sum(seconds[name]) < _PATIENCE:
                seconds[name].append(suggest(name))
    return [Timing(name, n, dimension, first[name], seconds[name]) for name in names]


def too_slow(name: str, n: int, dimension: int, done: Sequence[Timing]) -> bool:
    """Whether the contender took too long in a cell that is no larger than this one."""
    return any(
        t.name == name
        and t.n <= n
        and t.dimension <= dimension
        and max([t.first, *t.seconds]) > _TOO_SLOW
        for t in done
    )


@dataclass(frozen=True)
class Process:
    """Times and memory of one contender in a process of its own."""

    name: str
    n: int
    """Number of evaluations known at the first suggestion."""
    dimension: int
    trials: int
    """Number of suggestions."""
    cached: bool
    """Whether an earlier process left its compiled programs."""
    imports: float
    """Seconds until the contender knew its first n evaluations, imports included."""
    first: float
    """Seconds of the first suggestion with n evaluations known."""
    total: float
    """Seconds from the start of the interpreter to the last suggestion."""
    peak_memory: float
    """Peak memory in bytes; NaN where the system does not tell."""


_PROGRAM = """
import time
began = time.perf_counter()
import json, sys
from infold.comparison import speed
print(json.dumps(speed._alone(json.loads(sys.argv[1]), began)))
"""


def alone(
    name: str, n: int, dimension: int, *, trials: int = 1, cache: Path | None = None
) -> Process:
    """Measure a contender in a fresh process.

    Args:
        name: name of the contender.
        n: number of evaluations known at the first suggestion.
        dimension: number of parameters.
        trials: number of suggestions.
        cache: folder in which compiled programs are kept; they are not kept when None.
    """
    cached = cache is not None and cache.exists()
    request = {
        "name": name,
        "n": n,
        "dimension": dimension,
        "trials": trials,
        "cache": None if cache is None else str(cache),
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _PROGRAM, json.dumps(request)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Process(
        name=name,
        n=n,
        dimension=dimension,
        trials=trials,
        cached=cached,
        **json.loads(done.stdout.splitlines()[-1]),
    )


def _alone(request: dict, began: float) -> dict:
    if request["cache"] is not None:
        from infold.compilation import cache_compilations

        cache_compilations(request["cache"])
    dimension = request["dimension"]
    f = objective(dimension)
    rng = np.random.default_rng(0)
    contender = contenders.create(request["name"], _cube(dimension))
    for point in rng.uniform(size=(request["n"], dimension)):
        contender.tell(point, f(point))
    imports = time.perf_counter() - began
    first = 0.0
    for trial in range(request["trials"]):
        asked = time.perf_counter()
        [point] = contender.ask()
        if trial == 0:
            first = time.perf_counter() - asked
        contender.tell(point, f(np.asarray(point)))
    return {
        "imports": imports,
        "first": first,
        "total": time.perf_counter() - began,
        "peak_memory": _peak_memory(),
    }


def _peak_memory() -> float:
    """Peak memory of this process in bytes.

    `getrusage` will not do: its peak includes that of the process which started this one.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return math.nan
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return 1024.0 * int(found[1]) if found else math.nan


def line(measurement: Timing | Process) -> str:
    """Write a measurement as one line of JSON."""
    return json.dumps(asdict(measurement))
