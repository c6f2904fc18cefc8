"""The file of a run: a head and then one event per line, as JSON; `docs/run-file.md` describes it.

`events` has the lines, `reading` checks a file, `journal` decides what is appended and when a file
is written anew. `files` and `packing` know nothing of runs.
"""

from infold.runfile.events import State, plain
from infold.runfile.files import checked_json, replace
from infold.runfile.journal import Journal
from infold.runfile.packing import from_text, to_text
from infold.runfile.reading import (
    FORMAT,
    VERSION,
    Contents,
    blaming,
    method_of,
    method_to_json,
    parse,
    read,
)

__all__ = [
    "FORMAT",
    "VERSION",
    "Contents",
    "Journal",
    "State",
    "blaming",
    "checked_json",
    "from_text",
    "method_of",
    "method_to_json",
    "parse",
    "plain",
    "read",
    "replace",
    "to_text",
]
