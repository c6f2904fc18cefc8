"""What every kind of parameter can do."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np


class Parameter(ABC):
    """One parameter of a space.

    `decode` takes any coordinates to a value that can be evaluated, `encode` takes a value to the
    one place that stands for it. A fixed parameter has one value and no coordinates.
    """

    kind: ClassVar[str]

    @property
    def width(self) -> int:
        """Number of coordinates in the unit cube; 0 where the parameter is fixed."""
        return 0 if self.fixed else 1

    @property
    @abstractmethod
    def fixed(self) -> bool:
        """Whether there is only one value."""

    @property
    def discrete(self) -> bool:
        """Whether the coordinates have gaps."""
        return True

    @abstractmethod
    def check(self, name: str) -> None:
        """Raise where the definition makes no sense."""

    def check_file(self, name: str) -> None:  # noqa: B027
        """Raise where a file cannot hold the values."""

    @abstractmethod
    def normalize(self, name: str, value: Any) -> Any:
        """Return `value` in the parameter's own type; raise where it is not a legal value."""

    def identity(self, value: Any) -> bool | int | float:
        """Return what stands for a value that `normalize` gave, and for no other value."""
        return value

    @abstractmethod
    def coordinates(self, value: Any) -> list[float]:
        """Return the coordinates of a value that `normalize` gave."""

    def encode(self, name: str, value: Any) -> list[float]:
        """Return the coordinates of `value`; raise where it is not a legal value."""
        return self.coordinates(self.normalize(name, value))

    @abstractmethod
    def decode(self, unit: np.ndarray) -> Any:
        """Return the value at the coordinates `unit`: always a legal one."""

    @abstractmethod
    def snap(self, units: np.ndarray) -> np.ndarray:
        """Return, for each row of coordinates, the place of the value that it decodes to.

        For discrete parameters this equals `encode(decode(row))` to the last bit.
        """
