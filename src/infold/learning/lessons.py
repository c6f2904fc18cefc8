"""What earlier runs teach, as plain arrays in coordinates of one unit cube.

All earlier runs are brought into one cube first, that of the family. `learn` looks at them there;
`Lessons.seen_from` takes what it found to the cube of another run of the family.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Int

from infold import _checks

if TYPE_CHECKING:
    from infold.history import Rounding

VERSION = 1
"""Version of the JSON that `Lessons.to_json` writes."""
LARGEST_LOGARITHM = 50.0
"""Logarithms beyond are no lengthscales."""
MOST_WEIGHT = 1e9
"""Weights of features and coordinates beyond are none of a map that can be searched."""

Progress = Callable[[float, str], None]
"""Told which part of the work is done, from 0 to 1, and what comes next."""


@dataclass(frozen=True, eq=False)
class Run:
    """An earlier run, or designs that nobody evaluated."""

    name: str
    """What people call it."""
    x: Float[np.ndarray, "n D"]
    """Inputs in the cube of the family."""
    y: Float[np.ndarray, " n"] | None = None
    """Values to minimize, NaN where an evaluation failed; None for designs without values."""

    def __post_init__(self) -> None:
        x = _checks.unit_cube(f"x of {self.name}", self.x, None)
        object.__setattr__(self, "x", x)
        if self.y is None:
            return
        y = np.asarray(self.y, dtype=np.float64)
        if y.shape != (len(x),):
            raise ValueError(f"y of {self.name} has shape {y.shape}: expected ({len(x)},)")
        object.__setattr__(self, "y", np.where(np.isfinite(y), y, np.nan))


@dataclass(frozen=True, eq=False, kw_only=True)
class Metric:
    """How far one must go along each coordinate before values change."""

    log_lengthscale: Float[np.ndarray, " D"]
    """Logarithms of the lengthscales that all runs share; 0 where nothing is known."""
    known: Bool[np.ndarray, " D"]
    """Which coordinates the lessons know."""

    @property
    def weights(self) -> Float[np.ndarray, "D D"]:
        """A, diagonal, of the distances |A x|; where nothing is known, the usual lengthscale."""
        usual = np.mean(self.log_lengthscale[self.known]) if np.any(self.known) else 0.0
        return np.diag(np.exp(-np.where(self.known, self.log_lengthscale, usual)))


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureMap:
    """Linear features z = A x, in units of their lengthscales, most important first."""

    weights: Float[np.ndarray, "d D"]
    """A: the kernel of a response surface sees A x, with lengthscale 1 along each feature."""

    @property
    def number(self) -> int:
        """Number of features, d."""
        return len(self.weights)


@dataclass(frozen=True, eq=False, kw_only=True)
class Manifold:
    """Designs of a kind, the features behind them, and the GP that decodes features to designs."""

    x: Float[np.ndarray, "n D"]
    """Designs that the decoder is conditioned on; 0.5 in coordinates that they lack."""
    z: Float[np.ndarray, "n q"]
    """Their features, about standard normal."""
    log_lengthscale: Float[np.ndarray, " q"]
    """Logarithms of the decoder's lengthscales."""
    log_noise: float
    """Logarithm of the decoder's noise variance, of designs of unit variance."""
    weight: Float[np.ndarray, " D"]
    """How much each coordinate counts in the distance of a point from the designs."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """Mean log density of the values of a run, given some of its first, learned from the others."""

    scratch: float = math.nan
    """Of the GP that knows nothing of earlier runs; NaN: not known, here and below."""
    metric: float = math.nan
    """With the shared lengthscales."""
    features: Mapping[int, float] = field(default_factory=dict)
    """With features, by their number."""
    n_runs: int = 0
    """How many runs were left out in turn."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Lessons:
    """What earlier runs teach, in coordinates of one unit cube of dimension D."""

    dimension: int
    """D."""
    points: Float[np.ndarray, "k D"]
    """Best points of earlier runs, those that stand for the most others first."""
    centre: Float[np.ndarray, " D"] | None = None
    """Centre of the best points; None where there are none."""
    metric: Metric | None = None
    """Shared lengthscales; None where there were no runs to learn them from."""
    features: FeatureMap | None = None
    """Shared features; None where they predict no better than the metric."""
    manifold: Manifold | None = None
    """What designs without values look like; None where there were none, or no structure."""
    evidence: Evidence = field(default_factory=Evidence)
    """How well runs were predicted that were left out."""
    n_runs: int = 0
    """Number of runs with values that were learned from."""
    n_evaluations: int = 0
    """Number of their evaluations."""
    n_designs: int = 0
    """Number of designs without values."""

    @property
    def empty(self) -> bool:
        """Whether nothing was learned."""
        parts = (self.metric, self.features, self.manifold)
        return len(self.points) == 0 and all(part is None for part in parts)

    @classmethod
    def none(cls, dimension: int) -> "Lessons":
        """Return lessons that say nothing."""
        return cls(dimension=dimension, points=np.empty((0, dimension)))

    def seen_from(
        self,
        columns: Int[np.ndarray, " E"],
        scale: Float[np.ndarray, " E"],
        shift: Float[np.ndarray, " E"],
        held: Float[np.ndarray, " D"],
    ) -> "Lessons":
        """Return the same lessons in another unit cube, of dimension E.

        Args:
            columns: coordinate of this cube that each of the other's is; -1 where it is none.
            scale: with `shift`, coordinate columns[i] here = scale[i] * coordinate i there +
                shift[i].
            shift: see `scale`.
            held: values of the coordinates that the other cube lacks.
        """
        columns = np.asarray(columns, dtype=int)
        count = len(columns)
        scale = _checks.finite_array("scale", scale, (count,))
        shift = _checks.finite_array("shift", shift, (count,))
        _checks.finite_array("held", held, (self.dimension,))
        known = columns >= 0
        used = columns[known]
        if np.any(used >= self.dimension) or len(np.unique(used)) < len(used):
            raise ValueError(
                f"columns = {columns.tolist()}: expected different coordinates below "
                f"{self.dimension}, or -1"
            )
        if np.any(scale[known] == 0.0):
            raise ValueError("scale holds zeros: expected other numbers")

        def moved(x: np.ndarray) -> np.ndarray:
            there = np.full((len(x), count), 0.5)
            there[:, known] = (x[:, used] - shift[known]) / scale[known]
            return np.clip(there, 0.0, 1.0)

        metric = features = manifold = None
        if self.metric is not None:
            log_lengthscale = np.zeros(count)
            log_lengthscale[known] = self.metric.log_lengthscale[used]
            log_lengthscale[known] -= np.log(np.abs(scale[known]))
            log_lengthscale = np.clip(log_lengthscale, -LARGEST_LOGARITHM, LARGEST_LOGARITHM)
            still = known.copy()
            still[known] = self.metric.known[used]
            metric = Metric(log_lengthscale=np.where(still, log_lengthscale, 0.0), known=still)
            metric = metric if np.any(still) else None
        if self.features is not None:
            weights = np.zeros((len(self.features.weights), count))
            weights[:, known] = self.features.weights[:, used] * scale[known]
            weights = np.clip(_principal(weights), -MOST_WEIGHT, MOST_WEIGHT)
            features = FeatureMap(weights=weights) if len(weights) else None
        if self.manifold is not None and len(used):
            weight = np.zeros(count)
            weight[known] = self.manifold.weight[used] * np.abs(scale[known])
            weight = np.minimum(weight, MOST_WEIGHT)
            manifold = replace(self.manifold, x=moved(self.manifold.x), weight=weight)
        return replace(
            self,
            dimension=count,
            points=moved(self.points) if len(used) else np.empty((0, count)),
            centre=None if self.centre is None or not len(used) else moved(self.centre[None])[0],
            metric=metric,
            features=features,
            manifold=manifold,
        )

    def describe(self, names: Sequence[str] | None = None) -> dict[str, Any]:
        """Say what was learned, as JSON can hold it.

        Args:
            names: what the coordinates are called; their numbers when None.
        """
        called = list(names) if names is not None else [f"x{i}" for i in range(self.dimension)]
        found: dict[str, Any] = {
            "runs": self.n_runs,
            "evaluations": self.n_evaluations,
            "designs": self.n_designs,
            "points": len(self.points),
            "relevance": {},
            "features": 0 if self.features is None else len(self.features.weights),
            "design_features": 0 if self.manifold is None else self.manifold.z.shape[1],
            "evidence": _plain_evidence(self.evidence),
        }
        relevance = self.relevance
        if relevance is not None:
            order = np.argsort(-relevance, kind="stable")
            found["relevance"] = {called[i]: float(relevance[i]) for i in order}
        return found

    @property
    def relevance(self) -> Float[np.ndarray, " D"] | None:
        """How much each coordinate matters, at most 1: the inverse lengthscale over the largest.

        None where no metric was learned; 0 where a coordinate is not known.
        """
        if self.metric is None:
            return None
        inverse = np.where(self.metric.known, -self.metric.log_lengthscale, -np.inf)
        return np.exp(inverse - np.max(inverse))

    def __str__(self) -> str:
        return self.text()

    def text(self, names: Sequence[str] | None = None) -> str:
        """Return what was learned as a few lines for a person.

        Args:
            names: what the coordinates are called; their numbers when None.
        """
        if self.empty:
            return "nothing was learned from earlier runs"
        found = self.describe(names)
        lines = []
        if self.n_runs:
            lines.append(
                f"{self.n_runs} runs, {self.n_evaluations} evaluations, "
                f"{len(self.points)} points to begin with"
            )
        if found["relevance"]:
            shown = list(found["relevance"].items())[:8]
            listed = ", ".join(f"{name} {value:.2g}" for name, value in shown)
            lines.append(f"parameters that matter most: {listed}")
        if self.features is not None:
            lines.append(f"shared features: {found['features']} of {self.dimension} dimensions")
        if self.manifold is not None:
            lines.append(f"{self.n_designs} designs, {found['design_features']} features")
        scores = self.evidence
        if math.isfinite(scores.scratch) and math.isfinite(scores.metric):
            gains = [f"{scores.metric - scores.scratch:+.2f} with the shared metric"]
            count = found["features"]
            if count and count in scores.features:
                gains.append(f"{scores.features[count] - scores.scratch:+.2f} with the features")
            lines.append(
                f"log density of a value of a run not seen, beside from scratch: {', '.join(gains)}"
            )
        elif self.n_runs:
            lines.append("too few runs to tell how well a run not seen is predicted")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the lessons as plain JSON can hold them."""
        data: dict[str, Any] = {"version": VERSION, "dimension": self.dimension}
        data["points"] = self.points.tolist()
        data["centre"] = None if self.centre is None else self.centre.tolist()
        for name in ("metric", "features", "manifold"):
            part = getattr(self, name)
            data[name] = None
            if part is not None:
                data[name] = {item.name: _plain(getattr(part, item.name)) for item in fields(part)}
        data["evidence"] = _plain_evidence(self.evidence)
        for name in ("n_runs", "n_evaluations", "n_designs"):
            data[name] = getattr(self, name)
        return data

    @classmethod
    def from_json(cls, data: Any) -> "Lessons":
        """Return the lessons that `to_json` wrote, or raise ValueError saying what is wrong."""
        from infold.learning import reading

        return reading.lessons(data)


def learn(
    runs: Sequence[Run],
    *,
    rounding: "Rounding | None" = None,
    seed: int = 0,
    n_features: int | str = "auto",
    progress: Progress | None = None,
) -> Lessons:
    """Learn from earlier runs what helps with the next one of their family.

    Runs that teach nothing, such as empty ones or those whose values are all equal, are left out;
    where none is left the lessons say nothing.

    Args:
        runs: earlier runs in the unit cube of the family, and designs without values.
        rounding: which coordinates are discrete; None: none is.
        seed: seed of every random choice.
        n_features: number of features; "auto": as many as predict runs best that are left out.
        progress: told how far it is.
    """
    from infold.learning import learning

    return learning.learn(
        runs, rounding=rounding, seed=seed, n_features=n_features, progress=progress
    )


def _principal(weights: Float[np.ndarray, "d D"]) -> Float[np.ndarray, "e D"]:
    """Return weights of the same distances |A x|, the most important first, without empty rows."""
    _, values, rows = np.linalg.svd(weights, full_matrices=False)
    kept = values > 1e-9 * max(float(np.max(values, initial=0.0)), 1e-300)
    return values[kept, None] * rows[kept]


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _plain_evidence(evidence: Evidence) -> dict[str, Any]:
    def number(value: float) -> float | None:
        return float(value) if math.isfinite(value) else None

    return {
        "scratch": number(evidence.scratch),
        "metric": number(evidence.metric),
        "features": {str(d): number(score) for d, score in evidence.features.items()},
        "n_runs": evidence.n_runs,
    }
