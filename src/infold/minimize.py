"""The SciPy-shaped front door."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from infold import _checks
from infold.methods import Method
from infold.optimizer import Optimizer

Callback = Callable[[OptimizeResult], Any]


def minimize(
    fun: Callable[[Any], float],
    bounds: object,
    *,
    method: str | Method = "mgpc",
    n_features: int | None = None,
    acquisition: str | None = None,
    n_initial: int = 10,
    n_trials: int = 100,
    seed: int | None = None,
    direction: str = "minimize",
    x0: Sequence | np.ndarray | None = None,
    y0: Sequence[float] | np.ndarray | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> OptimizeResult:
    """Minimize an expensive function of many variables.

    Args:
        fun: called with one point (an array, or a dict where `bounds` is one); returns its value. NaN: the evaluation failed.
        bounds: a list of (low, high) pairs, a dict of parameters, a SciPy `Bounds` or a `Space`.
        method: a name from `infold.methods.NAMES`, or a method.
        n_features: dimension of the feature space; default min(10, D // 2), at least 1.
        acquisition: "ei" (the default), "pi" or "ucb".
        n_initial: evaluations before the model is used.
        n_trials: evaluations in all, the initial ones and `y0` included.
        seed: of all randomness.
        direction: "minimize" or "maximize".
        x0: points to evaluate first, or that have been evaluated already where `y0` is given.
        y0: values at `x0` that the caller already has.
        callback: called after every evaluation with the result so far; stops the run by returning True or raising
            StopIteration.
        progress: show a progress bar.

    Returns:
        A `scipy.optimize.OptimizeResult` with x, fun, nfev, success, message, x_iters, func_vals and the optimizer itself.
    """
    _checks.at_least("n_trials", n_trials, 1)
    optimizer = Optimizer(
        bounds,
        method=method,
        n_features=n_features,
        acquisition=acquisition,
        n_initial=n_initial,
        seed=seed,
        direction=direction,
    )
    first = _points(x0, optimizer.space.dimension)
    if y0 is not None:
        values = np.atleast_1d(np.asarray(y0, dtype=np.float64))
        if values.shape != (len(first),):
            raise ValueError(f"y0 has shape {values.shape}: expected one value for each of the {len(first)} points of x0")
        for x, y in zip(first, values, strict=True):
            optimizer.tell(x, y)
        first = []
    if not progress:
        return drive(optimizer, fun, n_trials, first=first, callback=callback)
    from infold.report.progress import RunProgress

    with RunProgress(n_trials) as bar:
        return drive(optimizer, fun, n_trials, first=first, callback=_both(bar.update, callback))


def drive(
    optimizer: Optimizer,
    fun: Callable[[Any], float],
    n_trials: int,
    *,
    first: Sequence = (),
    callback: Callback | None = None,
) -> OptimizeResult:
    """Evaluate until `n_trials` evaluations have been told: the points of `first`, then what the optimizer asks for."""
    waiting = [optimizer.space.decode(optimizer.space.encode(x)) for x in first]
    already = len(optimizer)
    message = f"all {n_trials} evaluations done"
    while len(optimizer) < n_trials:
        x = waiting.pop(0) if waiting else optimizer.ask()
        optimizer.tell(x, fun(x.copy()))
        if callback is not None:
            try:
                stop = callback(_result(optimizer, already, "running"))
            except StopIteration:
                stop = True
            if stop is True:
                message = f"stopped by the callback after {len(optimizer)} evaluations"
                break
    return _result(optimizer, already, message)


def _result(optimizer: Optimizer, already: int, message: str) -> OptimizeResult:
    best = optimizer.best
    return OptimizeResult(
        x=None if best is None else best[0],
        fun=np.nan if best is None else best[1],
        nfev=len(optimizer) - already,
        nit=len(optimizer),
        success=best is not None,
        message=message if best is not None else "no evaluation returned a finite value",
        x_iters=optimizer.points,
        func_vals=optimizer.values,
        optimizer=optimizer,
    )


def _points(x0: object, dimension: int) -> list:
    if x0 is None:
        return []
    if isinstance(x0, dict):
        return [x0]
    points = list(x0)  # type: ignore[call-overload]
    return [np.asarray(x0)] if points and np.ndim(points[0]) == 0 and not isinstance(points[0], dict) else points


def _both(first: Callback, second: Callback | None) -> Callback:
    def call(result: OptimizeResult) -> Any:
        first(result)
        return second(result) if second is not None else None

    return call
