"""Timing helpers: the first call, which compiles, and medians of repeated calls."""

import time
from collections.abc import Callable

import jax
import numpy as np


def first_call(function: Callable[[], object]) -> float:
    """Seconds of one call, including compilation where it is the first."""
    began = time.perf_counter()
    jax.block_until_ready(function())
    return time.perf_counter() - began


def median_seconds(*functions: Callable[[], object], repeats: int = 15) -> list[float]:
    """Median seconds of each function.

    The functions take turns, so that a busy moment of the machine affects all of them.
    """
    samples = [[first_call(function) for function in functions] for _ in range(repeats)]
    return [float(v) for v in np.median(samples, axis=0)]


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Slope of log time against log size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
