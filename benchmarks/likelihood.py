"""Time one value and gradient of the joint objective, for each decoder, over N and D (claim COST).

Ratios are to one LAPACK `eigh` of size N, timed in the same run: times on shared machines are
noisy, ratios less so. N is not padded, so the exponents are those of the algorithm and not of the
bucket sizes.

    python benchmarks/likelihood.py [growth.json [growth.png]]

The first file gets the measured growth as JSON, the second one its figure.
"""

import json
import sys
from pathlib import Path

import jax
import numpy as np
from rich.console import Console
from rich.table import Table
from timing import exponent, first_call, median_seconds

from infold._threads import one_blas_thread
from infold.comparison import figures
from infold.models.joint import Decoder, Encoder, JointModel, joint
from infold.models.joint.decoder import KINDS
from infold.models.joint.fit import evaluate

SMALL = [50, 100, 200, 300]
LARGE = {
    "full": [100, 200, 400, 800, 1600],
    "hierarchical": [50, 100, 200, 400],
    "shared": [100, 200, 400, 800, 1600],
}
DIMENSIONS = [60, 120, 240, 480, 960]
BOTH = {
    "full": [100, 200, 400, 800],
    "hierarchical": [50, 100, 200],
    "shared": [100, 200, 400, 800],
}


def setup(kind: str, n: int, dimension: int) -> tuple:
    """Make a function that computes one value and gradient, and a symmetric matrix of size n."""
    rng = np.random.default_rng(0)
    model = JointModel(encoder=Encoder(n_features=10), decoder=Decoder(kind=kind))
    x = rng.uniform(size=(n, dimension))
    y = rng.normal(size=n)
    data = jax.device_put(joint.make_data(model, x, y, size=n))
    flat = jax.device_put(joint.flatten(joint.initial_params(model, x, rng)))
    matrix = rng.normal(size=(n, n))
    return lambda: evaluate(model, flat, data), matrix @ matrix.T


def growth(kind: str, cells: list[tuple[int, int]]) -> list[float]:
    """Median seconds of one value and gradient at each (N, D)."""
    seconds = []
    for n, dimension in cells:
        run, _ = setup(kind, n, dimension)
        first_call(run)
        seconds += median_seconds(run, repeats=5)
    return seconds


def main(numbers: Path | None, picture: Path | None) -> None:
    console = Console()
    curves: dict[str, figures.Curves] = {"N": {}, "D": {}, "N = D": {}}
    for kind in KINDS:
        table = Table(title=f"{kind} decoder, D = 60, d = 10")
        for column in ("N", "compile s", "value and gradient ms", "eigh(N) ms", "ratio"):
            table.add_column(column, justify="right")
        for n in SMALL:
            run, matrix = setup(kind, n, 60)
            first = first_call(run)
            seconds, eigh = median_seconds(run, lambda matrix=matrix: np.linalg.eigh(matrix))
            table.add_row(
                str(n),
                f"{first - seconds:.2f}",
                f"{1e3 * seconds:.2f}",
                f"{1e3 * eigh:.2f}",
                f"{seconds / eigh:.2f}",
            )
        console.print(table)
        sizes = LARGE[kind]
        in_n = growth(kind, [(n, 60) for n in sizes])
        in_d = growth(kind, [(50, d) for d in DIMENSIONS])
        in_both = growth(kind, [(n, n) for n in BOTH[kind]])
        curves["N"][kind] = (sizes, in_n)
        curves["D"][kind] = (DIMENSIONS, in_d)
        curves["N = D"][kind] = (BOTH[kind], in_both)
        if numbers is not None:
            numbers.write_text(json.dumps(curves) + "\n", encoding="utf-8")
        console.print(
            "time grows like "
            f"N^{exponent(sizes[-2:], in_n[-2:]):.2f} "
            f"(N = {sizes[-2]}..{sizes[-1]}, D = 60), "
            f"D^{exponent(DIMENSIONS[-2:], in_d[-2:]):.2f} "
            f"(D = {DIMENSIONS[-2]}..{DIMENSIONS[-1]}, N = 50) and "
            f"N^{exponent(BOTH[kind][-2:], in_both[-2:]):.2f} "
            f"where D = N ({BOTH[kind][-2]}..{BOTH[kind][-1]})\n"
        )
    if picture is not None:
        figures.growth(curves, picture)


if __name__ == "__main__":
    with jax.enable_x64(True), one_blas_thread():
        main(*(Path(sys.argv[i]) if len(sys.argv) > i else None for i in (1, 2)))
