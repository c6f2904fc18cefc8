"""The file of a run: versioned JSON, one evaluation per line, written at once or not at all.

`docs/run-file.md` describes it.
"""

import base64
import json
import math
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from infold.space import Point

FORMAT, VERSION = "infold-run", 1
_REQUIRED = (
    "metadata",
    "space",
    "method",
    "n_initial",
    "initial",
    "seed",
    "direction",
    "n_asked",
    "evaluations",
    "pending",
    "cache",
)


def evaluation_line(x: Point, y: float) -> str:
    """One evaluation as JSON; a failed one has no value."""
    return json.dumps({"x": plain(x), "y": None if math.isnan(y) else y}, allow_nan=False)


def plain(point: Point) -> Any:
    """The point as JSON can hold it."""
    return point.tolist() if isinstance(point, np.ndarray) else point


def write(path: str | os.PathLike, head: dict[str, Any], evaluations: Iterable[str]) -> None:
    """Write a run. `evaluations` are lines of `evaluation_line`.

    The text goes to a file beside `path`, to the disk, and is then renamed: a crash leaves the old file or the new one.
    """
    path = Path(os.path.realpath(path))  # a link stays a link
    fields = [f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in head.items()]
    fields.append('"evaluations": [\n' + ",\n".join(evaluations) + "\n]")
    text = "{\n" + ",\n".join([f'"format": "{FORMAT}"', f'"version": {VERSION}', *fields]) + "\n}\n"
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, path.stat().st_mode & 0o777 if path.exists() else 0o644)  # temporary files are private
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read(path: str | os.PathLike) -> dict[str, Any]:
    """The contents of a run file, checked."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a run file of infold, or is cut short: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"{path} is not a run file of infold")
    if data.get("version") != VERSION:
        raise ValueError(f"{path} has version {data.get('version')}: this infold reads version {VERSION}")
    missing = [key for key in _REQUIRED if key not in data]
    if missing:
        raise ValueError(f"{path} is not a whole run file of infold: it lacks {', '.join(missing)}")
    return data


def to_text(array: np.ndarray) -> str:
    """A vector, exactly: base64 of little-endian doubles."""
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f8").tobytes()).decode("ascii")


def from_text(text: str) -> np.ndarray:
    """The inverse of `to_text`."""
    return np.frombuffer(base64.b64decode(text), dtype="<f8").astype(np.float64)
