"""The paper's claims, and what our runs say about each of them.

A claim is a list of comparisons. A comparison is decided by runs of the paper's length and number
of seeds. Fewer or shorter runs are reported, but decide nothing.
"""

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from infold.paper import statistics
from infold.paper.runner import ITERATIONS, N_INITIAL, paper_acquisitions
from infold.paper.statistics import Comparison, Curves, Series

SEEDS = 20  # seeds of each comparison in the paper
LEVEL = 0.05  # p-values up to this are significant
LOOK = 100  # iterations of the shorter runs, which are reported but decide nothing
_LOOK_SEEDS = 3  # fewest seeds that are worth reporting at the paper's length
_FLAT = 0.1  # decades of regret; a curve that gains less is flat
_NOISY = 0.3  # how far noise may move a measured exponent
CONSTRAINED = {"mgpc": "mgp", "hmgpc": "hmgp", "dmgpc": "dmgp"}
"""The unconstrained twin of each constrained variant."""
REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
NOT_CONTRADICTED = "not contradicted"
UNDECIDED = "undecided"
IN_PART = "reproduced in part"


Law = Literal["better", "no worse", "same", "flat", "flattens", "stalls"]


@dataclass(frozen=True)
class Part:
    """One comparison of a claim."""

    law: Law
    """What is claimed.

    better: a ends significantly lower than b.
    no worse: a does not end significantly higher than b. That alone does not contradict it; it is
        reproduced where a ends significantly lower.
    same: a ends neither significantly lower nor significantly higher than b.
    flat: a gains less than a tenth of a decade in all.
    flattens: a gains less than a tenth of a decade after the first third of its iterations.
    stalls: a flattens, and gained significantly more in the first third.
    """
    a: Series
    b: tuple[Series, ...] = ()
    """Rivals of a: it is compared with the one of the lowest median. Empty for a law on a alone."""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper and the comparisons that it stands for."""

    name: str
    text: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Finding:
    """What the runs say about one comparison."""

    part: Part
    verdict: str
    n: int
    """Number of seeds."""
    iterations: int
    a: float
    """Median regret of a. For a law about gains: its median gain in the first third, in decades."""
    b: float
    """Median regret of b. For a law about gains: the median gain of a after the first third."""
    p: float
    """p-value of the Wilcoxon signed-rank test: one-sided for the side that the law is about,
    two-sided for `same`, and NaN where the law needs no test."""

    @property
    def label(self) -> str:
        """The comparison in words."""
        a = self.part.a
        others = self.part.b
        where = (
            f"{a.acquisition.upper()}, d = {a.n_features}: "
            if a.problem == "thomson"
            else f"{a.acquisition.upper()}: "
        )
        alone = {
            "stalls": f"gains more in the first third, and less than {_FLAT} decades after",
            "flattens": f"gains less than {_FLAT} decades after the first third",
            "flat": f"gains less than {_FLAT} decades in all",
        }
        if self.part.law in alone:
            return f"{where}{a.method} {alone[self.part.law]}"
        b = others[0]
        name = b.method
        if b.n_features != a.n_features:
            name += f" with d = {b.n_features}"
        if b.acquisition != a.acquisition:
            name += f" with {b.acquisition.upper()}"
        words = {
            "better": "better than",
            "no worse": "no worse than",
            "same": "not significantly different from",
        }
        return f"{where}{a.method} {words[self.part.law]} {name}"


def _series(problem: str, method: str, acquisition: str, n_features: int = 10) -> Series:
    return Series(problem=problem, method=method, acquisition=acquisition, n_features=n_features)


def _pairs(
    law: Law, problem: str, pairs: Sequence[tuple[str, str]], acquisitions: Sequence[str]
) -> tuple[Part, ...]:
    return tuple(
        Part(law, _series(problem, a, acquisition), (_series(problem, b, acquisition),))
        for (a, b), acquisition in itertools.product(pairs, acquisitions)
    )


def _alone(
    law: Law, problem: str, names: Sequence[str], acquisitions: Sequence[str]
) -> tuple[Part, ...]:
    return tuple(
        Part(law, _series(problem, name, acquisition))
        for name, acquisition in itertools.product(names, acquisitions)
    )


def _thomson(law: Law, d: int, *others: tuple[str, int]) -> Part:
    return Part(
        law,
        _series("thomson", "mgpc", "pi", d),
        tuple(_series("thomson", b, "pi", other) for b, other in others),
    )


_ROS = "rosenbrock-linear"
_PSL = "product-of-sines-linear"
_PSN = "product-of-sines-nonlinear"
_ALL = paper_acquisitions(_ROS)
_TWINS = tuple(CONSTRAINED.items())
CLAIMS = (
    Claim(
        "ROS-1",
        "rosenbrock-linear: each constrained variant ends no worse than its unconstrained twin",
        _pairs("no worse", _ROS, _TWINS, _ALL),
    ),
    Claim(
        "ROS-2",
        "rosenbrock-linear: VAE-BO improves early and then stalls; "
        "ADD-BO suffers from the coupling",
        _alone("stalls", _ROS, ["vae"], _ALL) + _pairs("better", _ROS, [("mgpc", "add")], _ALL),
    ),
    Claim(
        "PSL-1",
        "product-of-sines-linear: constrained beats unconstrained for EI and PI, "
        "where the unconstrained curves flatten early",
        _pairs("better", _PSL, _TWINS, ("ei", "pi"))
        + _alone("flattens", _PSL, list(CONSTRAINED.values()), ("ei", "pi")),
    ),
    Claim(
        "PSL-2",
        "product-of-sines-linear: REMBO is the most competitive baseline, most of all with UCB; "
        "VAE-BO stays flat",
        _pairs("better", _PSL, [("rembo", "add"), ("rembo", "vae")], _ALL)
        + tuple(
            Part("better", _series(_PSL, "rembo", "ucb"), (_series(_PSL, "rembo", other),))
            for other in ("ei", "pi")
        )
        + _alone("flat", _PSL, ["vae"], _ALL),
    ),
    Claim(
        "PSN-1",
        "product-of-sines-nonlinear: DMGPC-BO ends better than ADD-BO (paper: p ≤ 0.00014)",
        _pairs("better", _PSN, [("dmgpc", "add")], _ALL),
    ),
    Claim(
        "PSN-2",
        "product-of-sines-nonlinear: "
        "the constrained variants end better than their twins and than VAE-BO",
        _pairs("better", _PSN, [*_TWINS, *((name, "vae") for name in CONSTRAINED)], _ALL),
    ),
    Claim(
        "THO-2",
        "thomson, d = 2: MGPC-BO and the best of ADD-BO and REMBO do not differ significantly "
        "(paper: p = 0.135)",
        (_thomson("same", 2, ("add", 2), ("rembo", 2)),),
    ),
    Claim(
        "THO-3",
        "thomson, d = 3: MGPC-BO ends better than ADD-BO (paper: p ≤ 0.002)",
        (_thomson("better", 3, ("add", 3)),),
    ),
    Claim(
        "THO-4",
        "thomson, d = 4: MGPC-BO ends better than ADD-BO (paper: p ≤ 0.003)",
        (_thomson("better", 4, ("add", 4)),),
    ),
    Claim(
        "THO-6",
        "thomson, d = 6: MGPC-BO ends better than REMBO (paper: p ≤ 0.006)",
        (_thomson("better", 6, ("rembo", 6)),),
    ),
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
    """Judge one comparison by the runs.

    Runs of the paper's length are used where at least three seeds have them on every side.
    Otherwise all runs that have 100 iterations are compared there.
    """
    sides = [curves.get(series, {}) for series in (part.a, *part.b)]
    for iterations in (ITERATIONS, LOOK):
        runs = [statistics.at_least(side, N_INITIAL + iterations) for side in sides]
        seeds = sorted(set.intersection(*map(set, runs)))
        if len(seeds) >= _LOOK_SEEDS:
            break
    if part.b:
        ends = [[side[seed][-1] for seed in seeds] for side in runs]
        best = int(np.argmin([np.median(values) for values in ends[1:]])) if seeds else 0
        result = statistics.compare(ends[0], ends[1 + best])
        verdict, p = _of_ends(part.law, result)
        a = 10**result.median_a
        b = 10**result.median_b
        part = replace(part, b=(part.b[best],))
    else:
        a, b, verdict, p = _of_gains(part.law, [runs[0][seed] for seed in seeds])
    if len(seeds) < SEEDS or iterations != ITERATIONS:
        verdict = UNDECIDED
    return Finding(part, verdict, len(seeds), iterations, a, b, p)


def _of_ends(law: Law, result: Comparison) -> tuple[str, float]:
    """Decide a law about the regrets at the end; return the verdict and the p-value."""
    lower = result.p_less <= LEVEL
    if law == "better":
        return REPRODUCED if lower else NOT_REPRODUCED, result.p_less
    if law == "no worse":
        if result.p_greater <= LEVEL:
            return NOT_REPRODUCED, result.p_greater
        return REPRODUCED if lower else NOT_CONTRADICTED, result.p_greater
    same = result.p_two_sided > LEVEL
    return REPRODUCED if same else NOT_REPRODUCED, result.p_two_sided


def _of_gains(law: Law, curves: Sequence[np.ndarray]) -> tuple[float, float, str, float]:
    """Decide a law about gains.

    Returns the median gains in and after the first third of the iterations, the verdict, and the
    p-value.
    """
    if not curves:
        return np.nan, np.nan, UNDECIDED, np.nan
    matrix = np.array(curves)
    third = N_INITIAL + (matrix.shape[1] - N_INITIAL) // 3
    early = matrix[:, N_INITIAL - 1] - matrix[:, third - 1]
    late = matrix[:, third - 1] - matrix[:, -1]
    flat = float(np.median(late if law != "flat" else early + late)) < _FLAT
    p = statistics.compare(late, early).p_less if law == "stalls" else np.nan
    holds = flat and (law != "stalls" or p <= LEVEL)
    verdict = REPRODUCED if holds else NOT_REPRODUCED
    return float(np.median(early)), float(np.median(late)), verdict, p


def verdict(findings: Sequence[Finding]) -> str:
    """Return the verdict on a claim. One comparison that is not reproduced decides against it."""
    verdicts = {finding.verdict for finding in findings}
    if NOT_REPRODUCED in verdicts:
        return NOT_REPRODUCED
    if REPRODUCED in verdicts:
        return REPRODUCED if verdicts == {REPRODUCED} else IN_PART
    return NOT_CONTRADICTED if NOT_CONTRADICTED in verdicts else UNDECIDED


def evidence(findings: Sequence[Finding]) -> str:
    """Count in words the comparisons that hold, those not contradicted and those that are open."""
    verdicts = [finding.verdict for finding in findings]
    n_open = verdicts.count(UNDECIDED)
    n_not_contradicted = verdicts.count(NOT_CONTRADICTED)
    n_decided = len(verdicts) - n_open
    parts = [f"{verdicts.count(REPRODUCED)} of {n_decided} hold"] if n_decided else []
    if n_not_contradicted:
        parts.append(f"{n_not_contradicted} not contradicted")
    if n_open:
        parts.append(f"{n_open} open")
    return ", ".join(parts)


def to_markdown(judged: Sequence[tuple[Claim, Sequence[Finding]]], cost: tuple[str, str]) -> str:
    """Write a table of the claims and a table of all comparisons as Markdown."""
    lines = ["| claim | what the paper says | verdict | comparisons |", "|---|---|---|---|"]
    for claim, findings in judged:
        lines.append(
            f"| {claim.name} | {claim.text} | **{verdict(findings)}** | {evidence(findings)} |"
        )
    lines += [f"| COST | {COST} | **{cost[0]}** | {cost[1]} |", ""]
    lines += [
        "| claim | comparison | verdict | seeds | iterations | medians | p |",
        "|---|---|---|--:|--:|--:|--:|",
    ]
    for claim, findings in judged:
        for f in findings:
            medians = (
                " and ".join(f"{median:.3g}" for median in (f.a, f.b) if np.isfinite(median))
                or "no runs"
            )
            p = f"{f.p:.2g}" if f.n and np.isfinite(f.p) else ""
            lines.append(
                f"| {claim.name} | {f.label} | {f.verdict} | {f.n} | {f.iterations} "
                f"| {medians} | {p} |"
            )
    return "\n".join(lines) + "\n"


COST = "decoder training and prediction cost O(N³) + O(D³) time, against O(N³ D³) dense"


def cost(path: Path) -> tuple[str, str]:
    """Verdict and evidence for claim COST, from the measurements of `benchmarks/likelihood.py`.

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
