"""The command that compares optimizers on a suite of problems: `infold compare`."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infold.cli.terminal import console, listed, need, told_plainly

if TYPE_CHECKING:
    from infold.comparison.runs import Task

app = typer.Typer()


@app.command("compare")
def compare_command(
    optimizers: Annotated[
        str,
        typer.Option(
            help="Methods of infold, and botorch, turbo, gpsampler, tpe, cmaes or random; "
            "separated by commas."
        ),
    ] = "full_space,random,tpe,cmaes,gpsampler",
    problems: Annotated[
        str,
        typer.Option(
            help="Problems, separated by commas; or `all`, one half of them, `choice` or "
            "`report`, or the ten of `short`."
        ),
    ] = "all",
    seeds: Annotated[str, typer.Option(help="Seeds, such as 0-4 or 0,2,5.")] = "0-4",
    evaluations: Annotated[int, typer.Option(help="Evaluations of each run.")] = 300,
    batch: Annotated[int, typer.Option(help="Points that are asked for at once.")] = 1,
    processes: Annotated[
        int | None, typer.Option(help="Runs at a time, one core each.  \\[default: all cores]")
    ] = None,
    limit: Annotated[
        float | None, typer.Option(help="Seconds after which no more runs are begun.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder that keeps the runs.")] = Path(
        "results/comparison"
    ),
) -> None:
    """Run optimizers on a suite of problems, as far as they are installed.

    Runs are kept as they finish. A comparison that was stopped continues with the same command.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeElapsedColumn as Elapsed

    from infold import _checks, methods
    from infold.comparison import contenders, suite
    from infold.comparison.runs import Folder
    from infold.comparison.sweep import sweep, tasks

    with told_plainly():
        need("infold compare", ["joblib", "sklearn"], "experiments")
        known = list(dict.fromkeys([*methods.NAMES, *contenders.PEERS]))
        names = listed("optimizers", optimizers, known)
        groups = {"all": suite.NAMES, "short": suite.SHORT, **suite.HALVES}
        on = (
            list(groups[problems])
            if problems in groups
            else listed("problems", problems, suite.NAMES)
        )
        _checks.at_least("--evaluations", evaluations, 1)
        _checks.at_least("--batch", batch, 1)
        n_processes = _checks.at_least(
            "--processes", os.cpu_count() or 1 if processes is None else processes, 1
        )
        chosen_seeds = _whole_numbers("seeds", seeds)
    absent = [name for name in names if contenders.missing(name)]
    if absent:
        console.print(
            f"left out, because not installed: {', '.join(absent)}. "
            "pip install 'infold\\[peers]' installs them",
            style="yellow",
        )
    wanted = tasks([n for n in names if n not in absent], on, chosen_seeds, batch)
    columns = BarColumn(), MofNCompleteColumn(), Elapsed(), TextColumn("{task.description}")
    try:
        with told_plainly(), Progress(*columns, console=console) as bar:
            shown = bar.add_task("", total=len(wanted))

            def report(done: int, running: "Sequence[Task]") -> None:
                text = "; ".join(map(str, running[:2])) + ("; ..." if len(running) > 2 else "")
                bar.update(shown, completed=done, description=text, refresh=True)

            outcome = sweep(
                wanted,
                Folder(out),
                evaluations=evaluations,
                processes=n_processes,
                limit=limit,
                report=report,
            )
    except KeyboardInterrupt:
        console.print("stopped; the same command continues from here", style="yellow")
        raise typer.Exit(130) from None
    for task, error in outcome.failed.items():
        console.print(
            f"{task}: {error}", style="red", markup=False, highlight=False, soft_wrap=True
        )
    if outcome.left:
        console.print(
            f"{outcome.left} runs were not begun within {limit:g} s; "
            "the same command continues from here",
            style="yellow",
        )
    console.print(f"{outcome.done} runs kept in {out}", highlight=False, soft_wrap=True)
    if outcome.failed:
        raise typer.Exit(1)


def _whole_numbers(option: str, text: str) -> list[int]:
    """Read whole numbers and ranges of them: 0-4 or 0,2,5."""
    found: list[int] = []
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            found += range(int(first), int(last or first) + 1)
    except ValueError:
        found = []
    if not found:
        raise ValueError(f"--{option} {text!r}: expected whole numbers such as 0-4 or 0,2,5")
    return list(dict.fromkeys(found))
