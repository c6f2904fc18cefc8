"""An external program as the objective."""

import shlex
import shutil
import string
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from infold import _checks
from infold.evaluation.outcome import Outcome


class _Filler(string.Formatter):
    """Fills in parameters by their whole names, which may have dots and brackets."""

    def get_field(
        self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Any, str]:
        return kwargs[field_name], field_name


_FILLER = _Filler()


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

    def __post_init__(self) -> None:
        if self.timeout is not None:
            _checks.positive("timeout", self.timeout)

    def check(self, example: Mapping[str, Any]) -> None:
        """Raise ValueError when the command cannot run.

        That is when the template is no command line, has a placeholder that cannot be filled in,
        or names a program that does not exist.

        Args:
            example: a point of the space that the run searches.
        """
        words = self._template_words()
        if not words:
            raise ValueError("command is empty: expected a program and its arguments")
        for word in words:
            for field in self._fields(word):
                if field not in example:
                    raise ValueError(
                        f"command has {{{field}}}: expected one of {', '.join(example)}; "
                        "write {{ and }} for braces of the program's own"
                    )
            try:
                _FILLER.vformat(word, (), example)
            except (ValueError, TypeError, LookupError, AttributeError) as error:
                raise ValueError(f"command has {word!r}, which cannot be filled in: {error}") from (
                    error
                )
        program = words[0]
        if not any(True for _ in self._fields(program)):
            program = program.format()
            if shutil.which(program) is None:
                raise ValueError(
                    f"command = {self.template!r}: there is no program {program!r} that can be "
                    "run (there is no shell either: write sh -c '...' where you need one)"
                )

    def _fields(self, word: str) -> list[str]:
        try:
            parts = list(string.Formatter().parse(word))
        except ValueError as error:
            raise ValueError(
                f"command = {self.template!r}: {error} in {word!r}; "
                "write {{ and }} for braces of the program's own"
            ) from error
        return [field for _, field, _, _ in parts if field is not None]

    def __call__(self, point: Mapping[str, Any]) -> float | Outcome:
        """Run the program once, here and now; return an outcome where it prints constraints."""
        from infold.evaluation.programs import Programs  # which needs this class

        with closing(Programs(self, 1, catch=False)) as programs:
            (done,) = programs.wait([programs.submit(point)])
            outcome = done.result()
        if outcome.constraints:
            return outcome
        return float("nan") if outcome.value is None else outcome.value

    def words(self, point: Mapping[str, Any]) -> list[str]:
        """Return the program and its arguments, with the parameters of a point filled in."""
        return [_FILLER.vformat(word, (), point) for word in self._template_words()]

    def _template_words(self) -> list[str]:
        try:
            return shlex.split(self.template)
        except ValueError as error:
            raise ValueError(f"command = {self.template!r}: {error}") from error


def values_of(program: str, status: int, output: str, errors: str) -> list[float]:
    """Return the numbers on the last line that a program printed, or raise RuntimeError.

    Args:
        program: its name, for the error.
        status: its exit status.
        output: the end of what it printed.
        errors: the end of what it wrote to standard error.
    """
    if status != 0:
        last = (errors.strip().splitlines() or ["it wrote nothing to standard error"])[-1]
        raise RuntimeError(f"{program} ended with status {status}: {last}")
    lines = output.strip().splitlines()
    if not lines:
        raise RuntimeError(f"{program} printed nothing: expected a number on the last line")
    try:
        return [float(word) for word in lines[-1].split()]
    except ValueError:
        hint = ", with spaces between them and no commas" if "," in lines[-1] else ""
        raise RuntimeError(
            f"the last line of {program} is {lines[-1]!r:.200}: expected a number, "
            f"with those of constraints after it{hint}"
        ) from None
