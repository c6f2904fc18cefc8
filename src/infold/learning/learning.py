"""What is learned from earlier runs, one part after the other."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from infold import _checks
from infold._precision import float64
from infold.gp import padding
from infold.history import Rounding
from infold.learning import points, shared
from infold.learning.designs import diverse, learn_manifold
from infold.learning.lessons import Evidence, FeatureMap, Lessons, Metric, Progress, Run
from infold.learning.shared import RunsData

_MOST_RUNS = 30  # learned from: more cost time in proportion
_MOST_ROWS = 192  # evaluations of each, a bucket of padded sizes
_N_DESIGNS = 10  # to begin with, where no earlier run says which points are good
_FEWEST_ROWS = 5  # evaluations that differ, below which a run says nothing of lengthscales
_MOST_FEATURES = 20
_FIRST_WEIGHT = 2.0  # inverse lengthscale of features before training
_TURNS = 150  # training iterations, each, by which rough and smooth surfaces are compared
_FIRST_ROWS = (25, 75, 150)  # first evaluations of a run left out, a fifth of which is predicted
_AS_GOOD = 0.03  # log density of a value: nobody notices
_MOST_FOLDS = 4
_MOST_HELD = 2  # runs left out at once: features are not found with many runs fewer
_NUMBERS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)  # of features that are compared


@float64
def learn(
    runs: Sequence[Run],
    *,
    rounding: Rounding | None,
    seed: int,
    n_features: int | str,
    progress: Progress | None,
) -> Lessons:
    """See `infold.learning.lessons.learn`."""
    if not runs:
        raise ValueError("runs is empty: expected at least one run, or designs")
    dimension = runs[0].x.shape[1]
    for run in runs:
        if run.x.shape[1] != dimension:
            raise ValueError(
                f"x of {run.name} has shape {run.x.shape}: expected {dimension} columns, "
                f"as x of {runs[0].name} has"
            )
    if n_features != "auto":
        n_features = min(_checks.at_least("n_features", n_features, 0), dimension)
    told = progress or (lambda done, what: None)
    valued = [run for run in runs if run.y is not None and np.any(np.isfinite(run.y))]
    found = Lessons.none(dimension)
    if valued:
        good, centre = points.good_points(valued, rounding)
        found = replace(
            found,
            points=good,
            centre=centre,
            n_runs=len(valued),
            n_evaluations=sum(len(run.x) for run in valued),
        )
    unvalued = [run.x for run in runs if run.y is None]
    if unvalued:
        designs = np.concatenate(unvalued)
        found = replace(found, n_designs=len(designs))
        found = _from_designs(found, designs, seed)
    usable = [_without_failures(run) for run in valued]
    usable = [(x, y) for x, y in usable if len(np.unique(y)) >= _FEWEST_ROWS]
    if len(usable) > _MOST_RUNS:
        chosen = np.random.default_rng([seed, 15]).permutation(len(usable))[:_MOST_RUNS]
        usable = [usable[i] for i in np.sort(chosen)]
    if usable:
        data = shared.make_data(usable, _MOST_ROWS)
        varied = np.any([np.ptp(x, axis=0) > 0.0 for x, _ in usable], axis=0)
        found = _from_values(found, data, varied, n_features, told)
    told(1.0, "done")
    return found


def _from_designs(found: Lessons, designs: Float[np.ndarray, "n D"], seed: int) -> Lessons:
    """Return the lessons with what designs without values teach."""
    manifold = learn_manifold(designs, seed)
    if manifold is None:
        return found
    good = found.points
    if not len(good):
        good = manifold.x[diverse(manifold.z, _N_DESIGNS)]
    return replace(found, points=good, manifold=manifold)


def _without_failures(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return the inputs and values of a run, failed evaluations at its worst value."""
    assert run.y is not None
    return run.x, np.where(np.isfinite(run.y), run.y, np.nanmax(run.y))


def _from_values(
    found: Lessons,
    data: RunsData,
    varied: Bool[np.ndarray, " D"],
    n_features: int | str,
    told: Progress,
) -> Lessons:
    """Return the lessons with what values teach: metric, features, evidence.

    Nothing is known of coordinates that no run varied, such as those of a new parameter.
    """
    if not np.any(varied):
        return found
    n_runs = len(data.y)
    n_folds = 0 if n_runs < 2 else min(n_runs, _MOST_FOLDS)
    n_held = min(-(-n_runs // _MOST_FOLDS), _MOST_HELD)
    steps = 1.0 / (n_folds + 1)
    most = min(_MOST_FEATURES, found.dimension)
    folds = []
    for fold in range(n_folds):
        told(steps * fold, f"leaving runs out, part {fold + 1} of {n_folds}")
        held = np.isin(np.arange(n_runs), np.arange(fold, n_runs, n_folds)[:n_held])
        folds.append(_scores(data, held, most if n_features != 0 else 0))
    told(steps * n_folds, "learning from all runs")
    evidence = Evidence()
    count = 0 if n_features == "auto" else int(n_features)
    if folds:
        table = np.concatenate(folds)  # runs x (scratch, metric, 1, 2, ... features)
        evidence, best = _summary(table, most)
        count = best if n_features == "auto" else count
    metric, weights = _shared_maps(data, count, most, full=True)
    return replace(
        found,
        metric=Metric(log_lengthscale=np.where(varied, metric, 0.0), known=varied),
        features=None if weights is None else FeatureMap(weights=weights),
        evidence=evidence,
    )


def _shared_maps(
    data: RunsData, count: int, most: int, *, full: bool
) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, "d D"] | None]:
    """Return log lengthscales, and weights of so many features; None where none is wanted."""
    dimension = np.shape(data.x)[2]
    trained = shared.fit(data, shared.initial_metric(dimension), iterations=100 if full else 40)
    metric = trained.flat[:dimension]
    if not count:
        return metric, None
    moments = shared.gradient_moments(trained.flat, data)
    weight = np.asarray(data.weight)[:, None, None]
    _, vectors = np.linalg.eigh(np.sum(weight * moments, axis=0))
    start = _FIRST_WEIGHT * vectors[:, ::-1][:, :most].T
    weights = shared.fit(data, start, iterations=150 if full else 100).flat[: start.size]
    weights = _truncated(weights.reshape(start.shape), count)
    if full and count < most:
        again = shared.fit(data, _padded(weights, most), iterations=50)
        weights = _truncated(again.flat[: start.size].reshape(start.shape), count)
    return metric, _smoothed(weights, data) if full else weights


def _smoothed(weights: Float[np.ndarray, "d D"], data: RunsData) -> Float[np.ndarray, "d D"]:
    """Return the features turned to where smooth surfaces see them, if the runs look smooth.

    Near its best point a run tells of features by small differences, which a rough surface takes
    for chance. Likelihoods of as many parameters may be compared. How long features are is left as
    it is: the models of a new run have the rough kernel.
    """
    rough, smooth = (
        shared.fit(data, weights, iterations=_TURNS, kernel=kernel)
        for kernel in (shared.KERNEL, shared.SMOOTH)
    )
    count = len(weights)
    kept, turned = (
        trained.flat[: weights.size].reshape(weights.shape) for trained in (rough, smooth)
    )
    if smooth.log_likelihood > rough.log_likelihood:
        rows = np.linalg.svd(turned, full_matrices=False)[2]
        kept = kept @ rows.T @ rows
    return _truncated(kept, count)


def _truncated(weights: Float[np.ndarray, "d D"], count: int) -> Float[np.ndarray, "e D"]:
    """Return the `count` most important features."""
    _, values, rows = np.linalg.svd(weights, full_matrices=False)
    return values[:count, None] * rows[:count]


def _padded(weights: Float[np.ndarray, "d D"], most: int) -> Float[np.ndarray, "m D"]:
    """Return the weights with features that see nothing: one compiled program serves all."""
    return np.concatenate([weights, np.zeros((most - len(weights), weights.shape[1]))])


def _scores(data: RunsData, held: Float[np.ndarray, " T"], most: int) -> Float[np.ndarray, "h 2+k"]:
    """Return how well runs are predicted that were left out: scratch, metric, features."""
    kept = data._replace(weight=np.where(held, 0.0, 1.0))
    metric, weights = _shared_maps(kept, most, most, full=False)
    scores = []
    for row in np.flatnonzero(held):
        run = RunsData(*(np.asarray(part)[row : row + 1] for part in data))
        scores.append(_scores_of_run(run, metric, weights))
    return np.array(scores)


def _scores_of_run(
    run: RunsData, metric: Float[np.ndarray, " D"], weights: Float[np.ndarray, "d D"] | None
) -> Float[np.ndarray, " 2+k"]:
    scores = np.full((len(_FIRST_ROWS), 2 + len(_NUMBERS)), np.nan)
    size = padding.bucket_size(max(_FIRST_ROWS))
    n_rows = int(np.sum(run.mask))
    for of_rows, n_first in zip(scores, _FIRST_ROWS, strict=True):
        if n_first > n_rows and n_first > _FIRST_ROWS[0]:
            continue
        n_first = min(n_first, n_rows)
        rng = np.random.default_rng(n_first)
        parts = shared.split(run, n_first, max(1, n_first // 5), rng, size)
        initial = shared.initial_metric(len(metric))
        of_rows[0] = _score(*parts, initial, held=False)
        of_rows[1] = _score(*parts, metric)
        for column, number in enumerate(_NUMBERS):
            if weights is not None and number <= len(weights):
                of_rows[2 + column] = _score(
                    *parts, _padded(_truncated(weights, number), len(weights))
                )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numbers of features that were not tried
        return np.nanmean(scores, axis=0)


def _score(data: RunsData, later: RunsData, shared_map: np.ndarray, held: bool = True) -> float:
    """Return the mean log density of later values, with a map that is held or only a start."""
    trained = shared.fit(data, shared_map, held=held, iterations=20 if held else 30)
    return float(shared.log_densities(data, trained, later)[0])


def _summary(table: Float[np.ndarray, "T 2+k"], most: int) -> tuple[Evidence, int]:
    """Return the evidence, and how many features predict better than the metric, 0 for none."""
    table = table[np.all(np.isfinite(table[:, :2]), axis=1)]
    if not len(table):
        return Evidence(), 0
    means = np.mean(table, axis=0)
    features = {
        number: float(means[2 + column])
        for column, number in enumerate(_NUMBERS)
        if number <= most and math.isfinite(means[2 + column])
    }
    evidence = Evidence(
        scratch=float(means[0]), metric=float(means[1]), features=features, n_runs=len(table)
    )
    if not features:
        return evidence, 0
    best = max(features, key=lambda number: features[number])
    of_best = table[:, 2 + _NUMBERS.index(best)]
    if not _is_more(of_best, np.maximum(table[:, 0], table[:, 1])):
        return evidence, 0
    # The fewest that predict as well as the best, as far as these runs can tell.
    for number in sorted(features):
        if not _is_more(of_best, table[:, 2 + _NUMBERS.index(number)] + _AS_GOOD):
            return evidence, number
    return evidence, best


def _is_more(a: Float[np.ndarray, " T"], b: Float[np.ndarray, " T"]) -> bool:
    """Tell whether a is above b by more than a standard error of their mean difference."""
    gain = a - b
    return bool(np.mean(gain) > np.std(gain) / math.sqrt(max(len(gain) - 1, 1)))
