"""What a report is about: a run, and a model of it where one can be fitted."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from infold import methods, objectives, runfile
from infold.optimizer import Optimizer
from infold.record import Evaluation
from infold.space import Parameter, Space

if TYPE_CHECKING:
    from infold.model_view import ModelView

FIRST_TRIALS = "sampler/first"
"""Who proposed the first trials of an Optuna study: whether at random, studies do not say."""
_MOST = 1000  # evaluations that a model of all of them is fitted to within seconds


def lent_model(n_evaluations: int) -> methods.Method:
    """Return the method whose model is fitted where a run has none of its own.

    It is a model of all evaluations, or where these are too many of those near the best.
    """
    return methods.by_name("full_space" if n_evaluations <= _MOST else "auto")


class Subject:
    """A run to be shown: it is only read."""

    def __init__(
        self,
        optimizer: Optimizer,
        *,
        title: str = "",
        lent: bool = False,
        constraint_names: Sequence[str] = (),
    ) -> None:
        """
        Args:
            optimizer: the run.
            title: what the page calls it; the method and the number of parameters when empty.
            lent: whether the method of `optimizer` is not the one that proposed the points.
            constraint_names: what constraints are called, where they have names.
        """
        self._optimizer = optimizer
        self._lent = lent
        self.space: Space = optimizer.space
        self.evaluations: list[Evaluation] = optimizer.evaluations
        self.directions: tuple[str, ...] = objectives.directions_of(optimizer.direction)
        self.signs: np.ndarray = objectives.signs_of(self.directions)
        numbered = [f"constraint {k}" for k in range(self.n_constraints)]
        self.constraint_names = list(constraint_names) or numbered
        self.seed: int | None = None if lent else optimizer.seed
        self.n_pending = len(optimizer.pending)
        self.method_name = "" if lent else methods.name_of(optimizer.method)
        self.title = title or f"{self.method_name} over {len(self.space.parameters)} parameters"

    @property
    def n_objectives(self) -> int:
        """How many objectives there are."""
        return len(self.directions)

    @property
    def values(self) -> np.ndarray:
        """All objectives in the user's units, one evaluation per row; NaN where it failed."""
        values = np.reshape(self._optimizer.values, (len(self.evaluations), self.n_objectives))
        return np.where(np.isfinite(values), values, np.nan)

    @property
    def losses(self) -> np.ndarray:
        """`values` to minimize, whatever the directions."""
        return self.signs * self.values

    @property
    def succeeded(self) -> np.ndarray:
        """Which evaluations returned values."""
        return np.all(np.isfinite(self.values), axis=1)

    @property
    def sign(self) -> float:
        """1 where the one objective is minimized, -1 where it is maximized."""
        if self.n_objectives > 1:
            raise ValueError(
                f"the run has {self.n_objectives} objectives: expected one; "
                "infold.plot.front and infold.plot.hypervolume show several"
            )
        return float(self.signs[0])

    @property
    def loss(self) -> np.ndarray:
        """Values of the one objective to minimize; NaN where the evaluation failed."""
        return self.sign * self.values[:, 0]

    @property
    def best(self) -> int | None:
        """Number of the best evaluation, from 0; None where nothing is known of any.

        Where there are constraints it is the best feasible one, or else that of least violation,
        which may have no value; with several objectives one of the front.
        """
        return self._optimizer.best_index

    @property
    def front(self) -> list[int]:
        """Numbers of the evaluations that no other dominates, from 0; with one objective, `best`.

        While nothing is feasible it is that of least violation, alone.
        """
        return self._optimizer.front

    @property
    def counted(self) -> np.ndarray:
        """`loss` of the evaluations that may be the best; NaN where constraints are violated."""
        return np.where(self.feasible, self.loss, np.nan)

    @property
    def constraints(self) -> np.ndarray:
        """Constraint values, one evaluation per row; NaN where one is not known."""
        return self._optimizer.history.constraints

    @property
    def n_constraints(self) -> int:
        """How many constraints the evaluations have."""
        return int(self.constraints.shape[1])

    @property
    def feasible(self) -> np.ndarray:
        """Which evaluations succeeded and satisfy all constraints."""
        return self._optimizer.feasible

    @cached_property
    def parts(self) -> "list[Subject]":
        """A subject for each objective, with a model of its own; this one where there is one."""
        if self.n_objectives == 1:
            return [self]
        optimizer = self._optimizer
        method = optimizer.method if self._lent else lent_model(len(self.evaluations))
        return [
            Subject(
                Optimizer.restore(
                    contents_of(
                        self.space, [_one_objective(e, j) for e in self.evaluations], each, method
                    )
                ),
                title=f"objective {j}",
                lent=True,
            )
            for j, each in enumerate(self.directions)
        ]

    @property
    def varying(self) -> dict[str, Parameter]:
        """The parameters that have more than one value."""
        return {name: p for name, p in self.space.parameters.items() if not p.fixed}

    def setting(self, evaluation: int, name: str) -> Any:
        """Return the value of a parameter in an evaluation."""
        point = self.evaluations[evaluation].point
        return point[name if self.space.named else list(self.space.parameters).index(name)]

    @property
    def model(self) -> "ModelView | None":
        """The model of the method, or one that is fitted for the report; None where none can be."""
        return self._fitted[0]

    @property
    def model_note(self) -> str:
        """What a reader should know about the model."""
        return self._fitted[1]

    @property
    def method(self) -> Any:
        """The method that the model belongs to."""
        return self._fitted[2]

    @cached_property
    def relevance(self) -> dict[str, float]:
        """Share of each parameter in what the model predicts, the largest first; may be empty.

        With several objectives it is the mean over their models.
        """
        known = [part.model.relevance() for part in self.parts if part.model is not None]
        if not known:
            return {}
        shares = {name: float(np.mean([each[name] for each in known])) for name in self.varying}
        return {name: shares[name] for name in sorted(shares, key=lambda name: -shares[name])}

    @property
    def ranked(self) -> list[str]:
        """Names of the parameters that vary, the most relevant first where that is known."""
        return list(self.relevance) or list(self.varying)

    @cached_property
    def _fitted(self) -> "tuple[ModelView | None, str, Any]":
        if not np.any(self.succeeded):
            return None, "There is no model: no evaluation returned a value.", None
        if self.n_objectives > 1:
            return None, "Each objective has a model of its own.", None
        optimizer = self._optimizer
        has_model = hasattr(optimizer.method, "fit")
        method = optimizer.method if has_model else lent_model(len(self.evaluations))
        try:
            if has_model:
                view = optimizer.model()
            else:
                copy = Optimizer.restore(_contents(optimizer, method))
                view = copy.model()
        except (FloatingPointError, np.linalg.LinAlgError) as error:
            return None, f"There is no model: fitting it failed ({error}).", None
        n = len(view.fitted.history.y)
        near = " near the best one" if n < len(self.evaluations) else ""
        note = f"The model is that of {methods.name_of(method)}, fitted to {n} evaluations{near}."
        if self._lent or not has_model:
            note += " It was fitted for this report, and had no part in choosing the points."
        return view, note, method


def _one_objective(evaluation: Evaluation, number: int) -> Evaluation:
    """Return an evaluation with one of its values; what was said of all of them is left out."""
    value = evaluation.values[number] if evaluation.values else np.nan
    return replace(evaluation, value=value, values=(), diagnostics={})


def _contents(optimizer: Optimizer, method: methods.Method) -> runfile.Contents:
    """Return the evaluations of a run as a file with another method would hold them."""
    return contents_of(
        optimizer.space, optimizer.evaluations, optimizer.direction, method, optimizer.seed
    )


def contents_of(
    space: Space,
    evaluations: list[Evaluation],
    direction: str | Sequence[str],
    method: methods.Method,
    seed: int = 0,
) -> runfile.Contents:
    """Return evaluations as a run file would hold them."""
    return {
        "source": "the run",
        "version": 2,
        "metadata": {},
        "space": space,
        "method": runfile.method_to_json(method),
        "n_initial": 1,
        "initial": "sobol",
        "seed": seed,
        "direction": direction if isinstance(direction, str) else list(direction),
        "earlier": None,
        "events": [(evaluation, f"evaluation {i}") for i, evaluation in enumerate(evaluations)],
    }


def subject_of(run: Any, *, method: str | None = None) -> Subject:
    """Return what to report on.

    Args:
        run: an `Optimizer`, a result of `minimize`, the path of a run file, an Optuna study, or a
            `Subject`, which is returned as it is.
        method: name of the method whose model is fitted, in place of the run's own.
    """
    if isinstance(run, Subject):
        return run
    if isinstance(run, str | os.PathLike):
        return _from_file(Path(run), method)
    if hasattr(run, "trials") and hasattr(run, "study_name"):
        from infold.report.study import subject_of_study

        return subject_of_study(run, method=method)
    optimizer = getattr(run, "optimizer", run)
    if not isinstance(optimizer, Optimizer):
        raise ValueError(
            f"run = {run!r:.60}: expected an Optimizer, a result of minimize, a run file or an "
            "Optuna study"
        )
    return _with_model_of(optimizer, method, "")


def _from_file(path: Path, method: str | None) -> Subject:
    """Return the run in a file. A method that is not infold's own lends its name only."""
    contents = runfile.read(path)
    # Functions that say which points are allowed are in no file. They are needed for suggestions,
    # and a report makes none.
    contents["space"].n_lost = 0
    own = contents["method"].get("own")
    if own is None:
        return _with_model_of(Optimizer.restore(contents), method, path.stem)
    lent = methods.by_name(method) if method else lent_model(len(contents["events"]))
    return Subject(Optimizer.restore(contents, method=lent), title=path.stem, lent=True)


def _with_model_of(optimizer: Optimizer, method: str | None, title: str) -> Subject:
    if method is None:
        return Subject(optimizer, title=title)
    lent = Optimizer.restore(_contents(optimizer, methods.by_name(method)))
    return Subject(lent, title=title, lent=True)
