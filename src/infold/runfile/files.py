"""Files that a crash or a full disk cannot spoil: replaced at once, or extended by whole lines."""

import errno
import json
import os
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # a pipe that took the place of a file is not waited for


class Mark(NamedTuple):
    """A file as we left it, to be recognized later."""

    path: Path
    device: int
    inode: int
    size: int


def _mark(path: Path, state: os.stat_result) -> Mark:
    return Mark(path, state.st_dev, state.st_ino, state.st_size)


def real_path(path: str | os.PathLike) -> Path:
    """Return where links lead: a link to a run file stays a link."""
    return Path(os.path.realpath(path))


def check_plain(path: Path) -> None:
    """Raise ValueError where something is at `path` that is neither a file nor a folder.

    Reading a pipe or a device may never end, and writing would put a file in its place.
    """
    with suppress(FileNotFoundError):
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise ValueError(f"{path} is a pipe or a device: expected a file")


def replace(path: str | os.PathLike, text: str) -> Mark:
    """Write `text` to `path`, at once or not at all.

    It goes to a file beside `path` and to the disk, and is then renamed: a crash leaves the old
    file or the new one. The new one has the rights of the old one.
    """
    path = real_path(path)
    prefix = f".{path.name}."
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=prefix, suffix=".tmp")
    except OSError as error:  # which names the temporary file
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            # Temporary files are private.
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
            os.chmod(temporary, mode)
            mark = _mark(path, os.fstat(file.fileno()))
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    with suppress(OSError):  # not every file system knows how
        _sync_folder(path.parent)
    return mark


def _sync_folder(folder: Path) -> None:
    """Have the disk keep a renaming too: what is appended afterwards belongs to the new file."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def append(mark: Mark, text: str) -> Mark | None:
    """Write `text` to the end of the file, and to the disk.

    What cannot be written whole is taken back, and the error raised.

    Returns:
        How the file is left; None, with nothing written, where it is not the marked one any more.
    """
    try:
        handle = os.open(mark.path, os.O_WRONLY | os.O_APPEND | _NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ENXIO:  # a pipe without a reader
            return None
        raise
    try:
        if _mark(mark.path, os.fstat(handle)) != mark:
            return None
        if not text:
            return mark
        rest = memoryview(text.encode())
        try:
            while rest:
                rest = rest[os.write(handle, rest) :]
            os.fsync(handle)
        except BaseException:
            os.ftruncate(handle, mark.size)
            raise
        return _mark(mark.path, os.fstat(handle))
    finally:
        os.close(handle)


def checked_json(
    contents: str | bytes,
    source: str,
    *,
    kind: str,
    format: str,
    version: int,
    required: Iterable[str],
) -> dict[str, Any]:
    """Return a JSON object that has this format, this version and the `required` fields.

    Args:
        contents: text of the file.
        source: name of the file in errors.
        kind: what the file should be, in words, in errors.
        format: value that its field `format` must have.
        version: value that its field `version` must have.
        required: names of the fields that it must have.
    """
    try:
        data = json.loads(contents)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{source} is not {kind}, or is cut short: {error}") from error
    if not isinstance(data, dict) or data.get("format") != format:
        raise ValueError(f"{source} is not {kind}")
    if data.get("version") != version:
        raise ValueError(
            f"{source} has version {data.get('version')}: this infold reads version {version}"
        )
    missing = [key for key in required if key not in data]
    if missing:
        raise ValueError(f"{source} is not the whole of {kind}: it lacks {', '.join(missing)}")
    return data
