"""The SciPy-shaped front door."""

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import OptimizeResult

from infold import _checks, objectives
from infold.evaluation.outcome import Outcome
from infold.methods import Method
from infold.models.base import NEGLIGIBLE_NOISE
from infold.optimizer import Optimizer
from infold.record import Evaluation, to_frame
from infold.running.callbacks import checked_callback
from infold.running.checkpoint import open_run
from infold.running.interruption import Interruption
from infold.running.limits import Limits
from infold.space import Point
from infold.space.space import as_points

if TYPE_CHECKING:
    import pandas

    from infold.model_view import ModelView


class Result(OptimizeResult):
    """What `minimize` found: a `scipy.optimize.OptimizeResult`, with the types of its fields."""

    x: Any
    """The best point, as the user writes it; None where nothing is known of any.

    Where there are constraints it is the best that satisfies them all, and as long as there is
    none, and `success` is False, the one that violates them least. With several objectives it is
    `pareto_x`.
    """
    fun: Any
    """Its value; NaN where no evaluation returned one. With several objectives it is `pareto_f`."""
    nfev: int
    """Evaluations made by this call."""
    nit: int
    """Evaluations in all, with those that were known before."""
    success: bool
    """Whether this call made evaluations, and the run has one that succeeded and is feasible."""
    message: str
    """Why the run ended."""
    x_iters: list[Point]
    """All points, in the order they were told."""
    func_vals: np.ndarray
    """Their values; NaN where the evaluation failed."""
    constraints: np.ndarray
    """Constraint values at x, feasible where none is above 0; empty without constraints."""
    pareto_x: list[Point]
    """Points that no other dominates; with one objective, the best alone."""
    pareto_f: np.ndarray
    """Their values, one row each."""
    optimizer: Optimizer
    """The run itself; it can be asked and told further."""
    x_model: Point | None
    """Where noise matters: the evaluated point that the model predicts to be the best; else None.

    The best value seen is then mostly the luckiest one.
    """
    fun_model: float
    """What the model predicts there; NaN where noise does not matter."""
    noise: float
    """Variance of the noise, as the model has it; NaN where it does not matter."""

    def __repr__(self) -> str:
        """Say in a few lines what was found; the fields hold everything."""
        several = isinstance(self.get("fun"), np.ndarray)
        fields = {
            "message": self.get("message"),
            "success": self.get("success"),
            "fun": _short(self.get("fun")) if several else self.get("fun"),
            "x": _front_words(self) if several else _short(self.get("x")),
            "nfev": self.get("nfev"),
            "nit": self.get("nit"),
        }
        if len(self.get("constraints", ())) and not several:
            fields["constraints"] = _short(self["constraints"])
        if self.get("x_model") is not None:
            fields["noise"] = self.get("noise")
            fields["fun_model"] = self.get("fun_model")
            fields["x_model"] = _short(self.get("x_model"))
        width = max(8, *map(len, fields))
        return "\n".join(f"{name:>{width}}: {value}" for name, value in fields.items())

    def _repr_html_(self) -> str:
        """Return what notebooks show: a small table, and the best value so far or the front."""
        from infold.report.notebook import result_html

        return result_html(self)

    @property
    def evaluations(self) -> list[Evaluation]:
        """Everything that is kept of the evaluations, in the order they were told."""
        return self.optimizer.evaluations[: self.nit]

    def to_frame(self) -> "pandas.DataFrame":
        """Return the evaluations as a table, one per row: see `infold.record.to_frame`."""
        return to_frame(self.evaluations, self.optimizer.space)


_SHOWN = 6  # values of a point that a printed result shows


def _front_words(result: Result) -> str:
    """Say how many points the front has; while nothing is feasible there is none."""
    n = len(result.x)
    if not np.all(result.constraints <= 0.0) or not np.all(np.isfinite(result.fun)):
        return f"{_short(result.x[0])}, the least violation: no point is feasible yet"
    return f"{n} point{'s' * (n != 1)} of the front" if n else "None"


def _short(x: Point | None) -> str:
    """Return a point as text, its first values where it has many."""
    if x is None:
        return "None"
    values = list(x.items()) if isinstance(x, dict) else [("", value) for value in x]
    shown = []
    for name, value in values[:_SHOWN]:
        text = f"{value:.6g}" if isinstance(value, float) else _checks.shown(value)
        shown.append(f"{name}={text}" if name else text)
    more = f", ... ({len(values)} values)" if len(values) > _SHOWN else ""
    return f"[{', '.join(shown)}{more}]"


Callback = Callable[[Result], Any]


def minimize(
    fun: Callable[[Any], Any],
    bounds: object = None,
    *,
    method: str | Method | None = None,
    n_features: int | str | None = None,
    acquisition: str | None = None,
    noise: float | None = None,
    n_initial: int | None = None,
    initial: str | None = None,
    n_trials: int = 100,
    seed: int | None = None,
    direction: str | Sequence[str] | None = None,
    where: object = None,
    x0: Sequence | np.ndarray | None = None,
    y0: Any = None,
    earlier: Any = None,
    workers: Any = 1,
    n_parallel: int | None = None,
    timeout: float | None = None,
    on_error: str = "continue",
    max_failures: int = 10,
    max_seconds: float | None = None,
    target: float | None = None,
    patience: int | None = None,
    checkpoint: str | os.PathLike | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Minimize an expensive function of many variables.

    Args:
        fun: the objective, called with one point; returns its value, or where there are
            constraints `infold.Outcome(value, constraints=[...])`, feasible where none is above 0.
            The point is a dict where `bounds` is one, else an array, or a list where not all
            parameters are floats. An exception, NaN or infinity is a failed evaluation: it is kept,
            and avoided. One without a value that violates a constraint is no failure: simulators
            often return values for feasible points alone.
        bounds: a list of (low, high) pairs, a dict of parameters, a SciPy `Bounds` or a `Space`;
            not needed to resume.
        method: a name from `infold.methods.NAMES`, or a method; default "auto".
        n_features: dimension of the feature space, or "auto" for the number that predicts the next
            evaluations best; default min(10, D // 2), at least 1.
        acquisition: "ei" (the default), "pi" or "ucb".
        noise: variance of the noise of an evaluation, 0 where there is none; learned when None.
        n_initial: evaluations before the model is used; default 10.
        initial: how the initial points are chosen: "centre" (the centre of the box, then a Sobol
            sequence), "sobol" or "uniform"; default what the method prefers.
        n_trials: evaluations in all, the initial ones, `y0` and those of the checkpoint included.
        seed: seed of every random choice; drawn when None.
        direction: "minimize" (the default) or "maximize"; where there are several objectives a list
            of them, one for each, and `fun` returns as many values.
        where: known constraints on points, `LinearConstraint` and `NonlinearConstraint` of SciPy:
            no point that violates them is evaluated. (Those that only `fun` can tell are values of
            its `Outcome`.)
        x0: points to evaluate first, or points that have been evaluated where `y0` is given.
        y0: values at `x0` that the caller already has, or outcomes; lists of values where there
            are several objectives.
        earlier: runs of the same family that were made before, so that this one begins with what
            they teach: run files, results, Optuna studies, arrays and more, one or a list; see
            `infold.learn`, whose result and file it takes as well. The checkpoint holds what was
            learned: a run that is continued does not look at them again.
        workers: number of processes that evaluate (-1: one per core); or an executor, a
            multiprocessing pool or a Dask client, or the map of one; or any map-like callable.
        n_parallel: evaluations under way at once, where `workers` does not say.
        timeout: seconds after which an evaluation is ended and has failed. It needs processes, so
            one is used where `workers` is 1.
        on_error: what an exception in `fun` does: "continue" makes it a failed evaluation, "raise"
            raises it, and the point stays pending.
        max_failures: number of failed evaluations in a row that ends the run.
        max_seconds: seconds after which no further evaluation begins; those under way are finished.
        target: value that is good enough to end the run.
        patience: number of evaluations in a row without a better value that ends the run.
        checkpoint: run file that is written after every evaluation. If it exists, the run in it is
            continued, with its own space, method, seed and so on; what is given here all the same
            must agree with it. A method that is not one of infold's own must be given again. One
            run at a time can have the file. Where it cannot be written, as on a full disk, the run
            goes on for ten evaluations and a minute at least, and then returns what it has.
        callback: called after every evaluation with the result so far, by the keyword
            `intermediate_result` where it has a parameter of that name; stops the run by returning
            True or raising StopIteration.
        progress: whether to show a progress bar.

    The first Ctrl-C lets the evaluations under way finish and returns the result so far; what is
    left is in `result.optimizer.pending`. The second raises KeyboardInterrupt. SIGTERM and SIGHUP
    do the same, but end the program with exit status 128 + signal. Signals are left alone outside
    the main thread and where somebody else handles them.

    Returns:
        A `scipy.optimize.OptimizeResult` with x, fun, nfev, nit, success, message, x_iters,
        func_vals, evaluations and the optimizer itself.
    """
    from infold.running.drive import check_arguments, drive  # which need the names above

    check_arguments(fun, n_trials, workers, n_parallel, timeout, on_error)
    n_trials = int(n_trials)
    checked_callback(callback)
    limits = Limits(
        max_failures=max_failures, max_seconds=max_seconds, target=target, patience=patience
    )
    given = {
        "method": method,
        "n_features": n_features,
        "acquisition": acquisition,
        "noise": noise,
        "n_initial": n_initial,
        "initial": initial,
        "seed": seed,
        "direction": direction,
        "earlier": earlier,
    }
    with ExitStack() as stack:
        opened = open_run(checkpoint, space=bounds, where=where, given=given, progress=progress)
        run = stack.enter_context(opened)
        first = _new_points(run.optimizer, x0, y0)
        bar = None
        if progress:
            from infold.report.progress import RunProgress

            bar = stack.enter_context(RunProgress(n_trials, done=len(run.optimizer)))
        interruption = stack.enter_context(Interruption())
        result = drive(
            run.optimizer,
            fun,
            n_trials,
            first=first,
            workers=workers,
            n_parallel=n_parallel,
            timeout=timeout,
            on_error=on_error,
            limits=limits,
            checkpoint=run,
            callback=callback,
            progress=bar,
            interruption=interruption,
        )
    add_prediction(result)
    if interruption.asked:
        print(result.message, file=sys.stderr)
        if interruption.number != signal.SIGINT:
            raise SystemExit(interruption.status)
    return result


def how_it_ended(optimizer: Optimizer, already: int, n_trials: int) -> str:
    """Return why a run ended that nothing stopped.

    Args:
        optimizer: the run.
        already: number of evaluations that were known before.
        n_trials: number of evaluations that were wanted in all.
    """
    n = len(optimizer)
    if n == already and n >= n_trials:
        return f"0 evaluations made: {already} known already, n_trials = {n_trials}"
    if n >= n_trials:
        return f"all {n_trials} evaluations done"
    space = optimizer.space
    allowed = {space.identity(point) for point in optimizer.points if space.allows(point)}
    everywhere = f"all {len(allowed)} points of the space are known"
    if n == already:
        return f"0 evaluations made: {everywhere} already"
    return f"stopped after {n} evaluations: {everywhere}"


def result_of(optimizer: Optimizer, already: int, message: str) -> Result:
    best = optimizer.best
    several = optimizer.n_objectives > 1
    front = optimizer.front
    rows = [optimizer.evaluations[i].constraints for i in front]
    pareto_x = [optimizer.evaluations[i].point for i in front]
    pareto_f = optimizer.values[front].reshape(len(front), optimizer.n_objectives)
    feasible = bool(np.any(optimizer.feasible))
    if best is None or (not feasible and np.all(np.array(rows[0]) <= 0.0)):
        message = f"no evaluation returned a finite value ({message})"
    elif not feasible:
        message = f"no evaluation satisfies all constraints ({message})"
    return Result(
        x=pareto_x if several else None if best is None else best[0],
        fun=pareto_f if several else np.nan if best is None else best[1],
        nfev=len(optimizer) - already,
        nit=len(optimizer),
        success=feasible and len(optimizer) > already,
        message=message,
        x_iters=optimizer.points,
        func_vals=optimizer.values,
        constraints=np.array(rows if several else rows[0] if rows else ()),
        pareto_x=pareto_x,
        pareto_f=pareto_f,
        optimizer=optimizer,
        x_model=None,
        fun_model=np.nan,
        noise=np.nan,
    )


def add_prediction(result: Result) -> None:
    """Add what the model says is the best point, where evaluations are noisy."""
    model = noisy_model(result.optimizer)
    if model is not None:
        result.x_model, result.fun_model = model.best()
        result.noise = model.noise


def noisy_model(optimizer: Optimizer) -> "ModelView | None":
    """Return the model where noise matters to the choice of the best point; None elsewhere."""
    if optimizer.n_objectives > 1 or not optimizer.noisy:
        return None
    model = optimizer.model()
    matters = optimizer.in_noise or float(model.fitted.noise) >= NEGLIGIBLE_NOISE
    return model if matters else None


def _new_points(optimizer: Optimizer, x0: object, y0: object) -> list[Point]:
    """Tell the evaluations that the caller has; return the points that are still to be made."""
    if x0 is None and y0 is None:
        return []
    space = optimizer.space
    known = Counter(space.identity(x) for x in (*optimizer.points, *optimizer.pending))
    points = [space.normalize(x) for x in as_points(x0)]
    new = []
    for point in points:  # one that is there more than once is evaluated as often
        identity = space.identity(point)
        new.append(known[identity] == 0)
        known[identity] -= not new[-1]
    if y0 is None:
        for i, x in enumerate(points):
            violated = None if space.where is None else space.where.violated(x)
            if violated:
                raise ValueError(f"x0[{i}] = {_checks.shown(x)}: it violates {violated}")
        return [x for x, is_new in zip(points, new, strict=True) if is_new]
    values = _known_values(y0, len(points), optimizer.n_objectives)
    for i, (x, y, is_new) in enumerate(zip(points, values, new, strict=True)):
        if is_new:
            try:
                optimizer.tell(x, y)
            except ValueError as error:
                raise ValueError(f"y0[{i}]: {error}") from error
    return []


def _known_values(y0: object, n_points: int, n_objectives: int) -> list:
    """Return what the caller gave for each point of `x0`; numbers are checked, outcomes not yet."""
    is_list = isinstance(y0, Iterable) and getattr(y0, "ndim", 1) > 0
    values = list(y0) if is_list and not isinstance(y0, Outcome) else [y0]  # type: ignore[call-overload]
    several = n_objectives > 1
    are_numbers = all(y is None or _checks.is_number(y) for y in values)
    if several and n_points == 1 and len(values) > 1 and are_numbers:
        values = [values]
    if len(values) != n_points:
        raise ValueError(
            f"y0 has shape ({len(values)},): expected {n_objectives if several else 'one'} "
            f"value{'s' * several} for each of the {n_points} points of x0"
        )
    for i, y in enumerate(values):
        if several and not isinstance(y, Outcome):
            objectives.values_of(y, n_objectives, f"y0[{i}]")
        elif not isinstance(y, Outcome):
            _checks.value_of(y, f"y0[{i}]")
    return values
