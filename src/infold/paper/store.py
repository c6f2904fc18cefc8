"""Where runs of experiments are kept: one small file each, and all of them as one table.

A file is versioned JSON. Until its run has the length of the paper's it also holds the state from which the run continues.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from infold import runfile

if TYPE_CHECKING:
    import pandas as pd

FORMAT, VERSION = "infold-experiment", 1
PAPER_INITIAL, PAPER_EVALUATIONS = 10, 310
TABLE = "runs.parquet"


@dataclass(frozen=True, kw_only=True, order=True)
class Cell:
    """One run of the grid of an experiment."""

    problem: str
    """One of `infold.problems.NAMES`."""
    method: str
    """One of `infold.methods.NAMES`, or such a name, +, and one of `infold.paper.runner.VARIANTS`."""
    acquisition: str = ""
    """Empty where the method has none."""
    n_features: int = 0
    """d; 0 where the method has none."""
    seed: int = 0

    def __str__(self) -> str:
        parts = [
            self.method,
            self.acquisition,
            f"d{self.n_features}" if self.n_features else "",
            f"s{self.seed}",
        ]
        return "-".join(part for part in parts if part)


@dataclass(frozen=True, kw_only=True)
class Run:
    """What is known of a run."""

    cell: Cell
    values: tuple[float, ...] = ()
    """f at the evaluated points in their order, without noise."""
    seconds: float = 0.0
    """Spent on suggestions."""
    state: str | None = None
    """From which it continues."""

    @property
    def best(self) -> np.ndarray:
        """The smallest value so far, after each evaluation."""
        return np.minimum.accumulate(self.values)


class Store:
    """A folder of runs, one folder per problem in it."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, cell: Cell) -> Path:
        return self.folder / cell.problem / f"{cell}.json"

    def read(self, cell: Cell) -> Run:
        """The run of the cell as far as it went."""
        path = self.path(cell)
        return _read(path) if path.exists() else Run(cell=cell)

    def write(self, run: Run) -> None:
        """Keep the run, in place of what was known of it unless that went further."""
        if len(self.read(run.cell).values) > len(run.values):
            return
        path = self.path(run.cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        contents = {
            "format": FORMAT,
            "version": VERSION,
            "infold": _version(),
            "cell": asdict(run.cell),
            "seconds": round(run.seconds, 3),
            "values": run.values,
            "state": run.state if len(run.values) < PAPER_EVALUATIONS else None,
        }
        runfile.replace(path, json.dumps(contents) + "\n")

    def runs(self) -> list[Run]:
        """All runs, as far as they went."""
        return [_read(path) for path in sorted(self.folder.glob("*/*.json"))]

    def table(self) -> "pd.DataFrame":
        """All runs of the folder's table and of its files, as `tabulate` has them; of two the longer, of equals the file's."""
        import pandas as pd

        path = self.folder / TABLE
        new = tabulate(self.runs())
        if not path.exists():
            return new
        key = list(Cell.__dataclass_fields__)
        both = pd.concat(
            [pd.read_parquet(path).assign(new=False), new.assign(new=True)], ignore_index=True
        )
        both["length"] = both.groupby([*key, "new"])["evaluations"].transform("max")
        order = both.groupby(key)[["length"]].transform("max")["length"]
        longest = both[both["length"] == order]
        chosen = longest[longest["new"] == longest.groupby(key)["new"].transform("max")]
        return chosen.drop(columns=["new", "length"]).sort_values(
            [*key, "evaluations"], ignore_index=True
        )

    def write_table(self) -> Path:
        """Bring the folder's table up to date."""
        path = self.folder / TABLE
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        self.table().to_parquet(temporary, index=False, compression="zstd")
        temporary.replace(path)
        return path


def _version() -> str:
    try:
        return version("infold")
    except PackageNotFoundError:  # run from its source
        return "unknown"


def _read(path: Path) -> Run:
    data = runfile.checked_json(
        path.read_bytes(),
        str(path),
        kind="a run of an experiment of infold",
        format=FORMAT,
        version=VERSION,
        required=("cell", "values", "seconds", "state"),
    )
    try:
        return Run(
            cell=Cell(**data["cell"]),
            values=tuple(data["values"]),
            seconds=data["seconds"],
            state=data["state"],
        )
    except TypeError as error:
        raise ValueError(f"{path} is not a run of an experiment of infold: {error}") from error


def tabulate(runs: Iterable[Run]) -> "pd.DataFrame":
    """One row for each improvement of a run and one for its end: the cell, evaluations, the best value then, seconds in all."""
    import pandas as pd

    rows = []
    for run in runs:
        if not run.values:
            continue
        best = run.best
        improvements = np.flatnonzero(np.diff(best, prepend=np.inf) < 0.0)
        for i in sorted({*improvements.tolist(), len(best) - 1}):
            rows.append(
                {**asdict(run.cell), "evaluations": i + 1, "best": best[i], "seconds": run.seconds}
            )
    columns = [*Cell.__dataclass_fields__, "evaluations", "best", "seconds"]
    kinds = {
        "n_features": "int64",
        "seed": "int64",
        "evaluations": "int64",
        "best": "float64",
        "seconds": "float64",
    }
    return (
        pd.DataFrame(rows, columns=columns)
        .astype(kinds)
        .sort_values(columns[:-2], ignore_index=True)
    )
