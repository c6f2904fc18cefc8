"""A result in a notebook: small tables and the best value so far, as HTML without scripts."""

import html
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from infold.report.figures.convergence import convergence
from infold.report.plain import setting
from infold.report.subject import Subject, subject_of

_SHOWN = 8  # parameters, or points of the front, in the table
_WIDTH = 320
_HEIGHT = 120


def result_html(result: Any) -> str:
    """Return a result of `minimize` as HTML; whatever users wrote is escaped."""
    subject = subject_of(result)
    parts = _several(result, subject) if subject.n_objectives > 1 else _one(result, subject)
    return f"<div>{''.join(parts)}</div>"


def _one(result: Any, subject: Subject) -> list[str]:
    rows = [("message", result.message), ("value", setting(float(result.fun)))]
    rows += [("evaluations", result.nit)]
    rows += [(f"constraint {k}", setting(float(c))) for k, c in enumerate(result.constraints)]
    if subject.best is not None:
        names = list(subject.space.parameters)
        rows += [(name, setting(subject.setting(subject.best, name))) for name in names[:_SHOWN]]
        if len(names) > _SHOWN:
            rows.append(("...", f"{len(names) - _SHOWN} more parameters"))
    return [_table([], rows), _curve(convergence(subject).best[: result.nit])]


def _several(result: Any, subject: Subject) -> list[str]:
    rows = [("message", result.message), ("evaluations", result.nit)]
    rows += [("points on the front", len(result.pareto_f) if np.any(subject.feasible) else 0)]
    head = [f"objective {j} ({each})" for j, each in enumerate(subject.directions)]
    order = np.argsort(result.pareto_f[:, 0], kind="stable")
    # As many as are shown, from one end of the front to the other.
    places = np.linspace(0, len(order) - 1, min(_SHOWN, len(order))).astype(int)
    points = [[setting(float(value)) for value in result.pareto_f[i]] for i in order[places]]
    return [_table([], rows), _table(head, points) if points else ""]


def _table(head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table; without a head, the first cell of each row is the name of what follows."""
    made = "".join(_cell("th", each) for each in head)
    lines = [f"<tr>{made}</tr>"] if head else []
    for row in rows:
        tags = ["td" if head else "th", *["td"] * (len(row) - 1)]
        cells = "".join(_cell(tag, each) for tag, each in zip(tags, row, strict=True))
        lines.append(f"<tr>{cells}</tr>")
    return f"<table>{''.join(lines)}</table>"


def _cell(tag: str, text: Any) -> str:
    return f"<{tag} style='text-align:left'>{html.escape(str(text))}</{tag}>"


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
