"""What comes of one evaluation of the objective."""

import math
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from infold import _checks

_FRAMES = 8  # of a traceback that are kept: the user's own are the last
_LONGEST = 2000  # characters of a message that are kept: every evaluation may have one
_HERE = str(Path(__file__).parent)


class Outcome(NamedTuple):
    """Result of one evaluation: a finite value, or the reason why there is none."""

    value: float | None
    """Value of the objective; None when the evaluation failed."""
    error: str | None
    """What went wrong, an exception as "TypeName: message"; None when the evaluation succeeded."""
    seconds: float
    """Time that the evaluation took, measured where it ran.

    When nothing came back from there, for instance because the process died, it is the time from
    sending the point until the loss was noticed.
    """
    trace: str | None = None
    """Files and lines that an exception passed, the last one where it was raised."""


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

    def __call__(self, x: Any) -> Outcome:
        start = time.perf_counter()
        try:
            returned = self.fun(x)
            value = _checks.value_of(returned, "the value")
        except Exception as error:
            if not self.catch:
                raise
            return failure(error, time.perf_counter() - start)
        seconds = time.perf_counter() - start
        if not math.isfinite(value):
            return Outcome(None, f"the value is {_checks.text_of(returned)}", seconds)
        return Outcome(value, None, seconds)
