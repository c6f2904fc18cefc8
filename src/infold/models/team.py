"""Several models of the same evaluations, of which honest evidence chooses one.

The evidence is how well a model predicts each evaluation from all others, in closed form. Models
make different assumptions, such as how much of what they see is noise; which of them hold is a
question to the data, asked anew for every suggestion. It is never the likelihood of the data that a
model was fitted to: a flexible model always finds those likely.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from infold.models.base import (
    Fitted,
    MeanAndVariance,
    Model,
    State,
    Surface,
    kept_state,
    log_densities,
)
from infold.record import History


@runtime_checkable
class Conditional(Protocol):
    """A model that takes part only where it knows something."""

    def applies(self, history: History) -> bool:
        """Tell whether it can be fitted to this history."""
        ...


@dataclass(frozen=True, kw_only=True)
class Team:
    """Models by their names; of those that predict equally well the first is taken."""

    names: tuple[str, ...]
    models: tuple[Model, ...]

    def __post_init__(self) -> None:
        if not self.models or len(self.names) != len(self.models):
            raise ValueError(
                f"names = {self.names!r}: expected one for each of {len(self.models)} models"
            )

    def fit(self, history: History, key: Sequence[int], state: State) -> "FittedTeam":
        """Fit all models and take the one with the best evidence."""
        members: dict[str, Fitted] = {}
        scores: dict[str, float] = {}
        states: State = {}
        trouble: Exception | None = None
        for name, model in zip(self.names, self.models, strict=True):
            if isinstance(model, Conditional) and not model.applies(history):
                continue
            try:
                fitted = model.fit(history, key, kept_state(state, name))
            except (FloatingPointError, np.linalg.LinAlgError) as error:
                trouble = error
                continue
            members[name] = fitted
            states[name] = fitted.state
            scores[name] = _evidence(fitted)
        if not members:
            assert trouble is not None
            raise trouble
        best = max(scores, key=lambda name: scores[name])
        return FittedTeam(member=members[best], by=best, scores=scores, states=states)


def _evidence(fitted: Fitted) -> float:
    """Return the mean log density of each value that came, given all others."""
    densities = log_densities(fitted)[fitted.history.succeeded]
    score = float(np.mean(densities))
    return score if math.isfinite(score) else -math.inf


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedTeam(Fitted):
    """The model that was chosen."""

    member: Fitted
    by: str
    scores: dict[str, float]
    """Evidence for each model that could be fitted."""
    states: State

    @property
    def history(self) -> History:  # type: ignore[override]
        return self.member.history

    @property
    def outputs(self) -> Any:  # type: ignore[override]
        return self.member.outputs

    @property
    def state(self) -> State:
        return self.states

    @property
    def noise(self) -> Any:
        return self.member.noise

    @property
    def targets(self) -> Float[np.ndarray, " n"]:
        return self.member.targets

    @property
    def surfaces(self) -> Sequence[Surface]:
        return self.member.surfaces

    def predict(self, x: Float[np.ndarray, "m D"]) -> MeanAndVariance:
        return self.member.predict(x)

    def condition(self, history: History) -> Fitted:
        """Return the chosen model alone: the choice is made."""
        return self.member.condition(history)

    def leave_one_out(self) -> MeanAndVariance:
        return self.member.leave_one_out()

    def describe(self) -> dict[str, Any]:
        return {**self.member.describe(), "evidence": dict(self.scores)}
