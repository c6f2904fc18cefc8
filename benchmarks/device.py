"""Time the likelihood with its gradient, and whole suggestions, on JAX's default device.

On a machine with a GPU, run it twice: as it is, and with JAX_PLATFORMS=cpu. The source is the same.
D = 60, d = 10.
"""

import jax
import numpy as np
from rich.console import Console
from rich.table import Table
from timing import first_call, median_seconds

from infold import methods, problems
from infold.gp.outputs import Standardization
from infold.models import regression
from infold.models.features import LearnedFeatures
from infold.models.full_space import FullSpaceGP
from infold.models.joint import joint
from infold.models.joint.fit import evaluate
from infold.record import History

_GP = FullSpaceGP().gp
REPEATS = 5


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Evaluate a test problem at n random points."""
    problem = problems.get("product-of-sines-linear")
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(n, problem.dimension))
    return x, np.array([problem.observe(point, 0, i) for i, point in enumerate(x)])


def likelihoods(x: np.ndarray, y: np.ndarray) -> list[float]:
    """Median seconds of one likelihood with its gradient, for `mgpc` and for `full_space`."""
    y = Standardization.of(y).apply(y)
    model = LearnedFeatures().joint_model(x.shape[1])
    params = joint.initial_params(model, x, np.random.default_rng(0))
    feature = jax.device_put((joint.flatten(params), joint.make_data(model, x, y)))
    full = jax.device_put((regression.initial_params(_GP, x.shape[1]), regression.make_data(x, y)))
    runs = [lambda: evaluate(model, *feature), lambda: regression.evaluate(_GP, *full)]
    for run in runs:
        first_call(run)
    return [median_seconds(run, repeats=REPEATS)[0] for run in runs]


def suggestions(name: str, x: np.ndarray, y: np.ndarray) -> float:
    """Median seconds of a suggestion, without compilation and training from a fresh start."""
    method = methods.by_name(name)
    history = History(x, y)
    cache = None
    seconds = []
    for i in range(2 + REPEATS):
        suggestion = None

        def suggest(history=history, cache=cache, i=i):
            nonlocal suggestion
            suggestion = method.suggest(history, 1, (0, i), cache)

        seconds.append(first_call(suggest))
        cache = suggestion.cache
        history = History(
            np.concatenate([history.x, suggestion.x]), np.append(history.y, np.median(y))
        )
    return float(np.median(seconds[2:]))


def main() -> None:
    table = Table(title=f"{jax.devices()[0].device_kind}: seconds, medians of {REPEATS}")
    for column in (
        "N",
        "mgpc likelihood",
        "full_space likelihood",
        "mgpc suggestion",
        "full_space suggestion",
    ):
        table.add_column(column, justify="right")
    for n in (300, 1000, 2000):
        x, y = data(n)
        with jax.enable_x64(True):
            row = likelihoods(x, y)
        row += [suggestions(name, x, y) for name in ("mgpc", "full_space")]
        table.add_row(str(n), *(f"{value:.4f}" for value in row))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
