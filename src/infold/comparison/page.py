"""Tables and figures of a comparison, for a page that a person reads."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from infold.comparison import contenders, figures, statistics, suite
from infold.comparison.runs import Run

MARKS = (60, 100, 200, 300)
"""Numbers of evaluations at which optimizers are compared."""

_HALVES = {"choice": ("choice",), "report": ("report",), "both": ("choice", "report")}


@dataclass(frozen=True)
class Field:
    """Optimizers that are compared with one another."""

    name: str
    """Part of the names of its figures."""
    title: str
    curves: statistics.Curves
    ours: str
    """Optimizer that is compared with each of the others."""
    others: Sequence[str]
    brief: bool = False
    """Whether how it compares is all that is said."""

    @property
    def optimizers(self) -> list[str]:
        """Names of all optimizers."""
        return [self.ours, *self.others]

    def cells(self, half: str, evaluations: int) -> statistics.Cells:
        """Return what all optimizers have of a half, or of both, with so many evaluations."""
        problems = [name for part in _HALVES[half] for name in suite.HALVES[part]]
        return self.curves.common(self.optimizers, evaluations, problems)

    @cached_property
    def marks(self) -> list[int]:
        """Numbers of evaluations at which there is something to compare."""
        return [mark for mark in MARKS if self.cells("both", mark)]

    @cached_property
    def halves(self) -> list[str]:
        """Halves of the suite of which there are runs, and both together."""
        found = [half for half in suite.HALVES if self.cells(half, self.marks[-1])]
        return found if len(found) == 1 else [*found, "both"]


def fields(runs: Iterable[Run], ours: str, others: Sequence[str]) -> list[Field]:
    """Return the comparison without the optimizers that take real numbers only, and with them.

    Args:
        runs: runs of all optimizers.
        ours: optimizer that is compared with each of the others.
        others: names of the others.
    """
    curves = statistics.curves(runs)
    quick = [name for name in others if name not in contenders.CONTINUOUS]
    found = [Field("all", "All problems", curves, ours, quick)]
    if len(quick) < len(others):
        found.append(Field("slow", "With the slow optimizers", curves, ours, others))
    return [field for field in found if field.others and field.marks]


def in_batches(runs: Iterable[Run], ours: str, others: Sequence[str]) -> list[Field]:
    """Return how an optimizer in batches compares with itself and others one at a time.

    Args:
        runs: runs of all optimizers, in batches and one at a time.
        ours: optimizer whose runs in batches are compared.
        others: names of the others.
    """
    runs = list(runs)
    single = [run for run in runs if run.task.batch == 1]
    found = []
    for size in sorted({run.task.batch for run in runs if run.task.optimizer == ours} - {1}):
        name = f"{ours} in batches of {size}"
        batched = [
            replace(run, task=replace(run.task, optimizer=name, batch=1))
            for run in runs
            if run.task.optimizer == ours and run.task.batch == size
        ]
        curves = statistics.curves([*single, *batched])
        quick = [ours, *(other for other in others if other not in contenders.CONTINUOUS)]
        title = f"In batches of {size}"
        found.append(Field(f"batches-{size}", title, curves, name, quick, brief=True))
    return [field for field in found if field.marks]


def write(path: Path, found: Sequence[Field], runs: Iterable[Run]) -> list[Path]:
    """Write tables between the marks of a page, and figures into the folder of its name.

    A page without the marks gets them at its end.

    Returns:
        The paths of all files.
    """
    folder = path.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    written = [path]
    parts = []
    for field in found:
        if field.brief:
            picture = folder / f"regret-{field.name}.png"
            figures.regrets(field, picture)
            written.append(picture)
            shown = f"![mean regret over evaluations]({folder.name}/{picture.name})"
            parts += [f"### {field.title}", _contests(field), shown]
            continue
        pictures = [folder / f"{kind}-{field.name}.png" for kind in ("regret", "ranks")]
        figures.regrets(field, pictures[0])
        figures.ranks(field, pictures[1])
        written += pictures
        parts += [
            f"### {field.title}",
            _ranks(field),
            f"![mean regret over evaluations]({folder.name}/{pictures[0].name})",
            f"![mean rank over evaluations]({folder.name}/{pictures[1].name})",
            _contests(field),
            *(_medians(field, mark) for mark in field.marks if mark in (100, field.marks[-1])),
        ]
    parts.append(seconds_table(runs, MARKS))
    splice(path, "tables", "\n\n".join(parts))
    return written


def splice(path: Path, name: str, body: str) -> None:
    """Put text between the marks of that name in a page; one without them gets them at its end."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    old = path.read_text(encoding="utf-8") if path.exists() else "# Comparison\n"
    if begin not in old or end not in old:
        old = f"{old.rstrip()}\n\n{begin}\n{end}\n"
    head, _, rest = old.partition(begin)
    tail = rest.partition(end)[2]
    path.write_text(f"{head}{begin}\n\n{body}\n\n{end}{tail}", encoding="utf-8")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], n_text: int = 1) -> str:
    """Write a table as Markdown, whose first columns are text and whose others are numbers."""
    rules = ["---"] * n_text + ["--:"] * (len(headings) - n_text)
    return "\n".join("| " + " | ".join(row) + " |" for row in (headings, rules, *rows))


def _ranks(field: Field) -> str:
    """Write mean ranks at every mark, and the area under the curve."""
    rows = []
    for half in field.halves:
        ranks = {
            mark: statistics.mean_ranks(
                field.curves, field.optimizers, field.cells(half, mark), mark
            )
            for mark in field.marks
        }
        last = field.marks[-1]
        cells = field.cells(half, last)
        for name in field.optimizers:
            area = statistics.area(field.curves, name, cells, last)
            rows.append(
                [
                    f"{half} ({len(cells)})",
                    name,
                    *(f"{ranks[mark][name][-1]:.2f}" for mark in field.marks),
                    f"{area:.2f}",
                ]
            )
    headings = ["problems", "optimizer", *(f"rank, {mark}" for mark in field.marks), "area"]
    return f"Mean ranks after {series(field.marks)} evaluations:\n\n" + table(headings, rows, 2)


def _contests(field: Field) -> str:
    """Write how our optimizer compares with each of the others, and with the best of them."""
    rows = []
    for half in field.halves:
        for opponent in [*field.others, "best of each problem"]:
            row = [half, opponent]
            for mark in field.marks:
                cells = field.cells(half, mark)
                if opponent in field.others:
                    against = dict.fromkeys(cells, opponent)
                else:
                    against = statistics.best_of_each(field.curves, field.others, cells, mark)
                c = statistics.contest(field.curves, field.ours, against, cells, mark)
                row.append(_outcome(c))
            rows.append(row)
    headings = ["problems", "against", *map(str, field.marks)]
    return (
        f"Regret of {field.ours} divided by that of others (95% interval), share of pairs in which "
        f"it is lower, p-value; after {series(field.marks)} evaluations:\n\n"
        + table(headings, rows, 2)
    )


def _outcome(c: statistics.Contest) -> str:
    """Write a contest in a few words; one problem has no interval."""
    spread = f" ({c.low:.2g} to {c.high:.2g})" if c.n_problems > 1 else ""
    return f"{c.ratio:.2g}{spread}, {c.wins:.0%}, p = {c.p:.1g}"


def _medians(field: Field, mark: int) -> str:
    """Write the median values of all optimizers on every problem; the lowest is bold."""
    cells = field.cells("both", mark)
    rows = []
    for problem, medians in statistics.median_values(
        field.curves, field.optimizers, cells, mark
    ).items():
        benchmark = suite.get(problem)
        minimum = "" if benchmark.minimum is None else f"{benchmark.minimum:.4g}"
        lowest = min(medians.values())
        shown = [f"**{v:.4g}**" if v == lowest else f"{v:.4g}" for v in medians.values()]
        rows.append([problem, str(benchmark.dimension), str(len(cells[problem])), minimum, *shown])
    return f"Median values after {mark} evaluations:\n\n" + table(
        ["problem", "D", "seeds", "minimum", *field.optimizers], rows
    )


def seconds_table(runs: Iterable[Run], marks: Sequence[int]) -> str:
    """Write the seconds of suggestions."""
    found = statistics.seconds(runs, marks)
    rows = [
        [name, *(f"{times[mark]:.2g}" if mark in times else "" for mark in marks)]
        for name, times in found.items()
    ]
    return f"Median seconds of a suggestion near {series(marks)} evaluations:\n\n" + table(
        ["optimizer", *map(str, marks)], rows
    )


def series(marks: Sequence[int]) -> str:
    """Write numbers as a series in a sentence."""
    *first, last = map(str, marks)
    return f"{', '.join(first)} and {last}" if first else last
