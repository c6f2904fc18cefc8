"""Ask for points, tell their values: Algorithm 1 of the paper, evaluation left to the caller."""

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from infold import _checks, methods, objectives, runfile
from infold.acquisition import functions
from infold.evaluation.outcome import Outcome, checked
from infold.methods import Cache, Method, RandomSearch
from infold.methods.random import DESIGNS
from infold.proposals import Model, Proposer
from infold.record import Evaluation, Event, Forget, Pending, Record
from infold.run_view import RunView
from infold.space import Point, Space, pairing
from infold.space.fixed import Fixed

if TYPE_CHECKING:
    from infold.learning.lessons import Lessons
    from infold.model_view import ModelView

DIRECTIONS = objectives.DIRECTIONS


class Optimizer(RunView):
    """A run of optimization.

    >>> optimizer = Optimizer([(0.0, 1.0)] * 30, seed=0)
    >>> x = optimizer.ask()
    >>> optimizer.tell(x, float(((x - 0.5) ** 2).sum()))
    """

    def __init__(
        self,
        space: object,
        *,
        method: str | Method = methods.DEFAULT,
        n_features: int | str | None = None,
        acquisition: str | None = None,
        noise: float | None = None,
        n_initial: int = 10,
        initial: str | None = None,
        seed: int | None = None,
        direction: str | Sequence[str] = "minimize",
        where: object = None,
        earlier: Any = None,
        progress: bool = False,
    ) -> None:
        """
        Args:
            space: a list of (low, high) pairs, a dict of parameters, a SciPy `Bounds` or a `Space`.
            method: a name from `infold.methods.NAMES`, or a method.
            n_features: dimension of the feature space, or "auto" for the number that predicts the
                next evaluations best; default min(10, D // 2), at least 1.
            acquisition: "ei" (the default), "pi" or "ucb".
            noise: variance of the noise of an evaluation, 0 where there is none; learned when None.
            n_initial: evaluations before the model is used; those told without asking count.
            initial: how the initial points are chosen: "centre" (the centre of the box, then a
                Sobol sequence), "sobol" or "uniform"; default what the method prefers.
            seed: seed of every random choice; drawn and kept in `seed` when None.
            direction: "minimize" or "maximize"; a list of them, one for each, where there are
                several objectives.
            where: known constraints on points, `LinearConstraint` and `NonlinearConstraint` of
                SciPy: no point that violates them is ever suggested.
            earlier: runs of the same family that were made before, or what `infold.learn` found in
                them: see there for what it may be. What they teach is kept with the run.
            progress: whether to show a progress bar while that is learned.
        """
        self.space = Space.of(space, where)
        if isinstance(method, type):
            raise ValueError(f"method = {method!r}: expected {method.__name__}(), not its class")
        if n_features is not None and n_features != "auto":
            n_features = _checks.at_least("n_features", n_features, 1)
        if acquisition is not None:
            _checks.one_of("acquisition", acquisition, functions.NAMES)
        self.method: Method = methods.of(
            method, n_features=n_features, acquisition=acquisition, noise=noise
        )
        # Too many features are an error now, not at the first suggestion.
        methods.check_dimension(self.method, self.space.dimension)
        self.n_initial = _checks.at_least("n_initial", n_initial, 1)
        if initial is None:
            initial = getattr(self.method, "initial", "sobol")
        self._design = RandomSearch(design=_checks.one_of("initial", initial, DESIGNS))
        self.seed = secrets.randbits(32) if seed is None else _checks.at_least("seed", seed, 0)
        directions = objectives.directions_of(direction)
        self.direction: str | tuple[str, ...] = directions if len(directions) > 1 else directions[0]
        self.diagnostics: dict[str, Any] = {}
        """What the method said about the last point it suggested."""
        self.ask_seconds = 0.0
        """How long the last `ask` took."""
        self.metadata: dict[str, Any] = {}
        """Whatever the user wants to keep with the run; `save` writes it."""
        lessons = None
        if earlier is not None:
            from infold.learning.learned import lessons_for

            if not isinstance(self.direction, str):
                raise ValueError("earlier goes with one objective: expected none with several")
            lessons = lessons_for(earlier, self.space, direction=self.direction, progress=progress)
        signs = objectives.signs_of(directions)
        sign = signs if len(signs) > 1 else float(signs[0])
        self._record = Record(self.space, sign, lessons)
        self._journal = runfile.Journal(self._record)
        self._cache: Cache = {}
        self._behind = False  # whether suggestions must be made again to know the cache
        self._model: Model | None = None

    def __repr__(self) -> str:
        """Say in a line what the run is and how far it has come."""
        direction = self.direction if isinstance(self.direction, str) else ", ".join(self.direction)
        return (
            f"<Optimizer: {direction} over {len(self.space.parameters)} parameters with "
            f"{methods.name_of(self.method)}, {len(self)} evaluations, "
            f"{len(self._record.pending)} pending{self._found()}>"
        )

    def _found(self) -> str:
        """Say what is known of the best point; nothing before there is one."""
        if self.best_index is None:
            return ""
        if not np.any(self.feasible):
            return ", no feasible point yet"
        if self.n_objectives > 1:
            n = len(self.front)
            return f", {n} point{'s' * (n != 1)} on the front"
        return f", best value {self.best[1]:.6g}"

    def __getstate__(self) -> dict[str, Any]:
        """Leave the fitted model behind: it can be fitted again, and need not pickle."""
        return {**self.__dict__, "_model": None}

    @property
    def lessons(self) -> "Lessons | None":
        """What earlier runs taught, in the unit cube of the space; None where that is nothing."""
        return self._record.lessons

    @property
    def initial(self) -> str:
        """How the initial points are chosen."""
        return self._design.design

    @overload
    def ask(self, n: None = None, *, fixed: Mapping[Any, Any] | None = None) -> Point: ...

    @overload
    def ask(self, n: int, *, fixed: Mapping[Any, Any] | None = None) -> list[Point]: ...

    def ask(
        self, n: int | None = None, *, fixed: Mapping[Any, Any] | None = None
    ) -> Point | list[Point]:
        """Return the next point to evaluate, or a list of the next n.

        They stay pending until they are told or forgotten. A point that is known already comes
        again only where all are known (`exhausted`, or with `fixed` all that have those values).

        Args:
            n: number of points; one point by itself when None.
            fixed: values that the points must have, by the names of their parameters, or by their
                numbers where they have no names; the others are searched given these.
        """
        began = time.perf_counter()
        count = 1 if n is None else _checks.at_least("n", n, 1)
        held = Fixed.of(self.space, {} if fixed is None else fixed)
        self._catch_up()
        self._model = None  # it may be large, and the next one is made beside it
        proposed = self._proposer.propose(self._record, count, self._cache, held.values)
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

    def _add(self, event: Event) -> None:
        self._record.add(event)
        self._journal.add(event)

    def _catch_up(self) -> None:
        """Make the suggestions since the last saved state again, for the cache they left."""
        if not self._behind:
            return
        base = self._journal.base
        record = self._record.as_of(base.n_evaluations, base.pending, base.state.n_asked)
        again = self._proposer.follow(record, self._journal.since, base.state.cache)
        self._cache, self._model, self._journal.n_suggestions = again
        self._behind = False

    def expect(self, x: object) -> None:
        """Count x as pending although it was not asked for."""
        violated = None if self.space.where is None else self.space.where.violated(x)
        if violated:
            raise ValueError(f"x = {_checks.shown(x)}: it violates {violated}")
        self._add(Pending.at(x, self.space, "user", {}))

    def forget(self, x: object) -> None:
        """Wait no longer for x, which was asked for or expected; it may be suggested again.

        Raises ValueError where x is not pending.
        """
        point, _, identity = self.space.resolve(pairing.within_limits(x, self.space))
        self._add(Forget(point, identity))

    def tell(
        self,
        x: object,
        y: Any,
        *,
        constraints: Any = None,
        seconds: float | None = None,
        error: str | None = None,
    ) -> None:
        """Report an evaluation, whether or not it was asked for.

        It ends the wait for the pending point with the same values, or else for the nearest one of
        which x is a rounding: to float32, or to a text of six or more digits. Points that differ
        otherwise, however little, are different points. What is kept is the point as told.

        Args:
            x: the point.
            y: its value, which may be an array of one element; a sequence of values where there
                are several objectives; None, NaN or infinity where the
                evaluation failed; or an `infold.Outcome`.
            constraints: constraint values, feasible where none is above 0, the same number in all
                evaluations; NaN where one is not known, which does not count as feasible. A failed
                evaluation may have some, or none.
            seconds: how long the evaluation took.
            error: what went wrong, in words.
        """
        if pairing.is_batch(x, self.space):
            raise ValueError(
                f"x = {_checks.shown(x)}: expected one point: tell the points of a batch one by one"
            )
        if isinstance(y, Outcome):
            outcome = checked(y, self.n_objectives)
            y, error = outcome.value, outcome.error if error is None else error
            constraints = outcome.constraints if constraints is None else constraints
        values: tuple[float, ...] = ()
        if self.n_objectives > 1:
            value, *others = objectives.values_of(y, self.n_objectives)
            values = (value, *others) if np.isfinite(value) else ()
        else:
            value = _checks.value_of(y)
        told = Pending.at(pairing.within_limits(x, self.space), self.space, "user", {})
        asked = self._record.find_pending(told.point, told.identity) or told
        evaluation = Evaluation(
            point=told.point,
            unit=told.unit,
            value=value,
            error=None if error is None else _checks.text_of(error),
            seconds=_checks.seconds_of(seconds),
            told_at=time.time(),
            proposed_by=asked.proposed_by,
            diagnostics=asked.diagnostics,
            constraints=_checks.constraints_of(constraints),
            values=values,
            identity=told.identity,
        )
        self._add(evaluation)

    def model(self) -> "ModelView":
        """Return the surrogate: the one behind the last suggestion where nothing was told since.

        Otherwise it is fitted, once. Later suggestions are the same with and without it.
        """
        from infold.model_view import ModelView

        history = self.history
        if self.n_objectives > 1:
            raise ValueError("there are several objectives: expected one that a model is of")
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
        sign = float(self._record.sign)
        return ModelView(self.space, model.fitted, model.history, self.points, sign)

    def save(self, path: str | os.PathLike, metadata: dict[str, Any] | None = None) -> None:
        """Write the run to a file that `load` continues from.

        The first time the file is replaced, at once or not at all; afterwards what is new is
        appended, as long as nobody else has written to the file. Whatever is at `path` and is not
        a run file of a version that this infold reads is left alone, with a ValueError; so is a
        file that `minimize` is writing in another process, with a BlockingIOError.

        Args:
            path: the run file.
            metadata: what to keep with the run from now on, as JSON can hold it.
        """
        path = _checks.path_of("path", path)
        kept = self.metadata if metadata is None else metadata
        self._journal.save(path, self._settings(), kept, self._known_cache)
        self.metadata = kept

    def to_text(self) -> str:
        """Return the run as `save` would write it to a new file."""
        return self._journal.text(self._settings(), self.metadata, self._known_cache)

    @property
    def _known_cache(self) -> Cache | None:
        return None if self._behind else self._cache

    def _settings(self) -> dict[str, Any]:
        settings = {
            "space": self.space.to_json(),
            "method": runfile.method_to_json(self.method),
            "n_initial": self.n_initial,
            "initial": self.initial,
            "seed": self.seed,
            "direction": self.direction,
        }
        return settings if self.lessons is None else {**settings, "earlier": self.lessons}

    @classmethod
    def load(
        cls, path: str | os.PathLike, *, method: Method | None = None, where: object = None
    ) -> "Optimizer":
        """Return the run that `save` wrote; it continues exactly as the saved one would have.

        Args:
            path: the run file.
            method: the method of the run, needed where it is not one of infold's own.
            where: the known constraints of the run, needed where functions are among them.
        """
        contents = runfile.read(_checks.path_of("path", path))
        return cls.restore(contents, method=method, where=where)

    @classmethod
    def from_text(
        cls, text: str, *, method: Method | None = None, where: object = None
    ) -> "Optimizer":
        """Return the run that `to_text` returned; `method` and `where` as in `load`."""
        return cls.restore(runfile.parse(text, "the text"), method=method, where=where)

    @classmethod
    def restore(
        cls, contents: runfile.Contents, *, method: Method | None = None, where: object = None
    ) -> "Optimizer":
        """Return the run that a run file describes; `method` and `where` as in `load`."""
        with runfile.blaming(contents["source"], "line 1" if contents["version"] > 1 else "head"):
            optimizer = cls(
                contents["space"].complete(where),
                method=runfile.method_of(contents, method),
                n_initial=contents["n_initial"],
                initial=contents["initial"],
                seed=contents["seed"],
                direction=contents["direction"],
                earlier=contents["earlier"],
            )
        optimizer.metadata = contents["metadata"]
        for event, place in contents["events"]:
            with runfile.blaming(contents["source"], place):
                if isinstance(event, runfile.State):
                    optimizer._record.n_asked = event.n_asked
                    optimizer._journal.keep(event.cache)
                else:
                    optimizer._add(event)
        optimizer._behind = True
        return optimizer
