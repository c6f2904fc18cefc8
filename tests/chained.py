"""A method of a user's own whose suggestions depend on everything it is given."""

import hashlib
from dataclasses import dataclass

import numpy as np

from infold.methods.base import Suggestion
from infold.record import Proposal


@dataclass(frozen=True)
class Fitted:
    """What `Chained` calls a model: the digest of what it was fitted to."""

    digest: bytes
    n_told: int


@dataclass(frozen=True)
class Chained:
    """Random points, drawn from a digest of the history, the key and the cache.

    A bit that differs anywhere, now or at an earlier suggestion, changes all further points.
    """

    cache_size: int = 8
    """Numbers in the cache besides the digest."""
    with_cache: bool = True

    def _digest(self, history, key, cache) -> bytes:
        digest = hashlib.sha256(repr((key, history.proposals)).encode())
        before = (cache or {}).get("chain", {})
        for array in (history.x, history.y, history.pending, *before.values()):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.digest()

    def fit(self, history, key, cache=None) -> Fitted:
        return Fitted(self._digest(history, key, cache), len(history.y))

    def suggest(self, history, q, key, cache=None) -> Suggestion:
        digest = self._digest(history, key, cache)
        rng = np.random.default_rng(list(digest))
        x = rng.uniform(size=(q, history.dimension))
        proposals = tuple(
            Proposal(("", "wide", "deep")[i % 3], {"first": x[i, 0], "shape": (1, i)})
            for i in range(q)
        )
        kept = {
            "digest": np.frombuffer(digest, dtype=np.uint8),
            "curvature": rng.normal(size=(2, self.cache_size // 2)),
        }
        cache = {"chain": kept} if self.with_cache else {}
        return Suggestion(x, proposals, cache, fitted=Fitted(digest, len(history.y)))
