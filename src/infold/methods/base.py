"""The contract between methods and the optimizer."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from infold.history import History

Key = tuple[int, int]
"""(seed, iteration): all randomness of a suggestion is drawn from it."""

Cache = dict[str, np.ndarray]
"""Warm-start parameters, as vectors. Without them a suggestion is as good, only slower."""


@dataclass(frozen=True)
class Suggestion:
    """Points to evaluate next."""

    x: np.ndarray
    """q x D points of the unit cube."""
    diagnostics: dict[str, Any] = field(default_factory=dict)
    """What a person would want to know about how the last of them was chosen."""
    cache: Cache = field(default_factory=dict)
    """To be handed to the next call."""


@runtime_checkable
class Method(Protocol):
    """How the next points are chosen: a frozen dataclass of settings. Same arguments, same answer."""

    def suggest(self, history: History, q: int, key: Key, cache: Cache | None = None) -> Suggestion:
        """q points to evaluate. Never raises on data."""
        ...


def features(n_features: int | None, dimension: int) -> int:
    """The dimension of the feature space: the one asked for, or min(10, D // 2), at least 1."""
    if n_features is not None and n_features > dimension:
        raise ValueError(f"n_features = {n_features}: expected at most the dimension of the space, {dimension}")
    return n_features or max(1, min(10, dimension // 2))


def with_lies(history: History, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All inputs, and values y with pending points at the best of them: the constant liar of Ginsbourger et al. (2010).

    The lie takes the promise out of the pending points and leaves that of the places beyond them. `docs/notes.md` compares
    it with the values that the model predicts.
    """
    best = np.min(y[np.isfinite(history.y)])
    return np.concatenate([history.x, history.pending]), np.append(y, np.full(len(history.pending), best))


class Stopwatch:
    """Seconds spent in named stages."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - began
