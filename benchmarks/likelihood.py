"""The cost of training: one value and gradient of the joint objective, per decoder, in N and in D (claim COST).

Ratios are against one LAPACK `eigh` of size N timed in the same run. Rows of N are unpadded, so that exponents are those of
the algorithm and not of the bucket sizes. Times on shared machines are noisy; ratios less so.
"""

import jax
import numpy as np
from rich.console import Console
from rich.table import Table
from timing import exponent, first_call, median_seconds

from infold.surrogate import Decoder, Encoder, JointModel, joint
from infold.surrogate.decoder import KINDS
from infold.surrogate.fit import evaluate


def setup(kind: str, n: int, dimension: int) -> tuple:
    rng = np.random.default_rng(0)
    model = JointModel(encoder=Encoder(n_features=10), decoder=Decoder(kind=kind))
    x, y = rng.uniform(size=(n, dimension)), rng.normal(size=n)
    data = jax.device_put(joint.make_data(model, x, y, size=n))
    flat = jax.device_put(joint.flatten(joint.initial_params(model, x, rng)))
    matrix = rng.normal(size=(n, n))
    return lambda: evaluate(model, flat, data), matrix @ matrix.T


def main() -> None:
    console = Console()
    for kind in KINDS:
        table = Table(title=f"{kind} decoder, D = 60, d = 10")
        for column in ("N", "compile s", "value and gradient ms", "eigh(N) ms", "ratio"):
            table.add_column(column, justify="right")
        sizes, times = [50, 100, 200, 300], []
        for n in sizes:
            run, matrix = setup(kind, n, 60)
            first = first_call(run)
            seconds, eigh = median_seconds(run, lambda matrix=matrix: np.linalg.eigh(matrix))
            times.append(seconds)
            table.add_row(
                str(n), f"{first - seconds:.2f}", f"{1e3 * seconds:.2f}", f"{1e3 * eigh:.2f}", f"{seconds / eigh:.2f}"
            )
        console.print(table)
        large, in_n = [200, 400, 800], []
        for n in large:
            run, _ = setup(kind, n, 60)
            first_call(run)
            in_n += median_seconds(run, repeats=5)
        dimensions, in_d = [60, 120, 240, 480, 960], []
        for dimension in dimensions:
            run, _ = setup(kind, 50, dimension)
            first_call(run)
            in_d += median_seconds(run, repeats=5)
        console.print(
            f"time grows like N^{exponent(sizes, times):.2f} (N = 50..300, D = 60), "
            f"N^{exponent(large, in_n):.2f} (N = 200..800, D = 60), D^{exponent(dimensions, in_d):.2f} (D = 60..960, N = 50)\n"
        )


if __name__ == "__main__":
    with jax.enable_x64(True):
        main()
