"""What the commands share: the console, errors told plainly, lists in options."""

import importlib.util
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

console = Console()


@contextmanager
def told_plainly() -> Iterator[None]:
    """Misuse ends the program with the error's text instead of a traceback."""
    try:
        yield
    except (ValueError, OSError, ImportError) as error:
        console.print(str(error), style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(2) from None


def need(what: str, packages: Iterable[str], extra: str) -> None:
    """ValueError that says what to install, unless the packages are there."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise ValueError(f"{what} needs {package}: pip install 'infold[{extra}]'")


def listed(option: str, text: str, known: Iterable[str]) -> list[str]:
    """Names separated by commas, each of them `known`."""
    chosen = [name.strip() for name in text.split(",")]
    for name in chosen:
        if name not in known:
            raise ValueError(f"--{option} {name!r}: expected some of {', '.join(known)}")
    return chosen


def numbers(option: str, text: str) -> list[int]:
    """Positive whole numbers separated by commas."""
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = [0]
    if min(found) < 1:
        raise ValueError(
            f"--{option} {text!r}: expected positive whole numbers separated by commas"
        )
    return found
