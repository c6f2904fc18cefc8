"""Objectives that worker processes can import, for the laws of worker processes."""

import os
import sys
import time
from pathlib import Path


def square(x: float) -> float:
    return x * x


def sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def announce_and_sleep(path: str) -> float:
    """Write the number of this process to a file, then take two seconds."""
    Path(path).write_text(str(os.getpid()))
    time.sleep(2.0)
    return 1.0


def leave(code: int) -> float:
    """Mean "stop", as an objective does that calls sys.exit."""
    sys.exit(code)


def fork_and_die(seconds: float) -> float:
    """Leave a forked process behind, which holds this one's pipes open."""
    if os.fork() == 0:
        time.sleep(seconds)
        os._exit(0)
    os._exit(9)


def sleep_when_large(x) -> float:
    """Take a minute where the coordinate is large."""
    time.sleep(60.0 if x[0] > 0.5 else 0.0)
    return float(x[0])


def hang(x) -> float:
    time.sleep(60.0)
    return 0.0


def missing_key(x) -> float:
    return {}["rate"]


class OwnError(Exception):
    """Exception that does not survive pickling, as many with two arguments do not."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one)


def own_error(x) -> float:
    raise OwnError("one", "two")
