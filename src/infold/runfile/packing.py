"""Arrays as text, exactly: what JSON files hold of caches and of trained parameters."""

import base64
import logging
import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

_log = logging.getLogger(__name__)
_WORTH_IT = 0.9  # compressed data must be smaller than this share, or they are kept as they are
_KINDS = tuple("biuf")  # truth values, whole numbers, floats: nothing that would run code when read


def to_text(array: np.ndarray) -> str:
    """Return a vector as base64 of little-endian doubles."""
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f8").tobytes()).decode("ascii")


def from_text(text: str) -> np.ndarray:
    """Return the vector that `to_text` wrote."""
    return np.frombuffer(base64.b64decode(text), dtype="<f8").astype(np.float64)


def pack(cache: Mapping[str, Any], name: str = "cache") -> dict[str, Any]:
    """Return a nested cache as JSON can hold it: dicts as objects, arrays as text.

    What is neither, nor a plain number or truth value, is left out with a warning: caches only save
    time, and a run must not end because one cannot be written.
    """
    packed: dict[str, Any] = {}
    for key, value in cache.items():
        label = f"{name}[{key!r}]"
        if not isinstance(key, str):
            _log.warning("%s is not kept in the run file: expected text as its name", label)
        elif isinstance(value, Mapping):
            packed[key] = pack(value, label)
        elif _is_plain(value):
            packed[key] = value
        elif getattr(getattr(value, "dtype", None), "kind", None) in _KINDS:
            packed[key] = _pack_array(np.asarray(value))
        else:
            kind = type(value).__name__
            _log.warning("%s is not kept in the run file: a %s is no array", label, kind)
    return packed


def _is_plain(value: Any) -> bool:
    if type(value) is float:
        return math.isfinite(value)
    return value is None or type(value) in (bool, int)


def _pack_array(array: np.ndarray) -> str:
    data = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
    compressed = zlib.compress(data, level=1)  # higher levels gain little on floats
    coding = "raw"
    if len(compressed) < _WORTH_IT * len(data):
        data, coding = compressed, "zlib"
    shape = "x".join(str(n) for n in array.shape)
    return f"{array.dtype.name}:{shape}:{coding}:{base64.b64encode(data).decode('ascii')}"


def unpack(packed: Any, name: str = "cache") -> dict[str, Any]:
    """Return the cache that `pack` wrote; raise where the data are none."""
    if not isinstance(packed, dict):
        raise ValueError(f"{name} = {packed!r:.60}: expected a table")
    cache: dict[str, Any] = {}
    for key, value in packed.items():
        label = f"{name}[{key!r}]"
        if isinstance(value, dict):
            cache[key] = unpack(value, label)
        elif isinstance(value, str):
            try:
                cache[key] = _unpack_array(value)
            except (ValueError, TypeError, zlib.error) as error:
                raise ValueError(f"{label} is no array: {error}") from error
        elif _is_plain(value):
            cache[key] = value
        else:
            raise ValueError(f"{label} = {value!r:.60}: expected an array as text, or a table")
    return cache


def _unpack_array(text: str) -> np.ndarray:
    dtype_name, shape_text, coding, encoded = text.split(":")
    dtype = np.dtype(dtype_name)
    if dtype.kind not in _KINDS:
        raise ValueError(f"expected numbers, not {dtype_name}")
    shape = tuple(int(n) for n in shape_text.split("x")) if shape_text else ()
    data = base64.b64decode(encoded, validate=True)
    n_bytes = math.prod(shape) * dtype.itemsize
    if coding == "zlib":
        data = zlib.decompressobj().decompress(data, n_bytes + 1)
    elif coding != "raw":
        raise ValueError(f"expected raw or zlib, not {coding!r:.20}")
    if len(data) != n_bytes or min(shape, default=0) < 0:
        raise ValueError(f"expected {n_bytes} bytes for the shape {shape}, not {len(data)}")
    return np.frombuffer(data, dtype=dtype.newbyteorder("<")).astype(dtype).reshape(shape)
