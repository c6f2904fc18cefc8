"""What the runs say about the paper's claims.

A comparison is decided by runs of the paper's length and number of seeds. There are two tests of
it, one for what is claimed and one against it. With δ the difference of log10 regret of a and b at
the end of the runs of one seed, g a gain in decades, and m the margin:

| law      | for it                         | against it                        |
|----------|--------------------------------|-----------------------------------|
| better   | δ < 0                          | δ > -m                            |
| no worse | δ < m                          | δ > 0                             |
| same     | -m < δ and δ < m               | δ < 0 or δ > 0, two-sided         |
| flat     | g < m                          | g > m                             |
| flattens | g < m after the first third    | g > m there                       |
| stalls   | the same, and more gained before | g > m there, or less gained before |

Where two things must hold, the larger of two p-values counts. Where one of two is enough, it is
twice the smaller. The p-values of one claim are corrected together by Holm's method, those for it
and those against it each. A comparison without enough runs enters the correction with a p-value of
1. Runs that come later then make no corrected p-value larger, so what is reproduced stays so.

A test for the claim that is significant decides for it, also where the test against it is
significant as well: a lead that is sure but below the margin is still a lead, and a loss that is
sure but below the margin is none that counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from infold.paper import statistics
from infold.paper.claims import CLAIMS, MARGIN, Claim, Law, Part
from infold.paper.runner import ITERATIONS, N_INITIAL
from infold.paper.significance import holm, middle, p_above, p_below, p_different, p_within
from infold.paper.statistics import Curves

SEEDS = 20  # seeds of each comparison in the paper
LEVEL = 0.05  # corrected p-values up to this are significant
LOOK = 100  # iterations of the shorter runs, which are reported but decide nothing
_LOOK_SEEDS = 3  # fewest seeds that are worth reporting at the paper's length
REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
NOT_CONTRADICTED = "not contradicted"
UNDECIDED = "undecided"
IN_PART = "reproduced in part"
BESIDE = ("text", "free", "code", "noise")
"""Variants whose verdicts stand beside those of the defaults, where a claim fails with these."""


@dataclass(frozen=True)
class Finding:
    """What the runs say about one comparison."""

    part: Part
    n: int
    """Number of seeds."""
    iterations: int
    a: float
    """Median regret of a. For a law about gains: its median gain in the first third, in decades."""
    b: float
    """Median regret of b. For a law about gains: the median gain of a after the first third."""
    difference: float
    """How many decades a ends above b: the middle of the differences, which the test is about. NaN
    for a law about gains."""
    p_for: float
    """p-value of the test for the law."""
    p_against: float
    """p-value of the test against it."""
    holm_for: float = np.nan
    """The same, corrected together with the other comparisons of the claim; NaN where the runs do
    not decide."""
    holm_against: float = np.nan

    @property
    def complete(self) -> bool:
        """Whether there are as many runs, and as long ones, as the paper has."""
        return self.n >= SEEDS and self.iterations == ITERATIONS

    @property
    def verdict(self) -> str:
        """What follows."""
        if not self.complete:
            return UNDECIDED
        if self.holm_for <= LEVEL:
            return REPRODUCED
        return NOT_REPRODUCED if self.holm_against <= LEVEL else NOT_CONTRADICTED


@dataclass(frozen=True)
class Judgement:
    """What the runs say about a claim."""

    claim: Claim
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> str:
        """Verdict on the claim. One comparison that is not reproduced decides against it."""
        verdicts = {finding.verdict for finding in self.findings}
        if NOT_REPRODUCED in verdicts:
            return NOT_REPRODUCED
        if REPRODUCED in verdicts:
            return REPRODUCED if verdicts == {REPRODUCED} else IN_PART
        return NOT_CONTRADICTED if NOT_CONTRADICTED in verdicts else UNDECIDED

    @property
    def evidence(self) -> str:
        """The comparisons counted in words: that hold, are not contradicted, or are open."""
        verdicts = [finding.verdict for finding in self.findings]
        n_open = verdicts.count(UNDECIDED)
        n_decided = len(verdicts) - n_open
        parts = [f"{verdicts.count(REPRODUCED)} of {n_decided} hold"] if n_decided else []
        if NOT_CONTRADICTED in verdicts:
            parts.append(f"{verdicts.count(NOT_CONTRADICTED)} not contradicted")
        if n_open:
            parts.append(f"{n_open} open")
        return ", ".join(parts)


class Verdicts(NamedTuple):
    """The judgement of a claim with the default settings, and beside it those with others."""

    default: Judgement
    variants: dict[str, Judgement]
    """By the name of the variant; only where the claim does not hold with the defaults."""


def judge_all(curves: Curves) -> list[Verdicts]:
    """Judge all claims by the runs.

    A claim that the defaults contradict, or leave without support, is judged with the settings of
    `BESIDE` as well, where the runs of such a variant decide at least one of its comparisons.
    """
    found = []
    for claim in CLAIMS:
        default = judge(claim, curves)
        beside = {}
        if default.verdict in (NOT_REPRODUCED, NOT_CONTRADICTED):
            for variant in BESIDE:
                judged = judge(claim.with_variant(variant), curves)
                if any(finding.complete for finding in _own(judged, default)):
                    beside[variant] = judged
        found.append(Verdicts(default, beside))
    return found


def _own(judged: Judgement, default: Judgement) -> list[Finding]:
    """Findings of a variant about its own runs; the others it has in common with the default."""
    pairs = zip(judged.findings, default.claim.parts, judged.claim.parts, strict=True)
    return [finding for finding, before, after in pairs if before != after]


def judge(claim: Claim, curves: Curves) -> Judgement:
    """Judge a claim by the runs: all its comparisons, corrected together."""
    findings = [measure(part, curves) for part in claim.parts]
    for_it = holm([f.p_for if f.complete else 1.0 for f in findings])
    against_it = holm([f.p_against if f.complete else 1.0 for f in findings])
    return Judgement(
        claim,
        tuple(
            replace(f, holm_for=float(p), holm_against=float(q)) if f.complete else f
            for f, p, q in zip(findings, for_it, against_it, strict=True)
        ),
    )


def measure(part: Part, curves: Curves) -> Finding:
    """Compare the runs of one comparison, without a correction yet.

    Runs of the paper's length are used where at least three seeds have them on every side.
    Otherwise all runs that have 100 iterations are compared there.
    """
    sides = [curves.get(series, {}) for series in (part.a, *part.b)]
    for iterations in (ITERATIONS, LOOK):
        runs = [statistics.at_least(side, N_INITIAL + iterations) for side in sides]
        seeds = sorted(set.intersection(*map(set, runs)))
        if len(seeds) >= _LOOK_SEEDS:
            break
    if not seeds:
        return Finding(part, 0, iterations, np.nan, np.nan, np.nan, np.nan, np.nan)
    curves_of = [np.array([side[seed] for seed in seeds]) for side in runs]
    if not part.b:
        early, late = _gains(curves_of[0])
        medians = float(np.median(early)), float(np.median(late))
        tests = _tests_of_gains(part.law, early, late)
        return Finding(part, len(seeds), iterations, *medians, np.nan, *tests)
    a, *rivals = (curve[:, -1] for curve in curves_of)
    best = int(np.argmin([np.median(ends) for ends in rivals]))
    b = rivals[best]
    return Finding(
        replace(part, b=(part.b[best],)),
        len(seeds),
        iterations,
        float(10 ** np.median(a)),
        float(10 ** np.median(b)),
        middle(a - b),
        *_tests_of_ends(part.law, a - b),
    )


def _gains(curves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Decades gained in the first third of the iterations and after it, by run."""
    third = N_INITIAL + (curves.shape[1] - N_INITIAL) // 3
    early = curves[:, N_INITIAL - 1] - curves[:, third - 1]
    return early, curves[:, third - 1] - curves[:, -1]


def _tests_of_ends(law: Law, difference: np.ndarray) -> tuple[float, float]:
    """p-values for and against a law about the regrets at the end."""
    if law == "better":
        return p_below(difference), p_above(difference, -MARGIN)
    if law == "no worse":
        return p_below(difference, MARGIN), p_above(difference)
    assert law == "same"
    return p_within(difference, MARGIN), p_different(difference)


def _tests_of_gains(law: Law, early: np.ndarray, late: np.ndarray) -> tuple[float, float]:
    """p-values for and against a law about gains."""
    gain = early + late if law == "flat" else late
    small, large = p_below(gain, MARGIN), p_above(gain, MARGIN)
    if law != "stalls":
        return small, large
    less, more = p_below(late - early), p_above(late - early)
    return max(small, less), min(1.0, 2.0 * min(large, more))


def lines(verdicts: Sequence[Verdicts]) -> list[tuple[Claim, Finding]]:
    """List all comparisons, claim by claim, those of variants after those of the defaults."""
    found = []
    for default, variants in verdicts:
        found += [(default.claim, finding) for finding in default.findings]
        for judged in variants.values():
            found += [(default.claim, finding) for finding in _own(judged, default)]
    return found
