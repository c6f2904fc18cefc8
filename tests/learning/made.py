"""Small earlier runs."""

from pathlib import Path

import numpy as np

from infold import Bool, Categorical, Float, Int, Optimizer

MIXED = {
    "rate": Float(1e-4, 1.0, log=True),
    "layers": Int(1, 8),
    "kind": Categorical(["a", "b", None]),
    "flag": Bool(),
    "x": Float(-1.0, 1.0),
}


def loss(optimizer: Optimizer, x) -> float:
    unit = optimizer.space.encode(x)
    return float(np.sum(np.arange(1, len(unit) + 1) * (unit - 0.3) ** 2))


def told(space=((0.0, 1.0),) * 4, n: int = 12, seed: int = 0, **options) -> Optimizer:
    """A run of n told points; where it maximizes, values are negated."""
    optimizer = Optimizer(space, method="random", seed=seed, **options)
    sign = -1.0 if optimizer.direction == "maximize" else 1.0
    for _ in range(n):
        x = optimizer.ask()
        optimizer.tell(x, sign * loss(optimizer, x))
    return optimizer


def saved(folder: Path, n_runs: int = 3, **options) -> list[Path]:
    paths = [folder / f"run-{i}.json" for i in range(n_runs)]
    for i, path in enumerate(paths):
        told(seed=i, **options).save(path)
    return paths
