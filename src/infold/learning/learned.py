"""What `infold.learn` returns: lessons and the parameters that they are about, kept in a file."""

import json
import logging
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from infold import _checks, runfile
from infold.learning import sources, views
from infold.learning.kinds import may_be_none
from infold.learning.lessons import Lessons, Progress
from infold.learning.lessons import learn as learn_in_cube
from infold.learning.matching import family_of
from infold.runfile.files import check_plain
from infold.space import Space

FORMAT = "infold-lessons"
VERSION = 1
MATTER = "parameters that matter most"
"""Title of the line about them."""
_KIND = "a file of lessons of infold"
_SHOWN = 8  # parameters that a printed text names
_MOST = 0.99  # share of the features' squared weights that the important ones have
_log = logging.getLogger(__name__)


class NothingToLearn(ValueError):
    """No source can teach anything."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Learned:
    """What earlier runs teach, about parameters by name."""

    space: Space
    """All parameters of the earlier runs, each in the range that holds those of all runs."""
    lessons: Lessons
    """What was learned, in the unit cube of `space`."""
    source: str = "the lessons"
    """What errors call it."""

    @property
    def relevance(self) -> dict[str, float]:
        """How much each parameter matters beside the one that matters most, the largest first.

        Empty where nothing is known.
        """
        relevance = self.lessons.relevance
        if relevance is None:
            return {}
        ends = np.cumsum([parameter.width for parameter in self.space.parameters.values()])
        parts = np.split(relevance, ends[:-1])
        shares = {
            name: float(np.max(part))
            for name, part in zip(self.space.parameters, parts, strict=True)
            if len(part)
        }
        return dict(sorted(shares.items(), key=lambda item: -item[1]))

    @property
    def n_features(self) -> int:
        """Number of features that the runs share; 0 where none were found."""
        return 0 if self.lessons.features is None else len(self.lessons.features.weights)

    @property
    def points(self) -> list:
        """The best points of earlier runs, as the user writes them."""
        return [self.space.decode(unit) for unit in self.lessons.points]

    def seen_from(self, space: Space) -> Lessons:
        """Return the lessons in the unit cube of a new run; raise where they have nothing to say.

        Args:
            space: the parameters of the new run.
        """
        return views.seen_from(self.lessons, self.space, space, name=self.source)

    def __str__(self) -> str:
        return "\n".join(f"{what}: {text}" if what else text for what, text in self.summary())

    def __repr__(self) -> str:
        lessons = self.lessons
        return (
            f"<Learned: {lessons.n_runs} runs, {lessons.n_evaluations} evaluations, "
            f"{lessons.n_designs} designs, {len(self.space.parameters)} parameters>"
        )

    def summary(self) -> Iterator[tuple[str, str]]:
        """Yield what was found, in words: a title, and what there is to say about it."""
        lessons = self.lessons
        if lessons.empty:
            yield "", "nothing was learned from the earlier runs"
            return
        designs = f"{lessons.n_designs} designs without values"
        runs = f"{_count(lessons.n_runs, 'run')}, {_count(lessons.n_evaluations, 'evaluation')}"
        parts = [text for n, text in ((lessons.n_runs, runs), (lessons.n_designs, designs)) if n]
        yield "learned from", "; ".join(parts)
        if self.relevance:
            shown = list(self.relevance.items())
            listed = ", ".join(f"{name} {share:.2g}" for name, share in shown[:_SHOWN])
            more = f", and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
            yield MATTER, listed + more
        if lessons.n_runs:
            yield "shared features", self._features
        if lessons.manifold is not None:
            count = lessons.manifold.z.shape[1]
            yield "designs", f"of a kind that {_count(count, 'number')} describe"
        if len(lessons.points):
            yield "points to begin with", str(len(lessons.points))
        if lessons.n_runs:
            yield "prediction of a run not seen", self._prediction

    @property
    def _features(self) -> str:
        if self.lessons.features is None:
            return "none that predict better"
        text = f"{self.n_features} of {self.lessons.dimension} dimensions"
        shares = np.sum(self.lessons.features.weights**2, axis=1)
        n_most = int(np.searchsorted(np.cumsum(shares), _MOST * np.sum(shares))) + 1
        if n_most >= self.n_features:
            return text
        return f"{text}, {n_most} of which make {_MOST:.0%} of the differences"

    @property
    def _prediction(self) -> str:
        evidence = self.lessons.evidence
        if not (math.isfinite(evidence.scratch) and math.isfinite(evidence.metric)):
            return "not known, for which more runs are needed"
        scores = [("from scratch", evidence.scratch), ("with this", evidence.metric)]
        if self.n_features in evidence.features:
            scores[1] = ("with shared lengthscales", evidence.metric)
            scores.append(("with shared features", evidence.features[self.n_features]))
        listed = ", ".join(f"{score:.2f} {how}" for how, score in scores)
        return f"log density of a value {listed} ({evidence.n_runs} runs left out in turn)"

    def save(self, path: str | os.PathLike) -> None:
        """Write a file that `load` reads, and `earlier` takes: at once, or not at all.

        A file at `path` that is not one of lessons is left alone, with a ValueError.
        """
        path = _checks.path_of("path", path)
        check_replaceable(path)
        runfile.replace(path, self.to_text())

    def to_text(self) -> str:
        """Return what `save` writes."""
        data = {
            "format": FORMAT,
            "version": VERSION,
            "space": self.space.to_json(),
            "lessons": self.lessons.to_json(),
        }
        return json.dumps(data, allow_nan=False) + "\n"

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Learned":
        """Return what `save` wrote; raise ValueError where the file is not that."""
        path = _checks.path_of("path", path)
        check_plain(path)
        return cls.parse(path.read_bytes(), str(path))

    @classmethod
    def parse(cls, contents: str | bytes, source: str) -> "Learned":
        """Return what `to_text` returned, everything checked.

        Args:
            contents: text of the file.
            source: name of the file in errors.
        """
        data = runfile.checked_json(
            contents,
            source,
            kind=_KIND,
            format=FORMAT,
            version=VERSION,
            required=("space", "lessons"),
        )
        with runfile.blaming(source, "space"):
            space = Space.from_json(data["space"])
        with runfile.blaming(source, "lessons"):
            lessons = Lessons.from_json(data["lessons"])
            if lessons.dimension != space.dimension:
                raise ValueError(f"dimension = {lessons.dimension}: expected {space.dimension}")
        return cls(space=space, lessons=lessons, source=source)


def check_replaceable(path: Path) -> None:
    """Raise ValueError where a file is at `path` that holds no lessons; an empty one may go."""
    check_plain(path)
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder: expected the name of a file")
    if not path.exists() or not path.stat().st_size:
        return
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError(f"{path} is not {_KIND} and is not overwritten: choose another file")


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def learn(
    earlier: Any,
    *,
    space: object = None,
    n_features: int | str = "auto",
    seed: int = 0,
    direction: str = "minimize",
    progress: bool | Progress = False,
) -> Learned:
    """Learn from earlier runs what helps with the next one.

    Sources that teach nothing, such as empty runs, are left out, with a warning in the log.

    Args:
        earlier: one source or a list of them: run files and CSV files, also as patterns such as
            `runs/*.json`; results of `minimize`; optimizers; Optuna studies, also as
            (storage URL, study name); pairs of arrays (X, y); arrays and tables of designs without
            values. Parameters are matched by name, those without names by number.
        space: parameters of the run to come, as for `Optimizer`; default those of the runs.
        n_features: number of shared features, 0 for none, or "auto" for as many as predict runs
            best that are left out.
        seed: seed of every random choice.
        direction: "minimize" or "maximize", for values whose source does not say, such as arrays.
        progress: whether to show a progress bar; or a function that is told the part done, from 0
            to 1, and what comes next.

    Returns:
        What was learned: print it, `save` it, or give it to another run as `earlier`.
    """
    if n_features != "auto":
        n_features = _checks.at_least("n_features", n_features, 0)
    seed = _checks.at_least("seed", seed, 0)
    _checks.one_of("direction", direction, ("minimize", "maximize"))
    new = None if space is None else Space.of(space)
    parameters = {} if new is None else new.parameters
    optional = [name for name, parameter in parameters.items() if may_be_none(parameter)]
    found = sources.read(earlier, known=list(parameters), optional=optional)
    alone = _only_lessons(found)
    if isinstance(alone, Learned):
        return alone
    if alone is not None:
        if new is None:
            raise ValueError("earlier holds lessons without names: expected a space beside them")
        return Learned(space=new, lessons=_of_dimension(alone, new))
    runs = [source for source in found if isinstance(source, sources.Source)]
    useful = _useful(runs)
    if not useful:
        if new is None:
            raise NothingToLearn("earlier holds no run with values that differ, and no designs")
        return Learned(space=new, lessons=Lessons.none(new.dimension))
    family = family_of(useful, space=new, direction=direction)
    with _shown(progress, len(useful)) as told:
        lessons = learn_in_cube(
            family.runs,
            rounding=family.space.rounding,
            seed=seed,
            n_features=n_features,
            progress=told,
        )
    if lessons.empty:
        _log.warning("nothing was learned from the earlier runs")
    return Learned(space=family.space, lessons=lessons)


def lessons_for(
    earlier: Any,
    space: Space,
    *,
    direction: str = "minimize",
    progress: bool | Progress = False,
) -> Lessons | None:
    """Return what earlier runs teach a new one, in its own unit cube; None where that is nothing.

    Args:
        earlier: as in `learn`; or lessons.
        space: parameters of the new run.
        direction: that of the new run.
        progress: as in `learn`.
    """
    if isinstance(earlier, Lessons):  # in the unit cube of the space already
        lessons = _of_dimension(earlier, space)
    else:
        learned = learn(earlier, space=space, direction=direction, progress=progress)
        lessons = learned.seen_from(space)
    return None if lessons.empty else lessons


def _only_lessons(found: list) -> "Learned | Lessons | None":
    """Return lessons that were given in place of runs; raise where there are both."""
    lessons = [item for item in found if isinstance(item, Learned | Lessons)]
    if not lessons:
        return None
    if len(found) > 1:
        raise ValueError(
            "earlier holds lessons beside other sources: expected lessons alone; "
            "to add runs, learn from all of them together"
        )
    return lessons[0]


def _of_dimension(lessons: Lessons, space: Space) -> Lessons:
    if lessons.dimension != space.dimension:
        raise ValueError(
            f"the lessons have {lessons.dimension} coordinates: expected {space.dimension}"
        )
    return lessons


def _useful(runs: list[sources.Source]) -> list[sources.Source]:
    """Return the sources that can teach something; name the others in the log."""
    useful = []
    for source in runs:
        why = sources.teaches_nothing(source)
        if why:
            _log.warning("nothing is learned from %s: %s", source.name, why)
        else:
            useful.append(source)
    return useful


@contextmanager
def _shown(progress: bool | Progress, n_sources: int) -> Iterator[Progress | None]:
    """Give what `learn` tells how far it is: a bar, the caller's function, or a line in the log."""
    if callable(progress):
        yield progress
    elif not progress:
        _log.info("learning from %s", _count(n_sources, "earlier run"))
        yield None
    else:
        from infold.report.learning import LearningProgress

        with LearningProgress() as bar:
            yield bar.update
