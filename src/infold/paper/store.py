"""Storage of the runs of an experiment: one small file per run, and one table of all runs.

A file is versioned JSON. Until its run is as long as the paper's, the file also holds the state
from which the run continues.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from infold import runfile

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "infold-experiment"
VERSION = 1
PAPER_INITIAL = 10
PAPER_EVALUATIONS = 310  # of a run in the paper, the initial ones included
TABLE = "runs.parquet"
_FORMERLY = "+paper"  # what runs made before were called; their settings are those of `+code`
_NOW = "+code"


@dataclass(frozen=True, kw_only=True, order=True)
class Cell:
    """Settings of one run in the grid of an experiment."""

    problem: str
    """One of `infold.problems.NAMES`."""
    method: str
    """A name from `infold.methods.NAMES`, or name+variant with a variant from
    `infold.paper.variants.VARIANTS`."""
    acquisition: str = ""
    """Name of the acquisition function; empty where the method has none."""
    n_features: int = 0
    """Dimension d of the feature space; 0 where the method has none."""
    seed: int = 0
    """Seed of every random choice of the run."""

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
    """A run as far as it went."""

    cell: Cell
    values: tuple[float, ...] = ()
    """Values of f, without noise, at the evaluated points in their order."""
    seconds: float = 0.0
    """Seconds spent on suggestions."""
    state: str | None = None
    """Text of the optimizer from which the run continues; None where there is none."""

    @property
    def best(self) -> np.ndarray:
        """Smallest value so far, after each evaluation."""
        return np.minimum.accumulate(self.values)


class Store:
    """A folder of runs, with a subfolder for each problem."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, cell: Cell) -> Path:
        """Path of the file for the cell's run."""
        return self.folder / cell.problem / f"{cell}.json"

    def read(self, cell: Cell) -> Run:
        """Read the cell's run as far as it went; one without values where it has not begun."""
        path = self.path(cell)
        return _read(path) if path.exists() else Run(cell=cell)

    def write(self, run: Run) -> None:
        """Write the run, unless the file that is there went further."""
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
        """Read all runs, as far as they went."""
        return [_read(path) for path in sorted(self.folder.glob("*/*.json"))]

    def table(self) -> "pd.DataFrame":
        """Merge the runs of the folder's table and of its files into one table (see `tabulate`).

        Where both have a run, the longer one counts; where they are equally long, the file does.
        """
        import pandas as pd

        path = self.folder / TABLE
        new = tabulate(self.runs())
        if not path.exists():
            return new
        key = list(Cell.__dataclass_fields__)
        old = pd.read_parquet(path)
        old["method"] = old["method"].str.replace(_FORMERLY, _NOW, regex=False)
        both = pd.concat([old.assign(new=False), new.assign(new=True)], ignore_index=True)
        both["length"] = both.groupby([*key, "new"])["evaluations"].transform("max")
        order = both.groupby(key)[["length"]].transform("max")["length"]
        longest = both[both["length"] == order]
        chosen = longest[longest["new"] == longest.groupby(key)["new"].transform("max")]
        return chosen.drop(columns=["new", "length"]).sort_values(
            [*key, "evaluations"], ignore_index=True
        )

    def write_table(self) -> Path:
        """Bring the folder's table up to date, and return its path."""
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
        kind="a run of an infold experiment",
        format=FORMAT,
        version=VERSION,
        required=("cell", "values", "seconds", "state"),
    )
    try:
        cell = Cell(**data["cell"])
        return Run(
            cell=replace(cell, method=cell.method.replace(_FORMERLY, _NOW)),
            values=tuple(data["values"]),
            seconds=data["seconds"],
            state=data["state"],
        )
    except TypeError as error:
        raise ValueError(f"{path} is not a run of an infold experiment: {error}") from error


def tabulate(runs: Iterable[Run]) -> "pd.DataFrame":
    """Tabulate runs: one row for each improvement of a run, and one for its end.

    A row has the cell, the number of evaluations so far, the best value then, and the seconds of
    the whole run.
    """
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
