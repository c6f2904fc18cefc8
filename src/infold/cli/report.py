"""The commands `infold report` and `infold watch`: a page to look at."""

from pathlib import Path
from typing import Annotated, Any

import typer

from infold.cli.terminal import console, told_plainly

app = typer.Typer()

Method = Annotated[
    str | None, typer.Option(help="Show the model of this method, not that of the run's own.")
]


@app.command("report")
def report_command(
    run: Annotated[str, typer.Argument(help="A run file; with --optuna, the name of a study.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page.")] = Path("report.html"),
    optuna: Annotated[
        str | None, typer.Option(help="Storage of an Optuna study, sqlite:///study.db.")
    ] = None,
    method: Method = None,
) -> None:
    """Write a report on a run: one page that needs nothing else."""
    from infold.compilation import cache_compilations

    cache_compilations()
    with told_plainly():
        if optuna is None:
            write_page(run, out, method=method)
        else:
            from infold.report.study import load_subject

            write_page(load_subject(optuna, run, method=method), out)


def write_page(run: Any, out: Path, *, method: str | None = None) -> None:
    """Write the report and say where it is."""
    from infold import report

    with told_plainly():
        report.write(run, out, method=method)
    size = out.stat().st_size / 1e6
    console.print(
        f"report written to {out} ({size:.1f} MB): open it in a browser",
        highlight=False,
        soft_wrap=True,
    )


@app.command("watch")
def watch_command(
    run: Annotated[Path, typer.Argument(help="A run file, which may not be there yet.")],
    port: Annotated[int, typer.Option(help="Port on this machine; 0 finds a free one.")] = 8765,
    method: Method = None,
) -> None:
    """Serve the report on this machine, and follow the run while it is written."""
    from infold.compilation import cache_compilations
    from infold.report.watching import Watcher, server

    cache_compilations()
    with told_plainly(), server(Watcher(run, method), port) as served:
        address, found = served.server_address[:2]
        console.print(
            f"watching {run} at http://{address!s}:{found}/ (Ctrl-C ends it)",
            highlight=False,
            soft_wrap=True,
        )
        try:
            served.serve_forever()
        except KeyboardInterrupt:
            console.print("stopped")
