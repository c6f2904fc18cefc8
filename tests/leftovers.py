"""Processes that a run has left behind, found by a mark in their environment."""

import os
import time
import uuid

import psutil

_NAME = "INFOLD_TEST_MARK"


def marked() -> tuple[dict[str, str], str]:
    """Return an environment for a program, with a mark that all its descendants inherit."""
    mark = uuid.uuid4().hex
    folders = [os.getcwd(), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders), _NAME: mark}, mark


def is_left(mark: str) -> list[psutil.Process]:
    """Return the living processes that have the mark."""
    found = []
    for process in psutil.process_iter():
        try:
            living = process.status() != psutil.STATUS_ZOMBIE
            if living and process.environ().get(_NAME) == mark:
                found.append(process)
        except psutil.Error:
            continue
    return found


def wait_until(condition, seconds: float = 60.0) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)
