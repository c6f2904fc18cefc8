import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from infold.paper import claims, statistics
from infold.paper.claims import (
    IN_PART,
    NOT_CONTRADICTED,
    NOT_REPRODUCED,
    REPRODUCED,
    UNDECIDED,
    Part,
    judge,
)
from infold.paper.statistics import Series
from infold.paper.store import TABLE

ROOT = Path(__file__).parents[2]
A = Series(problem="thomson", method="mgpc", acquisition="pi", n_features=3)
B = Series(problem="thomson", method="add", acquisition="pi", n_features=3)
C = Series(problem="thomson", method="rembo", acquisition="pi", n_features=3)


def runs(end: float, rng, seeds=20, length=310, start=1.0, spread=0.1) -> dict[int, np.ndarray]:
    """Curves that are straight lines, with ends scattered around `end`."""
    return {seed: np.linspace(start, end + spread * rng.normal(), length) for seed in range(seeds)}


@pytest.mark.parametrize(
    ("law", "difference", "expected"),
    [
        ("better", -1.0, REPRODUCED),
        ("better", 0.0, NOT_REPRODUCED),
        ("better", 1.0, NOT_REPRODUCED),
        ("no worse", -1.0, REPRODUCED),
        ("no worse", 0.0, NOT_CONTRADICTED),
        ("no worse", 1.0, NOT_REPRODUCED),
        ("same", -1.0, NOT_REPRODUCED),
        ("same", 0.0, REPRODUCED),
        ("same", 1.0, NOT_REPRODUCED),
    ],
)
def test_verdicts_follow_the_runs(law, difference, expected, rng):
    finding = judge(Part(law, A, (B,)), {A: runs(difference, rng), B: runs(0.0, rng)})
    assert finding.verdict == expected
    assert finding.n == 20
    assert finding.iterations == 300
    assert finding.a / finding.b == pytest.approx(10**difference, rel=0.3)


@pytest.mark.parametrize("law", ["better", "no worse", "same"])
def test_few_seeds_or_short_runs_decide_nothing(law, rng):
    few = {
        side: {seed: np.linspace(1.0, sign * 0.1 * (-1) ** seed, 310) for seed in range(8)}
        for side, sign in ((A, 1), (B, -1))
    }
    assert judge(Part(law, A, (B,)), few).verdict == UNDECIDED
    short = {A: runs(-1.0, rng, length=110), B: runs(0.0, rng, length=110)}
    finding = judge(Part(law, A, (B,)), short)
    assert (finding.verdict, finding.iterations, finding.n) == (UNDECIDED, 100, 20)
    assert judge(Part(law, A, (B,)), {}).verdict == UNDECIDED


def test_only_seeds_that_both_sides_have_are_paired(rng):
    some = {seed + 5: curve for seed, curve in runs(0.0, rng).items()}
    assert judge(Part("better", A, (B,)), {A: runs(-1.0, rng), B: some}).n == 15


def test_the_best_of_several_rivals_is_the_one_to_beat(rng):
    curves = {A: runs(-0.5, rng), B: runs(0.0, rng), C: runs(-1.0, rng)}
    finding = judge(Part("better", A, (B, C)), curves)
    assert finding.part.b == (C,)
    assert finding.verdict == NOT_REPRODUCED


def test_a_rival_without_runs_leaves_the_comparison_open(rng):
    assert (
        judge(Part("better", A, (B, C)), {A: runs(-0.5, rng), B: runs(0.0, rng)}).verdict
        == UNDECIDED
    )


def test_the_best_rival_is_chosen_by_the_seeds_that_all_have(rng):
    better = {seed: curve for seed, curve in runs(-1.0, rng).items() if seed != 7}
    finding = judge(Part("better", A, (B, C)), {A: runs(-0.5, rng), B: runs(0.0, rng), C: better})
    assert (finding.part.b, finding.n, finding.verdict) == ((C,), 19, UNDECIDED)


def test_stalling_and_flat_curves(rng):
    early = {seed: np.interp(range(310), [0, 50, 309], [1.0, 0.2, 0.15]) for seed in range(20)}
    slowing = {seed: np.interp(range(310), [0, 50, 309], [1.0, 0.2, 0.0]) for seed in range(20)}
    steady = {
        seed: np.interp(range(310), [0, 309], [1.0, 0.0]) + 1e-3 * rng.normal()
        for seed in range(20)
    }
    flat = {seed: np.interp(range(310), [0, 309], [1.0, 0.95]) for seed in range(20)}
    for law, holds in (("stalls", [early]), ("flattens", [early, flat]), ("flat", [flat])):
        for curve in (early, slowing, steady, flat):
            expected = REPRODUCED if any(curve is other for other in holds) else NOT_REPRODUCED
            assert judge(Part(law, A), {A: curve}).verdict == expected, law
    assert judge(Part("flattens", A), {A: early}).b == pytest.approx(0.05, rel=0.3)


def test_one_comparison_that_fails_decides_against_a_claim(rng):
    good = judge(Part("better", A, (B,)), {A: runs(-1.0, rng), B: runs(0.0, rng)})
    bad = judge(Part("better", B, (A,)), {A: runs(-1.0, rng), B: runs(0.0, rng)})
    open_one = judge(Part("better", A, (C,)), {})
    no_worse = judge(Part("no worse", A, (B,)), {A: runs(0.0, rng), B: runs(0.0, rng)})
    for findings, verdict, evidence in (
        ([good], REPRODUCED, "1 of 1 hold"),
        ([good, open_one], IN_PART, "1 of 1 hold, 1 open"),
        ([no_worse], NOT_CONTRADICTED, "0 of 1 hold, 1 not contradicted"),
        ([no_worse, open_one], NOT_CONTRADICTED, "0 of 1 hold, 1 not contradicted, 1 open"),
        ([no_worse, good], IN_PART, "1 of 2 hold, 1 not contradicted"),
        ([no_worse, bad], NOT_REPRODUCED, "0 of 2 hold, 1 not contradicted"),
        ([good, bad], NOT_REPRODUCED, "1 of 2 hold"),
        ([open_one], UNDECIDED, "1 open"),
    ):
        assert claims.verdict(findings) == verdict
        assert claims.evidence(findings) == evidence


def test_cost_is_judged_by_the_exponents(tmp_path):
    path = tmp_path / "growth.json"
    assert claims.cost(path)[0] == UNDECIDED
    sizes = [100, 200, 400]
    for power, expected in ((3.0, REPRODUCED), (6.0, NOT_REPRODUCED)):
        path.write_text(
            json.dumps({"N = D": {"full": [sizes, [float(n) ** power for n in sizes]]}})
        )
        assert claims.cost(path)[0] == expected


def test_the_report_says_what_the_committed_runs_say():
    """`infold claims --markdown docs/reproduction/claims.md` writes the report."""
    curves = statistics.curves(pd.read_parquet(ROOT / "results" / TABLE))
    judged = [(claim, [judge(part, curves) for part in claim.parts]) for claim in claims.CLAIMS]
    text = claims.to_markdown(judged, claims.cost(ROOT / "results" / "growth.json"))
    assert (ROOT / "docs" / "reproduction" / "claims.md").read_text(encoding="utf-8") == text
