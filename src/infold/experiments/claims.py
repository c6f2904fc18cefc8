"""The paper's claims, each a list of comparisons, and what our runs say about them.

A comparison is decided by runs of the paper's length: with the paper's number of seeds always, with fewer where they are
already significant. Shorter runs are looked at, and decide nothing.
"""

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from infold.experiments import statistics
from infold.experiments.runner import ITERATIONS, N_INITIAL
from infold.experiments.statistics import Comparison, Curves, Series

SEEDS = 20  # of the paper
LEVEL = 0.05
LOOK = 100  # iterations of a look
_FEW = 6  # fewer pairs cannot be significant at 5% whichever way the test is asked
_FLAT = 0.1  # decades
_NOISY = 0.3  # how far a measured exponent may be off
CONSTRAINED = {"mgpc": "mgp", "hmgpc": "hmgp", "dmgpc": "dmgp"}
"""Constrained variants and their unconstrained twins."""
REPRODUCED, NOT_REPRODUCED, UNDECIDED = "reproduced", "not reproduced", "undecided"


@dataclass(frozen=True)
class Part:
    """One comparison of a claim."""

    law: str
    """better: a ends lower than b. no worse: it does not end higher. same: neither is significant. stalls: a gains more in the
    first third of its iterations than after. flat: a gains less than a tenth of a decade."""
    a: Series
    b: tuple[Series, ...] = ()
    """The best of these by its median."""


@dataclass(frozen=True)
class Claim:
    name: str
    text: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Finding:
    """What the runs say about a part."""

    part: Part
    verdict: str
    n: int
    """Seeds."""
    iterations: int
    a: float
    """Median regret, or median gain in decades where the law is about gains."""
    b: float
    p: float
    """Of the Wilcoxon signed-rank test: that a is lower (better, stalls), higher (no worse) or different (same); else NaN."""

    @property
    def label(self) -> str:
        a, others = self.part.a, self.part.b
        where = f"{a.acquisition.upper()}, d = {a.n_features}: " if a.problem == "thomson" else f"{a.acquisition.upper()}: "
        if self.part.law == "stalls":
            return f"{where}{a.method} gains more in the first third than after"
        if self.part.law == "flat":
            return f"{where}{a.method} gains less than {_FLAT} decades"
        b = others[0]
        name = b.method
        if b.n_features != a.n_features:
            name += f" with d = {b.n_features}"
        if b.acquisition != a.acquisition:
            name += f" with {b.acquisition.upper()}"
        words = {"better": "better than", "no worse": "no worse than", "same": "not significantly different from"}
        return f"{where}{a.method} {words[self.part.law]} {name}"


def _series(problem: str, method: str, acquisition: str, n_features: int = 10) -> Series:
    return Series(problem=problem, method=method, acquisition=acquisition, n_features=n_features)


def _pairs(law: str, problem: str, pairs: Sequence[tuple[str, str]], acquisitions: Sequence[str]) -> tuple[Part, ...]:
    return tuple(
        Part(law, _series(problem, a, acquisition), (_series(problem, b, acquisition),))
        for (a, b), acquisition in itertools.product(pairs, acquisitions)
    )


def _alone(law: str, problem: str, method: str) -> tuple[Part, ...]:
    return tuple(Part(law, _series(problem, method, acquisition)) for acquisition in ("ei", "ucb", "pi"))


def _thomson(law: str, d: int, *others: tuple[str, int]) -> Part:
    return Part(law, _series("thomson", "mgpc", "pi", d), tuple(_series("thomson", b, "pi", other) for b, other in others))


_ALL = ("ei", "ucb", "pi")
_ROS, _PSL, _PSN = "rosenbrock-linear", "product-of-sines-linear", "product-of-sines-nonlinear"
_TWINS = tuple(CONSTRAINED.items())
CLAIMS = (
    Claim(
        "ROS-1",
        "rosenbrock-linear: each constrained variant ends no worse than its unconstrained twin",
        _pairs("no worse", _ROS, _TWINS, _ALL),
    ),
    Claim(
        "ROS-2",
        "rosenbrock-linear: VAE-BO improves early and then stalls; ADD-BO suffers from the coupling",
        _alone("stalls", _ROS, "vae") + _pairs("better", _ROS, [("mgpc", "add")], _ALL),
    ),
    Claim(
        "PSL-1",
        "product-of-sines-linear: constrained beats unconstrained for EI and PI",
        _pairs("better", _PSL, _TWINS, ("ei", "pi")),
    ),
    Claim(
        "PSL-2",
        "product-of-sines-linear: REMBO is the most competitive baseline, most of all with UCB; VAE-BO stays flat",
        _pairs("better", _PSL, [("rembo", "add"), ("rembo", "vae")], _ALL)
        + tuple(Part("better", _series(_PSL, "rembo", "ucb"), (_series(_PSL, "rembo", other),)) for other in ("ei", "pi"))
        + _alone("flat", _PSL, "vae"),
    ),
    Claim(
        "PSN-1",
        "product-of-sines-nonlinear: DMGPC-BO ends better than ADD-BO (paper: p ≤ 0.00014)",
        _pairs("better", _PSN, [("dmgpc", "add")], _ALL),
    ),
    Claim(
        "PSN-2",
        "product-of-sines-nonlinear: the constrained variants end better than their twins and than VAE-BO",
        _pairs("better", _PSN, [*_TWINS, *((name, "vae") for name in CONSTRAINED)], _ALL),
    ),
    Claim(
        "THO-2",
        "thomson, d = 2: MGPC-BO and the best of ADD-BO and REMBO do not differ significantly (paper: p = 0.135)",
        (_thomson("same", 2, ("add", 2), ("rembo", 2)),),
    ),
    Claim("THO-3", "thomson, d = 3: MGPC-BO ends better than ADD-BO (paper: p ≤ 0.002)", (_thomson("better", 3, ("add", 3)),)),
    Claim("THO-4", "thomson, d = 4: MGPC-BO ends better than ADD-BO (paper: p ≤ 0.003)", (_thomson("better", 4, ("add", 4)),)),
    Claim("THO-6", "thomson, d = 6: MGPC-BO ends better than REMBO (paper: p ≤ 0.006)", (_thomson("better", 6, ("rembo", 6)),)),
    Claim(
        "THO-D",
        "thomson: performance deteriorates as d shrinks, clearly at 2",
        (
            _thomson("no worse", 6, ("mgpc", 4)),
            _thomson("no worse", 4, ("mgpc", 3)),
            _thomson("better", 3, ("mgpc", 2)),
        ),
    ),
)


def judge(part: Part, curves: Curves) -> Finding:
    """What the runs say about a part."""
    findings = [_judge(replace(part, b=(b,)), curves) for b in part.b] or [_judge(part, curves)]
    return min(findings, key=lambda finding: (-finding.n, finding.b))


def _judge(part: Part, curves: Curves) -> Finding:
    sides = [curves.get(series, {}) for series in (part.a, *part.b)]
    for iterations in (ITERATIONS, LOOK):
        length = N_INITIAL + iterations
        runs = [statistics.at_least(side, length) for side in sides]
        seeds = sorted(set.intersection(*map(set, runs)))
        if iterations == LOOK or len(seeds) >= _FEW:
            break
    ends = [[side[seed][-1] for seed in seeds] for side in runs]
    if part.law in ("stalls", "flat"):
        third = N_INITIAL + iterations // 3
        early = [runs[0][seed][N_INITIAL - 1] - runs[0][seed][third - 1] for seed in seeds]
        late = [runs[0][seed][third - 1] - runs[0][seed][-1] for seed in seeds]
        if part.law == "stalls":
            result = statistics.compare(late, early)
            verdict = _verdict(result.p_less <= LEVEL, result.p_greater <= LEVEL, False, len(seeds), iterations)
            return Finding(part, verdict, result.n, iterations, result.median_b, result.median_a, result.p_less)
        gain = float(np.median(np.add(early, late))) if seeds else np.nan
        verdict = _verdict(False, False, gain < _FLAT, len(seeds), iterations)
        return Finding(part, verdict, len(seeds), iterations, gain, np.nan, np.nan)
    result = statistics.compare(*ends)
    verdict, p = _of_ends(part.law, result, iterations)
    return Finding(part, verdict, result.n, iterations, 10**result.median_a, 10**result.median_b, p)


def _of_ends(law: str, result: Comparison, iterations: int) -> tuple[str, float]:
    better, worse = result.p_less <= LEVEL, result.p_greater <= LEVEL
    if law == "better":
        return _verdict(better, worse, False, result.n, iterations), result.p_less
    if law == "no worse":
        return _verdict(better, worse, True, result.n, iterations), result.p_greater
    different = result.p_two_sided <= LEVEL
    return _verdict(False, different, True, result.n, iterations), result.p_two_sided


def _verdict(for_it: bool, against: bool, otherwise: bool, n: int, iterations: int) -> str:
    """`otherwise`: whether the law holds when nothing is significant, which takes as many seeds as the paper had."""
    if iterations < ITERATIONS:
        return UNDECIDED
    if for_it or against:
        return REPRODUCED if for_it else NOT_REPRODUCED
    if n < SEEDS:
        return UNDECIDED
    return REPRODUCED if otherwise else NOT_REPRODUCED


def verdict(findings: Sequence[Finding]) -> str:
    """Of the whole claim: one part that is not reproduced is enough against it; parts that are undecided do not count."""
    verdicts = {finding.verdict for finding in findings}
    if NOT_REPRODUCED in verdicts:
        return NOT_REPRODUCED
    return REPRODUCED if REPRODUCED in verdicts else UNDECIDED


def evidence(findings: Sequence[Finding]) -> str:
    """How many comparisons the verdict rests on."""
    decided = [finding.verdict for finding in findings if finding.verdict != UNDECIDED]
    parts = [f"{decided.count(REPRODUCED)} of {len(decided)} hold"] if decided else []
    return ", ".join([*parts, *([f"{len(findings) - len(decided)} open"] if len(decided) < len(findings) else [])])


def to_markdown(judged: Sequence[tuple[Claim, Sequence[Finding]]], cost: tuple[str, str]) -> str:
    """A table of the claims and one of all comparisons."""
    lines = ["| claim | what the paper says | verdict | comparisons |", "|---|---|---|---|"]
    for claim, findings in judged:
        lines.append(f"| {claim.name} | {claim.text} | **{verdict(findings)}** | {evidence(findings)} |")
    lines += [f"| COST | {COST} | **{cost[0]}** | {cost[1]} |", ""]
    lines += ["| claim | comparison | verdict | seeds | iterations | medians | p |", "|---|---|---|--:|--:|--:|--:|"]
    for claim, findings in judged:
        for f in findings:
            medians = " and ".join(f"{median:.3g}" for median in (f.a, f.b) if np.isfinite(median)) or "no runs"
            p = f"{f.p:.2g}" if f.n and np.isfinite(f.p) else ""
            lines.append(f"| {claim.name} | {f.label} | {f.verdict} | {f.n} | {f.iterations} | {medians} | {p} |")
    return "\n".join(lines) + "\n"


COST = "decoder training and prediction cost O(N³) + O(D³) time, against O(N³ D³) dense"


def cost(path: Path) -> tuple[str, str]:
    """Verdict and evidence for claim COST, from the measurements of `benchmarks/likelihood.py`.

    The exponents are those between the two largest sizes. In N or D alone a dense decoder would show cubes as well; with
    N = D growing together it would show a sixth power.
    """
    if not path.exists():
        return UNDECIDED, f"no measurements: `python benchmarks/likelihood.py {path}` makes them"
    slopes = {}
    for size, kinds in json.loads(path.read_text(encoding="utf-8")).items():
        sizes, seconds = np.log(kinds["full"])
        slopes[size] = float((seconds[-1] - seconds[-2]) / (sizes[-1] - sizes[-2]))
    holds = max(slopes.values()) <= 3.0 + _NOISY
    evidence = ", ".join(f"({size})^{slope:.1f}" for size, slope in slopes.items())
    return REPRODUCED if holds else NOT_REPRODUCED, f"full decoder, one value and gradient: time grows like {evidence}"
