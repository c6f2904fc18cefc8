"""The user's objective on the command line: a function of a module or file, or a program."""

import importlib
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from infold.evaluation.program import Command


def find_objective(
    name: str | None, command: str | None, example: Mapping[str, Any]
) -> Callable[[Any], Any]:
    """Return the objective, or raise ValueError where there is none to call.

    Args:
        name: function as module:function or path/to/file.py:function, or None.
        command: program with placeholders, or None.
        example: a point of the space that the run searches.
    """
    if command is not None:
        program = Command(command)
        program.check(example)
        return program
    module, _, function = str(name).rpartition(":")
    if not module or not function:
        raise ValueError(
            f"objective = {name!r}: expected module:function or path/to/file.py:function"
        )
    found: Any = _load(str(name), module)
    for part in function.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            raise ValueError(f"objective = {name!r}: {error}") from error
    if not callable(found):
        raise ValueError(f"objective = {name!r}: expected a function")
    return found


def _load(objective: str, module: str) -> ModuleType:
    is_path = module.endswith(".py") or os.sep in module
    path = Path(module).resolve()
    if is_path and not path.is_file():
        raise ValueError(f"objective = {objective!r}: there is no file {module}")
    name = path.stem if is_path else module
    sys.path.insert(0, str(path.parent) if is_path else os.getcwd())
    try:
        loaded = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise ValueError(f"objective = {objective!r}: {_what_and_where(error, name)}") from error
    origin = getattr(loaded, "__file__", None)
    if is_path and (origin is None or Path(origin).resolve() != path):
        raise ValueError(
            f"objective = {objective!r}: a module called {name} is there already "
            f"({origin or 'built in'}): rename the file"
        )
    return loaded


def _what_and_where(error: BaseException, module: str) -> str:
    """Return an error of the user's module in words, with the file and the line."""
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}: {type(error).__name__}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if _is_theirs(frame.filename)]
    if not theirs:  # the module itself was not found
        return str(error) if isinstance(error, ImportError) else text
    return f"{theirs[-1].filename}, line {theirs[-1].lineno}, in module {module}: {text}"


def _is_theirs(filename: str) -> bool:
    ours = (__file__, importlib.__file__)
    return filename not in ours and not filename.startswith("<frozen")
