"""The command line: `infold run`, `infold minimize` and the lists; others are beside this file."""

import importlib.util
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.table import Table
from scipy.optimize import OptimizeResult

from infold.cli import speed, study
from infold.cli.terminal import console, told_plainly

if TYPE_CHECKING:
    from infold.optimizer import Optimizer

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Bayesian optimization in learned feature spaces.",
)
app.add_typer(speed.app)
app.add_typer(study.app)
Method = Annotated[
    str, typer.Option(help="How points are chosen; `infold methods` lists the ways.")
]
Acquisition = Annotated[str | None, typer.Option(help="ei, pi or ucb.  \\[default: ei]")]
Features = Annotated[
    int | None, typer.Option(help="Dimension of the feature space.  \\[default: min(10, D // 2)]")
]
Trials = Annotated[int, typer.Option(help="Evaluations in all, the initial ones included.")]
Initial = Annotated[int, typer.Option(help="Evaluations before the model is used.")]


@app.command()
def run(
    problem: Annotated[str, typer.Argument(help="A test problem; `infold problems` lists them.")],
    method: Method = "mgpc",
    acquisition: Acquisition = None,
    features: Features = None,
    trials: Trials = 100,
    initial: Initial = 10,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Write the run here after every evaluation.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out.")] = False,
) -> None:
    """Optimize a test problem and show how it goes."""
    from infold import methods, problems, runfile
    from infold.optimizer import Optimizer

    with told_plainly():
        objective = problems.get(problem)
        if resume:
            if out is None or not out.exists():
                raise ValueError("--resume needs --out with the file of an earlier run")
            if (found := runfile.read(out)["metadata"].get("problem")) != problem:
                raise ValueError(f"{out} holds a run of {found}, not of {problem}")
            optimizer = Optimizer.load(out)
        else:
            if out is not None and out.exists():
                raise ValueError(
                    f"{out} exists: add --resume to continue it, or choose another file"
                )
            extra = {"problem": problem} if "problem" in methods.settings_of(method) else {}
            optimizer = Optimizer(
                [(0.0, 1.0)] * objective.dimension,
                method=methods.by_name(
                    method, acquisition=acquisition, n_features=features, **extra
                ),
                n_initial=initial,
                initial="uniform",
                seed=seed,
            )
            optimizer.metadata = {"problem": problem, "method": method}

    def observe(x: np.ndarray) -> float:
        return objective.observe(x, optimizer.seed, len(optimizer))

    name = optimizer.metadata["method"]
    console.print(
        f"{problem} (D = {objective.dimension}) with {name}, seed {optimizer.seed}", highlight=False
    )
    interrupted = _drive(optimizer, observe, trials, out, minimum=objective.minimum)
    if optimizer.best is not None:
        x, value = optimizer.best
        regret = float(objective(np.asarray(x))) - objective.minimum
        console.print(
            f"best value {value:.6g}, regret {regret:.4g} (known minimum {objective.minimum:.6g})",
            highlight=False,
        )
    _close(optimizer, out, interrupted, "continue with --resume")


@app.command("minimize")
def minimize_command(
    target: Annotated[
        str | None, typer.Argument(help="The objective, as module:function. It gets a dict.")
    ] = None,
    space: Annotated[Path | None, typer.Option(help="TOML file with the parameters.")] = None,
    command: Annotated[
        str | None, typer.Option(help="Instead of a function: a program, './simulate {x1} {x2}'.")
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds per run of the program.")] = None,
    maximize: Annotated[
        bool, typer.Option("--maximize", help="Look for the largest value.")
    ] = False,
    method: Method = "mgpc",
    acquisition: Acquisition = None,
    features: Features = None,
    trials: Trials = 100,
    initial: Initial = 10,
    seed: Annotated[int | None, typer.Option(help="Seed of every random choice.")] = None,
    workers: Annotated[int, typer.Option(help="Evaluations at once.")] = 1,
    max_failures: Annotated[int, typer.Option(help="So many failures in a row end the run.")] = 10,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Written after every evaluation; continued if it exists.")
    ] = None,
) -> None:
    """Optimize your own function or program."""
    from infold.optimizer import Optimizer
    from infold.space import Space

    with told_plainly():
        resuming = checkpoint is not None and checkpoint.exists()
        if (target is None) == (command is None):
            raise ValueError("expected an objective: either module:function, or --command")
        if space is None and not resuming:
            raise ValueError("--space is missing: expected a TOML file with the parameters")
        parameters = None if space is None else Space.from_toml(space)
        if resuming:
            optimizer = Optimizer.load(str(checkpoint))
            if parameters is not None and parameters != optimizer.space:
                raise ValueError(f"{checkpoint} holds a run in another space: choose another file")
            if not optimizer.space.named:
                raise ValueError(
                    f"{checkpoint} holds a run without named parameters: choose another file"
                )
            if maximize and optimizer.direction != "maximize":
                raise ValueError(
                    f"{checkpoint} holds a run that minimizes: leave out --maximize, "
                    "or choose another file"
                )
        else:
            optimizer = Optimizer(
                parameters,
                method=method,
                acquisition=acquisition,
                n_features=features,
                n_initial=initial,
                seed=seed,
                direction="maximize" if maximize else "minimize",
            )
        objective = _objective(target, command, timeout, list(optimizer.space.parameters))
    already = f", {len(optimizer)} evaluations already done" if len(optimizer) else ""
    console.print(
        f"{target or command} (D = {optimizer.space.dimension}), seed {optimizer.seed}{already}",
        highlight=False,
    )
    if command is not None and workers > 1:
        with ThreadPoolExecutor(workers) as threads:  # each only waits for its program
            interrupted = _drive(
                optimizer, objective, trials, checkpoint, threads.map, max_failures
            )
    else:
        interrupted = _drive(optimizer, objective, trials, checkpoint, workers, max_failures)
    if optimizer.best is None:
        console.print("no evaluation succeeded", style="red")
    else:
        x, value = optimizer.best
        console.print(f"best value {value:.6g} at", highlight=False)
        settings = x.values() if isinstance(x, dict) else x
        for name, setting in zip(optimizer.space.parameters, settings, strict=True):
            console.print(f"  {name} = {setting!r}", highlight=False, markup=False, soft_wrap=True)
    _close(optimizer, checkpoint, interrupted, "the same command continues it")
    if optimizer.best is None:
        raise typer.Exit(1)


def _objective(
    target: str | None, command: str | None, timeout: float | None, names: list[str]
) -> Callable[[Any], float]:
    from infold.evaluation.program import Command

    if command is not None:
        program = Command(command, timeout)
        program.check(names)
        return program
    module, _, function = str(target).partition(":")
    if not function:
        raise ValueError(f"objective = {target!r}: expected module:function")
    sys.path.insert(0, os.getcwd())
    try:
        objective = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"objective = {target!r}: {error}") from error
    if not callable(objective):
        raise ValueError(f"objective = {target!r}: expected a function")
    return objective


class _Interrupt:
    """The first Ctrl-C lets the current evaluation finish, the second stops at once."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        console.print(
            "stopping after this evaluation; Ctrl-C again to stop at once", style="yellow"
        )


def _drive(
    optimizer: "Optimizer",
    objective: Callable[[Any], float],
    trials: int,
    path: Path | None,
    workers: int | Callable = 1,
    max_failures: int = 10,
    minimum: float | None = None,
) -> bool:
    """Run with a progress line; True when it was interrupted."""
    from infold._drive import drive
    from infold.compilation import cache_compilations
    from infold.report.progress import RunProgress

    cache_compilations()
    interrupt = _Interrupt()
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with (
            RunProgress(trials, minimum=minimum, done=len(optimizer), console=console) as bar,
            told_plainly(),
        ):

            def report(result: OptimizeResult) -> bool:
                bar.update(result)
                return interrupt.asked

            result = drive(
                optimizer,
                objective,
                trials,
                workers=workers,
                max_failures=max_failures,
                checkpoint=path,
                callback=report,
            )
        if not interrupt.asked and len(optimizer) < trials:
            console.print(result.message, style="yellow", markup=False)
    except KeyboardInterrupt:
        interrupt.asked = True
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupt.asked and len(optimizer) < trials:
        console.print(f"stopped after {len(optimizer)} of {trials} evaluations", style="yellow")
        return True
    return False


def _close(optimizer: "Optimizer", path: Path | None, interrupted: bool, how: str) -> None:
    if path is not None and path.exists():
        console.print(
            f"run kept in {path}{', ' + how if interrupted else ''}",
            highlight=False,
            soft_wrap=True,
        )
    if interrupted:
        raise typer.Exit(130)


@app.command("methods")
def list_methods() -> None:
    """List the ways of choosing points."""
    from infold import methods

    _list("method", methods.NAMES, methods.summary)


@app.command("problems")
def list_problems() -> None:
    """List the test problems."""
    from infold import problems

    _list(
        "problem",
        problems.NAMES,
        lambda name: f"{problems.summary(name)} D = {problems.get(name).dimension}.",
    )


def _list(kind: str, names: tuple[str, ...], summary: Callable[[str], str]) -> None:
    table = Table(kind, "what it is", box=None)
    for name in names:
        table.add_row(name, summary(name))
    console.print(table)
