"""The command line: `infold run` and the lists; other commands are beside this file."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table
from typer.core import TyperGroup

from infold.cli import compare, learn, minimize, report, speed, study
from infold.cli.driving import close_run, drive_shown
from infold.cli.options import Acquisition, Earlier, Features, Initial, Method, Trials
from infold.cli.terminal import console, told_plainly

_FIRST = ("minimize", "report", "watch", "run")  # what most people look for


class _Commands(TyperGroup):
    """The commands, those first that most people look for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*_FIRST, *(name for name in self.commands if name not in _FIRST)]


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    help="Bayesian optimization of expensive functions of many variables.",
)
app.add_typer(compare.app)
app.add_typer(speed.app)
app.add_typer(study.app)
app.add_typer(minimize.app)
app.add_typer(learn.app)
app.add_typer(report.app)


def _show_version(wanted: bool) -> None:
    if wanted:
        from infold import __version__

        console.print(f"infold {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Bayesian optimization of expensive functions of many variables."""


@app.command()
def run(
    problem: Annotated[str, typer.Argument(help="A test problem; `infold problems` lists them.")],
    method: Method = None,
    acquisition: Acquisition = None,
    features: Features = None,
    trials: Trials = 100,
    initial: Initial = None,
    earlier: Earlier = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of every random choice.  \\[default: 0]")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the run here after every evaluation.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out.")] = False,
    page: Annotated[
        Path | None, typer.Option("--report", help="Write a page about the run here when it ends.")
    ] = None,
) -> None:
    """Optimize a test problem and show how it goes."""
    from infold import methods, problems, runfile
    from infold.report import check_replaceable
    from infold.running.checkpoint import open_run

    with ExitStack() as stack:
        with told_plainly():
            if page is not None:
                check_replaceable(page)
            objective = problems.get(problem)
            given: dict[str, Any] = {
                "n_initial": initial,
                "seed": seed,
                "earlier": earlier or None,
            }
            if resume:
                if out is None or not out.exists():
                    raise ValueError("--resume needs --out with the file of an earlier run")
                if (found := runfile.read(out)["metadata"].get("problem")) != problem:
                    raise ValueError(f"{out} holds a run of {found}, not of {problem}")
                given |= {"method": method, "acquisition": acquisition, "n_features": features}
            else:
                if out is not None and out.exists():
                    raise ValueError(
                        f"{out} exists: add --resume to continue it, or choose another file"
                    )
                name = method or methods.DEFAULT
                extra = {"problem": problem} if "problem" in methods.settings_of(name) else {}
                given["method"] = methods.by_name(
                    name, acquisition=acquisition, n_features=features, **extra
                )
            prefers = getattr(given["method"], "initial", None)
            # The paper's methods begin as in the paper.
            initial_points = prefers if prefers == "centre" else "uniform"
            opened = open_run(
                out,
                space=[(0.0, 1.0)] * objective.dimension,
                given=given,
                defaults={"initial": initial_points, "seed": 0},
                progress=True,
            )
            kept = stack.enter_context(opened)
        optimizer = kept.optimizer
        optimizer.metadata = {**optimizer.metadata, "problem": problem}

        def observe(x: np.ndarray) -> float:
            return objective.observe(x, optimizer.seed, len(optimizer))

        console.print(
            f"{problem} (D = {objective.dimension}) with {methods.name_of(optimizer.method)}, "
            f"seed {optimizer.seed}",
            highlight=False,
        )
        interruption = drive_shown(kept, observe, trials, minimum=objective.minimum)
    if optimizer.best is not None:
        x, value = optimizer.best
        regret = float(objective(np.asarray(x))) - objective.minimum
        console.print(
            f"best value {value:.6g}, regret {regret:.4g} (known minimum {objective.minimum:.6g})",
            highlight=False,
        )
    if page is not None and len(optimizer):
        from infold.report.subject import Subject

        report.write_page(Subject(optimizer, title=problem), page)
    close_run(optimizer, trials, out, interruption, "continue with --resume")


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
