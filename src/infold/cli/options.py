"""Options that several commands share."""

from typing import Annotated, Any

import typer

Method = Annotated[
    str | None,
    typer.Option(help="How points are chosen; `infold methods` lists the ways.  \\[default: auto]"),
]
Acquisition = Annotated[str | None, typer.Option(help="ei, pi or ucb.  \\[default: ei]")]


def number_or_auto(text: str) -> int | str:
    """Return what an option says that takes a whole number or `auto`."""
    return text if text == "auto" else int(text)


Features = Annotated[
    Any,
    typer.Option(
        help="Dimension of the feature space, or auto.  \\[default: min(10, D // 2)]",
        metavar="INTEGER",
        parser=number_or_auto,
    ),
]
Noise = Annotated[
    float | None,
    typer.Option(help="Variance of the noise of an evaluation, 0 for none.  \\[default: learned]"),
]
Earlier = Annotated[
    list[str] | None,
    typer.Option(
        help="Earlier runs to learn from: run files, CSV files or what `infold learn` wrote; "
        "'runs/*.json' for several. May be given more than once."
    ),
]
Trials = Annotated[int, typer.Option(help="Evaluations in all, the initial ones included.")]
Initial = Annotated[
    int | None, typer.Option(help="Evaluations before the model is used.  \\[default: 10]")
]
