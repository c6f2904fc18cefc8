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

from infold.history import History

R = TypeVar("R")
_SMALL = 1000  # evaluations
_lock = threading.Lock()
_inside = 0
_outside: list[tuple[Any, int]] = []  # each BLAS library and the threads it had before the first of those inside entered


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread until the last of those inside leaves; then it has as many as before.

    The limit is one for the whole process, so suggestions made at once in several threads share it.
    """
    global _inside
    with _lock:
        if _inside == 0:
            _outside[:] = [(library, library.num_threads) for library in _libraries()]
            for library, _ in _outside:
                library.set_num_threads(1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                for library, n_threads in _outside:
                    library.set_num_threads(n_threads)


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
