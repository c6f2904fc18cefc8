"""A result in a notebook: a small table and the best value so far, as HTML without scripts."""

import html
from typing import Any

import numpy as np

from infold.report.figures.convergence import convergence
from infold.report.plain import setting
from infold.report.subject import subject_of

_SHOWN = 8  # parameters in the table
_WIDTH = 320
_HEIGHT = 120


def result_html(result: Any) -> str:
    """Return a result of `minimize` as HTML; whatever users wrote is escaped."""
    subject = subject_of(result)
    rows = [("message", result.message), ("value", setting(float(result.fun)))]
    rows += [("evaluations", result.nit)]
    if subject.best is not None:
        names = list(subject.space.parameters)
        rows += [(name, setting(subject.setting(subject.best, name))) for name in names[:_SHOWN]]
        if len(names) > _SHOWN:
            rows.append(("...", f"{len(names) - _SHOWN} more parameters"))
    cells = "".join(
        f"<tr><th style='text-align:left'>{html.escape(str(label))}</th>"
        f"<td style='text-align:left'>{html.escape(str(value))}</td></tr>"
        for label, value in rows
    )
    best = convergence(subject).best[: result.nit]
    return f"<div><table>{cells}</table>{_curve(best)}</div>"


def _curve(best: np.ndarray) -> str:
    """Return the best value so far as a line, with its ends in numbers; empty below two values."""
    known = np.flatnonzero(np.isfinite(best))
    if len(known) < 2:
        return ""
    values = best[known]
    low, high = float(np.min(values)), float(np.max(values))
    x = 4 + (_WIDTH - 8) * (known - known[0]) / (known[-1] - known[0])
    y = 18 + (_HEIGHT - 36) * (high - values) / ((high - low) or 1.0)
    corners = " ".join(
        f"{right:.1f},{before:.1f} {right:.1f},{after:.1f}"
        for right, before, after in zip(x, np.append(y[0], y[:-1]), y, strict=True)
    )
    label = f"best value after {len(best)} evaluations"
    return (
        f"<svg width='{_WIDTH}' height='{_HEIGHT}' role='img' aria-label='{label}'>"
        f"<polyline points='{corners}' fill='none' stroke='#1f6fb2' stroke-width='1.5'/>"
        f"<text x='4' y='12' font-size='11'>{values[0]:.5g}</text>"
        f"<text x='{_WIDTH - 4}' y='{_HEIGHT - 4}' font-size='11' text-anchor='end'>"
        f"{values[-1]:.5g} ({label})</text></svg>"
    )
