"""Ask for points, tell their values: Algorithm 1 of the paper, with the evaluation left to the caller."""

import itertools
import math
import os
import secrets
import time
from typing import Any

import numpy as np

from infold import _checks, methods, runfile
from infold.methods import Cache, Method, RandomSearch
from infold.record import History
from infold.space import Point, Space

DIRECTIONS = ("minimize", "maximize")
_TRIES = 100  # random points tried in place of a known one; a space that small is exhausted anyway


class Optimizer:
    """A run of optimization.

    >>> optimizer = Optimizer([(0.0, 1.0)] * 30, seed=0)
    >>> x = optimizer.ask()
    >>> optimizer.tell(x, float(((x - 0.5) ** 2).sum()))
    """

    def __init__(
        self,
        space: object,
        *,
        method: str | Method = "mgpc",
        n_features: int | None = None,
        acquisition: str | None = None,
        n_initial: int = 10,
        initial: str = "sobol",
        seed: int | None = None,
        direction: str = "minimize",
    ) -> None:
        """
        Args:
            space: a list of (low, high) pairs, a dict of parameters, a SciPy `Bounds` or a `Space`.
            method: a name from `infold.methods.NAMES`, or a method.
            n_features: dimension of the feature space; default min(10, D // 2), at least 1.
            acquisition: "ei" (the default), "pi" or "ucb".
            n_initial: evaluations before the model is used; those told without asking count.
            initial: how they are chosen, "sobol" or "uniform".
            seed: of all randomness; drawn at random and kept in `seed` when None.
            direction: "minimize" or "maximize".
        """
        self.space = Space.of(space)
        method = methods.of(method, n_features=n_features, acquisition=acquisition)
        # Too many features are an error now, not at the first suggestion.
        methods.features(getattr(method, "n_features", None), self.space.dimension)
        self.method = method
        self.n_initial = _checks.at_least("n_initial", n_initial, 1)
        self._design = RandomSearch(design=initial)
        self.seed = secrets.randbits(32) if seed is None else _checks.at_least("seed", seed, 0)
        self.direction = _checks.one_of("direction", direction, DIRECTIONS)
        self.diagnostics: dict[str, Any] = {}
        """What the method said about its last suggestion."""
        self.ask_seconds = 0.0
        """How long the last `ask` took."""
        self.metadata: dict[str, Any] = {}
        """Whatever `save` was given to keep with the run."""
        self._x: list[np.ndarray] = []
        self._points: list[Point] = []
        self._y: list[float] = []
        self._lines: list[str] = []  # the evaluations as the run file holds them
        self._pending: list[np.ndarray] = []
        self._pending_points: list[Point] = []
        self._n_asked = 0
        self._cache: Cache = {}

    def __len__(self) -> int:
        """How many evaluations have been told."""
        return len(self._y)

    @property
    def _sign(self) -> float:
        return 1.0 if self.direction == "minimize" else -1.0

    @property
    def points(self) -> list[Point]:
        """All evaluated points, in the order they were told."""
        return list(self._points)

    @property
    def values(self) -> np.ndarray:
        """Their values; NaN where the evaluation failed."""
        return np.array(self._y)

    @property
    def pending(self) -> list[Point]:
        """Points that were asked for and not told yet."""
        return list(self._pending_points)

    @property
    def best(self) -> tuple[Point, float] | None:
        """The best point and its value; None before the first evaluation that succeeded."""
        values = self._sign * self.values
        if not np.any(np.isfinite(values)):
            return None
        index = int(np.nanargmin(values))
        return self._points[index], self._y[index]

    @property
    def history(self) -> History:
        """What the method sees."""
        d = self.space.dimension
        x, pending = np.array(self._x).reshape(-1, d), np.array(self._pending).reshape(-1, d)
        return History(x, self._sign * self.values, pending, self.space.rounding)

    def ask(self, n: int | None = None) -> Any:
        """The next point to evaluate, or a list of the next n. They stay pending until they are told."""
        began = time.perf_counter()
        count = 1 if n is None else _checks.at_least("n", n, 1)
        history = self.history
        n_design = min(count, max(0, self.n_initial - len(self._y) - len(self._pending)))
        units: list[np.ndarray] = []
        if n_design:
            units += list(self._design.suggest(history, n_design, (self.seed, self._n_asked)).x)
            history = history.with_pending(np.array(units))
        if count > n_design:
            key = (self.seed, self._n_asked + n_design)
            suggestion = self.method.suggest(history, count - n_design, key, self._cache)
            self._cache, self.diagnostics = suggestion.cache, suggestion.diagnostics
            units += list(suggestion.x)
        points = [self._fresh(unit, self._n_asked + i) for i, unit in enumerate(units)]
        self._n_asked += count
        self.ask_seconds = time.perf_counter() - began
        return points[0] if n is None else points

    def _fresh(self, unit: np.ndarray, iteration: int) -> Point:
        """The point at `unit`, from now on pending; a random one where it is known already and others are not."""
        point = self.space.decode(unit)
        rng = np.random.default_rng([self.seed, iteration, 1])
        drawn = (self.space.decode(rng.uniform(size=len(unit))) for _ in range(_TRIES))
        known = {x.tobytes() for x in (*self._x, *self._pending)}
        point = next(
            (
                p
                for p in itertools.chain([point], drawn)
                if self.space.place(p).tobytes() not in known
            ),
            point,
        )
        self.expect(point)
        return point

    def expect(self, x: object) -> None:
        """Count x as pending though it was not asked for."""
        unit = self.space.place(x)
        self._pending.append(unit)
        self._pending_points.append(self.space.decode(unit))

    def tell(self, x: object, y: float | None) -> None:
        """Report the value at x, whether or not it was asked for. None or NaN: the evaluation failed."""
        unit = self.space.place(x)
        try:
            value = math.nan if y is None else float(y)
        except (TypeError, ValueError):
            raise ValueError(
                f"y = {y!r}: expected a number, or None for a failed evaluation"
            ) from None
        if math.isinf(value):
            value = math.nan
        for i, waiting in enumerate(self._pending):
            if np.array_equal(waiting, unit):
                del self._pending[i], self._pending_points[i]
                break
        point = self.space.decode(unit)
        line = runfile.evaluation_line(point, value)
        self._x.append(unit)
        self._points.append(point)
        self._y.append(value)
        self._lines.append(line)

    def save(self, path: str | os.PathLike, metadata: dict[str, Any] | None = None) -> None:
        """Write everything to a JSON file that `load` continues from. The file is replaced at once or not at all."""
        if metadata is not None:
            self.metadata = metadata
        runfile.replace(path, self.to_text())

    def to_text(self) -> str:
        """What `save` writes."""
        kind, settings = methods.to_settings(self.method)
        head = {
            "metadata": self.metadata,
            "space": self.space.to_json(),
            "method": {"kind": kind, "settings": settings},
            "n_initial": self.n_initial,
            "initial": self._design.design,
            "seed": self.seed,
            "direction": self.direction,
            "n_asked": self._n_asked,
            "pending": [runfile.plain(x) for x in self._pending_points],
            "cache": {name: runfile.to_text(array) for name, array in self._cache.items()},
        }
        return runfile.text(head, self._lines)

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Optimizer":
        """The run that `save` wrote to `path`; it continues exactly as the saved one would have."""
        return cls._restore(runfile.read(path))

    @classmethod
    def from_text(cls, text: str) -> "Optimizer":
        """The run that `to_text` put into words."""
        return cls._restore(runfile.parse(text, "the text"))

    @classmethod
    def _restore(cls, data: dict[str, Any]) -> "Optimizer":
        optimizer = cls(
            Space.from_json(data["space"]),
            method=methods.from_settings(data["method"]["kind"], data["method"]["settings"]),
            n_initial=data["n_initial"],
            initial=data["initial"],
            seed=data["seed"],
            direction=data["direction"],
        )
        for evaluation in data["evaluations"]:
            optimizer.tell(evaluation["x"], evaluation["y"])
        for point in data["pending"]:
            optimizer.expect(point)
        optimizer.metadata = data["metadata"]
        optimizer._n_asked = data["n_asked"]
        optimizer._cache = {name: runfile.from_text(text) for name, text in data["cache"].items()}
        return optimizer
