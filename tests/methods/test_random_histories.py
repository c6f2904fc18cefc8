"""Every method on randomized awkward data: no exception, no NaN, always inside the cube.

INFOLD_HISTORIES sets how many histories each method sees.
"""

import os

import numpy as np
import pytest

from infold import methods
from infold.record import History

N_HISTORIES = int(os.environ.get("INFOLD_HISTORIES", "60"))
DIMENSION = {
    name: 12 if name == "vae" else 5 for name in methods.NAMES
}  # vae has that of its problem


def random_history(rng: np.random.Generator, dimension: int) -> History:
    n = int(rng.choice([1, 2, 3, 10, 30, 60]))
    x = rng.uniform(size=(n, dimension))
    shape = rng.integers(5)
    if shape == 0:
        x = x[rng.integers(max(1, n // 4), size=n)]  # duplicated
    elif shape == 1:
        x = np.round(x)  # boundary
    elif shape == 2:
        x = np.clip(
            0.5 + np.outer(rng.uniform(-0.5, 0.5, size=n), rng.normal(size=dimension)), 0, 1
        )  # collinear
    elif shape == 3:
        x = np.clip(x[:1] + 1e-9 * rng.normal(size=x.shape), 0, 1)  # all but one point
    values = rng.integers(4)
    if values == 0:
        y = np.full(n, rng.normal())  # constant
    elif values == 1:
        y = 10.0 ** rng.uniform(-8, 12, size=n) * rng.choice([-1, 1], size=n)  # huge range
    elif values == 2:
        y = rng.normal(size=n) * 10.0 ** rng.integers(-300, 300)
    else:
        y = np.sum(x**2, axis=1) + 0.01 * rng.normal(size=n)
    if rng.uniform() < 0.4:
        y = np.where(rng.uniform(size=n) < 0.4, np.nan, y)
    pending = rng.uniform(size=(int(rng.integers(3)), dimension))
    return History(x, y, pending)


@pytest.mark.parametrize("name", methods.NAMES)
def test_random_histories(name):
    effort = {} if name == "random" else {"n_candidates": 50, "n_starts": 4, "search_iterations": 3}
    if "mgp" in name:
        effort |= {"n_features": 2, "training_iterations": 3, "warm_training_iterations": 2}
    if name == "vae":
        effort |= {"problem": "thomson", "n_pairs": 100, "n_steps": 20}
    method, dimension = methods.by_name(name, **effort), DIMENSION[name]
    cache = None
    for i in range(N_HISTORIES):
        history = random_history(np.random.default_rng(i), dimension)
        suggestion = method.suggest(history, 1 + i % 2, (0, i), cache)
        cache = suggestion.cache
        assert suggestion.x.shape == (1 + i % 2, dimension), i
        assert np.all((suggestion.x >= 0) & (suggestion.x <= 1)), i
