"""Runs of the comparison: how one is made, and how it is kept.

Each finished run is one small file of JSON, written at once or not at all. So a sweep resumes by
skipping what is there, and several machines may fill the same folder.
"""

import json
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from infold import runfile
from infold.comparison import contenders, suite

FORMAT = "infold-comparison"
VERSION = 1


@dataclass(frozen=True, kw_only=True, order=True)
class Task:
    """What a run is asked to do."""

    problem: str
    """A problem of the suite, or of one with constraints or several objectives."""
    optimizer: str
    """A name from `infold.methods.NAMES` or `infold.comparison.contenders.PEERS`."""
    seed: int
    batch: int = 1
    """Number of points that are asked for at once."""

    def __str__(self) -> str:
        batch = f"-q{self.batch}" if self.batch > 1 else ""
        return f"{self.problem} {self.optimizer}{batch}, seed {self.seed}"


@dataclass(frozen=True, kw_only=True)
class Run:
    """A finished run."""

    task: Task
    values: tuple[float, ...]
    """Values at the evaluated points in their order; infinite where one does not count."""
    seconds: tuple[float, ...]
    """Time that the suggestion of each point took; 0 for points that were given."""
    processor: str
    """Model of the processor, since only times on the same one can be compared."""

    @property
    def best(self) -> np.ndarray:
        """Smallest value so far, after each evaluation."""
        return np.minimum.accumulate(self.values)


def run_one(task: Task, evaluations: int) -> Run:
    """Make a run of so many evaluations."""
    benchmark = suite.get(task.problem)
    contender = contenders.create(task.optimizer, benchmark.space, task.seed)
    given = []
    if not contenders.begins_by_itself(task.optimizer):
        given = contenders.first_points(benchmark.space, task.seed)[:evaluations]
    values = [benchmark(point) for point in given]
    for point, value in zip(given, values, strict=True):
        contender.tell(point, value)
    seconds = [0.0] * len(given)
    while len(values) < evaluations:
        count = min(task.batch, evaluations - len(values))
        began = time.perf_counter()
        points = contender.ask(count)
        took = time.perf_counter() - began
        found = [benchmark(point) for point in points]
        for point, value in zip(points, found, strict=True):
            contender.tell(point, value)
        values += found
        seconds += [took / count] * count
    return Run(task=task, values=tuple(values), seconds=tuple(seconds), processor=processor())


def processor() -> str:
    """Return the model of the processor; empty where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "")


class Folder:
    """A folder of runs, with a subfolder for each problem."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, task: Task) -> Path:
        """Path of the file for a run."""
        batch = f"-q{task.batch}" if task.batch > 1 else ""
        return self.folder / task.problem / f"{task.optimizer}{batch}-s{task.seed}.json"

    def has(self, task: Task, evaluations: int) -> bool:
        """Whether there is a run of at least so many evaluations."""
        path = self.path(task)
        return path.exists() and len(_read(path).values) >= evaluations

    def write(self, run: Run) -> None:
        """Write a run, in place of a shorter one that may be there."""
        path = self.path(run.task)
        if self.has(run.task, len(run.values)):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        contents = {
            "format": FORMAT,
            "version": VERSION,
            **asdict(run.task),
            "values": [value if math.isfinite(value) else None for value in run.values],
            "seconds": [round(seconds, 6) for seconds in run.seconds],
            "processor": run.processor,
        }
        runfile.replace(path, json.dumps(contents) + "\n")

    def runs(self) -> list[Run]:
        """Read all runs."""
        return [_read(path) for path in sorted(self.folder.glob("*/*.json"))]


def _read(path: Path) -> Run:
    fields = (*Task.__dataclass_fields__, "values", "seconds", "processor")
    data = runfile.checked_json(
        path.read_bytes(),
        str(path),
        kind="a run of an infold comparison",
        format=FORMAT,
        version=VERSION,
        required=fields,
    )
    return Run(
        task=Task(**{name: data[name] for name in Task.__dataclass_fields__}),
        values=tuple(math.inf if value is None else value for value in data["values"]),
        seconds=tuple(data["seconds"]),
        processor=data["processor"],
    )
