"""An external program as the objective."""

import contextlib
import os
import shlex
import signal
import string
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Command:
    """Objective that runs a program and reads its value from the last line of the output.

    The command line is split into words before the parameters are filled in, and runs without a
    shell: whatever a value contains, it stays within its word.
    """

    template: str
    """Command line such as "./simulate --rate {rate} {n}", with parameters named in braces."""
    timeout: float | None = None
    """Seconds after which an evaluation is ended and counts as failed; None for no limit."""

    def check(self, names: list[str]) -> None:
        """Raise ValueError when the template is no command line or names an unknown parameter."""
        words = self._words()
        if not words:
            raise ValueError("command is empty: expected a program and its arguments")
        for word in words:
            for _, field, _, _ in string.Formatter().parse(word):
                if field is not None and (field not in names or not field.isidentifier()):
                    expected = ", ".join(name for name in names if name.isidentifier())
                    raise ValueError(f"command has {{{field}}}: expected one of {expected}")

    def __call__(self, point: Mapping[str, Any]) -> float:
        words = [word.format(**point) for word in self._words()]
        ended = self._run(words)
        if ended.status == -signal.SIGINT:
            # Ctrl-C reached the program before it had its own session, and so before it began.
            ended = self._run(words)
        program = words[0]
        if ended.status != 0:
            last = (ended.errors.strip().splitlines() or [""])[-1]
            raise RuntimeError(f"{program} ended with status {ended.status}: {last}")
        lines = ended.output.strip().splitlines()
        if not lines:
            raise RuntimeError(f"{program} printed nothing: expected a number on the last line")
        try:
            return float(lines[-1])
        except ValueError:
            raise RuntimeError(
                f"the last line of {program} is {lines[-1]!r}: expected a number"
            ) from None

    def _words(self) -> list[str]:
        try:
            return shlex.split(self.template)
        except ValueError as error:
            raise ValueError(f"command = {self.template!r}: {error}") from error

    def _run(self, words: list[str]) -> "_Ended":
        """Run the program to its end, or to ours: then it and all that it started are killed."""
        # In a session of its own, where Ctrl-C in the terminal does not reach it.
        program = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            output, errors = program.communicate(timeout=self.timeout)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
                os.killpg(program.pid, signal.SIGKILL)
            program.communicate()
            raise
        return _Ended(program.returncode, output, errors)


class _Ended(NamedTuple):
    """What a program left behind."""

    status: int
    output: str
    errors: str
