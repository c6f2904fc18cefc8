"""Time the constrained search: batched projected ascent against SciPy's trust-constr.

Both have the same model and are timed in the same run. trust-constr is timed from the five best of
the starts, and its time is extrapolated to all of them.
"""

import dataclasses
import time

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

from infold.acquisition.functions import ExpectedImprovement
from infold.acquisition.lipschitz import LipschitzConstraint
from infold.acquisition.search import Objective, projected_ascent
from infold.models.features import LearnedFeatures
from infold.paper.trust_constr import trust_constr
from infold.record import History

N_STARTS = 100
N_REFERENCE = 5  # starts from which trust-constr is timed; its time is proportional to them


def main() -> None:
    table = Table(title=f"constrained search, D = 60, d = 10, {N_STARTS} starts")
    for column in (
        "N",
        "projected s",
        "trust-constr s",
        "times faster",
        "projected log EI",
        "trust-constr log EI",
    ):
        table.add_column(column, justify="right")
    for n in (50, 100, 300):
        rng = np.random.default_rng(n)
        x = rng.uniform(size=(n, 60))
        y = np.sin(x @ rng.normal(size=60))
        model = LearnedFeatures(n_features=10, training_iterations=20)
        surface = model.fit(History(x, y), key=(0,), state={}).surface
        region = LipschitzConstraint().around(surface, rng)
        objective = Objective(ExpectedImprovement(), surface)
        value_and_gradient = objective.value_and_gradient
        one_by_one = dataclasses.replace(objective, batch=1).value_and_gradient
        starts = region.sample_inside(N_STARTS, rng)
        # Compile both before they are timed.
        value_and_gradient(starts)
        one_by_one(starts[:1])

        began = time.perf_counter()
        ours = projected_ascent(value_and_gradient, region.project, starts)
        projected = time.perf_counter() - began
        best = starts[np.argsort(value_and_gradient(starts)[0])[-N_REFERENCE:]]
        began = time.perf_counter()
        reference = trust_constr(one_by_one, region, best)
        interior = (time.perf_counter() - began) * N_STARTS / N_REFERENCE
        table.add_row(
            str(n),
            f"{projected:.3f}",
            f"{interior:.1f}",
            f"{interior / projected:.0f}",
            f"{ours.value:.5f}",
            f"{reference.value:.5f}",
        )
    Console(width=100).print(table)


if __name__ == "__main__":
    with jax.enable_x64(True):
        main()
