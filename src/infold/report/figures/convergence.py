"""How the best value came down, and how it would have at random."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import ndtri

from infold.gp.outputs import PowerTransform
from infold.report.subject import FIRST_TRIALS, Subject

_FEWEST = 5  # random points from which the values of others are guessed
_N_DRAWS = 1000  # of how values at random points may be distributed
_BAND = (0.1, 0.5, 0.9)


@dataclass(frozen=True, kw_only=True)
class AtRandom:
    """Best values so far, had the run gone on with random points after its first ones.

    The first points are those of the run itself. What random points would have added is a rough
    estimate: values at the random points of the run are taken for a sample of a normal
    distribution, after a power transform, whose mean and variance are known as well as so many
    values tell.
    """

    n_first: int
    """Evaluations that both have in common."""
    n_sample: int
    """Values that the estimate is made from."""
    low: Float[np.ndarray, " n"]
    """Tenth percentile, in the user's units; the better end where values are minimized."""
    median: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]
    """Ninetieth percentile."""


@dataclass(frozen=True, kw_only=True)
class Convergence:
    """Values in the order they were told, in the user's units."""

    value: Float[np.ndarray, " n"]
    """NaN where the evaluation failed."""
    best: Float[np.ndarray, " n"]
    """Best value so far, of feasible points where there are constraints; NaN before the first."""
    feasible: Bool[np.ndarray, " n"]
    """Which succeeded and satisfy all constraints."""
    at_random: AtRandom | None
    """None where too few points were random, or all of them."""


def convergence(subject: Subject) -> Convergence:
    """Return values, the best so far, and what random search would have made of it."""
    loss = subject.loss
    return Convergence(
        value=subject.sign * loss,
        best=subject.sign * best_so_far(subject.counted),
        feasible=subject.feasible,
        at_random=None if subject.n_constraints else _at_random(subject),
    )


def best_so_far(loss: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Return the least value up to each; NaN before the first that succeeded."""
    return np.fmin.accumulate(loss) if len(loss) else loss


def _at_random(subject: Subject) -> AtRandom | None:
    loss = subject.loss
    n = len(loss)
    is_random = _random_points(subject)
    n_first = n if np.all(is_random) else int(np.argmin(is_random))
    # The centre of the box belongs to some designs and tells nothing about random points.
    centre = np.array([np.allclose(e.unit, 0.5) for e in subject.evaluations], dtype=bool)
    sample = loss[is_random & ~centre & np.isfinite(loss)]
    if n_first == n or len(sample) < _FEWEST or np.ptp(sample) == 0.0:
        return None
    later = _predicted_minima(sample, n - n_first)
    first = best_so_far(loss)[:n_first]
    if n_first and np.isfinite(first[-1]):
        later = np.minimum(later, first[-1])
    bands = np.concatenate([np.tile(first, (3, 1)), later], axis=1)
    low, median, high = subject.sign * bands[:: int(subject.sign)]
    return AtRandom(n_first=n_first, n_sample=len(sample), low=low, median=median, high=high)


def _random_points(subject: Subject) -> Bool[np.ndarray, " n"]:
    """Tell which points were chosen without a look at values, as far as anybody knows."""
    proposed = [e.proposed_by for e in subject.evaluations]
    return np.array(
        [by in ("design", FIRST_TRIALS) or "random" in by.split("/") for by in proposed],
        dtype=bool,
    )


def _predicted_minima(sample: Float[np.ndarray, " k"], n: int) -> Float[np.ndarray, "3 n"]:
    """Return percentiles of the least of 1, 2, ..., n further values like those of the sample.

    Mean and variance are drawn from their posterior given the sample, with the usual prior that
    favours none. One uniform number for each draw serves all lengths: curves fall steadily.
    """
    rng = np.random.default_rng(0)  # an integral by sampling: the page of a run is always the same
    transform = PowerTransform.of(sample)
    z = transform.apply(sample)
    k = len(z)
    deviation = np.sqrt(np.sum((z - np.mean(z)) ** 2) / rng.chisquare(k - 1, size=_N_DRAWS))
    mean = np.mean(z) + deviation / np.sqrt(k) * rng.normal(size=_N_DRAWS)
    log_u = np.log(rng.uniform(size=_N_DRAWS))
    minima = [
        np.quantile(mean + deviation * ndtri(-np.expm1(log_u / length)), _BAND)
        for length in range(1, n + 1)
    ]
    return transform.invert(np.array(minima)).T
