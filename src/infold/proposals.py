"""From a record to the points that are evaluated next: the initial design, then the method."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from infold import _checks, methods, objectives, runfile
from infold.methods import Cache, Method, RandomSearch, Suggestion
from infold.record import Ask, Event, History, Pending, Proposal, Record
from infold.space import Space
from infold.space.finite import unknown_point
from infold.space.fixed import Fixed

_log = logging.getLogger(__name__)
_DRAWS = 4  # of weights before the best point that is not known has to do


class Model(NamedTuple):
    """A fitted surrogate and what it was fitted to."""

    history: History
    fitted: Any


class Proposed(NamedTuple):
    """Points to evaluate next, and what the method left behind where it chose some of them."""

    ask: Ask
    cache: Cache
    model: Model | None
    by_method: bool


@dataclass(frozen=True, kw_only=True)
class Proposer:
    """How points are chosen: a function of the record, apart from caches."""

    space: Space
    method: Method
    design: RandomSearch
    """How the initial points are chosen."""
    n_initial: int
    """Evaluations before the method is used."""
    seed: int
    """Seed of every random choice."""

    def propose(
        self, record: Record, count: int, cache: Cache, fixed: Mapping[str, Any]
    ) -> Proposed:
        """Return the next `count` points, none of which is known already while there are others.

        Args:
            record: what is known.
            count: how many points.
            cache: what the method left at its last suggestion.
            fixed: values that the points must have, by the names of their parameters.
        """
        held = Fixed(self.space, fixed)
        history = self._history(record, held)
        points: list[Pending] = []
        n_design = self._n_design(record, count)
        if n_design:
            key = (self.seed, record.n_asked)
            suggestion = self.design.suggest(history, n_design, key)
            points = self._fresh(record, held, points, suggestion, n_design, "design")
        if n_design == count:
            return Proposed(Ask(tuple(points), record.n_asked, fixed), cache, None, False)
        suggestion, model = self._suggest(record, history, points, count, cache)
        name = methods.name_of(self.method)
        points = self._fresh(record, held, points, suggestion, count - n_design, name)
        return Proposed(Ask(tuple(points), record.n_asked, fixed), suggestion.cache, model, True)

    def propose_again(self, record: Record, ask: Ask, cache: Cache) -> Proposed:
        """Return what `propose` did for an ask of an earlier time, whose points are known."""
        count = len(ask.points)
        design = ask.points[: self._n_design(record, count)]
        if len(design) == count:
            return Proposed(ask, cache, None, False)
        history = self._history(record, Fixed(self.space, ask.fixed))
        suggestion, model = self._suggest(record, history, design, count, cache)
        return Proposed(ask, suggestion.cache, model, True)

    def follow(
        self, record: Record, events: Iterable[Event], cache: Cache
    ) -> tuple[Cache, Model | None, int]:
        """Make the suggestions of later events again.

        Returns:
            What the last of them left: the cache, the model; and how many the method made.
        """
        model = None
        n_suggestions = 0
        for event in events:
            if isinstance(event, Ask):
                again = self.propose_again(record, event, cache)
                if again.by_method:
                    cache, model = again.cache, again.model
                    n_suggestions += 1
            record.add(event)
        return cache, model, n_suggestions

    def _history(self, record: Record, fixed: Fixed) -> History:
        """Return what the method sees: fixed parameters have one value, as discrete ones few."""
        history = record.history
        if not fixed.values:
            return history
        return replace(history, rounding=fixed.rounding, where=fixed.where)

    def _n_design(self, record: Record, count: int) -> int:
        """Return how many of the next `count` points belong to the initial design."""
        missing = self.n_initial - len(record.evaluations) - len(record.pending)
        return min(count, max(0, missing))

    def _suggest(
        self,
        record: Record,
        history: History,
        design: Sequence[Pending],
        count: int,
        cache: Cache,
    ) -> tuple[Suggestion, Model | None]:
        """Have the method complete an ask for `count` points that begins with those of a design."""
        if design:
            units = np.array([pending.unit for pending in design])
            history = history.with_pending(units, tuple(p.proposal for p in design))
        first = record.n_asked + len(design)
        n = count - len(design)
        if history.n_objectives > 1:
            suggestion = self._with_weights(history, n, first, cache)
        else:
            suggestion = self.method.suggest(history, n, (self.seed, first), cache)
        fitted = suggestion.fitted
        return suggestion, None if fitted is None else Model(history, fitted)

    def _with_weights(self, history: History, n: int, first: int, cache: Cache) -> Suggestion:
        """Have the method choose points one by one, each with other weights of the objectives.

        Ends of the front are often corners of the box, which many weights lead to: where the
        best point is known already, further weights are drawn.
        """
        points: list[np.ndarray] = []
        proposals: list[Proposal] = []
        for i in range(n):
            key = (self.seed, first + i)
            tried: list[np.ndarray] = []
            for attempt in range(_DRAWS):
                drawn_by = (*key, attempt) if attempt else key
                draw = objectives.draw_of(drawn_by, history.n_objectives)
                draw = objectives.towards_gaps(history, draw, drawn_by, tried)
                tried.append(draw.weights)
                made = self.method.suggest(objectives.with_draw(history, draw), 1, key, cache)
                cache = made.cache
                by, diagnostics = made.proposals[0] if made.proposals else Proposal()
                if not (diagnostics.get("passed_over") or history.knows(made.x[0])):
                    break
            points.append(made.x[0])
            drawn = {"weights": draw.weights.tolist(), "narrow": draw.narrow}
            proposals.append(Proposal(by, {**diagnostics, **drawn}))
            history = history.with_pending(points[-1], (proposals[-1],))
        return Suggestion(np.stack(points), tuple(proposals), cache, made.fitted)

    def _fresh(
        self,
        record: Record,
        fixed: Fixed,
        before: Sequence[Pending],
        suggestion: Suggestion,
        count: int,
        name: str,
    ) -> list[Pending]:
        """Return the points before and those of a suggestion, known ones replaced.

        Args:
            record: what is known.
            fixed: values that all points have.
            before: points that the same ask has already.
            suggestion: where the further points are.
            count: how many it must have.
            name: who made it.
        """
        units = _checks.unit_cube(f"x of {name}", suggestion.x, self.space.dimension)
        proposals = suggestion.proposals or (Proposal(),) * count
        if not len(units) == len(proposals) == count:
            raise ValueError(
                f"{name} suggested {len(units)} points with {len(proposals)} proposals: "
                f"expected {count}"
            )
        points = list(before)
        known = record.known | {pending.identity for pending in before}
        for unit, proposal in zip(units, proposals, strict=True):
            number = record.n_asked + len(points)
            rng = np.random.default_rng([self.seed, number, 1])
            proposed_by = f"{name}/{proposal.by}" if proposal.by else name
            diagnostics = runfile.plain(proposal.diagnostics)
            flips = not record.several and record.sign < 0
            if flips and isinstance(diagnostics.get("mean"), float):
                diagnostics["mean"] = -diagnostics["mean"]  # the method minimizes
            point = fixed.put(self.space.decode(unit))
            is_known = self.space.identity(point) in known
            if is_known or not self.space.allows(point):
                other = unknown_point(fixed, known, rng)
                if other is None and not is_known:
                    raise ValueError(
                        "where: no point that satisfies all constraints was found, with fixed = "
                        f"{dict(fixed.values)!r:.100}"
                    )
                what = "all others are too: it is repeated"
                if other is not None:
                    point, what = other, "a random one replaces it"
                    diagnostics = {"instead_of": diagnostics}
                why = "is known already" if is_known else "violates a known constraint"
                _log.warning("point %d, by %s, %s: %s", number + 1, proposed_by, why, what)
                proposed_by += "/repeated" if other is None else "/replaced"
            points.append(Pending.at(point, self.space, proposed_by, diagnostics))
            known.add(points[-1].identity)
        return points
