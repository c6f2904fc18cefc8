"""Parameters made from what users write: in Python, in TOML, in a run file."""

import dataclasses
from typing import Any

from infold.space.categories import Bool, Categorical
from infold.space.numbers import Float, Int
from infold.space.parameter import Parameter
from infold.space.scale import number_of, shown

KINDS: dict[str, type[Parameter]] = {kind.kind: kind for kind in (Float, Int, Categorical, Bool)}


def parameter_of(name: str, value: object) -> Parameter:
    """Return `value` as a parameter: it may be one, or a (low, high) pair."""
    if isinstance(value, Parameter):
        return value
    try:
        low, high = (number_of(name, limit) for limit in value)  # type: ignore[attr-defined]
        return Float(low, high)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} = {shown(value)}: "
            "expected a (low, high) pair or a Float, Int, Categorical or Bool"
        ) from None


def from_fields(name: str, fields: Any) -> Parameter:
    """Return the parameter that a table of a TOML or JSON file describes."""
    kinds = ", ".join(map(repr, KINDS))
    if not isinstance(fields, dict):
        raise ValueError(f"{name} = {shown(fields)}: expected a table with type = {kinds}")
    type_name = fields.get("type")
    if not isinstance(type_name, str) or type_name not in KINDS:
        inner = next((key for key, value in fields.items() if isinstance(value, dict)), None)
        if "type" not in fields and inner is not None:
            raise ValueError(
                f"{name} is a table with the table {inner} inside: expected one table per "
                f'parameter; a name with a dot needs quotes, ["{name}.{inner}"]'
            )
        given = f"{name}.type = {shown(type_name)}" if "type" in fields else f"{name} has no type"
        raise ValueError(f"{given}: expected a table with type = {kinds}")
    kind = KINDS[type_name]
    try:
        return kind(**{key: value for key, value in fields.items() if key != "type"})
    except TypeError:
        known = ", ".join(field.name for field in dataclasses.fields(kind))  # type: ignore[arg-type]
        given = ", ".join(key for key in fields if key != "type")
        raise ValueError(
            f"{name} has the fields {given or 'none'}: a {kind.kind} takes {known or 'none'}"
        ) from None
    except ValueError as error:
        raise ValueError(f"{name}.{error}") from None
