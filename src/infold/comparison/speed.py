"""Seconds per suggestion, side by side: every contender gets the same data, and they take turns.

What is timed is one suggestion with N evaluations known, the next evaluation being told between two of them. The first one is
kept apart: it compiles, and trains from a fresh start.
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

_PATIENCE = 120.0  # seconds of suggestions per cell, after which a contender has been seen enough
_TOO_SLOW = 60.0  # seconds of one suggestion, after which larger cells are not tried


@dataclass(frozen=True)
class Timing:
    """One contender in one cell."""

    name: str
    n: int
    """Evaluations known."""
    dimension: int
    first: float
    """Seconds of the first suggestion."""
    seconds: list[float]
    """Of the following ones."""

    @property
    def median(self) -> float:
        return float(np.median(self.seconds)) if self.seconds else math.nan


def objective(dimension: int) -> Callable[[np.ndarray], float]:
    """A smooth function of ten random directions."""
    directions = np.random.default_rng(dimension).normal(size=(dimension, 10)) / math.sqrt(
        dimension
    )
    return lambda x: float(np.sum(np.sin(6.0 * (x - 0.5) @ directions)))


def compare(
    names: Sequence[str],
    n: int,
    dimension: int,
    *,
    repeats: int = 5,
    seed: int = 0,
    report: Callable[[str], None] = lambda name: None,
) -> list[Timing]:
    """All contenders `names` on the same n evaluations, in turns. `report` is called before each suggestion."""
    f, rng = objective(dimension), np.random.default_rng(seed)
    x = rng.uniform(size=(n, dimension))
    running: dict[str, contenders.Contender] = {}
    first: dict[str, float] = {}
    seconds: dict[str, list[float]] = {name: [] for name in names}

    def suggest(name: str) -> float:
        report(name)
        began = time.perf_counter()
        point = running[name].ask()
        took = time.perf_counter() - began
        running[name].tell(point, f(point))
        return took

    for name in names:
        running[name] = contenders.create(name, dimension, seed)
        for point in x:
            running[name].tell(point, f(point))
        first[name] = suggest(name)
    for _ in range(repeats):
        for name in names:
            if sum(seconds[name]) < _PATIENCE:
                seconds[name].append(suggest(name))
    return [Timing(name, n, dimension, first[name], seconds[name]) for name in names]


def too_slow(name: str, n: int, dimension: int, done: Sequence[Timing]) -> bool:
    """Whether a smaller cell has shown that this one would take too long."""
    return any(
        t.name == name
        and t.n <= n
        and t.dimension <= dimension
        and max([t.first, *t.seconds]) > _TOO_SLOW
        for t in done
    )


@dataclass(frozen=True)
class Process:
    """One contender in a process of its own."""

    name: str
    n: int
    dimension: int
    trials: int
    cached: bool
    """Whether compiled programs were kept from an earlier process."""
    imports: float
    """Seconds until it could be told something."""
    first: float
    """Seconds of the first suggestion with n evaluations known."""
    total: float
    """Seconds from the start of the interpreter to the last suggestion."""
    peak_memory: float
    """Bytes."""


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
    """`trials` suggestions in a fresh process, starting with n evaluations; compiled programs kept in `cache` if given."""
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
    f, rng = objective(dimension), np.random.default_rng(0)
    contender = contenders.create(request["name"], dimension)
    for point in rng.uniform(size=(request["n"], dimension)):
        contender.tell(point, f(point))
    imports, first = time.perf_counter() - began, 0.0
    for trial in range(request["trials"]):
        asked = time.perf_counter()
        point = contender.ask()
        first = time.perf_counter() - asked if trial == 0 else first
        contender.tell(point, f(point))
    return {
        "imports": imports,
        "first": first,
        "total": time.perf_counter() - began,
        "peak_memory": _peak_memory(),
    }


def _peak_memory() -> float:
    """Of this process alone: what `getrusage` says begins at the peak of the process that started it."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return math.nan
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return 1024.0 * int(found[1]) if found else math.nan


def line(measurement: Timing | Process) -> str:
    """A measurement as one line of JSON."""
    return json.dumps(asdict(measurement))
