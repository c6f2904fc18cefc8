"""The loop that drives evaluations: ask, evaluate, tell, save, until something ends the run."""

import copy
import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from infold import _checks
from infold._checkpoint import Checkpoint, keeping
from infold._minimize import Callback, Result, how_it_ended, result_of
from infold.evaluation.workers import open_workers
from infold.optimizer import Optimizer
from infold.space import Point

_log = logging.getLogger(__name__)


def drive(
    optimizer: Optimizer,
    fun: Callable[[Any], float],
    n_trials: int,
    *,
    first: Sequence = (),
    workers: int | Callable = 1,
    n_parallel: int | None = None,
    max_failures: int = 10,
    checkpoint: str | os.PathLike | Checkpoint | None = None,
    callback: Callback | None = None,
) -> Result:
    """Evaluate until `n_trials` evaluations have been told; other arguments as in `minimize`.

    Points that were pending come first, then those of `first`, then what the optimizer proposes.
    """
    _checks.at_least("n_trials", n_trials, 1)
    _checks.at_least("max_failures", max_failures, 1)
    again = optimizer.pending
    waiting = list(first)
    already, failures = len(optimizer), 0
    message = ""
    in_flight: dict[Future, Point] = {}

    def next_point() -> Point:
        if again:
            return again.pop(0)
        if waiting:
            optimizer.expect(waiting.pop(0))
            return optimizer.pending[-1]
        return optimizer.ask()

    def is_exhausted() -> bool:
        return not again and not waiting and optimizer.exhausted

    with (
        keeping(optimizer, checkpoint) as kept,
        open_workers(fun, workers, n_parallel) as pool,
    ):
        stop = False
        # Once stopped, what is under way is still waited for: each evaluation may have cost hours.
        while True:
            while (
                not stop
                and len(in_flight) < pool.capacity
                and len(optimizer) + len(in_flight) < n_trials
                and not is_exhausted()
            ):
                x = next_point()
                in_flight[pool.submit(copy.copy(x))] = x
            if not in_flight:
                break
            for future in pool.wait(in_flight):
                x = in_flight.pop(future)
                outcome = future.result()
                seconds = getattr(outcome, "seconds", None)
                optimizer.tell(x, outcome.value, seconds=seconds, error=outcome.error)
                if not kept.save() and not stop:
                    message = f"stopped after {len(optimizer)} evaluations"
                    stop = True
                failures = failures + 1 if outcome.value is None else 0
                if outcome.error is not None:
                    _log.warning("evaluation %d failed: %s", len(optimizer), outcome.error)
                if stop:
                    continue
                if failures >= max_failures:
                    message = f"stopped after {failures} failures in a row, the last: "
                    message += str(outcome.error)
                    stop = True
                elif callback is not None and _wants_to_stop(
                    callback, result_of(optimizer, already, "running")
                ):
                    message = f"stopped by the callback after {len(optimizer)} evaluations"
                    stop = True
    message = message or how_it_ended(optimizer, already, n_trials)
    return result_of(optimizer, already, kept.remark(message))


def _wants_to_stop(callback: Callback, result: Result) -> bool:
    try:
        answer = callback(result)
    except StopIteration:
        return True
    return isinstance(answer, bool | np.bool_) and bool(answer)
