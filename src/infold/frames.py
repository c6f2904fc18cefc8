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

    It has a column for each parameter, then value, failed, error, seconds, told_at and proposed_by,
    then one for each diagnostic that is a number, a text or a truth value. A name that is taken
    already gets `evaluation.` or `diagnostics.` in front.
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

    add("evaluation", "value", np.array([e.value for e in evaluations], dtype=np.float64))
    add("evaluation", "failed", np.array([e.failed for e in evaluations], dtype=bool))
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
