"""What earlier runs teach a study, whose parameters are known one by one."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution

from infold.history import History
from infold.integrations._optuna_trials import Coding, can_model, user_parameter
from infold.learning.kinds import NothingShared
from infold.learning.learned import Learned, NothingToLearn, learn
from infold.learning.lessons import Lessons
from infold.methods import RandomSearch
from infold.space import Space

_log = logging.getLogger(__name__)


def learn_from(earlier: Any, search_space: Mapping[str, BaseDistribution] | None) -> Learned | None:
    """Return what earlier runs teach; None where that is nothing."""
    space = None
    if search_space is not None:
        modelled = {n: user_parameter(d) for n, d in search_space.items() if can_model(n, d)}
        space = Space(modelled) if modelled else None
    try:
        learned = learn(earlier, space=space)
    except NothingToLearn:  # which the log says
        return None
    except NothingShared as error:
        if space is not None:
            raise
        _log.warning("nothing is learned from earlier runs: %s", error)
        return None
    if not learned.space.named and space is None:
        # A study learns its parameters one by one, so that numbers match none of them: x0, x1, ...
        learned = replace(learned, space=Space(learned.space.parameters, named=True))
    return None if learned.lessons.empty else learned


def lessons_about(learned: Learned, coding: Coding) -> Lessons | None:
    """Return what earlier runs teach about these parameters; None where that is nothing."""
    space = Space({name: user_parameter(d) for name, d in coding.distributions.items()})
    try:
        lessons = learned.seen_from(space)
    except NothingShared:
        return None
    return None if lessons.empty else lessons


def first_point(
    lessons: Lessons, coding: Coding, design: RandomSearch, seed: int
) -> dict[str, Any] | None:
    """Return the point that a design with lessons begins with; None where they know none."""
    if not len(lessons.points):
        return None
    space = coding.space
    empty = History(
        np.empty((0, space.dimension)), np.empty(0), rounding=space.rounding, lessons=lessons
    )
    point = space.decode(design.suggest(empty, 1, (seed, 0)).x[0])
    assert isinstance(point, dict)
    return coding.params(point)
