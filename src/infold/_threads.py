"""One BLAS thread for infold's own computations.

Matrices of a few hundred rows are factorized faster by one thread than by several that wait for each other: on two cores a
likelihood takes three quarters of the time, up to a thousand rows (`docs/speed.md`).
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_inside = 0
_outside: list[tuple] = []  # each BLAS library and the threads it had before the first suggestion under way began
_controller: ThreadpoolController | None = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread until the last of those inside leaves; then it has as many as before.

    The limit is one for the whole process, so suggestions made at once in several threads share it.
    """
    global _controller, _inside
    with _lock:
        if _controller is None:
            import scipy.linalg  # noqa: F401  (JAX factorizes with SciPy's library, which must be there to be found)

            _controller = ThreadpoolController().select(user_api="blas")
        if _inside == 0:
            _outside[:] = [(library, library.num_threads) for library in _controller.lib_controllers]
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
