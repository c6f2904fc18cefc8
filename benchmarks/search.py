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

from infold.acquisition import lipschitz, search
from infold.acquisition.functions import Acquisition
from infold.methods import feature_space
from infold.models.joint import Encoder, FitSettings, JointModel, fit

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
        model = JointModel(encoder=Encoder(n_features=10))
        acquisition = Acquisition()
        fitted = fit(x, y, model, key=0, settings=FitSettings(max_iterations=20))
        posterior = fitted.posterior
        y_min = np.min(fitted.standardization.apply(y))
        _, region = feature_space.lipschitz_region(
            model, posterior, np.asarray(posterior.z)[:n], 60, rng
        )
        objective = feature_space.search_objective(model, posterior, acquisition, y_min)
        value_and_gradient = objective.value_and_gradient
        one_by_one = dataclasses.replace(objective, batch=1).value_and_gradient
        starts = lipschitz.sample(region, N_STARTS, rng)
        # Compile both before they are timed.
        value_and_gradient(starts)
        one_by_one(starts[:1])

        began = time.perf_counter()
        ours = search.projected_ascent(
            value_and_gradient, lambda z, r=region: lipschitz.project(r, z), starts
        )
        projected = time.perf_counter() - began
        best = starts[np.argsort(value_and_gradient(starts)[0])[-N_REFERENCE:]]
        began = time.perf_counter()
        reference = search.trust_constr(one_by_one, region, best)
        interior = (time.perf_counter() - began) * N_STARTS / N_REFERENCE
        table.add_row(
            str(n),
            f"{projected:.3f}",
            f"{interior:.1f}",
            f"{interior / projected:.0f}",
            f"{ours.value:.5f}",
            f"{reference.value:.5f}",
        )
    Console().print(table)


if __name__ == "__main__":
    with jax.enable_x64(True):
        main()
