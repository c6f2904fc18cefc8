"""Time suggestions with five constraints, and with two objectives, beside plain ones.

The runs take turns, one suggestion and one evaluation each, and processor time is counted, so that
a busy machine affects all alike. What is compiled comes first and is not counted.
"""

import time

import numpy as np
from rich.console import Console
from rich.table import Table

from infold import Optimizer, Outcome

SIZES = ((20, 100), (60, 300))  # parameters, and evaluations before the first that counts
WARM = 4  # suggestions of each run that compile and train
ROUNDS = 14  # no more than one bucket of padded data holds


def plain(x: np.ndarray) -> Outcome:
    return Outcome(float(np.sum((x - 0.4) ** 2) + np.sin(5.0 * x[0] * x[1])))


def constrained(x: np.ndarray) -> Outcome:
    limits = [float(x[k] + np.cos(3.0 * x[k + 1]) - 1.2) for k in range(5)]
    return Outcome(plain(x).value, constraints=limits)


def several(x: np.ndarray) -> Outcome:
    return Outcome((plain(x).value, float(np.sum((x - 0.6) ** 2))))


def suggest(optimizer: Optimizer, objective) -> float:
    """Make one suggestion, tell its outcome, and return the processor seconds of the former."""
    began = time.process_time()
    x = optimizer.ask()
    took = time.process_time() - began
    optimizer.tell(x, objective(x))
    return took


def main() -> None:
    console = Console()
    table = Table("D", "N", "plain (s)", "5 constraints", "2 objectives")
    for dimension, known in SIZES:
        points = np.random.default_rng(0).uniform(size=(known, dimension))
        runs = []
        for objective in (plain, constrained, several):
            direction = ["minimize"] * (2 if objective is several else 1)
            optimizer = Optimizer([(0.0, 1.0)] * dimension, seed=0, direction=direction)
            for x in points:
                optimizer.tell(x, objective(x))
            runs.append((optimizer, objective))
        samples = [[suggest(*run) for run in runs] for _ in range(WARM + ROUNDS)][WARM:]
        base, *others = np.mean(samples, axis=0)
        ratios = (f"{seconds / base:.2f} times" for seconds in others)
        table.add_row(str(dimension), str(known), f"{base:.3f}", *ratios)
    console.print(table)


if __name__ == "__main__":
    main()
