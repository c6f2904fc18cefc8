import io
import time

import numpy as np
from rich.console import Console

import infold
from infold.report import progress
from infold.report.progress import RunProgress


def shown(monkeypatch, **options) -> str:
    """Return what a terminal shows of a run."""
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=160)
    monkeypatch.setattr(progress, "Progress", lambda *columns, **_: original(*columns, **given))
    original, given = PROGRESS, {"console": console}
    infold.minimize(bounds=[(0.0, 1.0)], seed=0, progress=True, **options)
    return stream.getvalue()


PROGRESS = progress.Progress


def test_failures_before_the_first_value_show_no_number(monkeypatch):
    values = iter([np.nan, np.nan, 2.5])
    text = shown(monkeypatch, fun=lambda x: next(values), method="random", n_trials=3)
    assert "nan" not in text
    assert "no value yet" in text or "best 2.5" in text
    text = shown(monkeypatch, fun=lambda x: np.nan, method="random", n_trials=3)
    assert "nan" not in text
    assert "no value yet" in text


class Slow:
    """Method whose suggestions take a while."""

    def suggest(self, history, q, key, cache=None):
        time.sleep(0.6)
        return infold.methods.RandomSearch().suggest(history, q, key, cache)


def test_long_suggestion_is_explained_while_it_lasts(monkeypatch):
    monkeypatch.setattr(progress, "_LONG", 0.2)
    text = shown(monkeypatch, fun=lambda x: 1.0, method=Slow(), n_initial=1, n_trials=3)
    assert "compiling the first suggestion" in text
    assert "fitting the model" in text
    monkeypatch.setattr(progress, "_LONG", 20.0)
    text = shown(monkeypatch, fun=lambda x: 1.0, method=Slow(), n_initial=1, n_trials=3)
    assert "compiling" not in text


def test_regret_is_shown_where_the_minimum_is_known():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=160)
    result = infold.minimize(lambda x: 1.5, [(0.0, 1.0)], method="random", n_trials=2)
    with RunProgress(2, minimum=1.0, console=console) as bar:
        bar.update(result)
    assert "regret 0.5" in stream.getvalue()
