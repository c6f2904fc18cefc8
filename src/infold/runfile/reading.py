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


def text(head: dict[str, Any], evaluations: Iterable[str]) -> str:
    """The contents of a run file. `evaluations` are lines of `evaluation_line`."""
    fields = [
        f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in head.items()
    ]
    fields.append('"evaluations": [\n' + ",\n".join(evaluations) + "\n]")
    return "{\n" + ",\n".join([f'"format": "{FORMAT}"', f'"version": {VERSION}', *fields]) + "\n}\n"


def replace(path: str | os.PathLike, text: str) -> None:
    """Write `text` to `path`, at once or not at all.

    It goes to a file beside `path`, to the disk, and is then renamed: a crash leaves the old file or the new one.
    """
    path = Path(os.path.realpath(path))  # a link stays a link
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(
            temporary, path.stat().st_mode & 0o777 if path.exists() else 0o644
        )  # temporary files are private
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read(path: str | os.PathLike) -> dict[str, Any]:
    """The contents of the run file at `path`, checked."""
    return parse(Path(path).read_bytes(), str(path))


def parse(contents: str | bytes, source: str) -> dict[str, Any]:
    """The contents of a run file, checked; errors name the `source`."""
    return checked_json(
        contents,
        source,
        kind="a run file of infold",
        format=FORMAT,
        version=VERSION,
        required=_REQUIRED,
    )


def checked_json(
    contents: str | bytes,
    source: str,
    *,
    kind: str,
    format: str,
    version: int,
    required: Iterable[str],
) -> dict[str, Any]:
    """A JSON object that says it has this format and version and has the `required` fields."""
    try:
        data = json.loads(contents)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
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


def to_text(array: np.ndarray) -> str:
    """A vector, exactly: base64 of little-endian doubles."""
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f8").tobytes()).decode("ascii")


def from_text(text: str) -> np.ndarray:
    """The inverse of `to_text`."""
    return np.frombuffer(base64.b64decode(text), dtype="<f8").astype(np.float64)
