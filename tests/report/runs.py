"""Small runs that reports are made of: all in five dimensions, so that little is compiled."""

import numpy as np

import infold
from infold import Optimizer, methods
from infold.report.subject import Subject

CHEAP = {"n_candidates": 64, "n_starts": 8, "search_iterations": 5}
TRAINING = {"n_features": 2, "training_iterations": 5, "warm_training_iterations": 3}


def told(n: int = 14, *, space=((0.0, 1.0),) * 5, method="full_space", **options) -> Optimizer:
    """A run of told points, the first ten of which it asked for as its design."""
    optimizer = Optimizer(space, method=method, seed=0, **options)
    rng = np.random.default_rng(0)
    for i in range(n):
        unit = rng.uniform(size=optimizer.space.dimension)
        x = optimizer.ask() if i < 10 else optimizer.space.decode(unit)
        optimizer.tell(x, objective(optimizer, x), seconds=0.5 + i)
    return optimizer


def objective(optimizer: Optimizer, x) -> float:
    unit = optimizer.space.encode(x)
    return float(np.sum(np.arange(1, len(unit) + 1) * (unit - 0.3) ** 2))


def cheap(name: str) -> methods.Method:
    """The method, with less effort per suggestion."""
    effort = {} if name == "random" else CHEAP
    return methods.by_name(name, **effort, **(TRAINING if "mgp" in name else {}))


def with_features(n: int = 14) -> Subject:
    return Subject(told(n, method=cheap("mgpc")))


def mixed() -> dict:
    return {
        "rate": infold.Float(1e-4, 1.0, log=True),
        "layers": infold.Int(1, 8),
        "kind": infold.Categorical(["a", None]),
        "flag": infold.Bool(),
        "always": infold.Float(2.0, 2.0),
    }


def several(
    n: int = 24, *, n_objectives: int = 2, limits: bool = False, failed: bool = True, **options
) -> Optimizer:
    """A run of told points with several objectives, the second of which is maximized."""
    directions = ["minimize", "maximize", "minimize", "minimize"][:n_objectives]
    options = {"method": "random", "seed": 0, "direction": directions, **options}
    optimizer = Optimizer([(0.0, 1.0)] * 5, **options)
    targets = np.eye(5)[:n_objectives]
    for i in range(n):
        x = np.asarray(optimizer.ask())
        losses = np.sum((x - targets) ** 2, axis=1)
        values = None if failed and i == 3 else np.where(np.array(directions) == "minimize", 1, -1)
        if values is not None:
            values = values * losses
        constraints = [x[0] + x[1] - 1.2, 0.1 - x[2]] if limits else None
        optimizer.tell(x, values, constraints=constraints, error=None if i != 3 else "broken")
    return optimizer


def limited(n: int = 16, *, slack: float = 0.0, **options) -> Optimizer:
    """A run with two constraints, the first of which keeps it from its best value.

    Args:
        n: evaluations, the fourth of which failed and says nothing of the second constraint.
        slack: what is added to the first constraint; above 2, nothing is feasible.
        options: settings of the run.
    """
    optimizer = Optimizer([(0.0, 1.0)] * 5, **{"method": "random", "seed": 0, **options})
    for i in range(n):
        x = np.asarray(optimizer.ask())
        first = float(0.8 - x[0] - x[1] + slack)
        value = None if i == 3 else float(np.sum(x**2))
        constraints = [first, np.nan if i == 3 else float(x[2] - 0.9)]
        optimizer.tell(x, value, constraints=constraints)
    return optimizer
