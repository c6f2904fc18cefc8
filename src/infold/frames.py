"""Evaluations as tables of pandas."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas

    from infold.record import Evaluation
    from infold.space import Space


def to_frame(evaluations: Iterable["Evaluation"], space: "Space") -> "pandas.DataFrame":
    """Return evaluations as a table, one per row.

    It has a column for each parameter, then value (value0 and so on where there are several
    objectives), failed, constraint0 and so on where there are constraints, error, seconds, told_at
    and proposed_by, then one for each diagnostic that is a number, a text or a truth value. A name
    that is taken already gets `evaluation.` or `diagnostics.` in front.
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_frame needs pandas: pip install 'infold[experiments]'") from error
    evaluations = list(evaluations)
    keys = space.parameters if space.named else range(len(space.parameters))
    columns: dict[str, Any] = {
        name: [e.point[key] for e in evaluations]
        for name, key in zip(space.parameters, keys, strict=True)
    }

    def add(prefix: str, name: str, column: Any) -> None:
        while name in columns:
            name = f"{prefix}.{name}"
        columns[name] = column

    n_objectives = max((len(e.values) for e in evaluations), default=0)
    if not n_objectives:
        add("evaluation", "value", np.array([e.value for e in evaluations], dtype=np.float64))
    for j in range(n_objectives):
        column = [e.values[j] if e.values else np.nan for e in evaluations]
        add("evaluation", f"value{j}", np.array(column, dtype=np.float64))
    add("evaluation", "failed", np.array([e.failed for e in evaluations], dtype=bool))
    n_constraints = max((len(e.constraints) for e in evaluations), default=0)
    for k in range(n_constraints):
        column = [e.constraints[k] if e.constraints else np.nan for e in evaluations]
        add("evaluation", f"constraint{k}", np.array(column, dtype=np.float64))
    add("evaluation", "error", [e.error for e in evaluations])
    seconds = [np.nan if e.seconds is None else e.seconds for e in evaluations]
    add("evaluation", "seconds", np.array(seconds, dtype=np.float64))
    told_at = np.array([e.told_at for e in evaluations], dtype=np.float64)
    times = pandas.to_datetime(told_at, unit="s", utc=True, errors="coerce")
    add("evaluation", "told_at", times)
    add("evaluation", "proposed_by", [e.proposed_by for e in evaluations])
    scalars = dict.fromkeys(
        name
        for e in evaluations
        for name, value in e.diagnostics.items()
        if isinstance(value, str | int | float | bool)
    )
    for name in scalars:
        add("diagnostics", name, [e.diagnostics.get(name) for e in evaluations])
    return pandas.DataFrame(columns)
