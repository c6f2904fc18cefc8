"""The command line: `infold run`, `infold minimize`, `infold speed`, `infold methods`, `infold problems`."""

import importlib.util
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from scipy.optimize import OptimizeResult

if TYPE_CHECKING:
    from infold.optimizer import Optimizer

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Bayesian optimization in learned feature spaces.")
console = Console()

Method = Annotated[str, typer.Option(help="How points are chosen; `infold methods` lists the ways.")]
Acquisition = Annotated[str | None, typer.Option(help="ei, pi or ucb.  [default: ei]")]
Features = Annotated[int | None, typer.Option(help="Dimension of the feature space.  [default: min(10, D // 2)]")]
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
    seed: Annotated[int, typer.Option(help="Of all randomness.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write the run here after every evaluation.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out.")] = False,
) -> None:
    """Optimize a test problem and show how it goes."""
    from infold import problems, runfile
    from infold.optimizer import Optimizer

    with _told_plainly():
        objective = problems.get(problem)
        if resume:
            if out is None or not out.exists():
                raise ValueError("--resume needs --out with the file of an earlier run")
            if (found := runfile.read(out)["metadata"].get("problem")) != problem:
                raise ValueError(f"{out} holds a run of {found}, not of {problem}")
            optimizer = Optimizer.load(out)
        else:
            if out is not None and out.exists():
                raise ValueError(f"{out} exists: add --resume to continue it, or choose another file")
            optimizer = Optimizer(
                [(0.0, 1.0)] * objective.dimension,
                method=method,
                acquisition=acquisition,
                n_features=features,
                n_initial=initial,
                initial="uniform",
                seed=seed,
            )
            optimizer.metadata = {"problem": problem, "method": method}

    def observe(x: np.ndarray) -> float:
        return objective.observe(x, optimizer.seed, len(optimizer))

    name = optimizer.metadata["method"]
    console.print(f"{problem} (D = {objective.dimension}) with {name}, seed {optimizer.seed}", highlight=False)
    interrupted = _drive(optimizer, observe, trials, out, minimum=objective.minimum)
    if optimizer.best is not None:
        x, value = optimizer.best
        regret = float(objective(np.asarray(x))) - objective.minimum
        console.print(f"best value {value:.6g}, regret {regret:.4g} (known minimum {objective.minimum:.6g})", highlight=False)
    _close(optimizer, out, interrupted, "continue with --resume")


@app.command("minimize")
def minimize_command(
    target: Annotated[str | None, typer.Argument(help="The objective, as module:function. It gets a dict.")] = None,
    space: Annotated[Path | None, typer.Option(help="TOML file with the parameters.")] = None,
    command: Annotated[str | None, typer.Option(help="Instead of a function: a program, './simulate {x1} {x2}'.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds per run of the program.")] = None,
    maximize: Annotated[bool, typer.Option("--maximize", help="Look for the largest value.")] = False,
    method: Method = "mgpc",
    acquisition: Acquisition = None,
    features: Features = None,
    trials: Trials = 100,
    initial: Initial = 10,
    seed: Annotated[int | None, typer.Option(help="Of all randomness.")] = None,
    workers: Annotated[int, typer.Option(help="Evaluations at once.")] = 1,
    max_failures: Annotated[int, typer.Option(help="So many failures in a row end the run.")] = 10,
    checkpoint: Annotated[Path | None, typer.Option(help="Written after every evaluation; continued if it exists.")] = None,
) -> None:
    """Optimize your own function or program."""
    from infold.optimizer import Optimizer
    from infold.space import Space

    with _told_plainly():
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
                raise ValueError(f"{checkpoint} holds a run without named parameters: choose another file")
            if maximize and optimizer.direction != "maximize":
                raise ValueError(f"{checkpoint} holds a run that minimizes: leave out --maximize or choose another file")
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
    console.print(f"{target or command} (D = {optimizer.space.dimension}), seed {optimizer.seed}{already}", highlight=False)
    if command is not None and workers > 1:
        with ThreadPoolExecutor(workers) as threads:  # each only waits for its program
            interrupted = _drive(optimizer, objective, trials, checkpoint, threads.map, max_failures)
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


def _objective(target: str | None, command: str | None, timeout: float | None, names: list[str]) -> Callable[[Any], float]:
    from infold.command import Command

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


@contextmanager
def _told_plainly() -> Iterator[None]:
    """Misuse ends the program with the error's text instead of a traceback."""
    try:
        yield
    except (ValueError, OSError) as error:
        console.print(str(error), style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(2) from None


class _Interrupt:
    """The first Ctrl-C lets the current evaluation finish, the second stops at once."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        console.print("stopping after this evaluation; Ctrl-C again to stop at once", style="yellow")


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
    from infold._minimize import drive
    from infold.compilation import cache_compilations
    from infold.report.progress import RunProgress

    cache_compilations()
    interrupt = _Interrupt()
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with RunProgress(trials, minimum=minimum, done=len(optimizer), console=console) as bar, _told_plainly():

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
        console.print(f"run kept in {path}{', ' + how if interrupted else ''}", highlight=False, soft_wrap=True)
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

    _list("problem", problems.NAMES, lambda name: f"{problems.summary(name)} D = {problems.get(name).dimension}.")


def _list(kind: str, names: tuple[str, ...], summary: Callable[[str], str]) -> None:
    table = Table(kind, "what it is", box=None)
    for name in names:
        table.add_row(name, summary(name))
    console.print(table)


@app.command("speed")
def speed_command(
    names: Annotated[str, typer.Option("--methods", help="Ours to time, separated by commas.")] = "mgpc,full_space",
    peers: Annotated[str, typer.Option(help="Others to time, or `none`.")] = "gpsampler,botorch,tpe,cmaes",
    evaluations: Annotated[str, typer.Option(help="Evaluations known, N.")] = "100,300",
    dimensions: Annotated[str, typer.Option(help="Numbers of parameters, D.")] = "60",
    repeats: Annotated[int, typer.Option(help="Suggestions timed per optimizer, beside the first.")] = 5,
    out: Annotated[Path | None, typer.Option(help="Write the measurements here, as lines of JSON.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw them here, as a PNG, SVG or PDF.")] = None,
) -> None:
    """Time suggestions of our methods and, where they are installed, of other optimizers."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from infold import methods
    from infold.experiments import contenders, speed

    with _told_plainly():
        ours = _listed("methods", names, methods.NAMES)
        others = [] if peers == "none" else _listed("peers", peers, tuple(contenders.PEERS))
        cells = [(n, d) for d in _numbers("dimensions", dimensions) for n in _numbers("evaluations", evaluations)]
        if repeats < 1:
            raise ValueError(f"--repeats {repeats}: expected a whole number of at least 1")
        if plot is not None and importlib.util.find_spec("matplotlib") is None:
            raise ValueError("--plot needs matplotlib: pip install 'infold[experiments]'")
    absent = [name for name in others if contenders.missing(name)]
    if absent:
        console.print(f"{', '.join(absent)} left out: pip install 'infold\\[peers]' has them", style="yellow")
    entrants = [*ours, *(name for name in others if name not in absent)]
    timings: list[speed.Timing] = []
    columns = BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}")
    with Progress(*columns, console=console) as bar, _told_plainly():
        task = bar.add_task("", total=len(cells) * len(entrants) * (repeats + 1))
        for n, d in cells:

            def report(name: str, n: int = n, d: int = d) -> None:
                bar.update(task, advance=1, description=f"{name}, N = {n}, D = {d}")

            able = [name for name in entrants if not speed.too_slow(name, n, d, timings)]
            timings += speed.compare(able, n, d, repeats=repeats, report=report)
            if out is not None:
                out.write_text("".join(speed.line(timing) + "\n" for timing in timings), encoding="utf-8")
    table = Table("optimizer", "N", "D", "seconds", "times the first row's", "first suggestion", box=None)
    for n, d in cells:
        cell = [t for t in timings if (t.n, t.dimension) == (n, d)]
        for t in cell:
            table.add_row(t.name, str(n), str(d), f"{t.median:.3g}", f"{t.median / cell[0].median:.2g}", f"{t.first:.3g} s")
    console.print(table)
    if plot is not None:
        from infold.experiments import figures

        figures.speed(timings, plot)
        console.print(f"drawn to {plot}", highlight=False, soft_wrap=True)


def _listed(option: str, text: str, known: tuple[str, ...]) -> list[str]:
    chosen = [name.strip() for name in text.split(",")]
    for name in chosen:
        if name not in known:
            raise ValueError(f"--{option} {name!r}: expected some of {', '.join(known)}")
    return chosen


def _numbers(option: str, text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = [0]
    if min(numbers) < 1:
        raise ValueError(f"--{option} {text!r}: expected positive whole numbers separated by commas")
    return numbers
