"""Events of a run as lines of JSON, and back: `docs/run-file.md` describes them."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from infold import record
from infold._checks import seconds_of
from infold.record import Ask, Evaluation, Forget, Pending
from infold.runfile.packing import pack, unpack
from infold.space import Space
from infold.space.fixed import Fixed


class State(NamedTuple):
    """What a run needs, beside its record, to continue exactly."""

    n_asked: int
    """Points asked for before it."""
    cache: dict[str, Any]
    """Warm starts that the method's last suggestion left."""


Event = record.Event | State


def plain(value: Any) -> Any:
    """Return points and diagnostics as JSON can hold them: what has no form there becomes text.

    Numbers that are not finite become None.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, str | int) else str(value)


def metadata_line(metadata: Any) -> str:
    """Return the line that says that the metadata are others now; raise where there is none."""
    if not isinstance(metadata, dict):
        raise ValueError(f"metadata = {metadata!r:.60}: expected a dict")
    try:
        return dump({"event": "metadata", "metadata": metadata})
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"metadata cannot be written as JSON: {error}") from error


def line(event: Event) -> str:
    """Return the line of one event."""
    if isinstance(event, State):
        return dump({"event": "state", "n_asked": event.n_asked, "cache": pack(event.cache)})
    if isinstance(event, Ask):
        points = [_proposed(point) for point in event.points]
        fixed = {"fixed": plain(event.fixed)} if event.fixed else {}
        return dump({"event": "ask", "n_asked": event.n_asked, **fixed, "points": points})
    if isinstance(event, Forget):
        return dump({"event": "forget", "x": plain(event.point)})
    if isinstance(event, Pending):
        return dump({"event": "pending", **_proposed(event)})
    value = list(event.values) or event.value
    told: dict[str, Any] = {"y": None if event.failed else value}
    if event.error is not None:
        told["error"] = event.error
    if event.seconds is not None:
        told["seconds"] = event.seconds
    if not math.isnan(event.told_at):
        told["told_at"] = event.told_at
    if event.constraints:
        told["constraints"] = plain(event.constraints)
    return dump({"event": "evaluation", **_proposed(event, told)})


def _proposed(event: Pending | Evaluation, told: Mapping[str, Any] | None = None) -> dict[str, Any]:
    fields = {"x": plain(event.point), **(told or {}), "proposed_by": event.proposed_by}
    return {**fields, "diagnostics": event.diagnostics} if event.diagnostics else fields


def dump(data: dict[str, Any]) -> str:
    """Return a line of JSON; what has no exact form there is an error."""
    return json.dumps(data, allow_nan=False) + "\n"


_NEEDED = object()


def field(
    data: dict[str, Any], name: str, kinds: Any, expected: str, default: Any = _NEEDED
) -> Any:
    """Return a field of a table, checked; the default where it is null or missing."""
    value = data.get(name)
    if value is None and default is not _NEEDED:
        return default
    if name not in data:
        raise ValueError(f"{name} is missing: expected {expected}")
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise ValueError(f"{name} = {value!r:.60}: expected {expected}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} is not finite: expected {expected}")
    return value


def whole(data: dict[str, Any], name: str, least: int = 0) -> int:
    """Return a field of a table that must be a whole number."""
    expected = f"a whole number of at least {least}"
    value = field(data, name, int, expected)
    if value < least:
        raise ValueError(f"{name} = {value}: expected {expected}")
    return value


def _number(data: dict[str, Any], name: str) -> float | None:
    value = field(data, name, int | float, "a number", None)
    return None if value is None else float(value)


def parse_event(data: dict[str, Any], space: Space) -> Event:
    """Return the event of a line, checked; not for metadata, which are no event of the record."""
    kind = field(data, "event", str, "text")
    if kind not in _PARSERS:
        raise ValueError(f"event = {kind!r:.60}: expected one of metadata, {', '.join(_PARSERS)}")
    return _PARSERS[kind](data, space)


def _parse_pending(data: Any, space: Space) -> Pending:
    if not isinstance(data, dict):
        raise ValueError(f"{data!r:.60}: expected a table")
    if "x" not in data:
        raise ValueError("x is missing: expected a point")
    proposed_by = field(data, "proposed_by", str, "text")
    diagnostics = field(data, "diagnostics", dict, "a table", {})
    return Pending.at(data["x"], space, proposed_by, diagnostics)


def parse_evaluation(data: dict[str, Any], space: Space) -> Evaluation:
    """Return the evaluation of a line, checked."""
    asked = _parse_pending(data, space)
    if "y" not in data:
        raise ValueError("y is missing: expected a number, or null for a failed evaluation")
    several = isinstance(data["y"], list)
    parts = [_number({"y": y}, "y") for y in (data["y"] if several else [data["y"]])] or [None]
    value = None if None in parts else parts[0]
    told_at = _number(data, "told_at")
    constraints = field(data, "constraints", list, "a list", [])
    numbers = [
        field({"constraints": c}, "constraints", int | float, "numbers or null", math.nan)
        for c in constraints
    ]
    return Evaluation(
        point=asked.point,
        unit=asked.unit,
        value=math.nan if value is None else value,
        error=field(data, "error", str, "text", None),
        seconds=seconds_of(_number(data, "seconds")),
        told_at=math.nan if told_at is None else told_at,
        proposed_by=asked.proposed_by,
        diagnostics=asked.diagnostics,
        constraints=tuple(float(number) for number in numbers),
        values=tuple(y for y in parts if y is not None) if several and value is not None else (),
        identity=asked.identity,
    )


_MOST_ASKED = 1 << 30  # points of a Sobol sequence; no run comes near it


def _n_asked(data: dict[str, Any]) -> int:
    n_asked = whole(data, "n_asked")
    if n_asked > _MOST_ASKED:
        raise ValueError(f"n_asked = {n_asked}: expected at most {_MOST_ASKED}")
    return n_asked


def _parse_ask(data: dict[str, Any], space: Space) -> Ask:
    points = field(data, "points", list, "a list of points")
    if not points:
        raise ValueError("points = []: expected at least one")
    fixed = field(data, "fixed", dict, "a table", {})
    # In files all parameters go by their names.
    values = Fixed.of(Space(space.parameters), fixed).values if fixed else {}
    return Ask(tuple(_parse_pending(point, space) for point in points), _n_asked(data), values)


def _parse_forget(data: dict[str, Any], space: Space) -> Forget:
    if "x" not in data:
        raise ValueError("x is missing: expected a point")
    point, _, identity = space.resolve(data["x"])
    return Forget(point, identity)


def parse_state(data: dict[str, Any], cache: dict[str, Any]) -> State:
    """Return the state with this cache, its number of points checked."""
    return State(_n_asked(data), cache)


_PARSERS: dict[str, Callable[[dict[str, Any], Space], Event]] = {
    "ask": _parse_ask,
    "evaluation": parse_evaluation,
    "forget": _parse_forget,
    "pending": _parse_pending,
    "state": lambda data, space: parse_state(data, unpack(data.get("cache"))),
}
