"""Ask for points, tell their values: Algorithm 1 of the paper, evaluation left to the caller."""

import math
import os
import secrets
import time
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from infold import _checks, methods, runfile
from infold.methods import Cache, Method, RandomSearch
from infold.proposals import Model, Proposer
from infold.record import Ask, Evaluation, History, Pending, Record, to_frame
from infold.space import Point, Space

if TYPE_CHECKING:
    import pandas

    from infold.models.view import ModelView

DIRECTIONS = ("minimize", "maximize")


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
            initial: how the initial points are chosen, "sobol" or "uniform".
            seed: seed of every random choice; drawn and kept in `seed` when None.
            direction: "minimize" or "maximize".
        """
        self.space = Space.of(space)
        self.method: Method = methods.of(method, n_features=n_features, acquisition=acquisition)
        # Too many features are an error now, not at the first suggestion.
        methods.check_features(self.method, self.space.dimension)
        self.n_initial = _checks.at_least("n_initial", n_initial, 1)
        self._design = RandomSearch(design=initial)
        self.seed = secrets.randbits(32) if seed is None else _checks.at_least("seed", seed, 0)
        self.direction = _checks.one_of("direction", direction, DIRECTIONS)
        self.diagnostics: dict[str, Any] = {}
        """What the method said about the last point it suggested."""
        self.ask_seconds = 0.0
        """How long the last `ask` took."""
        self.metadata: dict[str, Any] = {}
        """Whatever the user wants to keep with the run; `save` writes it."""
        self._record = Record(self.space, 1.0 if direction == "minimize" else -1.0)
        self._journal = runfile.Journal(self._record)
        self._cache: Cache = {}
        self._behind = False  # whether suggestions must be made again to know the cache
        self._model: Model | None = None

    def __len__(self) -> int:
        """Return how many evaluations have been told."""
        return len(self._record.evaluations)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the fitted model behind: it can be fitted again, and need not pickle."""
        return {**self.__dict__, "_model": None}

    @property
    def evaluations(self) -> list[Evaluation]:
        """All evaluations, in the order they were told."""
        return list(self._record.evaluations)

    @property
    def points(self) -> list[Point]:
        """All evaluated points, in the order they were told."""
        return [evaluation.point for evaluation in self._record.evaluations]

    @property
    def values(self) -> np.ndarray:
        """Values of the evaluated points; NaN where the evaluation failed."""
        return np.array([evaluation.value for evaluation in self._record.evaluations])

    @property
    def pending(self) -> list[Point]:
        """Points that were asked for or expected, and not told yet."""
        return [pending.point for pending in self._record.pending]

    @property
    def best(self) -> tuple[Point, float] | None:
        """The best point and its value; None before the first evaluation that succeeded."""
        values = self._record.sign * self.values
        if not np.any(np.isfinite(values)):
            return None
        best = self._record.evaluations[int(np.nanargmin(values))]
        return best.point, best.value

    @property
    def history(self) -> History:
        """What the method sees."""
        return self._record.history

    def to_frame(self) -> "pandas.DataFrame":
        """Return the evaluations as a table, one per row: see `infold.record.to_frame`."""
        return to_frame(self._record.evaluations, self.space)

    @overload
    def ask(self, n: None = None) -> Point: ...

    @overload
    def ask(self, n: int) -> list[Point]: ...

    def ask(self, n: int | None = None) -> Point | list[Point]:
        """Return the next point to evaluate, or a list of the next n.

        They stay pending until they are told.
        """
        began = time.perf_counter()
        count = 1 if n is None else _checks.at_least("n", n, 1)
        self._catch_up()
        proposed = self._proposer.propose(self._record, count, self._cache)
        self._add(proposed.ask)
        points = proposed.ask.points
        if proposed.by_method:
            self._cache = proposed.cache
            self._model = proposed.model
            self._journal.count_suggestion(self._cache)
            self.diagnostics = dict(points[-1].diagnostics)
        self.ask_seconds = time.perf_counter() - began
        return points[0].point if n is None else [pending.point for pending in points]

    @property
    def _proposer(self) -> Proposer:
        return Proposer(
            space=self.space,
            method=self.method,
            design=self._design,
            n_initial=self.n_initial,
            seed=self.seed,
        )

    def _add(self, event: Evaluation | Pending | Ask) -> None:
        self._record.add(event)
        self._journal.add(event)

    def _catch_up(self) -> None:
        """Make the suggestions since the last saved state again, for the cache they left."""
        if not self._behind:
            return
        base = self._journal.base
        record = self._record.as_of(base.n_evaluations, base.pending, base.state.n_asked)
        cache, model = base.state.cache, None
        n_suggestions = 0
        for event in self._journal.since:
            if isinstance(event, Ask):
                again = self._proposer.propose_again(record, event, cache)
                if again.by_method:
                    cache, model = again.cache, again.model
                    n_suggestions += 1
            record.add(event)
        self._cache, self._model = cache, model
        self._journal.n_suggestions = n_suggestions
        self._behind = False

    def expect(self, x: object) -> None:
        """Count x as pending although it was not asked for."""
        self._add(Pending.at(x, self.space, "user", {}))

    def tell(
        self,
        x: object,
        y: float | None,
        *,
        seconds: float | None = None,
        error: str | None = None,
    ) -> None:
        """Report an evaluation, whether or not it was asked for.

        Args:
            x: the point.
            y: its value; None, NaN or infinity where the evaluation failed.
            seconds: how long the evaluation took.
            error: what went wrong, in words.
        """
        told = Pending.at(x, self.space, "user", {})
        asked = self._record.find_pending(told.identity) or told
        evaluation = Evaluation(
            point=told.point,
            unit=told.unit,
            value=_value(y),
            error=None if error is None else str(error),
            seconds=_seconds(seconds),
            told_at=time.time(),
            proposed_by=asked.proposed_by,
            diagnostics=asked.diagnostics,
            identity=told.identity,
        )
        self._add(evaluation)

    def model(self) -> "ModelView":
        """Return the surrogate: the one behind the last suggestion where nothing was told since.

        Otherwise it is fitted, once. Later suggestions are the same with and without it.
        """
        from infold.models.view import ModelView

        history = self.history
        if not history.n_succeeded:
            raise ValueError("there is no model yet: expected an evaluation that succeeded")
        self._catch_up()
        model = self._model
        if model is None or len(model.history.y) != len(self):
            fit = getattr(self.method, "fit", None)
            if fit is None:
                name = methods.name_of(self.method)
                raise ValueError(f"the method {name} has no model to fit")
            key = (self.seed, self._record.n_asked)
            model = self._model = Model(history, fit(history, key, self._cache))
        return ModelView(self.space, model.fitted, model.history, self._record.sign)

    def save(self, path: str | os.PathLike, metadata: dict[str, Any] | None = None) -> None:
        """Write the run to a file that `load` continues from.

        The first time the file is replaced, at once or not at all; afterwards what is new is
        appended, as long as nobody else has written to the file.

        Args:
            path: the run file.
            metadata: what to keep with the run from now on, as JSON can hold it.
        """
        if metadata is not None:
            self.metadata = metadata
        self._journal.save(path, self._settings(), self.metadata, self._known_cache)

    def to_text(self) -> str:
        """Return the run as `save` would write it to a new file."""
        return self._journal.text(self._settings(), self.metadata, self._known_cache)

    @property
    def _known_cache(self) -> Cache | None:
        return None if self._behind else self._cache

    def _settings(self) -> dict[str, Any]:
        return {
            "space": self.space.to_json(),
            "method": runfile.method_to_json(self.method),
            "n_initial": self.n_initial,
            "initial": self._design.design,
            "seed": self.seed,
            "direction": self.direction,
        }

    @classmethod
    def load(cls, path: str | os.PathLike, *, method: Method | None = None) -> "Optimizer":
        """Return the run that `save` wrote; it continues exactly as the saved one would have.

        Args:
            path: the run file.
            method: the method of the run, needed where it is not one of infold's own.
        """
        return cls._restore(runfile.read(path), method)

    @classmethod
    def from_text(cls, text: str, *, method: Method | None = None) -> "Optimizer":
        """Return the run that `to_text` put into words; `method` as in `load`."""
        return cls._restore(runfile.parse(text, "the text"), method)

    @classmethod
    def _restore(cls, contents: runfile.Contents, method: Method | None) -> "Optimizer":
        with runfile.blaming(contents["source"], "line 1" if contents["version"] > 1 else "head"):
            optimizer = cls(
                contents["space"],
                method=runfile.method_of(contents, method),
                n_initial=contents["n_initial"],
                initial=contents["initial"],
                seed=contents["seed"],
                direction=contents["direction"],
            )
        optimizer.metadata = contents["metadata"]
        for event in contents["events"]:
            if isinstance(event, runfile.State):
                optimizer._record.n_asked = event.n_asked
                optimizer._journal.keep(event.cache)
            else:
                optimizer._add(event)
        optimizer._behind = True
        return optimizer


def _value(y: object) -> float:
    try:
        value = math.nan if y is None else float(y)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"y = {y!r:.60}: expected a number, or None for a failed evaluation"
        ) from None
    return value if math.isfinite(value) else math.nan


def _seconds(seconds: object) -> float | None:
    if seconds is None:
        return None
    try:
        number = float(seconds)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise ValueError(f"seconds = {seconds!r:.60}: expected a number of at least 0, or None")
    return number
