"""Signals that ask a run to stop: Ctrl-C, SIGTERM, SIGHUP."""

import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

_NAMES = {"SIGINT": "Ctrl-C", "SIGTERM": "SIGTERM", "SIGHUP": "SIGHUP"}
SIGNALS = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))


class Interruption:
    """Block in which the first signal asks the run to stop, and the second stops it at once.

    The second raises KeyboardInterrupt for Ctrl-C and SystemExit for the others. Handlers that
    somebody else has set stay, and so do signals that are ignored, as under nohup. Outside the main
    thread, where Python has no handlers, the block does nothing. Afterwards everything is as it was
    before.
    """

    def __init__(self, announce: Callable[[str], Any] | None = None) -> None:
        """
        Args:
            announce: called with a sentence when the first signal comes; it is written to standard
                error when None.
        """
        self.number: signal.Signals | None = None
        """The signal that asked the run to stop; None as long as none did."""
        self.forced = False
        """Whether a second one came."""
        self._announce = announce or _write
        self._before: dict[signal.Signals, Any] = {}

    @property
    def asked(self) -> bool:
        """Whether the run has been asked to stop."""
        return self.number is not None

    @property
    def name(self) -> str:
        """Name of the signal, as people call it."""
        return _NAMES[self.number.name] if self.number is not None else ""

    @property
    def status(self) -> int:
        """Exit status of a program that this signal has ended, as shells report it."""
        return 128 + int(self.number or 0)

    def __enter__(self) -> "Interruption":
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            self.forced = True
            self.number = signal.Signals(number)
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            raise SystemExit(self.status)
        self.number = signal.Signals(number)
        self._announce(
            f"{self.name}: stopping after the evaluations under way; "
            f"{self.name} again to stop at once"
        )


def _write(text: str) -> None:
    with suppress(OSError, RuntimeError, ValueError, AttributeError):  # closed, busy or missing
        print(text, file=sys.stderr, flush=True)
