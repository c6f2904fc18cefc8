"""What comes of one evaluation of the objective."""

import math
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from infold import _checks, objectives

_FRAMES = 8  # of a traceback that are kept: the user's own are the last
_LONGEST = 2000  # characters of a message that are kept: every evaluation may have one
_HERE = str(Path(__file__).parent)


class Outcome(NamedTuple):
    """Result of one evaluation: a finite value, or the reason why there is none.

    An objective with constraints returns `Outcome(value, constraints=[...])`.
    """

    value: Any
    """Value of the objective, or of each where there are several; None where it failed."""
    error: str | None = None
    """What went wrong, an exception as "TypeName: message"; None when the evaluation succeeded."""
    seconds: float = 0.0
    """Time that the evaluation took, measured where it ran.

    When nothing came back from there, for instance because the process died, it is the time from
    sending the point until the loss was noticed.
    """
    trace: str | None = None
    """Files and lines that an exception passed, the last one where it was raised."""
    constraints: Sequence[float] = ()
    """Constraint values, feasible where none is above 0; a failed evaluation may have some too."""


def failure(error: BaseException, seconds: float) -> Outcome:
    """Return the outcome of an evaluation that ended with an exception."""
    message = _checks.text_of(error)
    if len(message) > _LONGEST:
        message = f"{message[:_LONGEST]}... ({len(message)} characters)"
    return Outcome(None, f"{type(error).__name__}: {message}", seconds, _trace(error))


def _trace(error: BaseException) -> str | None:
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith(_HERE)]
    if not theirs:
        return None
    return "".join(traceback.format_list(theirs[-_FRAMES:])).rstrip()


@dataclass(frozen=True)
class Guarded:
    """Objective that returns an `Outcome` instead of raising an exception.

    Exceptions that mean "stop", such as KeyboardInterrupt, still pass.
    """

    fun: Callable[[Any], Any]
    """The user's objective."""
    catch: bool = True
    """Whether exceptions become failures; otherwise they pass, for a person who debugs."""
    n_objectives: int = 1
    """How many values it returns."""

    def __call__(self, x: Any) -> Outcome:
        start = time.perf_counter()
        try:
            returned = self.fun(x)
            outcome = checked(returned, self.n_objectives)
        except Exception as error:
            if not self.catch:
                raise
            return failure(error, time.perf_counter() - start)
        return outcome._replace(seconds=time.perf_counter() - start)


def checked(returned: Any, n_objectives: int = 1) -> Outcome:
    """Return what an objective returned as an outcome, or raise ValueError where it cannot be.

    Args:
        returned: a value, several where there are several objectives, or an outcome.
        n_objectives: how many values there must be.
    """
    if not isinstance(returned, Outcome):
        returned = Outcome(returned)
    if returned.error is not None and not isinstance(returned.error, str):
        raise ValueError(
            f"error of the outcome = {_checks.shown(returned.error)}: expected text, or None; "
            "constraints go by their name, Outcome(value, constraints=[...])"
        )
    constraints = _checks.constraints_of(returned.constraints)
    if n_objectives == 1:
        value: Any = _checks.value_of(returned.value, "the value")
        is_known = math.isfinite(value)
    else:
        value = objectives.values_of(returned.value, n_objectives, "the value")
        is_known = math.isfinite(value[0])
    if is_known and returned.error is None:
        return Outcome(value, constraints=constraints)
    error = returned.error or f"the value is {_checks.text_of(returned.value)}"
    return Outcome(None, error, constraints=constraints)
