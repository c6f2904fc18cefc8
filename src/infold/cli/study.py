"""Commands that repeat the paper's study: `infold reproduce`, `infold claims`, `infold figures`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from infold.cli.terminal import console, listed, need, numbers, told_plainly

if TYPE_CHECKING:
    from infold.paper.statistics import Curves
    from infold.paper.store import Cell, Store

app = typer.Typer()

Results = Annotated[Path, typer.Option(help="Folder that holds the runs.")]
_WIDTH = 150  # columns of the tables of claims: narrower ones would cut their numbers
_PACKAGES = ("joblib", "matplotlib", "optax", "pandas", "pyarrow")


@app.command()
def reproduce(
    problem: Annotated[str, typer.Argument(help="A test problem; `infold problems` lists them.")],
    names: Annotated[
        str | None,
        typer.Option(
            "--methods", help="Methods, separated by commas.  \\[default: the paper's nine]"
        ),
    ] = None,
    acquisitions: Annotated[
        str | None,
        typer.Option(
            help="Acquisition functions, separated by commas.  "
            "\\[default: ei,ucb,pi; for thomson: pi]"
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            help="Dimensions of the feature space, separated by commas.  "
            "\\[default: those of the paper]"
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(help="Number of seeds; each method runs once with each, from 0 on.")
    ] = 20,
    iterations: Annotated[
        int, typer.Option(help="Suggestions per run, after 10 initial evaluations.")
    ] = 300,
    jobs: Annotated[
        int | None, typer.Option(help="Runs at a time, one core each.  \\[default: all cores]")
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(help="Address of a Dask cluster to run on instead of this machine."),
    ] = None,
    results: Results = Path("results"),
) -> None:
    """Run the paper's experiments on a test problem.

    Runs are kept as they go. A sweep that was stopped continues with the same command.
    """
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from infold import _checks, methods, problems
    from infold.acquisition import functions
    from infold.paper import figures, runner, variants
    from infold.paper.store import Store

    with told_plainly():
        need("infold reproduce", _PACKAGES, "experiments")
        if dask is not None:
            need("--dask", ["distributed"], "dask")
        _checks.one_of("problem", problem, problems.NAMES)
        cells = runner.grid(
            problem,
            list(figures.METHODS) if names is None else listed("methods", names, variants.names()),
            runner.paper_acquisitions(problem)
            if acquisitions is None
            else listed("acquisitions", acquisitions, functions.NAMES),
            range(_checks.at_least("--seeds", seeds, 1)),
            None if features is None else numbers("features", features),
        )
        _checks.at_least("--iterations", iterations, 1)
        n_jobs = _checks.at_least("--jobs", os.cpu_count() or 1 if jobs is None else jobs, 1)
        workers = runner.local(n_jobs) if dask is None else runner.dask(dask)
        for cell in cells:  # report bad settings before the first run
            methods.check_dimension(variants.method(cell), problems.get(problem).dimension)
    evaluations = runner.N_INITIAL + iterations
    store = Store(results)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    try:
        with told_plainly(), Progress(*columns, console=console, speed_estimate_period=600) as bar:
            task = bar.add_task("", total=len(cells) * evaluations)

            def report(done: int, running: int, n_evaluations: int) -> None:
                text = f"{done} of {len(cells)} runs done, {running} running"
                bar.update(task, completed=n_evaluations, description=text, refresh=True)

            outcome = runner.sweep(cells, store, workers, evaluations=evaluations, report=report)
    except KeyboardInterrupt:
        console.print("stopped; the same command continues from here", style="yellow")
        raise typer.Exit(130) from None
    for cell, error in outcome.failed.items():
        console.print(
            f"{cell}: {error}", style="red", markup=False, highlight=False, soft_wrap=True
        )
    with told_plainly():
        _summarize(store, cells, evaluations)
        console.print(f"runs kept in {store.write_table()}", highlight=False, soft_wrap=True)
    if outcome.failed:
        raise typer.Exit(1)


def _summarize(store: "Store", cells: "list[Cell]", evaluations: int) -> None:
    """Print the median regret of each method, acquisition function and d."""
    import numpy as np

    from infold import problems

    ends: dict[tuple[str, str, int], list[float]] = {}
    for cell in cells:
        run = store.read(cell)
        if len(run.values) >= evaluations:
            regret = run.best[evaluations - 1] - problems.get(cell.problem).minimum
            ends.setdefault((cell.method, cell.acquisition, cell.n_features), []).append(regret)
    table = Table("method", "acquisition", "d", "seeds", "median regret", "quartiles", box=None)
    for (name, acquisition, d), regrets in ends.items():
        low, median, high = np.percentile(regrets, [25, 50, 75])
        table.add_row(
            name,
            acquisition,
            str(d or ""),
            str(len(regrets)),
            f"{median:.4g}",
            f"{low:.4g} to {high:.4g}",
        )
    console.print(table)


@app.command("claims")
def claims_command(
    results: Results = Path("results"),
    markdown: Annotated[
        Path | None, typer.Option(help="File to write all comparisons to, as Markdown tables.")
    ] = None,
) -> None:
    """Show which claims of the paper the runs reproduce, and every comparison behind them."""
    from infold.paper.report import report

    with told_plainly():
        found = report(_curves("infold claims", results), results / "growth.json")
        for columns in (found.comparisons, found.others, found.claims):
            table = Table(*columns.headings, box=None, width=max(console.width, _WIDTH))
            for row in columns.rows:
                table.add_row(*row)
            console.print(table, crop=False)
            console.print()
        if markdown is not None:
            markdown.write_text(found.to_markdown(), encoding="utf-8")
            console.print(f"written to {markdown}", highlight=False, soft_wrap=True)


@app.command("figures")
def figures_command(
    results: Results = Path("results"),
    out: Annotated[Path, typer.Option(help="Folder to draw them in.")] = Path("figures"),
) -> None:
    """Draw the paper's figures from the runs."""
    from infold.paper import figures, judging, runner

    with told_plainly():
        curves = _curves("infold figures", results)
        out.mkdir(parents=True, exist_ok=True)
        for problem in sorted({series.problem for series in curves}):
            path = out / f"{problem}.png"
            lengths = [runner.N_INITIAL + n for n in (runner.ITERATIONS, judging.LOOK)]
            figures.regrets(curves, problem, lengths).savefig(path, dpi=200)
            console.print(f"drawn to {path}", highlight=False, soft_wrap=True)


def _curves(command: str, results: Path) -> "Curves":
    """Read the regrets of all runs in the folder `results`, for the command of that name."""
    from infold.paper import statistics
    from infold.paper.store import Store

    need(command, _PACKAGES, "experiments")
    curves = statistics.curves(Store(results).table())
    if not curves:
        raise ValueError(
            f"{results} holds no runs: `infold reproduce` makes them; "
            "--results names the folder where they are"
        )
    return curves
