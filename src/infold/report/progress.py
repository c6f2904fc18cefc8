"""A live line about a run: trials done, best value, regret, seconds per suggestion, time left."""

from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from infold._minimize import Result


class RunProgress:
    """A line that is shown while a run is on; `update` is a callback of `infold.minimize`."""

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
        self._progress = Progress(
            TextColumn("trial"),
            MofNCompleteColumn(),
            BarColumn(),
            TextColumn("{task.fields[best]}"),
            TextColumn("{task.fields[speed]}"),
            TextColumn("left"),
            TimeRemainingColumn(),
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

    def update(self, result: "Result") -> None:
        """Show the state after one more evaluation."""
        self._seconds = [*self._seconds[-19:], result.optimizer.ask_seconds]
        best = f"best {result.fun:.5g}"
        if self._minimum is not None:
            best += f"  regret {result.fun - self._minimum:.3g}"
        speed = f"{np.median(self._seconds):.2f} s per suggestion"
        self._progress.update(self._task, completed=len(result.func_vals), best=best, speed=speed)
