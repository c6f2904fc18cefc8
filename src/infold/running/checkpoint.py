"""The run file of a run in progress: locked, compared with what the caller wants, kept up to date.

`open_run` begins or continues a run; `keeping` saves it while it is driven.
"""

import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from infold import _checks, methods, objectives, runfile
from infold.methods import settings
from infold.models.base import features
from infold.optimizer import Optimizer
from infold.runfile.files import check_plain
from infold.runfile.locks import Lock
from infold.space import Space

SETTINGS = (
    "method",
    "n_features",
    "acquisition",
    "noise",
    "n_initial",
    "initial",
    "seed",
    "direction",
    "earlier",
)
"""Arguments of `Optimizer` that a run file decides once it is written."""

_SAVES = 10  # in a row that must have failed before a run ends for want of its file,
_SECONDS = 60.0  # and how long that must have taken: somebody may be making room
_log = logging.getLogger(__name__)


class Checkpoint:
    """A run and the file that it is kept in, if any."""

    def __init__(
        self,
        optimizer: Optimizer,
        path: str | os.PathLike | None,
        *,
        resumed: bool = False,
    ) -> None:
        self.optimizer = optimizer
        # Absolute, since the objective may go to another folder.
        self.path = None if path is None else Path(path).absolute()
        self.resumed = resumed
        """Whether the run was there before."""
        self._error: Exception | None = None
        self._n_failed = 0
        self._failing_since = 0.0
        self._n_saved = 0

    def save(self) -> bool:
        """Write the run; False when that has failed for so long that the run should end.

        A failure is logged and nothing is lost: the run is in memory, and the next save writes
        what this one could not.
        """
        try:
            self.save_or_raise()
        except (OSError, ValueError) as error:
            now = time.monotonic()
            if self._error is None:
                self._failing_since = now
            self._error = error
            self._n_failed += 1
            _log.warning("%s; the run goes on and tries again", self._trouble)
            return self._n_failed < _SAVES or now - self._failing_since < _SECONDS
        return True

    def save_or_raise(self) -> None:
        """Write the run, or raise."""
        if self.path is not None:
            self.optimizer.save(self.path)
        if self._error is not None:
            _log.warning("%s is written again", self.path)
        self._error = None
        self._n_failed = 0
        self._n_saved = len(self.optimizer)

    @property
    def _trouble(self) -> str:
        n_missing = len(self.optimizer) - self._n_saved
        what = (
            f"the last {n_missing} evaluations are" if n_missing > 1 else "the last evaluation is"
        )
        held = f"{what} in memory alone" if n_missing else "it lacks no evaluation"
        return f"{self.path} could not be written ({self._error}): {held}"

    def remark(self, message: str) -> str:
        """Return why a run ended, and what its file lacks, where it lacks something."""
        return message if self._error is None else f"{message}; {self._trouble}"


@contextmanager
def open_run(
    path: str | os.PathLike | None,
    *,
    space: object = None,
    where: object = None,
    given: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
    progress: bool = False,
) -> Iterator[Checkpoint]:
    """Continue the run in a file, or begin one where there is no file.

    The file is locked until the context ends: another process, or another run of this one, that
    opens it gets a BlockingIOError. Nothing is written here.

    Args:
        path: the run file; None for a run that is not kept.
        space: the parameters, as `Optimizer` takes them; not needed to continue. Those of the file
            must be the same.
        where: known constraints on points; needed to continue where functions are among them.
        given: arguments of `Optimizer` that the caller gave explicitly, of those in `SETTINGS`;
            None stands for one that was not given. Those of the file must be the same.
        defaults: arguments of `Optimizer` for a new run; those of the file may be others.
        progress: whether to show a progress bar while a new run learns from earlier ones.
    """
    wanted = {name: value for name, value in (given or {}).items() if value is not None}
    for name in wanted:
        _checks.one_of("setting", name, SETTINGS)
    if path is None:
        yield Checkpoint(_begin(space, where, wanted, defaults, progress), None)
        return
    path = _checks.path_of("checkpoint", path)
    check_plain(path)
    lock = Lock(path)
    lock.acquire()
    try:
        if os.path.exists(path):
            yield Checkpoint(_continue(path, space, where, wanted), path, resumed=True)
        else:
            yield Checkpoint(_begin(space, where, wanted, defaults, progress), path)
    finally:
        lock.release()


def _begin(
    space: object,
    where: object,
    given: dict[str, Any],
    defaults: Mapping[str, Any] | None,
    progress: bool,
) -> Optimizer:
    if space is None:
        raise ValueError("bounds = None: expected a space, or a checkpoint of an earlier run")
    return Optimizer(space, where=where, **{**(defaults or {}), **given}, progress=progress)


def _continue(
    path: str | os.PathLike, space: object, where: object, given: dict[str, Any]
) -> Optimizer:
    contents = runfile.read(path)
    known = None if space is None else Space.of(space, where)
    if known is not None and known.where is not None:
        where = known.where.constraints
    method = given.get("method")
    if isinstance(method, str):
        optimizer = Optimizer.restore(contents, where=where)
    else:
        own = contents["method"].get("own")
        if method is not None and own is not None and methods.name_of(method) != own:
            raise _contradiction(path, "method", own, methods.name_of(method))
        optimizer = Optimizer.restore(contents, method=method, where=where)
    if known is not None and known != optimizer.space:
        raise ValueError(f"{path} holds a run in another space: delete it or choose another file")
    if "earlier" in given and optimizer.lessons is None:
        _log.warning(
            "earlier is left out: %s holds a run that goes on as it began, without lessons of "
            "earlier runs",
            path,
        )
    saved = _settings(optimizer)
    for name, value in given.items():
        if name == "earlier":
            continue  # what it taught is in the file, and it need not be there any more
        if name == "method" and not isinstance(value, str):
            continue  # compared with all its settings when the file was loaded
        if name == "direction":
            value = objectives.directions_of(value)
            value = value if len(value) > 1 else value[0]
        if saved[name] != value:
            raise _contradiction(path, name, saved[name], value)
    return optimizer


def _settings(optimizer: Optimizer) -> dict[str, Any]:
    """Return what a run has of `SETTINGS`; None for what its method does not have."""
    model: Any = getattr(optimizer.method, "model", None)
    n_features = None
    if hasattr(model, "n_features"):
        n_features = model.n_features
        if n_features != "auto":
            n_features = features(n_features, optimizer.space.dimension)
    return {
        "method": methods.name_of(optimizer.method),
        "n_features": n_features,
        "acquisition": getattr(getattr(optimizer.method, "acquisition", None), "name", None),
        "noise": settings.value(optimizer.method, "noise"),
        "n_initial": optimizer.n_initial,
        "initial": optimizer.initial,
        "seed": optimizer.seed,
        "direction": optimizer.direction,
    }


def _contradiction(path: object, name: str, saved: object, given: object) -> ValueError:
    has = f"{name} = {saved!r}"
    if saved is None:  # a noise that was not given is learned
        has = "no noise given" if name == "noise" else f"a method that has no {name}"
    return ValueError(
        f"{name} = {_checks.shown(given)}: {path} holds a run with {has}; "
        f"leave {name} out to continue it, or choose another file"
    )


@contextmanager
def keeping(
    optimizer: Optimizer, checkpoint: str | os.PathLike | Checkpoint | None
) -> Iterator[Checkpoint]:
    """Save a run now, so that what cannot be written is known at once, and once more at the end.

    Args:
        optimizer: the run.
        checkpoint: its file, which is locked meanwhile; or what `open_run` gave.
    """
    if isinstance(checkpoint, Checkpoint):
        kept, lock = checkpoint, None
    else:
        kept = Checkpoint(optimizer, checkpoint)
        lock = None if checkpoint is None else Lock(checkpoint)
    if lock is not None:
        lock.acquire()
    try:
        kept.save_or_raise()
        try:
            yield kept
        finally:
            kept.save()
    finally:
        if lock is not None:
            lock.release()
