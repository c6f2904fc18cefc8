"""Seconds per suggestion, ours and other optimizers', over N and D; cold start, memory, and whole runs: `docs/speed.md`.

Needs the extras `peers` and `experiments`. Takes about an hour on two cores. Measurements are appended to the folder given
(default `docs/speed`) as they are made, and a second call makes only those that are missing.
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
# Claims are about D = 60; then outwards, so that what is too slow is found out early.
CELLS = [(n, d) for d in (60, 20, 200, 500) for n in (30, 100, 300)] + [
    (1000, d) for d in (20, 60, 200, 500)
]
console = Console()


def recorded(path: Path, kind: type) -> list:
    return (
        [kind(**json.loads(line)) for line in path.read_text().splitlines()]
        if path.exists()
        else []
    )


def record(path: Path, measure: Callable[[], list]) -> None:
    with path.open("a") as file:
        for measurement in measure():
            file.write(speed.line(measurement) + "\n")
            console.print(measurement, highlight=False)


def grid(path: Path) -> None:
    for n, d in CELLS:
        done = recorded(path, speed.Timing)
        if not any((t.n, t.dimension) == (n, d) for t in done):
            names = [name for name in OURS + PEERS if not speed.too_slow(name, n, d, done)]
            record(path, lambda names=names, n=n, d=d: speed.compare(names, n, d))


def processes(path: Path) -> None:
    """Cold starts without and with kept programs, whole runs of 300 suggestions, and the largest cell's memory."""
    with tempfile.TemporaryDirectory() as folder:
        wanted: list[tuple] = []
        for name in ("mgpc", "full_space", "gpsampler", "botorch"):
            wanted += [(name, 10, 60, 1, None)] * 3
        for name in ("mgpc", "full_space"):
            wanted += [(name, 10, 60, 1, Path(folder) / name)] * 4  # the first fills it
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
