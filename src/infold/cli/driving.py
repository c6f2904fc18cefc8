"""Runs as the command line shows them: a progress line, signals, the end in words."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from infold.cli.terminal import console, told_plainly
from infold.running.interruption import Interruption

if TYPE_CHECKING:
    from infold.optimizer import Optimizer
    from infold.running.checkpoint import Checkpoint
    from infold.running.limits import Limits


def drive_shown(
    kept: "Checkpoint",
    objective: Callable[[Any], Any],
    trials: int,
    *,
    minimum: float | None = None,
    workers: int = 1,
    timeout: float | None = None,
    on_error: str = "continue",
    limits: "Limits | None" = None,
) -> Interruption:
    """Run with a progress line; return what came in between, if anything.

    Args:
        kept: the run and its file, written after every evaluation.
        objective: what to evaluate.
        trials: evaluations in all.
        minimum: least value of the objective, where it is known; shows the regret.
        workers: evaluations at once.
        timeout: seconds that one evaluation may take.
        on_error: "continue" or "raise".
        limits: what ends the run earlier.
    """
    from infold.compilation import cache_compilations
    from infold.report.progress import RunProgress
    from infold.running.drive import drive

    cache_compilations()
    optimizer = kept.optimizer

    def announce(text: str) -> None:
        console.print(text, style="yellow", highlight=False, markup=False, soft_wrap=True)

    with Interruption(announce) as interruption:
        try:
            with (
                RunProgress(trials, minimum=minimum, done=len(optimizer), console=console) as bar,
                # An exception that was to be raised is shown with all its lines.
                told_plainly() if on_error == "continue" else nullcontext(),
            ):
                result = drive(
                    optimizer,
                    objective,
                    trials,
                    workers=workers,
                    timeout=timeout,
                    on_error=on_error,
                    limits=limits,
                    checkpoint=kept,
                    progress=bar,
                    interruption=interruption,
                )
            if not interruption.asked and len(optimizer) < trials:
                announce(result.message)
        except (KeyboardInterrupt, SystemExit):
            if not interruption.forced:
                raise
    if interruption.asked and len(optimizer) < trials:
        announce(
            f"{interruption.name}: stopped after {len(optimizer)} of {trials} evaluations, "
            f"{len(optimizer.pending)} pending"
        )
    return interruption


def close_run(
    optimizer: "Optimizer", trials: int, path: Path | None, interruption: Interruption, how: str
) -> None:
    """Say where the run is kept; exit with status 128 + signal where one stopped it.

    Args:
        optimizer: the run.
        trials: evaluations that were to be made.
        path: run file.
        interruption: signals that came during the run.
        how: how to continue it.
    """
    interrupted = interruption.asked and len(optimizer) < trials
    if path is not None and path.exists():
        console.print(
            f"run kept in {path}{', ' + how if interrupted else ''}",
            highlight=False,
            soft_wrap=True,
        )
    if interrupted:
        raise typer.Exit(interruption.status)
