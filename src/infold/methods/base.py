"""The contract between methods and the optimizer."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from infold.record import History, Proposal

if TYPE_CHECKING:
    from infold.models.base import Fitted

Key = tuple[int, int]
"""(seed, iteration): all randomness of a suggestion is drawn from it."""

Cache = dict[str, Any]
"""Warm starts: arrays by name, and the caches of methods and models inside, each under its name.

A cache only saves time: without it a suggestion is as good, but takes longer.
"""


@dataclass(frozen=True)
class Suggestion:
    """Points to evaluate next."""

    x: np.ndarray
    """q x D points of the unit cube."""
    proposals: tuple[Proposal, ...] = ()
    """Who chose each of them and why; may be left empty."""
    cache: Cache = field(default_factory=dict)
    """Handed to the next call."""
    fitted: "Fitted | None" = None
    """The model behind the suggestion, where there is one."""


@runtime_checkable
class Method(Protocol):
    """How points are chosen: a frozen dataclass of settings. Same arguments, same answer."""

    def suggest(self, history: History, q: int, key: Key, cache: Cache | None = None) -> Suggestion:
        """Return q points to evaluate. Never raises on data."""
        ...
