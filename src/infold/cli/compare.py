"""The command that compares optimizers on a suite of problems: `infold compare`."""

import inspect
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infold.cli.terminal import console, listed, need, told_plainly

if TYPE_CHECKING:
    from infold.comparison.runs import Run, Task
    from infold.comparison.sweep import Maker

app = typer.Typer()


@app.command("compare")
def compare_command(
    optimizers: Annotated[
        str | None,
        typer.Option(
            help="Methods of infold, and botorch, turbo, gpsampler, tpe, cmaes or random; "
            "separated by commas.  \\[default: the default method, and all but the two first]"
        ),
    ] = None,
    problems: Annotated[
        str,
        typer.Option(
            help="Problems, separated by commas; or `all`, one half of them, `choice` or "
            "`report`, or the ten of `short`."
        ),
    ] = "all",
    suite_name: Annotated[
        str | None,
        typer.Option(
            "--suite",
            help="Instead of problems of one value: `constrained`, or `several` objectives; with "
            "infold's methods, penalty, gpsampler, tpe and nsga2.",
        ),
    ] = None,
    seeds: Annotated[str, typer.Option(help="Seeds, such as 0-4 or 0,2,5.")] = "0-4",
    evaluations: Annotated[int, typer.Option(help="Evaluations of each run.")] = 300,
    batch: Annotated[int, typer.Option(help="Points that are asked for at once.")] = 1,
    processes: Annotated[
        int | None, typer.Option(help="Runs at a time, one core each.  \\[default: all cores]")
    ] = None,
    limit: Annotated[
        float | None, typer.Option(help="Seconds after which no more runs are begun.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder that keeps the runs; the table of all is beside it.  "
            "\\[default: results/comparison, or that of the suite's name]"
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Page to write tables and figures of all runs to, in place of running. The first "
            "of --optimizers is compared with the others."
        ),
    ] = None,
) -> None:
    """Run optimizers on a suite of problems, or report the runs that are there.

    Runs are kept as they finish. A comparison that was stopped continues with the same command,
    and runs that the table has are not made again.
    """
    from infold import _checks
    from infold.comparison import outcomes

    maker: "Maker"
    out = out or Path("results") / (suite_name or "comparison")
    with told_plainly():
        _checks.at_least("--evaluations", evaluations, 1)
        _checks.at_least("--batch", batch, 1)
        numbered = _seeds(seeds)
        n_processes = _checks.at_least(
            "--processes", os.cpu_count() or 1 if processes is None else processes, 1
        )
        if suite_name is not None:
            names, chosen = _named_outcomes(suite_name, optimizers, problems, batch)
            if report is not None:
                _report_outcomes(report, out, suite_name, names)
                return
            wanted, maker = outcomes.tasks(names, chosen, numbered), outcomes.run_one
        else:
            usual, chosen = _named(optimizers, problems)
            if report is not None:
                _report(report, out, usual, chosen, batch)
                return
            wanted, maker = _values(usual, chosen, numbered, batch)
    _run(wanted, maker, evaluations, n_processes, limit, out)


def _named(optimizers: str | None, problems: str) -> tuple[list[str] | None, list[str]]:
    """Return the optimizers, None for the usual ones, and the problems of one value."""
    from infold import methods
    from infold.comparison import contenders, suite

    known = list(dict.fromkeys([*methods.NAMES, *contenders.PEERS]))
    names = None if optimizers is None else listed("optimizers", optimizers, known)
    groups = {"all": suite.NAMES, "short": suite.SHORT, **suite.HALVES}
    if problems in groups:
        return names, list(groups[problems])
    return names, listed("problems", problems, suite.NAMES)


def _values(
    names: list[str] | None, problems: list[str], seeds: list[int], batch: int
) -> "tuple[list[Task], Maker]":
    """Return the runs on problems of one value of the optimizers that are installed."""
    from infold.comparison import contenders
    from infold.comparison.runs import run_one
    from infold.comparison.sweep import tasks

    need("infold compare", ["joblib", "sklearn"], "experiments")
    if names is None:
        quick = (peer for peer in contenders.PEERS if peer not in contenders.CONTINUOUS)
        names = [_default_method(), *quick, "random"]
    absent = [name for name in names if contenders.missing(name)]
    if absent:
        console.print(
            f"left out, because not installed: {', '.join(absent)}. "
            "pip install 'infold[peers]' installs them",
            style="yellow",
        )
    able = [name for name in names if name not in absent]
    return tasks(able, problems, seeds, batch), run_one


def _named_outcomes(
    suite: str, optimizers: str | None, problems: str, batch: int
) -> tuple[list[str], list[str]]:
    """Return the optimizers and problems of a suite with constraints or several objectives."""
    from infold import _checks, methods
    from infold.comparison import outcomes

    known = outcomes.SUITES[_checks.one_of("--suite", suite, outcomes.SUITES)]
    chosen = list(known) if problems == "all" else listed("problems", problems, known)
    able = [*methods.NAMES, outcomes.PENALTY, *outcomes.PEERS]
    names = listed("optimizers", optimizers or ",".join(outcomes.USUAL[suite]), able)
    if batch != 1:
        raise ValueError(f"--batch {batch}: expected 1 with --suite")
    need("infold compare", ["joblib"], "experiments")
    if suite == "several":
        need("infold compare --suite several", ["moocore"], "objectives")
    return names, chosen


def _run(
    wanted: "Sequence[Task]",
    maker: "Maker",
    evaluations: int,
    processes: int,
    limit: float | None,
    out: Path,
) -> None:
    """Make the runs that neither folder nor table has, and show how it goes."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    from infold.comparison.runs import Folder
    from infold.comparison.sweep import sweep

    with told_plainly():
        stored, kept = _kept(out)
    known = {run.task for run in kept if len(run.values) >= evaluations}
    missing = [task for task in wanted if task not in known]
    if len(missing) < len(wanted):
        console.print(
            f"{len(wanted) - len(missing)} runs are in {stored} already; "
            "--out names another folder, for a comparison of its own",
            highlight=False,
            soft_wrap=True,
        )
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    try:
        with told_plainly(), Progress(*columns, console=console) as bar:
            shown = bar.add_task("", total=len(missing))

            def show(done: int, running: "Sequence[Task]") -> None:
                text = "; ".join(map(str, running[:2])) + ("; ..." if len(running) > 2 else "")
                bar.update(shown, completed=done, description=text, refresh=True)

            outcome = sweep(
                missing,
                Folder(out),
                evaluations=evaluations,
                maker=maker,
                processes=processes,
                limit=limit,
                report=show,
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


def _report(
    path: Path, out: Path, optimizers: list[str] | None, problems: Sequence[str], batch: int
) -> None:
    """Bring the table beside the folder up to date, and write tables and figures of its runs."""
    need("--report", ["matplotlib", "pandas", "pyarrow", "sklearn"], "experiments")
    from infold.comparison import contenders, page

    stored, runs = _stored(out)
    chosen = [run for run in runs if run.task.problem in problems]
    counted = [run for run in chosen if run.task.batch == batch]
    names = optimizers or sorted({run.task.optimizer for run in counted})
    if optimizers is None:
        first = min(names, key=lambda n: (n != _default_method(), n in contenders.PEERS))
        names = [first, *(name for name in names if name != first)]
    fields = page.fields(counted, names[0], names[1:])
    if not fields:
        raise ValueError(
            f"{out} has no problem with runs of all of {', '.join(names)} that are "
            f"{page.MARKS[0]} evaluations long: name fewer in --optimizers, or make those runs"
        )
    if batch == 1:
        fields += page.in_batches(chosen, names[0], names[1:])
    named = [run for run in counted if run.task.optimizer in names]
    for written in [stored, *page.write(path, fields, named)]:
        console.print(f"written to {written}", highlight=False, soft_wrap=True)


def _report_outcomes(path: Path, out: Path, suite: str, optimizers: list[str]) -> None:
    """Bring the table beside the folder up to date, and write tables of its runs."""
    from infold.comparison import outcomes_page

    stored, runs = _stored(out)
    outcomes_page.write(path, suite, runs, optimizers)
    for written in (stored, path):
        console.print(f"written to {written}", highlight=False, soft_wrap=True)


def _kept(out: Path) -> "tuple[Path, list[Run]]":
    """Return the table beside the folder, and its runs."""
    from infold.comparison import table

    need("infold compare", ["pandas", "pyarrow"], "experiments")
    stored = out.with_suffix(".parquet")
    return stored, table.read(stored)


def _stored(out: Path) -> "tuple[Path, list[Run]]":
    """Return the table beside the folder, and the runs of both, which it has from now on."""
    from infold.comparison import table
    from infold.comparison.runs import Folder

    stored, kept = _kept(out)
    runs = table.merge(kept, Folder(out).runs())
    if not runs:
        raise ValueError(
            f"{out} holds no runs: `infold compare` makes them; --out names the folder"
        )
    table.write(stored, runs)
    return stored, runs


def _default_method() -> str:
    """Return the name of the method that users get who do not choose one."""
    from infold.optimizer import Optimizer

    return inspect.signature(Optimizer).parameters["method"].default


def _seeds(text: str) -> list[int]:
    """Read seeds, singly or in ranges: 0-4 or 0,2,5."""
    found: list[int] = []
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            found += range(int(first), int(last or first) + 1)
    except ValueError:
        found = []
    if not found:
        raise ValueError(f"--seeds {text!r}: expected whole numbers such as 0-4 or 0,2,5")
    return list(dict.fromkeys(found))
