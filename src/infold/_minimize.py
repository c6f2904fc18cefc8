"""The SciPy-shaped front door."""

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import OptimizeResult

from infold._callbacks import checked_callback
from infold._interruption import Interruption
from infold._limits import Limits
from infold.methods import Method
from infold.optimizer import Optimizer
from infold.record import Evaluation, to_frame
from infold.space import Point, Space

if TYPE_CHECKING:
    import pandas


class Result(OptimizeResult):
    """What `minimize` found: a `scipy.optimize.OptimizeResult`, with the types of its fields."""

    x: Point | None
    """The best point, as the user writes it; None where no evaluation succeeded."""
    fun: float
    """Its value; NaN where no evaluation succeeded."""
    nfev: int
    """Evaluations made by this call."""
    nit: int
    """Evaluations in all, with those that were known before."""
    success: bool
    """Whether an evaluation succeeded."""
    message: str
    """Why the run ended."""
    x_iters: list[Point]
    """All points, in the order they were told."""
    func_vals: np.ndarray
    """Their values; NaN where the evaluation failed."""
    optimizer: Optimizer
    """The run itself; it can be asked and told further."""

    @property
    def evaluations(self) -> list[Evaluation]:
        """Everything that is kept of the evaluations, in the order they were told."""
        return self.optimizer.evaluations[: self.nit]

    def to_frame(self) -> "pandas.DataFrame":
        """Return the evaluations as a table, one per row: see `infold.record.to_frame`."""
        return to_frame(self.evaluations, self.optimizer.space)


Callback = Callable[[Result], Any]


def minimize(
    fun: Callable[[Any], float],
    bounds: object = None,
    *,
    method: str | Method = "mgpc",
    n_features: int | None = None,
    acquisition: str | None = None,
    n_initial: int = 10,
    initial: str = "sobol",
    n_trials: int = 100,
    seed: int | None = None,
    direction: str = "minimize",
    x0: Sequence | np.ndarray | None = None,
    y0: Sequence[float] | np.ndarray | None = None,
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
        fun: the objective, called with one point; returns its value. The point is a dict where
            `bounds` is one, else an array, or a list where not all parameters are floats. An
            exception, NaN or infinity is a failed evaluation: it is kept, and avoided.
        bounds: a list of (low, high) pairs, a dict of parameters, a SciPy `Bounds` or a `Space`;
            not needed to resume.
        method: a name from `infold.methods.NAMES`, or a method.
        n_features: dimension of the feature space; default min(10, D // 2), at least 1.
        acquisition: "ei" (the default), "pi" or "ucb".
        n_initial: evaluations before the model is used.
        initial: how the initial points are chosen, "sobol" or "uniform".
        n_trials: evaluations in all, the initial ones and `y0` included.
        seed: seed of every random choice; drawn when None.
        direction: "minimize" or "maximize".
        x0: points to evaluate first, or points that have been evaluated where `y0` is given.
        y0: values at `x0` that the caller already has.
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
            continued, with its own space, method, seed and direction; a method that is not one of
            infold's own must be given again.
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
    from infold._drive import check_arguments, drive  # which need the names above

    check_arguments(fun, n_trials, workers, n_parallel, timeout, on_error)
    checked_callback(callback)
    limits = Limits(
        max_failures=max_failures, max_seconds=max_seconds, target=target, patience=patience
    )
    if checkpoint is not None and os.path.exists(checkpoint):
        given = None if isinstance(method, str) else method
        optimizer = Optimizer.load(checkpoint, method=given)
        if bounds is not None and Space.of(bounds) != optimizer.space:
            raise ValueError(
                f"{checkpoint} holds a run in another space: delete it or choose another file"
            )
    elif bounds is None:
        raise ValueError("bounds = None: expected a space, or a checkpoint of an earlier run")
    else:
        optimizer = Optimizer(
            bounds,
            method=method,
            n_features=n_features,
            acquisition=acquisition,
            n_initial=n_initial,
            initial=initial,
            seed=seed,
            direction=direction,
        )
    first = _new_points(optimizer, x0, y0)
    with ExitStack() as stack:
        bar = None
        if progress:
            from infold.report.progress import RunProgress

            bar = stack.enter_context(RunProgress(n_trials, done=len(optimizer)))
        interruption = stack.enter_context(Interruption())
        result = drive(
            optimizer,
            fun,
            n_trials,
            first=first,
            workers=workers,
            n_parallel=n_parallel,
            timeout=timeout,
            on_error=on_error,
            limits=limits,
            checkpoint=checkpoint,
            callback=callback,
            progress=bar,
            interruption=interruption,
        )
    if interruption.asked:
        print(result.message, file=sys.stderr)
        if interruption.number != signal.SIGINT:
            raise SystemExit(interruption.status)
    return result


def result_of(optimizer: Optimizer, already: int, message: str) -> Result:
    best = optimizer.best
    if best is None:
        message = f"no evaluation returned a finite value ({message})"
    return Result(
        x=None if best is None else best[0],
        fun=np.nan if best is None else best[1],
        nfev=len(optimizer) - already,
        nit=len(optimizer),
        success=best is not None,
        message=message,
        x_iters=optimizer.points,
        func_vals=optimizer.values,
        optimizer=optimizer,
    )


def _new_points(optimizer: Optimizer, x0: object, y0: object) -> list[Point]:
    """Tell the evaluations that the caller has; return the points that are still to be made."""
    space = optimizer.space
    known = {space.identity(x) for x in (*optimizer.points, *optimizer.pending)}
    points = [space.normalize(x) for x in _points(x0)]
    new = [space.identity(point) not in known for point in points]
    if y0 is None:
        return [x for x, is_new in zip(points, new, strict=True) if is_new]
    values = np.atleast_1d(np.asarray(y0, dtype=np.float64))
    if values.shape != (len(points),):
        raise ValueError(
            f"y0 has shape {values.shape}: "
            f"expected one value for each of the {len(points)} points of x0"
        )
    for x, y, is_new in zip(points, values, new, strict=True):
        if is_new:
            optimizer.tell(x, y)
    return []


def _points(x0: Any) -> list:
    """Return one point or several as a list."""
    if x0 is None:
        return []
    if isinstance(x0, Mapping) or np.ndim(x0) == 0:
        return [x0]
    several = len(x0) > 0 and (isinstance(x0[0], Mapping) or np.ndim(x0[0]) > 0)
    return list(x0) if several or len(x0) == 0 else [x0]
