"""One BLAS thread for infold's own computations.

Matrices of a few hundred rows are factorized faster by one thread than by several that wait for
each other: on two cores a likelihood takes three quarters of the time. Beyond a thousand rows, on
many cores, several threads are faster (`docs/speed.md`).
"""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import scipy.linalg  # noqa: F401  (JAX factorizes with SciPy's BLAS, found only once it is loaded)
from threadpoolctl import ThreadpoolController

from infold.record import History

R = TypeVar("R")
_SMALL = 1000  # evaluations up to which one thread is faster; measured in docs/speed.md
_limiting = threading.RLock()  # held by the thread that has set the limit


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread for the block, and restore the former number afterwards.

    The limit holds for the whole process. When several threads want it at once, the first one sets
    and lifts it, and the others run as they find things.
    """
    if not _limiting.acquire(blocking=False):
        yield
        return
    try:
        before = [(library, library.num_threads) for library in _libraries()]
        for library, _ in before:
            library.set_num_threads(1)
        try:
            yield
        finally:
            for library, n_threads in before:
                library.set_num_threads(n_threads)
    finally:
        _limiting.release()


@functools.cache
def _libraries() -> tuple[Any, ...]:
    """Return the BLAS libraries that this process has loaded."""
    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


def one_blas_thread_when_small(suggest: Callable[..., R]) -> Callable[..., R]:
    """Decorate a method's `suggest` to use one BLAS thread up to a thousand evaluations."""

    @functools.wraps(suggest)
    def limited(self: object, history: History, *args: Any, **kwargs: Any) -> R:
        if len(history.y) > _SMALL:
            return suggest(self, history, *args, **kwargs)
        with one_blas_thread():
            return suggest(self, history, *args, **kwargs)

    return limited
