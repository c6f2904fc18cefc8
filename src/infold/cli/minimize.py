"""The command `infold minimize`: the user's own function or program."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from infold.cli.driving import close_run, drive_shown
from infold.cli.objective import find_objective
from infold.cli.options import Acquisition, Earlier, Features, Initial, Method, Noise, Trials
from infold.cli.terminal import console, told_plainly

if TYPE_CHECKING:
    from infold.optimizer import Optimizer

app = typer.Typer()


@app.command("minimize")
def minimize_command(
    objective: Annotated[
        str | None,
        typer.Argument(
            help="The objective, as module:function or path/to/file.py:function. It gets a dict."
        ),
    ] = None,
    space: Annotated[Path | None, typer.Option(help="TOML file with the parameters.")] = None,
    command: Annotated[
        str | None,
        typer.Option(
            help="Instead of a function: a program, './simulate {x1} {x2}'. It prints the value on "
            "its last line, or one for each --direction, and after them the constraints, satisfied "
            "where at most 0, with spaces between."
        ),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds per evaluation; a longer one has failed.")
    ] = None,
    maximize: Annotated[
        bool, typer.Option("--maximize", help="Look for the largest value.")
    ] = False,
    direction: Annotated[
        str | None,
        typer.Option(help="Of several objectives: minimize or maximize for each, with commas."),
    ] = None,
    method: Method = None,
    acquisition: Acquisition = None,
    features: Features = None,
    noise: Noise = None,
    trials: Trials = 100,
    initial: Initial = None,
    earlier: Earlier = None,
    seed: Annotated[int | None, typer.Option(help="Seed of every random choice.")] = None,
    workers: Annotated[int, typer.Option(help="Evaluations at once.")] = 1,
    max_failures: Annotated[
        int, typer.Option(help="Number of failures in a row that ends the run.")
    ] = 10,
    on_error: Annotated[
        str, typer.Option(help="What an exception in the objective does: continue or raise.")
    ] = "continue",
    max_seconds: Annotated[
        float | None, typer.Option(help="Seconds after which no further evaluation begins.")
    ] = None,
    target: Annotated[float | None, typer.Option(help="A value that ends the run.")] = None,
    patience: Annotated[
        int | None,
        typer.Option(help="Number of evaluations without a better value that ends the run."),
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Written after every evaluation; continued if it exists.")
    ] = None,
) -> None:
    """Optimize your own function or program."""
    from infold.running.checkpoint import open_run
    from infold.running.drive import check_arguments
    from infold.running.limits import Limits
    from infold.space import Space

    with ExitStack() as stack:
        with told_plainly():
            limits = Limits(
                max_failures=max_failures, max_seconds=max_seconds, target=target, patience=patience
            )
            resuming = checkpoint is not None and checkpoint.exists()
            if (objective is None) == (command is None):
                raise ValueError("expected an objective: either module:function, or --command")
            if space is None and not resuming:
                raise ValueError("--space is missing: expected a TOML file with the parameters")
            opened = open_run(
                checkpoint,
                space=None if space is None else Space.from_toml(space),
                given={
                    "method": method,
                    "acquisition": acquisition,
                    "noise": noise,
                    "n_features": features,
                    "n_initial": initial,
                    "seed": seed,
                    "direction": _direction(direction, maximize),
                    "earlier": earlier or None,
                },
                progress=True,
            )
            kept = stack.enter_context(opened)
            optimizer = kept.optimizer
            if not optimizer.space.named:
                raise ValueError(
                    f"{checkpoint} holds a run without named parameters: choose another file"
                )
            example = optimizer.space.decode(np.full(optimizer.space.dimension, 0.5))
            fun = find_objective(objective, command, dict(example))
            check_arguments(fun, trials, workers, None, timeout, on_error)
        already = f", {len(optimizer)} evaluations already done" if len(optimizer) else ""
        console.print(
            f"{objective or command} (D = {optimizer.space.dimension}), "
            f"seed {optimizer.seed}{already}",
            highlight=False,
        )
        interruption = drive_shown(
            kept, fun, trials, workers=workers, timeout=timeout, on_error=on_error, limits=limits
        )
    if optimizer.best is None:
        console.print("no evaluation succeeded", style="red")
    else:
        several = optimizer.n_objectives > 1
        x, value = optimizer.best[-1] if several else optimizer.best
        console.print(f"{_best_words(optimizer, value)} at", highlight=False)
        settings = x.values() if isinstance(x, dict) else x
        for name, setting in zip(optimizer.space.parameters, settings, strict=True):
            console.print(f"  {name} = {setting!r}", highlight=False, markup=False, soft_wrap=True)
        _say_noise(optimizer)
    close_run(optimizer, trials, checkpoint, interruption, "the same command continues it")
    if not np.any(optimizer.feasible):
        raise typer.Exit(1)


def _direction(direction: str | None, maximize: bool) -> list[str] | str | None:
    """Return what --direction and --maximize say; None where they say nothing."""
    if direction is None:
        return "maximize" if maximize else None
    if maximize:
        raise ValueError("--maximize goes with one objective: write --direction alone")
    return [word.strip() for word in direction.split(",")]


def _best_words(optimizer: "Optimizer", value: Any) -> str:
    """Say what the best value is, or that of the last point of the front."""
    shown = " ".join(f"{number:.6g}" for number in np.atleast_1d(value))
    if not np.any(optimizer.feasible):
        has = f" has the value {shown}," if np.all(np.isfinite(value)) else " is"
        return f"no feasible point; the least violation{has}"
    best = "best feasible value" if optimizer.history.n_constraints else "best value"
    if optimizer.n_objectives > 1:
        n = len(optimizer.front)
        best = f"{n} point{'s' * (n != 1)} on the front, the last found:\n{best}"
    return f"{best} {shown}"


def _say_noise(optimizer: "Optimizer") -> None:
    """Say what the model takes for the best point, where evaluations are noisy."""
    from infold._minimize import noisy_model

    model = noisy_model(optimizer)
    if model is None:
        return
    x, value = model.best()
    index = next(i for i, point in enumerate(optimizer.points) if point == x)
    console.print(
        f"values are noisy (deviation {model.noise**0.5:.2g}): by the model evaluation {index + 1} "
        f"is the best, with {value:.6g}",
        highlight=False,
    )
