"""Helpers that all commands share: the console, plain error messages, lists in options."""

import importlib.util
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

console = Console(markup=False)  # commands and paths may have square brackets


@contextmanager
def told_plainly() -> Iterator[None]:
    """End the program with an error's text alone, without a traceback, and with exit status 2."""
    try:
        yield
    except (ValueError, OSError, ImportError) as error:
        text = str(error)
        if isinstance(error, OSError) and error.filename and error.strerror:
            text = f"{error.filename}: {error.strerror}"
        console.print(text, style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(2) from None


def need(what: str, packages: Iterable[str], extra: str) -> None:
    """Raise a ValueError that says what to install if one of the packages is missing.

    Args:
        what: command or option that needs the packages.
        packages: names of the packages.
        extra: name of the extra of infold that installs them.
    """
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise ValueError(f"{what} needs {package}: pip install 'infold[{extra}]'")


def listed(option: str, text: str, known: Iterable[str]) -> list[str]:
    """Split names at commas, and check that each is one of `known`."""
    chosen = [name.strip() for name in text.split(",")]
    for name in chosen:
        if name not in known:
            raise ValueError(f"--{option} {name!r}: expected one of {', '.join(known)}")
    return list(dict.fromkeys(chosen))


def numbers(option: str, text: str) -> list[int]:
    """Read positive whole numbers that are separated by commas."""
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = [0]
    if min(found) < 1:
        raise ValueError(
            f"--{option} {text!r}: expected positive whole numbers separated by commas"
        )
    return found
