"""The runs of a comparison in one table. Needs pandas and pyarrow (`infold[experiments]`)."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from infold.comparison.runs import Run, Task


def read(path: Path) -> list[Run]:
    """Read the runs of a table; none where there is no table."""
    import pandas as pd

    if not path.exists():
        return []
    rows = pd.read_parquet(path).to_dict("records")
    return [
        Run(
            task=Task(**{name: row[name] for name in Task.__dataclass_fields__}),
            values=tuple(row["values"].tolist()),
            seconds=tuple(row["seconds"].tolist()),
            processor=row["processor"],
        )
        for row in rows
    ]


def merge(old: Iterable[Run], new: Iterable[Run]) -> list[Run]:
    """Return all runs, each once: the longer one, and of equally long ones the new one."""
    found: dict[Task, Run] = {}
    for run in (*old, *new):
        if run.task not in found or len(run.values) >= len(found[run.task].values):
            found[run.task] = run
    return [found[task] for task in sorted(found)]


def write(path: Path, runs: Iterable[Run]) -> None:
    """Write a table with one row for each run."""
    import pandas as pd

    rows = [
        {
            **asdict(run.task),
            "values": list(run.values),
            "seconds": [round(seconds, 4) for seconds in run.seconds],  # a third of the file
            "processor": run.processor,
        }
        for run in runs
    ]
    temporary = path.with_suffix(".tmp")
    pd.DataFrame(rows).to_parquet(temporary, index=False, compression="zstd")
    temporary.replace(path)
