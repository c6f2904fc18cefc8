"""One BLAS thread for infold's own computations.

Matrices of a few hundred rows are factorized faster by one thread than by several that wait for each other: on two cores a
likelihood takes three quarters of the time. Beyond a thousand rows, on many cores, that is no longer so (`docs/speed.md`).
"""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import scipy.linalg  # noqa: F401  (JAX factorizes with SciPy's library, which must be loaded to be found)
from threadpoolctl import ThreadpoolController

from infold.record import History

R = TypeVar("R")
_SMALL = 1000  # evaluations
_limiting = threading.RLock()  # held by the thread whose suggestion set the limit


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, and give it back as many as it had.

    The limit holds for the whole process, and threadpoolctl listens to one of its threads only. So of suggestions made at once
    in several threads one sets it and takes it back, and the others leave it alone.
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
    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


def one_blas_thread_when_small(suggest: Callable[..., R]) -> Callable[..., R]:
    """Decorates `suggest` of a method: one BLAS thread for histories of up to a thousand evaluations."""

    @functools.wraps(suggest)
    def limited(self: object, history: History, *args: Any, **kwargs: Any) -> R:
        if len(history.y) > _SMALL:
            return suggest(self, history, *args, **kwargs)
        with one_blas_thread():
            return suggest(self, history, *args, **kwargs)

    return limited
