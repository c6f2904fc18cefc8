"""Objectives that worker processes can import."""

import os
import time


def sphere(x) -> float:
    return float(sum(v * v for v in x))


def slow_sphere(x) -> float:
    time.sleep(0.02)
    return sphere(x)


def deadly(x) -> float:
    """Takes its process with it where the first coordinate is large."""
    if x[0] > 0.5:
        os._exit(9)
    return sphere(x)


def named(p) -> float:
    return p["a"] ** 2 + p["n"] + (p["kind"] == "bad") + p["flag"]
