"""Earlier runs in whatever form people have them: run files, results, studies, tables, lessons.

`read` takes all of them to a `Source`, by parameter name and in the user's own units; `matching`
brings sources together. Nothing here runs code that a file holds.
"""

import glob
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from infold import _checks, runfile
from infold.learning import tables
from infold.record import Evaluation, Record
from infold.runfile.files import check_plain
from infold.space import Parameter, Space

if TYPE_CHECKING:
    from infold.learning.learned import Learned
    from infold.learning.lessons import Lessons
    from infold.optimizer import Optimizer

EXPECTED = (
    "expected a run file, a CSV file, lessons, a result of minimize, an Optimizer, an Optuna study "
    "or (storage URL, study name), a pair of arrays (X, y), or an array of designs"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Source:
    """An earlier run, or designs without values, in the user's own units."""

    name: str
    """What errors call it."""
    named: bool
    """Whether parameters go by names; otherwise by their numbers, x0, x1, ..."""
    parameters: Mapping[str, Parameter | None]
    """By name; None where neither kind nor range is known, as in a table of numbers."""
    points: Sequence[Mapping[str, Any]]
    """Values by the names of parameters; some may lack a few."""
    values: np.ndarray | None = None
    """What was told, NaN where an evaluation failed; None for designs without values."""
    direction: str | None = None
    """Whether small or large values are good; None: as in the run that learns from it."""
    constraints: Sequence[tuple[float, ...]] = ()
    """Constraint values of each point, feasible where none is above 0; empty where there are none.
    """
    hull: Mapping[str, Sequence[Parameter]] = field(default_factory=dict)
    """Further ranges of parameters whose range changed during the run."""

    @property
    def losses(self) -> np.ndarray | None:
        """Values to minimize in the source's own direction; NaN where failed or infeasible."""
        if self.values is None:
            return None
        sign = -1.0 if self.direction == "maximize" else 1.0
        losses = np.where(np.isfinite(self.values), sign * self.values, np.nan)
        if not self.constraints:
            return losses
        feasible = [all(number <= 0.0 for number in numbers) for numbers in self.constraints]
        return np.where(feasible, losses, np.nan)


def read(
    earlier: Any, *, known: Sequence[str] = (), optional: Sequence[str] = ()
) -> "list[Source | Learned | Lessons]":
    """Return what `earlier` holds, in its order; files that a pattern matches by their names.

    Args:
        earlier: one source or a list of them.
        known: names of the parameters of the new run: a column of a table that is called like one
            holds that parameter, whatever else it could be.
        optional: those of them that may be None, which an empty cell of a table stands for.
    """
    several = isinstance(earlier, list | tuple) and not (
        _is_pair(earlier) or _is_study_name(earlier) or _is_matrix(earlier)
    )
    given = list(earlier) if several else [earlier]
    if not given:
        raise ValueError("earlier = []: expected at least one earlier run")
    found: list[Source | Learned | Lessons] = []
    for i, item in enumerate(given):
        label = f"earlier[{i}]" if several else "earlier"
        found.extend(_read_one(item, label, known, optional))
    return found


def _read_one(
    item: Any, label: str, known: Sequence[str], optional: Sequence[str]
) -> "Iterator[Source | Learned | Lessons]":
    from infold.learning.learned import Learned
    from infold.learning.lessons import Lessons
    from infold.optimizer import Optimizer

    if isinstance(item, Source | Learned | Lessons):
        yield item
    elif isinstance(item, str | os.PathLike):
        for path in _paths(item, label):
            yield _from_file(path, known, optional)
    elif isinstance(getattr(item, "optimizer", item), Optimizer):
        yield _from_optimizer(item, label)
    elif hasattr(item, "trials") and hasattr(item, "study_name"):
        yield _from_study(item)
    elif _is_study_name(item):
        yield _from_study(_load_study(*item))
    elif _is_pair(item):
        table = tables.from_arrays(item[0], item[1], label)
        yield _from_table(table, label)
    elif hasattr(item, "columns") and hasattr(item, "to_dict"):
        yield _from_table(tables.from_frame(item, label, known, optional), label)
    elif hasattr(item, "__array__") or isinstance(item, Sequence):
        yield _from_table(tables.from_arrays(item, None, label), label)
    else:
        raise ValueError(f"{label} = {_checks.shown(item)}: {EXPECTED}")


def _is_pair(item: Any) -> bool:
    """Tell whether something is (X, y)."""
    if not isinstance(item, tuple) or len(item) != 2:
        return False
    x, y = item
    if isinstance(y, tuple) and hasattr(x, "__len__") and len(x) == len(y):
        y = list(y) if all(one is None or _checks.is_number(one) for one in y) else y
    return all(hasattr(part, "__array__") or isinstance(part, list) for part in (x, y))


def _is_matrix(item: Any) -> bool:
    """Tell whether a list holds points, and not runs."""
    if not isinstance(item, list) or not item:
        return False
    if all(type(row) is dict for row in item):
        return True
    return all(isinstance(row, list | tuple) and all(map(_checks.is_number, row)) for row in item)


def _is_study_name(item: Any) -> bool:
    """Tell whether something is (storage, name of a study)."""
    if not isinstance(item, tuple) or len(item) != 2 or not isinstance(item[1], str):
        return False
    storage = item[0]
    return "://" in storage if isinstance(storage, str) else hasattr(storage, "get_all_studies")


def _paths(given: str | os.PathLike, label: str) -> list[Path]:
    """Return the file of that name, or the files that a pattern such as runs/*.json matches."""
    path = _checks.path_of(label, given)
    if path.is_dir():
        raise ValueError(f"{label} = {str(path)!r} is a folder: expected files, '{path}/*.json'")
    if path.exists() or not glob.has_magic(str(path)):
        return [path]
    found = sorted(match for match in map(Path, glob.glob(str(path), recursive=True)))
    files = [match for match in found if not match.is_dir()]
    if not files:
        raise ValueError(f"{label} = {str(path)!r}: no file has such a name")
    return files


def _from_file(path: Path, known: Sequence[str], optional: Sequence[str]) -> "Source | Learned":
    check_plain(path)
    if path.suffix.lower() in (".csv", ".tsv"):
        return _from_table(tables.from_csv(path, known, optional), str(path))
    raw = path.read_bytes()
    if _is_lessons(raw):
        from infold.learning.learned import Learned

        return Learned.parse(raw, str(path))
    if not raw.lstrip()[:1] == b"{":
        raise ValueError(
            f"{path}: expected a run file or lessons of infold, "
            "or a CSV file (.csv) with the names of parameters in its first line"
        )
    return _from_contents(runfile.parse(raw, str(path)))


def _is_lessons(raw: bytes) -> bool:
    from infold.learning.learned import FORMAT

    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return isinstance(data, dict) and data.get("format") == FORMAT


def _from_contents(contents: runfile.Contents) -> Source:
    space = contents["space"]
    if contents["direction"] not in ("minimize", "maximize"):
        raise ValueError(
            f"{contents['source']}: direction = {contents['direction']!r:.60}: "
            "expected minimize or maximize"
        )
    record = Record(space, 1.0)
    for event, place in contents["events"]:
        if not isinstance(event, runfile.State):
            with runfile.blaming(contents["source"], place):
                record.add(event)
    pending = [point.point for point in record.pending]
    return _from_record(
        contents["source"], space, contents["direction"], record.evaluations, pending
    )


def _from_optimizer(item: Any, label: str) -> Source:
    optimizer: Optimizer = getattr(item, "optimizer", item)
    evaluations = item.evaluations if item is not optimizer else optimizer.evaluations
    if not isinstance(optimizer.direction, str):
        raise ValueError(f"{label} has several objectives: expected a run with one")
    return _from_record(
        label, optimizer.space, optimizer.direction, evaluations, list(optimizer.pending)
    )


def _from_record(
    name: str,
    space: Space,
    direction: str,
    evaluations: Sequence[Evaluation],
    pending: Sequence[Any],
) -> Source:
    """Return a run; designs without values where nothing says that any was ever evaluated.

    That is so where only pending points are there, or where no evaluation has a value or
    constraints and none says what went wrong.
    """
    evaluated = any(not e.failed or e.error is not None or e.constraints for e in evaluations)
    designs = [e.point for e in evaluations] or list(pending)
    constraints = [e.constraints for e in evaluations]
    return Source(
        name=name,
        named=space.named,
        parameters=space.parameters,
        points=[_by_name(space, point) for point in designs],
        values=np.array([e.value for e in evaluations]) if evaluated else None,
        direction=direction,
        constraints=constraints if evaluated and any(constraints) else (),
    )


def _by_name(space: Space, point: Any) -> Mapping[str, Any]:
    if isinstance(point, Mapping):
        return point
    return dict(zip(space.parameters, list(point), strict=True))


def _from_table(table: tables.Table, name: str) -> Source:
    return Source(
        name=name,
        named=table.named,
        parameters=dict.fromkeys(table.names),
        points=table.points,
        values=table.values,
    )


def _load_study(storage: Any, name: str) -> Any:
    try:
        import optuna
    except ImportError as error:
        raise ImportError(
            "a study of a storage needs Optuna: pip install 'infold[optuna]'"
        ) from error

    _checks.existing_storage(storage)
    try:
        return optuna.load_study(study_name=name, storage=storage)
    except KeyError as error:
        raise ValueError(f"{_checks.shown(storage)} has no study {name!r}") from error
    except Exception as error:  # of whichever database it is
        raise ValueError(
            f"{_checks.shown(storage)} cannot be opened: {type(error).__name__}: {error!s:.200}"
        ) from error


def _from_study(study: Any) -> Source:
    """Return a study: its finished trials, as the sampler counts them."""
    from infold.integrations import _optuna_trials as optuna_trials

    name = f"study {study.study_name}"
    if len(study.directions) != 1:
        raise ValueError(f"{name} has {len(study.directions)} objectives: expected one")
    direction = study.directions[0].name.lower()
    sign = -1.0 if direction == "maximize" else 1.0
    trials = [
        trial
        for trial in study.get_trials(deepcopy=False)
        if trial.state.is_finished() and trial.distributions
    ]
    parameters: dict[str, Parameter | None] = {}
    hull: dict[str, list[Parameter]] = {}
    for trial in trials:
        for parameter_name, distribution in trial.distributions.items():
            parameter = optuna_trials.user_parameter(distribution)
            first = parameters.setdefault(parameter_name, parameter)
            if parameter != first:
                hull.setdefault(parameter_name, []).append(parameter)
    constraints = optuna_trials.constraint_table(trials, set())
    return Source(
        name=name,
        named=True,
        parameters=parameters,
        points=[optuna_trials.user_params(trial) for trial in trials],
        values=sign * optuna_trials.losses(trials, sign) if trials else np.empty(0),
        direction=direction,
        constraints=[tuple(row) for row in constraints.tolist()] if constraints.size else (),
        hull=hull,
    )


def teaches_nothing(source: Source) -> str:
    """Return why nothing can be learned from a source; empty where something can."""
    if not len(source.points):
        return "it is empty"
    losses = source.losses
    if losses is None:
        return "it has one design" if len(source.points) == 1 else ""
    seen = losses[np.isfinite(losses)]
    if not len(seen):
        return "no evaluation succeeded"
    if len(seen) == 1:
        return "one evaluation has a value"
    return "all its values are equal" if math.isclose(np.ptp(seen), 0.0) else ""
