"""Suggestions do not change unnoticed: the first ones of every method on several histories.

`tests/data/suggestions.json` has them as the library gave them before its methods became one loop,
apart from the cases of `_SINCE` and those of `auto`. To renew it after a change that is meant to
change suggestions: `python -m tests.methods.test_recorded`.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from infold import Bool, Categorical, Float, Int, Optimizer, Space, methods

_PATH = Path(__file__).parents[1] / "data" / "suggestions.json"
_TOLERANCE = 1e-6  # between machines; on one machine 1e-9 was asked for, and zero was seen
_SINCE = {
    "add-mixed",  # discrete parameters are searched by all methods
    "rembo-mixed",
    "add-batch",  # every point of a batch has random numbers of its own
    "full_space-batch",
    "rembo-batch",
}
_FLOATS = Space.of([(-1.0, 2.0)] * 8)
_MIXED = Space(
    {
        **{f"x{i}": Float(-1.0, 1.0) for i in range(4)},
        "r": Float(1e-4, 1.0, log=True),
        "n": Int(0, 10),
        "m": Int(1, 100, log=True),
        "k": Categorical(list("rst")),
        "b": Bool(),
    }
)
_HISTORIES = {
    "plain": {"n": 14, "seed": 0},
    "pending": {"n": 20, "seed": 1, "n_pending": 3},
    "failures": {"n": 25, "seed": 2, "n_pending": 1, "fails": True},
    "batch": {"n": 14, "seed": 3, "q": 3},
    "mixed": {"space": _MIXED, "n": 16, "seed": 4, "n_pending": 1, "fails": True},
    "maximize": {"n": 62, "seed": 5, "direction": "maximize"},
}
_NAMES = tuple(name for name in methods.NAMES if name not in ("random", "vae"))
_CASES = [f"{name}-{history}" for name in _NAMES for history in _HISTORIES]


def cheap(name: str) -> methods.Method:
    settings = {"n_candidates": 64, "n_starts": 8, "search_iterations": 5}
    if name not in ("auto", "full_space"):
        settings["n_features"] = 3
    if "mgp" in name:
        settings |= {"training_iterations": 5, "warm_training_iterations": 3, "restart_every": 4}
    return methods.by_name(name, **settings)


def value(unit: np.ndarray) -> float:
    return float(np.sum((unit - 0.4) ** 2) + 0.3 * np.sin(7 * unit[0]) * unit[1])


def suggested(case: str) -> list[list[float]]:
    """The first suggestion, in the unit cube."""
    name, _, label = case.partition("-")
    history = {
        "space": _FLOATS,
        "q": 1,
        "n_pending": 0,
        "fails": False,
        "direction": "minimize",
        **_HISTORIES[label],
    }
    space, n, seed = history["space"], history["n"], history["seed"]
    rng = np.random.default_rng([n, seed])
    optimizer = Optimizer(
        space, method=cheap(name), n_initial=1, seed=seed, direction=history["direction"]
    )
    sign = 1.0 if history["direction"] == "minimize" else -1.0
    for i in range(n):
        point = space.decode(rng.uniform(size=space.dimension))
        failed = history["fails"] and i % 5 == 1
        optimizer.tell(point, None if failed else sign * value(space.encode(point)))
    for _ in range(history["n_pending"]):
        optimizer.expect(space.decode(rng.uniform(size=space.dimension)))
    return [space.encode(point).tolist() for point in optimizer.ask(history["q"])]


@pytest.mark.parametrize("case", _CASES)
def test_suggestions_are_as_they_were_recorded(case):
    recorded = json.loads(_PATH.read_text())[case]
    np.testing.assert_allclose(suggested(case), recorded, rtol=0, atol=_TOLERANCE)


if __name__ == "__main__":
    lines = [f'"{case}": {json.dumps(np.round(suggested(case), 12).tolist())}' for case in _CASES]
    _PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")
