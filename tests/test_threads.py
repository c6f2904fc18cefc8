import threading

import numpy as np
import pytest

from infold import _threads
from infold.record import History


@pytest.fixture(autouse=True)
def four_threads():
    """However many cores there are, BLAS starts with four threads."""
    before = [library.num_threads for library in _threads._libraries()]
    assert before, "no BLAS library was found"
    for library in _threads._libraries():
        library.set_num_threads(4)
    yield
    for library, n_threads in zip(_threads._libraries(), before, strict=True):
        library.set_num_threads(n_threads)


def counts() -> set[int]:
    return {library.num_threads for library in _threads._libraries()}


def test_one_thread_inside_and_as_many_as_before_outside():
    with _threads.one_blas_thread():
        assert counts() == {1}
        with _threads.one_blas_thread():
            assert counts() == {1}
        assert counts() == {1}
    assert counts() == {4}


def test_threads_come_back_after_an_error():
    with pytest.raises(RuntimeError), _threads.one_blas_thread():
        raise RuntimeError
    assert counts() == {4}


@pytest.mark.parametrize("first_leaves_first", [True, False])
def test_suggestions_at_once_leave_the_threads_as_they_were(first_leaves_first):
    entered = threading.Event()
    leave = threading.Event()

    def second():
        with _threads.one_blas_thread():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=second)
    with _threads.one_blas_thread():
        thread.start()
        assert entered.wait(10)
        if not first_leaves_first:
            leave.set()
            thread.join()
            assert counts() == {1}
    assert counts() == {4}
    leave.set()
    thread.join()
    assert counts() == {4}


@pytest.mark.parametrize(("n", "expected"), [(10, {1}), (1000, {1}), (1001, {4})])
def test_large_histories_keep_their_threads(n, expected):
    suggest = _threads.one_blas_thread_when_small(lambda self, history: counts())
    assert suggest(None, History(np.zeros((n, 2)), np.zeros(n))) == expected
