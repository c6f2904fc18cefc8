"""A live line about learning from earlier runs: the part done, and what comes next."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn


class LearningProgress:
    """A line that is shown while lessons are learned."""

    def __init__(self, console: Console | None = None) -> None:
        """
        Args:
            console: where the line is shown; standard output when None.
        """
        self._progress = Progress(
            TextColumn("learning from earlier runs"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[doing]}"),
            console=console,
        )
        self._task = self._progress.add_task("learn", total=1.0, doing="")

    def __enter__(self) -> "LearningProgress":
        self._progress.start()
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._progress.update(self._task, completed=1.0, doing="")
        self._progress.stop()

    def update(self, part: float, doing: str) -> None:
        """Show which part is done, from 0 to 1, and what comes next."""
        self._progress.update(self._task, completed=part, doing=doing)
