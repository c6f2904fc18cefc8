"""The verdicts on the paper's claims as tables, for a terminal and for a page."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from infold.paper import cost
from infold.paper.claims import CLAIMS
from infold.paper.figures import METHODS, REFERENCES
from infold.paper.judging import BESIDE, SEEDS, Finding, Verdicts, judge_all, lines
from infold.paper.runner import ITERATIONS, N_INITIAL
from infold.paper.statistics import Curves, Series, at_least


class Columns(NamedTuple):
    """A table."""

    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def to_markdown(self, numbers: Sequence[str] = ()) -> str:
        """Write it as Markdown, with the columns of these headings to the right."""
        ruler = ["--:" if heading in numbers else "---" for heading in self.headings]
        head, *rows = (f"| {' | '.join(row)} |" for row in (self.headings, *self.rows))
        return "\n".join([head, f"|{'|'.join(ruler)}|", *rows])


_RUNS, _MEDIANS, _DECADES = "seeds × iterations", "medians", "decades"
_OTHERS = (*REFERENCES, "random+uniform")
_FOR, _AGAINST = ("p for", "Holm"), ("p against", "Holm")


class Report(NamedTuple):
    """All verdicts, and how the paper's methods stand beside others."""

    claims: Columns
    comparisons: Columns
    others: Columns

    def to_markdown(self) -> str:
        """Write the tables as a page in Markdown."""
        numbers = (_RUNS, _MEDIANS, _DECADES, *_FOR, *_AGAINST)
        return _PAGE.format(
            claims=self.claims.to_markdown(),
            comparisons=self.comparisons.to_markdown(numbers),
            others=self.others.to_markdown(("median regret", "quartiles", "lower in")),
        )


_PAGE = """# All claims

`infold claims` writes this page. A column whose name begins with a plus sign has the verdicts with
other settings, where the defaults do not reproduce a claim and such runs decide anything.

{claims}

## All comparisons

Medians are those of regret, or where gains are claimed of decades gained in the first third of the
iterations and after it. "Decades" is how much higher the first side ends, by the middle of the
differences of log10 regret. "p for" is the p-value of the test for what is claimed and "p against"
that of the test against it. "Holm" is the same, corrected for the number of comparisons of the
claim.

{comparisons}

## Beside other methods

For each problem the lowest median of the paper's methods, over all acquisition functions and d, and
methods that the paper does not have. "Lower in" counts the seeds in which such a method ends lower.

{others}
"""


def report(curves: Curves, measured: Path) -> Report:
    """Judge all claims by the runs, and that about cost by the measurements in a file."""
    verdicts = judge_all(curves)
    return Report(
        _claims(verdicts, cost.judge_cost(measured)), _comparisons(verdicts), _others(curves)
    )


def _claims(verdicts: Sequence[Verdicts], of_cost: tuple[str, str]) -> Columns:
    """One row for each claim; a column for each variant that decides anything."""
    shown = [variant for variant in BESIDE if any(variant in v.variants for v in verdicts)]
    rows = []
    for default, variants in verdicts:
        beside = [
            f"{variants[name].verdict}: {variants[name].evidence}" if name in variants else ""
            for name in shown
        ]
        claim = default.claim
        rows.append((claim.name, default.verdict, default.evidence, *beside, claim.text))
    rows.append((cost.NAME, *of_cost, *("" for _ in shown), cost.TEXT))
    headings = ("claim", "verdict", "comparisons", *(f"+{name}" for name in shown))
    return Columns((*headings, "what the paper says"), rows)


def _comparisons(verdicts: Sequence[Verdicts]) -> Columns:
    """One row for each comparison."""
    headings = ("claim", "comparison", "verdict", _RUNS, _MEDIANS, _DECADES, *_FOR, *_AGAINST)
    rows = [(claim.name, f.part.label, f.verdict, *_numbers(f)) for claim, f in lines(verdicts)]
    return Columns(headings, rows)


def _numbers(finding: Finding) -> tuple[str, ...]:
    if not finding.n:
        return ("no runs", *[""] * 6)
    difference = "" if np.isnan(finding.difference) else f"{finding.difference:+.2g}"
    p_values = (finding.p_for, finding.holm_for, finding.p_against, finding.holm_against)
    return (
        f"{finding.n} × {finding.iterations}",
        f"{finding.a:.3g} and {finding.b:.3g}",
        difference,
        *("" if np.isnan(p) else f"{p:.2g}" for p in p_values),
    )


def _others(curves: Curves) -> Columns:
    """How other methods end on each problem, beside the best of the paper's, by the median.

    The best is chosen from all methods, acquisition functions and d that have as many runs, and as
    long ones, as the paper's. "Lower in" counts the seeds in which another ends lower than it.
    """
    rows: list[tuple[str, ...]] = []
    for problem in dict.fromkeys(part.a.problem for claim in CLAIMS for part in claim.parts):
        ends = _ends(curves, problem)
        papers = [series for series in ends if series.method in METHODS]
        if not papers:
            continue
        best = min(papers, key=lambda series: np.median(ends[series]))
        others = [series for name in _OTHERS for series in ends if series.method == name]
        for series in (best, *others):
            low, median, high = 10 ** np.percentile(ends[series], [25, 50, 75])
            row = (problem, series.label, f"{median:.3g}", f"{low:.3g} to {high:.3g}")
            n_lower = int(np.sum(ends[series] < ends[best]))
            rows.append((*row, "" if series == best else f"{n_lower} of {SEEDS}"))
    return Columns(("problem", "method", "median regret", "quartiles", "lower in"), rows)


def _ends(curves: Curves, problem: str) -> dict[Series, np.ndarray]:
    """log10 regret at the end of the paper's 20 seeds, of every series that has them."""
    found = {}
    for series, runs in curves.items():
        long = at_least(runs, N_INITIAL + ITERATIONS)
        if series.problem == problem and set(long) >= set(range(SEEDS)):
            found[series] = np.array([long[seed][-1] for seed in range(SEEDS)])
    return found
