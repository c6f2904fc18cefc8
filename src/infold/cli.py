"""The command line: `infold run`, `infold methods`, `infold problems`."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from scipy.optimize import OptimizeResult

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Bayesian optimization in learned feature spaces.")
console = Console()

_NOISE = 1  # separates the stream of the problem's noise from the optimizer's


@app.command()
def run(
    problem: Annotated[str, typer.Argument(help="A test problem; `infold problems` lists them.")],
    method: Annotated[str, typer.Option(help="How points are chosen; `infold methods` lists the ways.")] = "mgpc",
    acquisition: Annotated[str | None, typer.Option(help="ei, pi or ucb.  [default: ei]")] = None,
    features: Annotated[int | None, typer.Option(help="Dimension of the feature space.  [default: min(10, D // 2)]")] = None,
    trials: Annotated[int, typer.Option(help="Evaluations in all, the initial ones included.")] = 100,
    initial: Annotated[int, typer.Option(help="Evaluations before the model is used.")] = 10,
    seed: Annotated[int, typer.Option(help="Of all randomness.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write the run here after every evaluation.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out.")] = False,
) -> None:
    """Optimize a test problem and show how it goes."""
    from infold import problems
    from infold.minimize import drive
    from infold.optimizer import Optimizer, read_run
    from infold.report.progress import RunProgress

    try:
        objective = problems.get(problem)
        metadata = {"problem": problem}
        if resume:
            if out is None or not out.exists():
                raise ValueError("--resume needs --out with the file of an earlier run")
            if (found := read_run(out)["metadata"].get("problem")) != problem:
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
    except ValueError as error:
        console.print(str(error), style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(2) from None

    def observe(x: np.ndarray) -> float:
        """Noise is drawn by trial, so that a resumed run sees the noise that the uninterrupted one would have."""
        return objective.observe(x, np.random.default_rng([optimizer.seed, _NOISE, len(optimizer)]))

    def keep(result: OptimizeResult) -> None:
        if out is not None:
            optimizer.save(out, metadata)
        bar.update(result)

    console.print(f"{problem} (D = {objective.dimension}) with {type(optimizer.method).__name__}, seed {optimizer.seed}")
    interrupted = False
    with RunProgress(trials, minimum=objective.minimum, done=len(optimizer), console=console) as bar:
        try:
            drive(optimizer, observe, trials, callback=keep)
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        console.print(f"[yellow]stopped after {len(optimizer)} of {trials} evaluations[/yellow]")
    if optimizer.best is not None:
        x, value = optimizer.best
        regret = float(objective(np.asarray(x))) - objective.minimum
        console.print(f"best value {value:.6g}, regret {regret:.4g} (known minimum {objective.minimum:.6g})", highlight=False)
    if out is not None and len(optimizer):
        more = ", continue with --resume" if interrupted else ""
        console.print(f"run kept in {out}{more}", highlight=False, soft_wrap=True)
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


def _list(kind: str, names: tuple[str, ...], summary: object) -> None:
    table = Table(kind, "what it is", box=None)
    for name in names:
        table.add_row(name, summary(name))  # type: ignore[operator]
    console.print(table)
