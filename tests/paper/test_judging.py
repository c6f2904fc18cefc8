from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from infold.paper.claims import CLAIMS, MARGIN, Claim, Part
from infold.paper.judging import (
    IN_PART,
    NOT_CONTRADICTED,
    NOT_REPRODUCED,
    REPRODUCED,
    UNDECIDED,
    Finding,
    judge,
    judge_all,
    lines,
)
from infold.paper.significance import holm, p_above, p_below, p_within
from infold.paper.statistics import Series

A = Series(problem="thomson", method="mgpc", acquisition="pi", n_features=3)
B = Series(problem="thomson", method="add", acquisition="pi", n_features=3)
C = Series(problem="thomson", method="rembo", acquisition="pi", n_features=3)


def runs(end: float, rng, seeds=20, length=310, spread=0.1) -> dict[int, np.ndarray]:
    """Curves that are straight lines, with ends scattered evenly around `end`."""
    quantiles = stats.norm.ppf((np.arange(seeds) + 0.5) / seeds)
    scatter = rng.permutation(spread * quantiles)
    return {seed: np.linspace(1.0, end + scatter[seed], length) for seed in range(seeds)}


def alone(part: Part, curves) -> Finding:
    """Judge a claim of one comparison."""
    return judge(Claim("", "", (part,)), curves).findings[0]


@pytest.mark.parametrize(
    ("law", "difference", "spread", "expected"),
    [
        ("better", -1.0, 0.1, REPRODUCED),
        ("better", -0.05, 0.01, REPRODUCED),  # less than the margin, but sure
        ("better", 0.0, 0.01, NOT_REPRODUCED),
        ("better", 0.0, 0.5, NOT_CONTRADICTED),
        ("better", 1.0, 0.1, NOT_REPRODUCED),
        ("no worse", -1.0, 0.1, REPRODUCED),
        ("no worse", 0.0, 0.01, REPRODUCED),
        ("no worse", 0.05, 0.01, REPRODUCED),  # sure, but less than the margin
        ("no worse", 0.0, 0.5, NOT_CONTRADICTED),
        ("no worse", 1.0, 0.1, NOT_REPRODUCED),
        ("same", -1.0, 0.1, NOT_REPRODUCED),
        ("same", 0.0, 0.01, REPRODUCED),
        ("same", 0.0, 0.5, NOT_CONTRADICTED),
        ("same", 1.0, 0.1, NOT_REPRODUCED),
    ],
)
def test_verdicts_follow_the_runs(law, difference, spread, expected, rng):
    curves = {A: runs(difference, rng, spread=spread), B: runs(0.0, rng, spread=0.0)}
    finding = alone(Part(law, A, (B,)), curves)
    assert finding.verdict == expected
    assert finding.n == 20
    assert finding.iterations == 300
    assert np.log10(finding.a / finding.b) == pytest.approx(difference, abs=spread)
    assert finding.difference == pytest.approx(difference, abs=spread)


def test_what_leads_by_less_than_the_margin_at_most_is_not_better():
    """Neither worse for sure nor the same for sure; but a lead of the margin is ruled out."""
    differences = np.linspace(-0.35, 0.4, 20)
    curves = {
        A: {seed: np.linspace(1.0, d, 310) for seed, d in enumerate(differences)},
        B: {seed: np.linspace(1.0, 0.0, 310) for seed in range(20)},
    }
    assert p_within(differences, MARGIN) > 0.05
    assert p_above(differences) > 0.05
    assert alone(Part("better", A, (B,)), curves).verdict == NOT_REPRODUCED


@pytest.mark.parametrize("law", ["better", "no worse", "same"])
def test_few_seeds_or_short_runs_decide_nothing(law, rng):
    few = {
        side: {seed: np.linspace(1.0, sign * 0.1 * (-1) ** seed, 310) for seed in range(8)}
        for side, sign in ((A, 1), (B, -1))
    }
    assert alone(Part(law, A, (B,)), few).verdict == UNDECIDED
    short = {A: runs(-1.0, rng, length=110), B: runs(0.0, rng, length=110)}
    finding = alone(Part(law, A, (B,)), short)
    assert (finding.verdict, finding.iterations, finding.n) == (UNDECIDED, 100, 20)
    assert np.isnan(finding.holm_for)
    assert alone(Part(law, A, (B,)), {}).verdict == UNDECIDED


def test_only_seeds_that_both_sides_have_are_paired(rng):
    some = {seed + 5: curve for seed, curve in runs(0.0, rng).items()}
    assert alone(Part("better", A, (B,)), {A: runs(-1.0, rng), B: some}).n == 15


def test_the_best_of_several_rivals_is_the_one_to_beat(rng):
    curves = {A: runs(-0.5, rng), B: runs(0.0, rng), C: runs(-1.0, rng)}
    finding = alone(Part("better", A, (B, C)), curves)
    assert finding.part.b == (C,)
    assert finding.verdict == NOT_REPRODUCED


def test_a_rival_without_runs_leaves_the_comparison_open(rng):
    curves = {A: runs(-0.5, rng), B: runs(0.0, rng)}
    assert alone(Part("better", A, (B, C)), curves).verdict == UNDECIDED


def test_the_best_rival_is_chosen_by_the_seeds_that_all_have(rng):
    better = {seed: curve for seed, curve in runs(-1.0, rng).items() if seed != 7}
    finding = alone(Part("better", A, (B, C)), {A: runs(-0.5, rng), B: runs(0.0, rng), C: better})
    assert (finding.part.b, finding.n, finding.verdict) == ((C,), 19, UNDECIDED)


def bent(rng, *values: float, spread=0.01) -> dict[int, np.ndarray]:
    """Curves through these values at the start, after 60 evaluations, after 200 and at the end."""
    return {
        seed: np.interp(range(310), [0, 60, 200, 309], values) * (1.0 + spread * rng.normal())
        for seed in range(20)
    }


def test_stalling_and_flat_curves(rng):
    early = bent(rng, 1.0, 0.2, 0.18, 0.15)
    slowing = bent(rng, 1.0, 0.3, 0.2, 0.0)
    steady = bent(rng, 1.0, 0.8, 0.4, 0.0)
    flat = bent(rng, 1.0, 0.98, 0.96, 0.95)
    late = bent(rng, 1.0, 0.98, 0.9, 0.92)
    for law, holds in (("stalls", [early]), ("flattens", [early, flat, late]), ("flat", [flat])):
        for curve in (early, slowing, steady):
            expected = REPRODUCED if any(curve is other for other in holds) else NOT_REPRODUCED
            assert alone(Part(law, A), {A: curve}).verdict == expected, law
    assert alone(Part("flattens", A), {A: flat}).verdict == REPRODUCED
    assert alone(Part("flat", A), {A: flat}).verdict == REPRODUCED
    assert alone(Part("stalls", A), {A: bent(rng, 1.0, 1.0, 0.97, 0.95)}).verdict == NOT_REPRODUCED
    assert alone(Part("flattens", A), {A: early}).b == pytest.approx(0.05, rel=0.3)


def test_gains_around_the_margin_are_not_contradicted():
    around = {seed: np.ones(310) for seed in range(20)}
    for curve, more in zip(around.values(), np.linspace(-0.08, 0.09, 20), strict=True):
        curve[200:] -= MARGIN + more
    assert alone(Part("flat", A), {A: around}).verdict == NOT_CONTRADICTED


def test_p_values_of_one_claim_are_corrected_together(rng):
    curves = {A: runs(-0.05, rng), B: runs(0.0, rng), C: runs(0.02, rng)}
    parts = (Part("better", A, (B,)), Part("better", A, (C,)), Part("no worse", B, (C,)))
    findings = judge(Claim("", "", parts), curves).findings
    np.testing.assert_allclose(
        [f.holm_for for f in findings], holm([f.p_for for f in findings]), rtol=1e-12
    )
    np.testing.assert_allclose(
        [f.holm_against for f in findings], holm([f.p_against for f in findings]), rtol=1e-12
    )
    difference = np.array([curves[A][s][-1] - curves[B][s][-1] for s in range(20)])
    assert findings[0].p_for == p_below(difference)


def test_runs_that_come_later_take_nothing_back(rng):
    other = replace(C, acquisition="ei")
    parts = (Part("better", A, (B,)), Part("better", C, (other,)))
    claim = Claim("", "", parts)
    before = {A: runs(-0.08, rng), B: runs(0.0, rng)}
    first = judge(claim, before).findings[0]
    assert first.holm_for == pytest.approx(min(1.0, 2.0 * first.p_for))  # the open one counts
    for end in (-1.0, 0.0, 1.0):
        after = judge(claim, {**before, C: runs(end, rng), other: runs(0.0, rng)}).findings[0]
        assert after.holm_for <= first.holm_for
        assert after.holm_against <= first.holm_against


def test_one_comparison_that_fails_decides_against_a_claim(rng):
    curves = {
        A: runs(-1.0, rng),
        B: runs(0.0, rng),
        replace(A, n_features=2): runs(0.0, rng, spread=0.5),
        replace(B, n_features=2): runs(0.0, rng, spread=0.0),
    }
    good = Part("better", A, (B,))
    bad = Part("better", B, (A,))
    open_one = Part("better", A, (C,))
    unclear = Part("better", replace(A, n_features=2), (replace(B, n_features=2),))
    for parts, verdict, evidence in (
        ([good], REPRODUCED, "1 of 1 hold"),
        ([good, open_one], IN_PART, "1 of 1 hold, 1 open"),
        ([unclear], NOT_CONTRADICTED, "0 of 1 hold, 1 not contradicted"),
        ([unclear, open_one], NOT_CONTRADICTED, "0 of 1 hold, 1 not contradicted, 1 open"),
        ([unclear, good], IN_PART, "1 of 2 hold, 1 not contradicted"),
        ([unclear, bad], NOT_REPRODUCED, "0 of 2 hold, 1 not contradicted"),
        ([good, bad], NOT_REPRODUCED, "1 of 2 hold"),
        ([open_one], UNDECIDED, "1 open"),
    ):
        judged = judge(Claim("", "", tuple(parts)), curves)
        assert judged.verdict == verdict
        assert judged.evidence == evidence


def of(name: str) -> Claim:
    return next(claim for claim in CLAIMS if claim.name == name)


def test_a_claim_that_fails_is_judged_with_the_papers_settings_beside(rng):
    ends = {"dmgpc": 0.5, "dmgpc+code": -0.5, "add": 0.0}
    curves = {
        Series(
            problem="product-of-sines-nonlinear",
            method=name,
            acquisition=acquisition,
            n_features=10,
        ): runs(end, rng)
        for name, end in ends.items()
        for acquisition in ("ei", "ucb", "pi")
    }
    by_name = {verdicts.default.claim.name: verdicts for verdicts in judge_all(curves)}
    failed = by_name["PSN-1"]
    assert failed.default.verdict == NOT_REPRODUCED
    assert {name: judged.verdict for name, judged in failed.variants.items()} == {
        "code": REPRODUCED
    }
    assert by_name["PSN-2"].variants == {}
    labels = [f.part.label for claim, f in lines([failed]) if claim.name == "PSN-1"]
    assert labels[2:4] == ["PI: dmgpc better than add", "EI: dmgpc+code better than add"]


def test_a_claim_that_holds_has_nothing_beside_it(rng):
    ends = {"mgpc": -0.5, "mgpc+code": -0.5, "add": 0.0}
    curves = {
        Series(problem="thomson", method=name, acquisition="pi", n_features=3): runs(end, rng)
        for name, end in ends.items()
    }
    assert all(not verdicts.variants for verdicts in judge_all(curves))


def test_variants_are_of_the_papers_methods_and_not_of_baselines():
    claim = of("ROS-2").with_variant("text")
    assert {part.a.method for part in claim.parts} == {"vae", "mgpc+text"}
    assert {b.method for part in claim.parts for b in part.b} == {"add"}
    twins = of("PSN-2").with_variant("code").parts[0]
    assert (twins.a.method, twins.b[0].method) == ("mgpc+code", "mgp+code")
