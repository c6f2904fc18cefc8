"""Time a suggestion through Optuna beside one through `Optimizer.ask`.

Both have the same method and know the same values, and they take turns. The method's own time
depends on the points that it suggested before. So the times that Optuna and `Optimizer.ask` add to
it are compared.
"""

import tempfile
import time
from dataclasses import dataclass, field

import numpy as np
import optuna
from optuna.distributions import FloatDistribution
from optuna.trial import create_trial
from rich.console import Console
from rich.table import Table

from infold import Optimizer
from infold.integrations.optuna import InfoldSampler
from infold.methods import Cache, Method, Suggestion, by_name
from infold.record import History

DIMENSION = 60
KNOWN = 300  # trials before the first suggestion
ROUNDS = 20
SPACE = {f"x{i}": FloatDistribution(0.0, 1.0) for i in range(DIMENSION)}


@dataclass
class Timed:
    """A method that records how long its suggestions take."""

    method: Method
    seconds: list[float] = field(default_factory=list)

    def suggest(
        self, history: History, q: int, key: tuple[int, ...], cache: Cache | None = None
    ) -> Suggestion:
        began = time.perf_counter()
        suggestion = self.method.suggest(history, q, key, cache)
        self.seconds.append(time.perf_counter() - began)
        return suggestion


def value(x: np.ndarray) -> float:
    return float(np.sum((x - 0.4) ** 2) + np.sin(5.0 * x[0] * x[1]))


def fill(study: optuna.Study, points: np.ndarray) -> optuna.Study:
    """Add a completed trial at each point."""
    for x in points:
        params = dict(zip(SPACE, x.tolist(), strict=True))
        study.add_trial(create_trial(params=params, distributions=SPACE, value=value(x)))
    return study


def ask_seconds(study: optuna.Study) -> float:
    """Seconds of one `study.ask`; the study is then told the value."""
    began = time.perf_counter()
    trial = study.ask(SPACE)
    took = time.perf_counter() - began
    study.tell(trial, value(np.array([trial.params[name] for name in SPACE])))
    return took


def measure(name: str, storage: str | None) -> list[float]:
    """Median milliseconds of four things.

    The method itself; what `Optimizer.ask` adds to it; what `study.ask` with our sampler adds to
    it; and `study.ask` with Optuna's random sampler.
    """
    points = np.random.default_rng(0).uniform(size=(KNOWN, DIMENSION))
    direct = Timed(by_name(name))
    sampled = Timed(by_name(name))
    optimizer = Optimizer([(0.0, 1.0)] * DIMENSION, method=direct, seed=0)
    for x in points:
        optimizer.tell(x, value(x))
    study = fill(
        optuna.create_study(storage=storage, sampler=InfoldSampler(method=sampled, seed=0)), points
    )
    plain = fill(
        optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler(seed=0)), points
    )
    rounds = []
    for _ in range(ROUNDS + 1):
        x = optimizer.ask()
        optimizer.tell(x, value(x))
        through_study = ask_seconds(study)
        rounds.append(
            (
                direct.seconds[-1],
                optimizer.ask_seconds - direct.seconds[-1],
                through_study - sampled.seconds[-1],
                ask_seconds(plain),
            )
        )
    return list(1e3 * np.median(rounds[1:], axis=0))  # the first round includes compilation


def main() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    table = Table(
        title=f"one suggestion, {DIMENSION} parameters, {KNOWN} trials: "
        f"milliseconds, medians of {ROUNDS}"
    )
    for column in (
        "method",
        "storage",
        "method alone",
        "+ Optimizer.ask",
        "+ study.ask",
        "RandomSampler",
    ):
        table.add_column(column, justify="right")
    for name in ("full_space", "mgpc"):
        with tempfile.TemporaryDirectory() as folder:
            for place, storage in (("memory", None), ("SQLite", f"sqlite:///{folder}/study.db")):
                table.add_row(name, place, *(f"{ms:.1f}" for ms in measure(name, storage)))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
