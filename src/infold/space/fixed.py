"""Parameters that keep a given value while the others are searched: `Optimizer.ask(fixed=...)`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from infold import _checks
from infold.history import Rounding
from infold.space import Point, Space
from infold.space.where import Where


@dataclass(frozen=True, eq=False)
class Fixed:
    """Values of some parameters, and their places in the unit cube."""

    space: Space
    values: Mapping[str, Any]
    """By the names of their parameters."""

    @classmethod
    def of(cls, space: Space, given: Any) -> "Fixed":
        """Return what the user fixed, checked.

        Args:
            space: all parameters.
            given: values by the names of parameters, by their numbers where they have no names.
        """
        if not isinstance(given, Mapping):
            raise ValueError(f"fixed = {_checks.shown(given)}: expected values by parameter")
        names = list(space.parameters)
        keys: dict[Any, str] = {name: name for name in names}
        if not space.named:
            keys = dict(enumerate(names))
        values = {}
        for key, value in given.items():
            if isinstance(key, bool) or key not in keys:
                known = ", ".join(map(str, keys)) if space.named else f"0 to {len(names) - 1}"
                raise ValueError(f"fixed has the key {key!r}: expected a parameter, {known}")
            name = keys[key]
            values[name] = space.parameters[name].normalize(f"fixed[{key!r}]", value)
        return cls(space, values)

    @property
    def _parts(self) -> list[tuple[str, slice]]:
        """Names of all parameters, and where their coordinates are."""
        widths = [parameter.width for parameter in self.space.parameters.values()]
        ends = np.cumsum(widths).tolist()
        spans = (slice(end - width, end) for end, width in zip(ends, widths, strict=True))
        return list(zip(self.space.parameters, spans, strict=True))

    @cached_property
    def held(self) -> Bool[np.ndarray, " D"]:
        """Which coordinates belong to parameters with a fixed value."""
        return np.concatenate(
            [np.full(p.width, name in self.values) for name, p in self.space.parameters.items()]
        )

    @cached_property
    def places(self) -> Float[np.ndarray, " D"]:
        """Coordinates of the fixed values; 0 for all other parameters."""
        places = np.zeros(self.space.dimension)
        for name, span in self._parts:
            if name in self.values:
                places[span] = self.space.parameters[name].coordinates(self.values[name])
        return places

    @property
    def rounding(self) -> Rounding | None:
        """Discrete and fixed coordinates, and the way to points that have the fixed values."""
        base = self.space.rounding
        if not self.values:
            return base
        coordinates = self.held if base is None else base.coordinates | self.held

        def snap(units: np.ndarray) -> np.ndarray:
            return np.where(self.held, self.places, units if base is None else base.snap(units))

        return Rounding(coordinates, snap)

    @cached_property
    def where(self) -> Where | None:
        """Known constraints on points that have the fixed values; None where there are none.

        Those of the whole space where no point was found that has them: it may still be listed.
        """
        whole = self.space.where
        if whole is None or not self.values:
            return whole
        try:
            return Where(self.space, whole.constraints, self)
        except ValueError:
            return whole

    def put(self, point: Point) -> Point:
        """Return the point with the fixed values, to the last bit."""
        if not self.values:
            return point
        if isinstance(point, dict):
            return {**point, **self.values}
        changed = list(point)
        for i, name in enumerate(self.space.parameters):
            changed[i] = self.values.get(name, changed[i])
        return self.space.normalize(changed)
