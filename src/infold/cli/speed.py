"""The command that times optimizers side by side: `infold speed`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from infold.cli.terminal import console, listed, need, numbers, told_plainly

app = typer.Typer()


@app.command("speed")
def speed_command(
    names: Annotated[
        str, typer.Option("--methods", help="Methods of infold to time, separated by commas.")
    ] = "mgpc,full_space",
    peers: Annotated[
        str, typer.Option(help="Other optimizers to time, separated by commas, or `none`.")
    ] = "gpsampler,botorch,tpe,cmaes",
    evaluations: Annotated[
        str, typer.Option(help="Numbers N of known evaluations, separated by commas.")
    ] = "100,300",
    dimensions: Annotated[
        str, typer.Option(help="Numbers D of parameters, separated by commas.")
    ] = "60",
    repeats: Annotated[
        int, typer.Option(help="Suggestions to time per optimizer, after a first one.")
    ] = 5,
    out: Annotated[
        Path | None, typer.Option(help="File to write the measurements to, as lines of JSON.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="File to draw the measurements to: PNG, SVG or PDF.")
    ] = None,
) -> None:
    """Time the suggestions of infold and of other optimizers, as far as they are installed."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from infold import methods
    from infold.comparison import contenders, speed

    with told_plainly():
        ours = listed("methods", names, methods.NAMES)
        others = [] if peers == "none" else listed("peers", peers, tuple(contenders.PEERS))
        cells = [
            (n, d)
            for d in numbers("dimensions", dimensions)
            for n in numbers("evaluations", evaluations)
        ]
        if repeats < 1:
            raise ValueError(f"--repeats {repeats}: expected a whole number of at least 1")
        if plot is not None:
            need("--plot", ["matplotlib"], "experiments")
    absent = [name for name in others if contenders.missing(name)]
    if absent:
        console.print(
            f"left out, because not installed: {', '.join(absent)}. "
            "pip install 'infold[peers]' installs them",
            style="yellow",
        )
    entrants = [*ours, *(name for name in others if name not in absent)]
    timings: list[speed.Timing] = []
    columns = BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}")
    with Progress(*columns, console=console) as bar, told_plainly():
        task = bar.add_task("", total=len(cells) * len(entrants) * (repeats + 1))
        for n, d in cells:

            def report(name: str, n: int = n, d: int = d) -> None:
                bar.update(task, advance=1, description=f"{name}, N = {n}, D = {d}")

            able = [name for name in entrants if not speed.too_slow(name, n, d, timings)]
            timings += speed.compare(able, n, d, repeats=repeats, report=report)
            if out is not None:
                out.write_text(
                    "".join(speed.line(timing) + "\n" for timing in timings), encoding="utf-8"
                )
    table = Table(
        "optimizer", "N", "D", "seconds", "ratio to first row", "first suggestion", box=None
    )
    for n, d in cells:
        cell = [t for t in timings if (t.n, t.dimension) == (n, d)]
        for t in cell:
            table.add_row(
                t.name,
                str(n),
                str(d),
                f"{t.median:.3g}",
                f"{t.median / cell[0].median:.2g}",
                f"{t.first:.3g} s",
            )
    console.print(table)
    if plot is not None:
        from infold.comparison import figures

        figures.speed(timings, plot)
        console.print(f"drawn to {plot}", highlight=False, soft_wrap=True)
