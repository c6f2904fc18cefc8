"""Size the 35 bars of a cantilever: the least weight whose stresses and sag stay within limits.

    pip install infold
    python truss.py [evaluations]

Each evaluation solves the truss by finite elements. The run is kept in truss.jsonl: start the
program again with more evaluations and it goes on. truss.html is a page about it.
"""

import sys

import numpy as np

import infold
from infold.comparison.suite.truss import cantilever, sized

TRUSS = cantilever(7)
AREAS = [infold.Float(1.0, 100.0, log=True)] * len(TRUSS.bars)  # in cm²


def weigh(areas: list[float]) -> infold.Outcome:
    """Return the weight in kg, and how far three limits are exceeded, relative to them."""
    weight, limits = sized(TRUSS, 1e-4 * np.asarray(areas))
    return infold.Outcome(weight, constraints=limits)


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    result = infold.minimize(
        weigh, AREAS, n_trials=n, seed=0, checkpoint="truss.jsonl", progress=True
    )
    print(result.message)
    pulled, pushed, sag = result.constraints
    print(
        f"{result.fun:.1f} kg; left to the limits: pulled bars {-pulled:.1%}, "
        f"pushed bars {-pushed:.1%}, sag {-sag:.1%}"
    )
    infold.report.write(result, "truss.html")
    print("truss.html has the report: which limits hold the weight up, which bars matter")


if __name__ == "__main__":
    main()
