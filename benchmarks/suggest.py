"""Measure what `docs/speed.md` reports: suggestions over N and D, cold starts, memory, whole runs.

Our methods and other optimizers are timed side by side. This needs the extras `peers` and
`experiments`, and takes about an hour on two cores. Measurements are appended to files in a folder
(the first argument, default `docs/speed`) as they are made. A second call makes only those that are
missing.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from infold.comparison import contenders, figures, speed

OURS = ["mgpc", "dmgpc", "full_space"]
PEERS = ["gpsampler", "botorch", "tpe", "cmaes"]
# D = 60 comes first, as the claims are about it. N = 1000 comes last: by then it is known which
# optimizers are too slow for it.
CELLS = [(n, d) for d in (60, 20, 200, 500) for n in (30, 100, 300)] + [
    (1000, d) for d in (20, 60, 200, 500)
]
console = Console()


def recorded(path: Path, kind: type) -> list:
    """Read the measurements that the file holds."""
    if not path.exists():
        return []
    return [kind(**json.loads(line)) for line in path.read_text().splitlines()]


def record(path: Path, measure: Callable[[], list]) -> None:
    """Measure, and append what was measured to the file."""
    with path.open("a") as file:
        for measurement in measure():
            file.write(speed.line(measurement) + "\n")
            console.print(measurement, highlight=False)


def grid(path: Path) -> None:
    """Time suggestions at every (N, D) that the file does not have yet."""
    for n, d in CELLS:
        done = recorded(path, speed.Timing)
        if not any((t.n, t.dimension) == (n, d) for t in done):
            names = [name for name in OURS + PEERS if not speed.too_slow(name, n, d, done)]
            record(path, lambda names=names, n=n, d=d: speed.compare(names, n, d))


def processes(path: Path) -> None:
    """Measure whole processes.

    Cold starts, without and with compiled programs that are kept; runs of 300 suggestions; and the
    memory of the largest cell.
    """
    with tempfile.TemporaryDirectory() as folder:
        wanted: list[tuple] = []
        for name in ("mgpc", "full_space", "gpsampler", "botorch"):
            wanted += [(name, 10, 60, 1, None)] * 3
        for name in ("mgpc", "full_space"):
            wanted += [(name, 10, 60, 1, Path(folder) / name)] * 4  # the first fills the cache
        wanted += [(name, 10, 60, 300, None) for name in ("mgpc", "gpsampler", "full_space")]
        wanted += [(name, 1000, 500, 1, None) for name in OURS]
        for name, n, d, trials, cache in wanted[len(recorded(path, speed.Process)) :]:
            record(
                path, lambda a=(name, n, d), t=trials, c=cache: [speed.alone(*a, trials=t, cache=c)]
            )


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/speed")
    folder.mkdir(parents=True, exist_ok=True)
    for name in PEERS:
        if package := contenders.missing(name):
            sys.exit(f"{name} needs {package}: pip install '.[peers,experiments]'")
    processes(folder / "processes.jsonl")
    grid(folder / "suggestions.jsonl")
    figures.speed(recorded(folder / "suggestions.jsonl", speed.Timing), folder / "suggestions.png")


if __name__ == "__main__":
    main()
