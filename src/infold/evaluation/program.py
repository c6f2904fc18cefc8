"""An external program as an objective."""

import os
import shlex
import signal
import string
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Command:
    """Runs a command line with the parameters filled in and reads the value from the last line of its output.

    The command is split into words once and runs without a shell, so no value can be taken for anything but a word.
    """

    template: str
    """For example "./simulate --rate {rate} {n}"; every {name} is replaced by that parameter's value."""
    timeout: float | None = None
    """Seconds after which an evaluation counts as failed."""

    def check(self, names: list[str]) -> None:
        """Raise when the template names something that is not a parameter, or is not a command line."""
        words = self._words()
        if not words:
            raise ValueError("command is empty: expected a program and its arguments")
        for word in words:
            for _, field, _, _ in string.Formatter().parse(word):
                if field is not None and (field not in names or not field.isidentifier()):
                    expected = ", ".join(name for name in names if name.isidentifier())
                    raise ValueError(f"command has {{{field}}}: expected one of {expected}")

    def _words(self) -> list[str]:
        try:
            return shlex.split(self.template)
        except ValueError as error:
            raise ValueError(f"command = {self.template!r}: {error}") from error

    def __call__(self, point: Mapping[str, Any]) -> float:
        words = [word.format(**point) for word in self._words()]
        status, output, errors = self._run(words)
        if (
            status == -signal.SIGINT
        ):  # Ctrl-C came before it had its session, and so before it began
            status, output, errors = self._run(words)
        if status != 0:
            last = (errors.strip().splitlines() or [""])[-1]
            raise RuntimeError(f"{words[0]} ended with status {status}: {last}")
        lines = output.strip().splitlines()
        if not lines:
            raise RuntimeError(f"{words[0]} printed nothing: expected a number on the last line")
        try:
            return float(lines[-1])
        except ValueError:
            raise RuntimeError(
                f"the last line of {words[0]} is {lines[-1]!r}: expected a number"
            ) from None

    def _run(self, words: list[str]) -> tuple[int, str, str]:
        """Status, output and errors."""
        # A session of its own: Ctrl-C in the terminal is not for the program, and a timeout ends all that it started.
        program = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            output, errors = program.communicate(timeout=self.timeout)
        except BaseException:
            os.killpg(program.pid, signal.SIGKILL)
            program.communicate()
            raise
        return program.returncode, output, errors
