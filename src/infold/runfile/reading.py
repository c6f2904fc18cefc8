"""Reading a run file: whatever it says is checked before anything is done with it."""

import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict

from infold import methods
from infold.learning.lessons import Lessons
from infold.methods import Method, version_1
from infold.record import Ask, Pending
from infold.runfile.events import (
    Event,
    State,
    dump,
    field,
    parse_evaluation,
    parse_event,
    parse_state,
    whole,
)
from infold.runfile.files import check_plain, checked_json
from infold.runfile.packing import from_text
from infold.runfile.settings import check_types
from infold.space import Space

FORMAT = "infold-run"
VERSION = 3
"""Version of files that hold what earlier runs taught; older readers would leave it out."""
_VERSION_ALONE = 2  # all others, which older readers understand
_KIND = "a run file of infold"
_HEAD = ("metadata", "space", "method", "n_initial", "initial", "seed", "direction")
_VERSION_1 = (*_HEAD, "n_asked", "evaluations", "pending", "cache")
_log = logging.getLogger(__name__)


class Contents(TypedDict):
    """What a run file says, checked."""

    source: str
    version: int
    metadata: dict[str, Any]
    space: Space
    method: Any
    n_initial: int
    initial: str
    seed: int
    direction: str | list[str]
    earlier: Lessons | None
    """What earlier runs taught."""
    events: list[tuple[Event, str]]
    """Each with its place in the file, for errors."""


def head_line(fields: Mapping[str, Any]) -> str:
    """Return the first line of a run file with these fields."""
    if "earlier" not in fields:
        return dump({"format": FORMAT, "version": _VERSION_ALONE, **fields})
    fields = {**fields, "earlier": fields["earlier"].to_json()}
    return dump({"format": FORMAT, "version": VERSION, **fields})


def read(path: str | os.PathLike) -> Contents:
    """Return what the run file at `path` says."""
    check_plain(Path(path))
    return parse(Path(path).read_bytes(), str(path))


def check_replaceable(path: Path) -> None:
    """Raise ValueError where a file is at `path` that is not a run file of a version we read.

    The head decides. An empty file may be replaced: nothing is lost.
    """
    check_plain(path)
    try:
        with path.open("rb") as file:
            first = file.readline()
            head = _load(first) if _is_json(first) else None
            if first and not isinstance(head, dict):  # a file of version 1 may be set out in lines
                rest = first + file.read()
                head = _load(rest) if _is_json(rest) else None
    except FileNotFoundError:
        return
    if not first:
        return
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise ValueError(f"{path} is not {_KIND} and is not overwritten: choose another file")
    if not _is_known(head.get("version")):
        raise ValueError(
            f"{path} has version {head.get('version')!r:.20} and is not overwritten: "
            f"this infold reads versions 1 to {VERSION}; choose another file"
        )


def _is_known(version: Any) -> bool:
    return type(version) is int and 1 <= version <= VERSION


def parse(contents: str | bytes, source: str) -> Contents:
    """Return what a run file says; raise where it cannot be all true.

    Args:
        contents: text of the file.
        source: name of the file in errors.
    """
    raw = contents.encode() if isinstance(contents, str) else contents
    lines = raw.split(b"\n")
    head = _load(lines[0]) if _is_json(lines[0]) else None
    if not isinstance(head, dict) or head.get("version") == 1:
        return _parse_version_1(raw, source)
    if head.get("format") != FORMAT:
        raise ValueError(f"{source} is not {_KIND}")
    if not _is_known(head.get("version")):
        raise ValueError(
            f"{source} has version {head.get('version')!r:.20}: "
            f"this infold reads versions 1 to {VERSION}"
        )
    with blaming(source, "line 1"):
        read = _parse_head(head, source, head["version"])
    n_asked = 0
    begun = False
    for number, text in enumerate(lines[1:], start=2):
        if not text.strip():
            continue
        if number == len(lines) and not _is_json(text):  # a whole line ends in a newline
            _log.warning("%s: line %d is cut short and is left out", source, number)
            break
        place = f"line {number}"
        with blaming(source, place):
            data = _load(text)
            if not isinstance(data, dict):
                raise ValueError("expected a table")
            if data.get("event") == "metadata":
                read["metadata"] = field(data, "metadata", dict, "a table")
                continue
            event = parse_event(data, read["space"])
            if isinstance(event, Ask | State):
                # The first state of a file stands for the asks that were left out before it.
                if event.n_asked != n_asked and (begun or isinstance(event, Ask)):
                    raise ValueError(f"n_asked = {event.n_asked}: expected {n_asked}")
                n_asked = event.n_asked
                begun = True
            if isinstance(event, Ask):
                n_asked += len(event.points)
            read["events"].append((event, place))
    return read


@contextmanager
def blaming(source: str, place: str) -> Iterator[None]:
    """Turn whatever goes wrong into an error that names the file and the place in it."""
    try:
        yield
    except Exception as error:
        what = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ValueError(f"{source}, {place}: {what}") from error


def _is_json(text: bytes) -> bool:
    try:
        _load(text)
    except (ValueError, RecursionError):
        return False
    return True


def _load(text: bytes) -> Any:
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _parse_head(head: dict[str, Any], source: str, version: int) -> Contents:
    method = field(head, "method", dict, "a table")
    space = Space.from_json(field(head, "space", dict, "a table"))
    return {
        "source": source,
        "version": version,
        "metadata": field(head, "metadata", dict, "a table"),
        "space": space,
        "method": method,
        "n_initial": whole(head, "n_initial", 1),
        "initial": field(head, "initial", str, "text"),
        "seed": whole(head, "seed"),
        "direction": field(head, "direction", str | list, "text, or a list of texts"),
        "earlier": _parse_lessons(head, space) if version == VERSION else None,
        "events": [],
    }


def _parse_lessons(head: dict[str, Any], space: Space) -> Lessons:
    """Return what earlier runs taught, checked."""
    lessons = Lessons.from_json(field(head, "earlier", dict, "a table"))
    if lessons.dimension != space.dimension:
        raise ValueError(f"earlier.dimension = {lessons.dimension}: expected {space.dimension}")
    return lessons


def method_to_json(method: Method) -> dict[str, Any]:
    """Return what a run file says about a method: for one that is not infold's own, its name."""
    try:
        return methods.to_json(method)
    except ValueError:
        return {"own": methods.name_of(method)}


def method_of(contents: Contents, given: Method | None) -> Method:
    """Return the method of a run; a file names one of infold's own, and never imports code.

    Args:
        contents: what the run file says.
        given: the method that the caller passed, if any.
    """
    saved = contents["method"]
    if "own" in saved:
        own = field(saved, "own", str, "the name of a class")
        if given is None:
            raise ValueError(f"the method {own} is not one of infold's own: pass it as method=...")
        if methods.name_of(given) != own:
            _log.warning("the run was made with %s and continues with %r", own, given)
        return given
    if contents["version"] == 1:
        kind = field(saved, "kind", str, "the name of a method")
        method = version_1.method_of(kind, field(saved, "settings", dict, "a table"))
    else:
        method = methods.from_json(saved)
    check_types(method)
    if given is not None and method_to_json(given) != method_to_json(method):
        raise ValueError(f"method = {given!r}: the run has the method {method!r}")
    return method


def _parse_version_1(raw: bytes, source: str) -> Contents:
    """Return what a run file of version 1 says: one object, its cache without names inside."""
    data = checked_json(raw, source, kind=_KIND, format=FORMAT, version=1, required=_VERSION_1)
    with blaming(source, "head"):
        read = _parse_head(data, source, 1)
        cache = {
            name: from_text(text) for name, text in field(data, "cache", dict, "a table").items()
        }
        state = parse_state(data, version_1.cache_of(cache))
        evaluations = field(data, "evaluations", list, "a list")
        pending = field(data, "pending", list, "a list")
    for i, evaluation in enumerate(evaluations):
        place = f"evaluations[{i}]"
        with blaming(source, place):
            if not isinstance(evaluation, dict):
                raise ValueError(f"{evaluation!r:.60}: expected a table")
            fields = {**evaluation, "proposed_by": "unknown"}
            read["events"].append((parse_evaluation(fields, read["space"]), place))
    for i, point in enumerate(pending):
        place = f"pending[{i}]"
        with blaming(source, place):
            read["events"].append((Pending.at(point, read["space"], "unknown", {}), place))
    read["events"].append((state, "n_asked"))
    return read
