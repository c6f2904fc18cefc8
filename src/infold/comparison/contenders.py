"""Our optimizers and those of other libraries behind one interface.

Each is told evaluations and asked for points of a `Space`. Each is used as its documentation shows,
with its defaults. `missing` says which of them cannot be used for want of a package.
"""

import importlib.util
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from infold.space import Bool, Categorical, Float, Int, Parameter, Point, Space

if TYPE_CHECKING:
    from infold.methods import Method

PEERS = {
    "botorch": ("botorch",),
    "turbo": ("botorch",),
    "gpsampler": ("optuna", "torch"),
    "tpe": ("optuna",),
    "cmaes": ("optuna", "cmaes"),
}
"""Names of the optimizers of other libraries, the slowest first, and the packages each needs."""

CONTINUOUS = ("botorch", "turbo")
"""Names of the optimizers that take real numbers only."""

N_FIRST = 10  # points that all but our own methods begin with


class Contender(Protocol):
    """An optimizer over a space."""

    def tell(self, point: Point, value: float) -> None:
        """Take in an evaluation."""
        ...

    def ask(self, n: int = 1) -> list[Point]:
        """Suggest the next n points, which are all told before the next question."""
        ...


class Infold:
    """A method of infold, with the initial design that every user gets."""

    def __init__(self, method: "str | Method", space: Space, seed: int) -> None:
        from infold.optimizer import Optimizer

        self._optimizer = Optimizer(space, method=method, seed=seed)

    def tell(self, point: Point, value: float) -> None:
        self._optimizer.tell(point, value)

    def ask(self, n: int = 1) -> list[Point]:
        return self._optimizer.ask(n)


class Random:
    """Random search: the scrambled Sobol sequence of which others get the first points."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space = space
        self._seed = seed
        self._n_asked = N_FIRST - 1

    def tell(self, point: Point, value: float) -> None:
        pass

    def ask(self, n: int = 1) -> list[Point]:
        points = sobol_points(self._space, self._seed, self._n_asked, n)
        self._n_asked += n
        return points


class Optuna:
    """A sampler of Optuna, with its study in memory."""

    def __init__(self, sampler: str, space: Space, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._sampler = sampler
        self._seed = seed
        self._space = space
        self._study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
        self._distributions = {name: _distribution(p) for name, p in space.parameters.items()}
        self._create_trial = optuna.trial.create_trial
        self._begun = False
        self._waiting: dict[bytes, list[Any]] = {}

    def tell(self, point: Point, value: float) -> None:
        if asked := self._waiting.get(self._space.identity(point)):
            self._study.tell(asked.pop(0), value)
            return
        self._study.add_trial(
            self._create_trial(
                params=self._parameters(point), distributions=self._distributions, value=value
            )
        )

    def ask(self, n: int = 1) -> list[Point]:
        if not self._begun:
            self._study.sampler = self._make_sampler()
            self._begun = True
        points = []
        for _ in range(n):
            trial = self._study.ask(self._distributions)
            values = [trial.params[name] for name in self._distributions]
            point = dict(trial.params) if self._space.named else self._space.normalize(values)
            self._waiting.setdefault(self._space.identity(point), []).append(trial)
            points.append(point)
        return points

    def _parameters(self, point: Point) -> dict[str, Any]:
        normalized = self._space.normalize(point)
        if isinstance(normalized, Mapping):
            return dict(normalized)
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in zip(self._distributions, normalized, strict=True)
        }

    def _make_sampler(self) -> Any:
        from optuna import samplers

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some samplers are marked experimental
            if self._sampler == "gpsampler":
                return samplers.GPSampler(seed=self._seed)
            if self._sampler == "tpe":
                return samplers.TPESampler(seed=self._seed)
            # The best point so far is where the search starts, as its documentation advises.
            known = bool(self._study.trials)
            start = self._study.best_trial.params if known else None
            return samplers.CmaEsSampler(x0=start, seed=self._seed, warn_independent_sampling=False)


def _distribution(parameter: Parameter) -> Any:
    """Return Optuna's counterpart of a parameter."""
    from optuna import distributions

    match parameter:
        case Float(low, high, log, step):
            return distributions.FloatDistribution(low, high, log=log, step=step)
        case Int(low, high, log, step):
            return distributions.IntDistribution(low, high, log=log, step=step)
        case Categorical(choices):
            return distributions.CategoricalDistribution(choices)
        case Bool():
            return distributions.CategoricalDistribution((False, True))
    raise ValueError(f"{parameter!r}: Optuna has no counterpart of it")


def sobol_points(space: Space, seed: int, first: int, n: int) -> list[Point]:
    """Return n points of the scrambled Sobol sequence of our initial designs, from `first` on."""
    from infold.history import History
    from infold.methods import RandomSearch

    nothing = History(np.empty((0, space.dimension)), np.empty(0))
    return [space.decode(unit) for unit in RandomSearch().suggest(nothing, n, (seed, first)).x]


def first_points(space: Space, seed: int) -> list[Point]:
    """Return the points that peers are told first: the centre of the box, and Sobol points."""
    centre = space.decode(np.full(space.dimension, 0.5))
    return [centre, *sobol_points(space, seed, 0, N_FIRST - 1)]


def begins_by_itself(name: str) -> bool:
    """Whether the contender has an initial design of its own."""
    return name not in PEERS and name != "random"


def missing(name: str) -> str | None:
    """Name a package that the contender needs and that is not installed; None if all are."""
    needed = PEERS.get(name, ())
    return next((package for package in needed if importlib.util.find_spec(package) is None), None)


def create(name: str, space: Space, seed: int = 0) -> Contender:
    """Make the contender `name`.

    Args:
        name: name of a method of infold, or one of `PEERS`.
        space: what it searches.
        seed: seed of every random choice.
    """
    if name in CONTINUOUS:
        if space.rounding is not None:
            raise ValueError(f"{name} takes real numbers only: expected a space without others")
        from infold.comparison import botorch_peers

        peer = botorch_peers.BoTorch if name == "botorch" else botorch_peers.Turbo
        return peer(space, seed)
    if name in PEERS:
        return Optuna(name, space, seed)
    if name == "random":
        return Random(space, seed)
    return Infold(name, space, seed)
