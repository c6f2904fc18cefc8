"""A live line about a run: trials done, best value, regret, seconds per suggestion, time left."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

if TYPE_CHECKING:
    from infold._minimize import Result

_LONG = 2.0  # seconds of a suggestion after which a word is said about it


class RunProgress:
    """A line that is shown while a run is on."""

    def __init__(
        self,
        n_trials: int,
        *,
        minimum: float | None = None,
        done: int = 0,
        console: Console | None = None,
    ) -> None:
        """
        Args:
            n_trials: evaluations after which the run ends.
            minimum: least value that the objective has, where it is known; shows the regret.
            done: evaluations made before.
            console: where the line is shown; standard output when None.
        """
        self._doing = _Doing()
        self._progress = Progress(
            TextColumn("trial"),
            MofNCompleteColumn(),
            BarColumn(),
            TextColumn("{task.fields[best]}"),
            TextColumn("{task.fields[speed]}"),
            TextColumn("left"),
            TimeRemainingColumn(),
            self._doing,
            console=console,
        )
        self._minimum = minimum
        self._task = self._progress.add_task(
            "run", total=n_trials, completed=done, best="", speed=""
        )
        self._seconds: list[float] = []

    def __enter__(self) -> "RunProgress":
        self._progress.start()
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    @contextmanager
    def suggesting(self) -> Iterator[None]:
        """Say so where what happens in the block, a suggestion, takes more than two seconds."""
        self._doing.since = time.monotonic()
        try:
            yield
        finally:
            self._doing.took_long(time.monotonic() - self._doing.since)
            self._doing.since = None

    def update(self, result: "Result") -> None:
        """Show the state after one more evaluation."""
        self._seconds = [*self._seconds[-19:], result.optimizer.ask_seconds]
        speed = f"{np.median(self._seconds):.2f} s per suggestion"
        self._progress.update(
            self._task, completed=len(result.func_vals), best=self._best(result), speed=speed
        )

    def _best(self, result: "Result") -> str:
        """Return what is known of the best point, in words."""
        if not len(result.pareto_x):
            return "no value yet"
        if not np.any(result.optimizer.feasible):
            return "no feasible point yet"
        if result.optimizer.n_objectives > 1:
            return f"front of {len(result.pareto_x)}"
        if len(result.constraints):
            return f"best feasible {result.fun:.5g}"
        regret = "" if self._minimum is None else f"  regret {result.fun - self._minimum:.3g}"
        return f"best {result.fun:.5g}{regret}"


class _Doing(ProgressColumn):
    """A word about a suggestion that takes long; the line asks for it several times a second."""

    def __init__(self) -> None:
        super().__init__()
        self.since: float | None = None
        """When the suggestion began; None while there is none."""
        self._compiled = False

    def took_long(self, seconds: float) -> None:
        """Note that a suggestion has been made: what comes next need hardly be compiled."""
        self._compiled = self._compiled or seconds > _LONG

    def render(self, task: Task) -> Text:
        since = self.since
        if since is None or time.monotonic() - since < _LONG:
            return Text("")
        return Text("fitting the model" if self._compiled else "compiling the first suggestion")
