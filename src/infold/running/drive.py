"""The loop that drives evaluations: ask, evaluate, tell, save, until something ends the run."""

import copy
import logging
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from infold import _checks
from infold._minimize import Callback, Result, how_it_ended, result_of
from infold.evaluation.outcome import Outcome, failure
from infold.evaluation.workers import check_workers, open_workers
from infold.optimizer import Optimizer
from infold.running.callbacks import checked_callback
from infold.running.checkpoint import Checkpoint, keeping
from infold.running.interruption import Interruption
from infold.running.limits import Limits
from infold.space import Point

if TYPE_CHECKING:
    from infold.report.progress import RunProgress

_log = logging.getLogger(__name__)

ON_ERROR = ("continue", "raise")


def drive(
    optimizer: Optimizer,
    fun: Callable[[Any], Any],
    n_trials: int,
    *,
    first: Sequence = (),
    workers: object = 1,
    n_parallel: int | None = None,
    timeout: float | None = None,
    on_error: str = "continue",
    limits: Limits | None = None,
    checkpoint: str | os.PathLike | Checkpoint | None = None,
    callback: Callback | None = None,
    progress: "RunProgress | None" = None,
    interruption: Interruption | None = None,
) -> Result:
    """Evaluate until `n_trials` evaluations have been told; other arguments as in `minimize`.

    Points that were pending come first, then those of `first`, then what the optimizer proposes.

    Args:
        optimizer: the run.
        fun: the objective.
        n_trials: evaluations in all.
        first: points to evaluate first.
        workers: where to evaluate.
        n_parallel: evaluations under way at once, where `workers` does not say.
        timeout: seconds that one evaluation may take.
        on_error: "continue" or "raise".
        limits: what ends the run earlier.
        checkpoint: run file that is written after every evaluation.
        callback: called after every evaluation.
        progress: line that shows how the run goes.
        interruption: signals that ask the run to stop.
    """
    check_arguments(fun, n_trials, workers, n_parallel, timeout, on_error)
    n_trials = int(n_trials)
    wants_to_stop = checked_callback(callback)
    limits = limits or Limits()
    interruption = interruption or Interruption()
    again = optimizer.pending
    waiting = list(first)
    already = len(optimizer)
    failures = _Failures(limits.max_failures)
    began = time.monotonic()
    in_flight: dict[Future[Outcome], Point] = {}

    def next_point() -> Point:
        if again:
            return again.pop(0)
        if waiting:
            optimizer.expect(waiting.pop(0))
            return optimizer.pending[-1]
        with progress.suggesting() if progress is not None else nullcontext():
            return optimizer.ask()

    def reason_to_stop() -> str | None:
        if interruption.asked:
            return f"interrupted by {interruption.name}"
        return limits.reached(optimizer, time.monotonic() - began)

    def is_exhausted() -> bool:
        return not again and not waiting and optimizer.exhausted

    catch = on_error == "continue"
    m = optimizer.n_objectives
    with (
        keeping(optimizer, checkpoint) as kept,
        open_workers(
            fun, workers, n_parallel, timeout=timeout, catch=catch, n_objectives=m
        ) as pool,
    ):
        ended = reason_to_stop()
        # Once stopped, what is under way is still waited for: each evaluation may have cost hours.
        while True:
            while (
                ended is None
                and len(in_flight) < pool.capacity
                and len(optimizer) + len(in_flight) < n_trials
                and not is_exhausted()
            ):
                x = next_point()
                ended = reason_to_stop()  # a suggestion takes time as well
                if ended is None:
                    in_flight[pool.submit(copy.copy(x))] = x
            if not in_flight:
                break
            for future in pool.wait(in_flight):
                x = in_flight.pop(future)
                outcome = future.result()
                if _failed(outcome) and interruption.asked:
                    ended = reason_to_stop()
                    continue  # the signal may be to blame: the point stays pending
                try:
                    _tell(optimizer, x, outcome)
                except ValueError as error:  # another number of constraints than before
                    if not catch:
                        raise
                    outcome = failure(error, outcome.seconds)._replace(trace=None)
                    _tell(optimizer, x, outcome)
                if not kept.save():
                    ended = ended or f"stopped after {len(optimizer)} evaluations"
                failures.count(outcome, len(optimizer))
                if progress is not None:
                    progress.update(result_of(optimizer, already, "running"))
                if ended is not None:
                    continue
                if wants_to_stop is not None and wants_to_stop(
                    result_of(optimizer, already, "running")
                ):
                    ended = f"stopped by the callback after {len(optimizer)} evaluations"
                ended = failures.reason_to_stop() or ended or reason_to_stop()
    if interruption.asked and len(optimizer) < n_trials:
        n, pending = len(optimizer), len(optimizer.pending)
        ended = f"interrupted by {interruption.name} after {n} evaluations, {pending} pending"
    ended = ended or how_it_ended(optimizer, already, n_trials)
    return result_of(optimizer, already, kept.remark(ended))


def check_arguments(
    fun: object,
    n_trials: int,
    workers: object,
    n_parallel: int | None,
    timeout: float | None,
    on_error: str,
) -> None:
    """Raise ValueError for arguments of `drive` that would fail later."""
    if not callable(fun):
        raise ValueError(f"fun = {fun!r:.60}: expected a function of one point")
    _checks.at_least("n_trials", n_trials, 1)
    _checks.one_of("on_error", on_error, ON_ERROR)
    check_workers(workers, n_parallel, timeout)


def _tell(optimizer: Optimizer, x: Point, outcome: Outcome) -> None:
    """Tell what came of an evaluation, or raise ValueError where it does not fit the others."""
    optimizer.tell(
        x,
        outcome.value,
        constraints=getattr(outcome, "constraints", ()),
        seconds=max(0.0, outcome.seconds),  # the objective may have set the clock
        error=_text(outcome),
    )


def _failed(outcome: Outcome) -> bool:
    """Tell whether an evaluation failed; one that violates a constraint need have no value."""
    return outcome.value is None and not any(c > 0.0 for c in getattr(outcome, "constraints", ()))


def _text(outcome: Outcome) -> str | None:
    """Return what is kept of an error: what went wrong, then where."""
    trace = getattr(outcome, "trace", None)
    return outcome.error if not trace else f"{outcome.error}\n{trace}"


class _Failures:
    """Failed evaluations of one call, counted and logged."""

    def __init__(self, most: int) -> None:
        """
        Args:
            most: number in a row that ends the run.
        """
        self._most = most
        self._in_all = 0
        self._in_a_row = 0
        self._last: str | None = None

    def count(self, outcome: Outcome, n_evaluations: int) -> None:
        """Count an evaluation; say what went wrong, and where if it is the first time."""
        if not _failed(outcome):
            self._in_a_row = 0
            return
        self._in_all += 1
        self._in_a_row += 1
        self._last = outcome.error
        text = outcome.error if self._in_all > 1 else _text(outcome)
        _log.warning("evaluation %d failed: %s", n_evaluations, text)
        if n_evaluations == 1:
            _log.warning(
                "The first evaluation failed. If that is a mistake in the objective, stop and "
                "mend it: on_error='raise' (--on-error raise) raises its exception. Otherwise the "
                "run goes on and avoids such points; max_failures = %d in a row end it.",
                self._most,
            )

    def reason_to_stop(self) -> str | None:
        """Return why the run must end; None where it need not."""
        if self._in_a_row < self._most:
            return None
        if self._most == 1:
            return f"stopped after a failure: {self._last}"
        return f"stopped after {self._in_a_row} failures in a row, the last: {self._last}"
