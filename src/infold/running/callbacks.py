"""Callbacks of `minimize`, positional or in SciPy's keyword form."""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from infold._minimize import Result

_KEYWORD = "intermediate_result"  # the parameter's name in SciPy's form


def checked_callback(callback: Any) -> "Callable[[Result], bool] | None":
    """Return a callback that says whether to stop; raise ValueError where it cannot be called.

    Args:
        callback: what the user passed. It is called with the result so far: by the keyword
            `intermediate_result` where it has a parameter of that name, else by position. It stops
            the run by returning True or raising StopIteration.
    """
    if callback is None:
        return None
    if not callable(callback):
        raise ValueError(f"callback = {callback!r}: expected a function of the result so far")
    by_keyword = False
    try:
        signature = inspect.signature(callback)
    except (TypeError, ValueError):  # some functions written in C have none
        pass
    else:
        by_keyword = _KEYWORD in signature.parameters
        try:
            signature.bind(**{_KEYWORD: None}) if by_keyword else signature.bind(None)
        except TypeError as error:
            raise ValueError(
                f"callback = {callback!r} cannot be called with the result so far ({error}): "
                f"expected one parameter, or one named {_KEYWORD}"
            ) from None

    def wants_to_stop(result: "Result") -> bool:
        try:
            answer = callback(**{_KEYWORD: result}) if by_keyword else callback(result)
        except StopIteration:
            return True
        return isinstance(answer, bool | np.bool_) and bool(answer)

    return wants_to_stop
