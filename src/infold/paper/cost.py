"""The paper's claim about cost, judged by measured times."""

import json
from pathlib import Path

import numpy as np

from infold.paper.judging import NOT_REPRODUCED, REPRODUCED, UNDECIDED

NAME = "COST"
TEXT = "decoder training and prediction cost O(N³) + O(D³) time, against O(N³ D³) dense"
_NOISY = 0.3  # how far noise may move a measured exponent


def judge_cost(path: Path) -> tuple[str, str]:
    """Verdict and evidence, from the measurements of `benchmarks/likelihood.py`.

    The exponents are those between the two largest sizes. In N or D alone a dense decoder would
    show cubes as well. Where N = D grow together it would show a sixth power.
    """
    if not path.exists():
        return UNDECIDED, f"no measurements: `python benchmarks/likelihood.py {path}` makes them"
    slopes = {}
    for size, kinds in json.loads(path.read_text(encoding="utf-8")).items():
        sizes, seconds = np.log(kinds["full"])
        slopes[size] = float((seconds[-1] - seconds[-2]) / (sizes[-1] - sizes[-2]))
    holds = max(slopes.values()) <= 3.0 + _NOISY
    evidence = ", ".join(f"{size} to the {slope:.1f}" for size, slope in slopes.items())
    return (
        REPRODUCED if holds else NOT_REPRODUCED,
        f"full decoder, one value and gradient: time grows like {evidence}",
    )
