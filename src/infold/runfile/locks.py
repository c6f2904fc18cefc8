"""Locks on run files: one process at a time goes on with a run.

The lock is on a file beside the run file, which is replaced now and then. It is a POSIX record
lock: it ends with the process, however that ends, and children do not inherit it. Systems without
`fcntl`, such as Windows, have no lock here.
"""

import errno
import logging
import os
import platform
from contextlib import suppress
from pathlib import Path

from infold.runfile.files import real_path

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)  # file systems without them
_log = logging.getLogger(__name__)
_held: dict[Path, int] = {}  # real paths of the run files locked here, and by which process


def _lock_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def _is_ours(path: Path) -> bool:
    """Tell whether this process has the lock; a fork has only a copy of the list."""
    return _held.get(path) == os.getpid()


def _try(handle: int) -> bool:
    """Lock an open file; False where another process has it."""
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            return False
        if error.errno not in _NO_LOCKS:
            raise
        _log.warning("this file system has no locks: only one process at a time must go on")
    return True


def _in_use(path: Path, holder: str) -> BlockingIOError:
    return BlockingIOError(
        f"{path} is in use by {holder or 'another process'}: "
        "wait until it has ended, or choose another file"
    )


class Lock:
    """The right to go on with the run in a file, from `acquire` to `release`."""

    def __init__(self, path: str | os.PathLike) -> None:
        self._path = real_path(path)
        self._handle: int | None = None

    def acquire(self) -> None:
        """Take the lock, or raise BlockingIOError where somebody has it."""
        if _is_ours(self._path):
            raise _in_use(self._path, "another run of this process")
        if fcntl is None:  # pragma: no cover - Windows
            return
        beside = _lock_path(self._path)
        while True:
            try:
                handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o644)
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(self._path)) from error
            try:
                if not _try(handle):
                    raise _in_use(self._path, os.pread(handle, 200, 0).decode(errors="replace"))
                if _is_same(handle, beside):  # else its last holder removed it just now
                    os.truncate(handle, 0)
                    with suppress(OSError):  # a full disk; the name is for messages alone
                        os.pwrite(handle, f"process {os.getpid()} on {platform.node()}".encode(), 0)
                    self._handle = handle
                    _held[self._path] = os.getpid()
                    return
            finally:
                if self._handle is None:
                    os.close(handle)

    def release(self) -> None:
        """Give the lock back, where it was taken."""
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        if _is_ours(self._path):
            del _held[self._path]
            _lock_path(self._path).unlink(missing_ok=True)
        os.close(handle)


def _is_same(handle: int, path: Path) -> bool:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return False
    opened = os.fstat(handle)
    return (found.st_dev, found.st_ino) == (opened.st_dev, opened.st_ino)


def check_free(path: Path) -> None:
    """Raise BlockingIOError where another process goes on with the run in this file."""
    if fcntl is None or _is_ours(path):
        return
    try:
        handle = os.open(_lock_path(path), os.O_RDWR)
    except OSError:
        return
    try:
        if not _try(handle):
            raise _in_use(path, os.pread(handle, 200, 0).decode(errors="replace"))
    finally:
        os.close(handle)
