"""The command `infold learn`: what earlier runs teach, kept in a file."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from infold.cli.options import number_or_auto
from infold.cli.terminal import console, told_plainly

app = typer.Typer()
_SHOWN = 10  # parameters whose relevance is shown as a bar
_WIDTH = 20  # characters of the longest bar


@app.command("learn")
def learn_command(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Run files and CSV files, 'runs/*.json' for several; with --optuna, the names of "
            "studies."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Where to keep what was learned.")
    ] = Path("features.json"),
    space: Annotated[
        Path | None, typer.Option(help="TOML file with the parameters of the runs to come.")
    ] = None,
    optuna: Annotated[
        str | None, typer.Option(help="Storage of Optuna studies, sqlite:///study.db.")
    ] = None,
    maximize: Annotated[
        bool, typer.Option("--maximize", help="Large values in CSV files are good.")
    ] = False,
    features: Annotated[
        Any,
        typer.Option(
            help="Number of shared features, or auto.  \\[default: auto]",
            metavar="INTEGER",
            parser=number_or_auto,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
) -> None:
    """Learn from earlier runs what helps with the next one of their kind."""
    with told_plainly():
        import infold
        from infold.learning.learned import MATTER, check_replaceable
        from infold.space import Space

        check_replaceable(out)  # before minutes of work
        infold.cache_compilations()
        learned = infold.learn(
            list(runs) if optuna is None else [(optuna, name) for name in runs],
            space=None if space is None else Space.from_toml(space),
            n_features="auto" if features is None else features,
            seed=seed,
            direction="maximize" if maximize else "minimize",
            progress=True,
        )
        learned.save(out)
    table = Table(box=None, show_header=False)
    for what, text in learned.summary():
        if what != MATTER:  # shown below
            table.add_row(what, text)
    console.print(table, highlight=False, markup=False)
    _print_relevance(learned.relevance)
    console.print(f"kept in {out}: use it with --earlier {out}", highlight=False, soft_wrap=True)


def _print_relevance(relevance: dict[str, float]) -> None:
    """Show how much the parameters matter that matter most."""
    if not relevance:
        return
    table = Table("parameter", "relevance", "", box=None)
    for name, share in list(relevance.items())[:_SHOWN]:
        table.add_row(name, f"{share:.2f}", "█" * round(share * _WIDTH))
    console.print(table, highlight=False)
