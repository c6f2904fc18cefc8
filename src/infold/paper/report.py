"""The verdicts on the paper's claims as tables, for a terminal and for a page."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from infold.paper import cost
from infold.paper.judging import BESIDE, Finding, Verdicts, judge_all, lines
from infold.paper.statistics import Curves


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
_FOR, _AGAINST = ("p for", "Holm"), ("p against", "Holm")


class Report(NamedTuple):
    """All verdicts."""

    claims: Columns
    comparisons: Columns

    def to_markdown(self) -> str:
        """Write both tables as Markdown."""
        right = (_RUNS, _MEDIANS, _DECADES, *_FOR, *_AGAINST)
        return f"{self.claims.to_markdown()}\n\n{self.comparisons.to_markdown(right)}\n"


def report(curves: Curves, measured: Path) -> Report:
    """Judge all claims by the runs, and that about cost by the measurements in a file."""
    verdicts = judge_all(curves)
    return Report(_claims(verdicts, cost.judge_cost(measured)), _comparisons(verdicts))


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
