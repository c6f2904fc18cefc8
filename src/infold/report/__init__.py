"""Reports on runs: the progress line, and a page to look at."""

import os
from pathlib import Path
from typing import Any

from infold import _checks


def write(run: Any, path: str | os.PathLike, *, method: str | None = None) -> None:
    """Write a report on a run: one HTML file that needs nothing else, and no network.

    >>> result = infold.minimize(f, bounds)
    >>> infold.report.write(result, "report.html")

    It shows convergence, the best point, constraints, slices, importance, how well the model
    predicts, the feature space where the method has one, failures and times; with several
    objectives the front and how it grew. The run is only read.

    Args:
        run: an `Optimizer`, a result of `minimize`, the path of a run file, or an Optuna study.
        path: where the page is written; a page that is there is replaced, and nothing else.
        method: name of the method whose model is shown, in place of the run's own; needed nowhere.
    """
    from infold.report.page import page
    from infold.report.subject import subject_of
    from infold.runfile.files import replace

    path = _checks.path_of("path", path)
    check_replaceable(path)
    replace(path, page(subject_of(run, method=method)))


def check_replaceable(path: Path) -> None:
    """Raise ValueError where a file is at `path` that is no page, such as the run file itself."""
    from infold.runfile.files import check_plain

    check_plain(path)
    try:
        with path.open("rb") as file:
            start = file.read(64).strip().lower()
    except FileNotFoundError:
        return
    if start and not start.startswith((b"<!doctype html", b"<html")):
        raise ValueError(f"{path} is not a page and is not overwritten: choose another file")
