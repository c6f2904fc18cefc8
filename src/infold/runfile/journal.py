"""What a run file holds and what it still lacks: saving an evaluation appends an evaluation.

The state of a run, above all its cache, may be large. It is kept now and then only, together with
the events since: whatever happened after a state can be done again from there.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from infold import record
from infold.record import Evaluation, Pending, Record
from infold.runfile import files, locks
from infold.runfile.events import Event, State, line, metadata_line
from infold.runfile.reading import check_replaceable, head_line

_SUGGESTIONS = 10  # per state; so many at most are made again when a run is resumed
_SLACK = 1 << 14  # bytes of superseded lines that are not worth a new file


class Base(NamedTuple):
    """A moment of the run from which everything since can be done again."""

    n_evaluations: int
    pending: tuple[Pending, ...]
    state: State


class _Saved(NamedTuple):
    """The file as it was saved last."""

    mark: files.Mark
    settings: str
    metadata: str
    live_size: int
    """Bytes of the lines that no later line supersedes."""
    state_size: int
    """Bytes of the last state among them."""


class Journal:
    """Events of a run on their way to a file."""

    def __init__(self, kept: Record) -> None:
        self._record = kept
        self.base = Base(0, (), State(0, {}))
        """The last moment whose state was kept."""
        self.since: list[record.Event] = []
        """What happened since."""
        self.n_suggestions = 0
        """Suggestions made since, by the method."""
        self._saved: _Saved | None = None
        self._unsaved: list[Event | None] = []
        self._unsaved_state: int | None = None  # where it is among the unsaved

    def add(self, event: record.Event) -> None:
        """Note an event that has just been added to the record."""
        self.since.append(event)
        if self._saved is not None:
            self._unsaved.append(event)

    def keep(self, cache: dict[str, Any]) -> None:
        """Make this moment the base, with the cache that the last suggestion left."""
        self.base = self._now(cache)
        self.since = []
        self.n_suggestions = 0
        if self._saved is not None:
            if self._unsaved_state is not None:
                self._unsaved[self._unsaved_state] = None  # superseded before it was written
            self._unsaved_state = len(self._unsaved)
            self._unsaved.append(self.base.state)

    def _now(self, cache: dict[str, Any]) -> Base:
        kept = self._record
        state = State(kept.n_asked, cache)
        return Base(len(kept.evaluations), tuple(kept.pending), state)

    def count_suggestion(self, cache: dict[str, Any]) -> None:
        """Note that the method made a suggestion that left this cache; keep it when it is time."""
        self.n_suggestions += 1
        if self.n_suggestions >= _SUGGESTIONS or not cache:
            self.keep(cache)

    def text(
        self,
        settings: Mapping[str, Any],
        metadata: Mapping[str, Any],
        cache: dict[str, Any] | None,
    ) -> str:
        """Return the whole run as a run file holds it.

        Args:
            settings: fields of its first line.
            metadata: what the user keeps with the run.
            cache: what the last suggestion left; None where it would have to be made again.
        """
        base, since = self.base, self.since
        if cache is not None:
            base, since = self._now(cache), []
        return "".join(self._lines(settings, metadata, base, since))

    def _lines(
        self,
        settings: Mapping[str, Any],
        metadata: Mapping[str, Any],
        base: Base,
        since: Iterable[Event],
    ) -> Iterator[str]:
        yield head_line({"metadata": metadata, **settings})
        evaluations = self._record.evaluations[: base.n_evaluations]
        for event in (*evaluations, *base.pending, base.state, *since):
            yield line(event)

    def save(
        self,
        path: str | os.PathLike,
        settings: Mapping[str, Any],
        metadata: Mapping[str, Any],
        cache: dict[str, Any] | None,
    ) -> None:
        """Append what the file at `path` lacks, or write it anew; arguments as in `text`."""
        # What was learned never changes, and may be large.
        fixed = head_line({name: v for name, v in settings.items() if name != "earlier"})
        changing = metadata_line(metadata)
        locks.check_free(files.real_path(path))
        if self._append(path, fixed, changing):
            return
        check_replaceable(files.real_path(path))
        if cache is not None:
            self.keep(cache)
        lines = list(self._lines(settings, metadata, self.base, self.since))
        try:
            mark = files.replace(path, "".join(lines))
        except OSError:
            # Where there is no room for a second file there may still be some in the first.
            if self._append(path, fixed, changing, at_any_size=True):
                return
            raise
        state_size = len(lines[1 + self.base.n_evaluations + len(self.base.pending)])
        self._saved = _Saved(mark, fixed, changing, mark.size, state_size)
        self._forget_unsaved()

    def _append(
        self, path: str | os.PathLike, settings: str, metadata: str, at_any_size: bool = False
    ) -> bool:
        """Append the unsaved events; False where the file must be written anew."""
        saved = self._saved
        if saved is None or saved.settings != settings:
            return False
        if saved.mark.path != files.real_path(path):
            return False
        lines = [] if saved.metadata == metadata else [metadata]
        live_size, state_size = saved.live_size, saved.state_size
        for event in self._unsaved:
            if event is None:
                continue
            lines.append(line(event))
            if isinstance(event, Evaluation):
                live_size += len(lines[-1])
            elif isinstance(event, State):
                live_size += len(lines[-1]) - state_size
                state_size = len(lines[-1])
        text = "".join(lines)
        if not at_any_size and saved.mark.size + len(text) > 2 * live_size + _SLACK:
            return False
        mark = files.append(saved.mark, text)
        if mark is None:
            return False
        self._saved = _Saved(mark, settings, metadata, live_size, state_size)
        self._forget_unsaved()
        return True

    def _forget_unsaved(self) -> None:
        self._unsaved = []
        self._unsaved_state = None
