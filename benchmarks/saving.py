"""Seconds per save of one more evaluation, and sizes of run files, over N at D = 60.

The disk decides most of it: a bare append with fsync of as many bytes is timed in the same run, in
turns, and printed beside.
"""

import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from infold import Optimizer
from infold.methods.base import Suggestion

DIMENSION = 60
REPEATS = 50


@dataclass(frozen=True)
class Heavy:
    """Random points, and a cache of a megabyte that cannot be compressed."""

    def suggest(self, history, q, key, cache=None):
        rng = np.random.default_rng(key)
        curvature = rng.normal(size=1 << 17)
        return Suggestion(rng.uniform(size=(q, history.dimension)), (), {"curvature": curvature})


def bare_append(path: Path, n_bytes: int) -> float:
    began = time.perf_counter()
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, b"x" * n_bytes)
    os.fsync(handle)
    os.close(handle)
    return time.perf_counter() - began


def main() -> None:
    folder = Path(tempfile.mkdtemp(dir=sys.argv[1] if len(sys.argv) > 1 else None))
    path = folder / "run.jsonl"
    rng = np.random.default_rng(0)
    optimizer = Optimizer([(0.0, 1.0)] * DIMENSION, method="random", seed=0)
    optimizer.save(path)
    print("      N   save   bare append     tell    bytes  file MB  write all  load")
    for n in (10, 100, 1000, 10_000):
        while len(optimizer) < n:
            optimizer.tell(rng.uniform(size=DIMENSION), 1.0, seconds=1.0)
        optimizer.save(path)
        saves, bares, tells = [], [], []
        for _ in range(REPEATS):
            x = rng.uniform(size=DIMENSION)
            began = time.perf_counter()
            optimizer.tell(x, float(x @ x), seconds=1.0)
            told = time.perf_counter()
            before = path.stat().st_size
            optimizer.save(path)
            saves.append(time.perf_counter() - told)
            tells.append(told - began)
            n_bytes = path.stat().st_size - before
            bares.append(bare_append(folder / "bare", n_bytes))
        began = time.perf_counter()
        optimizer.save(folder / "anew")
        anew = time.perf_counter() - began
        optimizer.save(path)
        began = time.perf_counter()
        Optimizer.load(path)
        load = time.perf_counter() - began
        print(
            f"{n:7d} {1e3 * np.median(saves):5.2f} ms {1e3 * np.median(bares):9.2f} ms "
            f"{1e3 * np.median(tells):5.2f} ms {n_bytes:8d} {path.stat().st_size / 1e6:8.2f} "
            f"{anew:8.3f} s {load:5.2f} s"
        )
    path = folder / "heavy.jsonl"
    optimizer = Optimizer([(0.0, 1.0)] * DIMENSION, method=Heavy(), seed=0)
    sizes, seconds = [], []
    for _ in range(100):
        x = optimizer.ask()
        optimizer.tell(x, float(x @ x))
        began = time.perf_counter()
        optimizer.save(path)
        seconds.append(time.perf_counter() - began)
        sizes.append(path.stat().st_size / 1e6)
    print(
        f"100 evaluations, cache of 1 MB: file {sizes[-1]:.2f} MB, at most {max(sizes):.2f} MB; "
        f"save {1e3 * np.median(seconds):.2f} ms in the median, {1e3 * max(seconds):.0f} ms at most"
    )


if __name__ == "__main__":
    main()
