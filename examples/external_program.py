"""Optimize what an external program computes: here the shape of a slide.

A bead slides without friction from (0, 1) down a wire to (1, 0). The program, which stands for a
simulator of yours, gets the heights of the wire at 11 places between, and prints the seconds that
the bead takes. Where the wire is higher than the start the bead never arrives, and the program
fails. The fastest wire is a cycloid, as Johann Bernoulli asked in 1696.

    pip install infold
    python external_program.py
"""

import itertools
import sys

import infold
from infold.evaluation.program import Command

N = 11
GRAVITY = 9.81
CYCLOID = 0.58290  # seconds of the bead on the best wire of all


def simulate(heights):
    """Print how long the bead takes, as a program of yours would."""
    heights = [1.0, *heights, 0.0]
    width = 1.0 / (N + 1)
    seconds = 0.0
    for above, below in itertools.pairwise(heights):
        if below >= 1.0:
            sys.exit("the bead is stuck")
        speeds = [(2.0 * GRAVITY * (1.0 - height)) ** 0.5 for height in (above, below)]
        seconds += 2.0 * (width**2 + (above - below) ** 2) ** 0.5 / sum(speeds)
    print("simulated", N + 1, "pieces of wire")
    print(seconds)  # the last line is the value


def main():
    # The straight wire is in the middle of the box; the heights may be up to 0.4 off it.
    straight = [1.0 - (i + 1) / (N + 1) for i in range(N)]
    space = {f"h{i}": (height - 0.4, height + 0.4) for i, height in enumerate(straight)}
    words = " ".join(f"{{h{i}}}" for i in range(N))
    result = infold.minimize(
        Command(f"{sys.executable} {__file__} {words}", timeout=30.0),
        space,
        n_trials=120,
        workers=2,  # two programs at once
        noise=0.0,
        checkpoint="slide.json",  # the same command continues after a crash
        seed=0,
    )
    failed = sum(evaluation.failed for evaluation in result.evaluations)
    print(f"straight {result.func_vals[0]:.4f} s, best {result.fun:.4f} s", end=", ")
    print(f"cycloid {CYCLOID:.4f} s; {failed} of {result.nit} programs failed")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        simulate([float(word) for word in sys.argv[1:]])
    else:
        main()
