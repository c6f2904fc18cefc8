"""Maximum likelihood by a quasi-Newton method that can be continued.

The method is limited-memory BFGS with limits on the parameters, by two-metric projection:
parameters that rest on a limit and are pushed against it stay there, the others take the
quasi-Newton step, clipped to the limits.

SciPy's L-BFGS-B is as good from a fresh start, and the tests compare with it. But from one
suggestion to the next the data grow by a point, the likelihood hardly changes, and its curvature
stays much the same. With the curvature kept, two or three evaluations of the likelihood do what
takes SciPy, which cannot be given any, six to ten.
"""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from infold._types import Array

_MEMORY = 8  # number of steps from which the curvature is estimated
_LARGEST = 200_000  # most numbers of curvature kept between suggestions, since run files hold them
_SUFFICIENT = 1e-4  # Armijo's constant
_TRIES = 20  # lengths of a step tried before giving up
_FLAT = 1e-6  # gradients at most this large count as zero
_CURVED = 1e-10  # least cosine between a step and the change of the gradient along it


@dataclass(frozen=True)
class Trained:
    """The best parameters found, and what all starts together cost."""

    flat: np.ndarray
    """The parameters, as one vector."""
    log_likelihood: float
    """The log likelihood there, plus the log prior where the model has one."""
    converged: bool
    """Whether training stopped by itself, before its limit of iterations."""
    start: str
    """Name of the start that led there."""
    n_likelihoods: int
    """Number of evaluations of the likelihood, over all starts."""
    n_iterations: int
    """Number of quasi-Newton steps, over all starts."""
    curvature: Float[np.ndarray, " _"]
    """The last steps and the changes of the gradient along them, for a `Start` nearby."""
    posterior: Any
    """What the loss returned third at `flat`: for every model here, its posterior."""


@dataclass(frozen=True)
class Start:
    """Where one run of training begins, and how long it may take."""

    name: str
    """Name by which `Trained.start` refers to it."""
    flat: np.ndarray
    """The parameters to begin with, as one vector."""
    max_iterations: int
    """Most quasi-Newton steps from there."""
    curvature: np.ndarray | None = None
    """`Trained.curvature` of a run nearby; ignored if not finite or of another length."""

    @property
    def pairs(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Steps and changes of the gradient along them, oldest first."""
        known = self.curvature
        if known is None or not np.all(np.isfinite(known)):
            return []
        n_pairs, rest = divmod(known.size, 2 * self.flat.size)
        if rest or n_pairs > _MEMORY:
            return []
        return [(step, change) for step, change in known.reshape(-1, 2, self.flat.size)]


Loss = Callable[[np.ndarray], tuple[Any, Any, Any]]
"""Returns the negative log likelihood, its gradient, and the posterior."""


def differentiate(
    infer: Callable[[Array], tuple[Array, Any]], flat: Array
) -> tuple[Array, Array, Any]:
    """Return what `train` expects of a loss.

    Args:
        infer: function that returns a log likelihood and a posterior.
        flat: parameters at which to evaluate and differentiate it.
    """
    (value, posterior), gradient = jax.value_and_grad(infer, has_aux=True)(flat)
    return -value, -gradient, posterior


def start_from(
    initial: np.ndarray,
    warm: np.ndarray | None,
    curvature: np.ndarray | None,
    warm_iterations: int = 3,
) -> Start:
    """Return a short start at `warm` or, if that is missing or unusable, a long one at `initial`.

    Args:
        initial: parameters to begin with if nothing is known.
        warm: parameters of an earlier fit; unusable if not finite or of another length.
        curvature: `Trained.curvature` of the same fit.
        warm_iterations: most quasi-Newton steps from `warm`.
    """
    if warm is not None and warm.shape == initial.shape and np.all(np.isfinite(warm)):
        return Start("warm", warm, warm_iterations, curvature)
    return Start("fresh", initial, 100)


def train(
    loss: Loss, starts: list[Start], bounds: tuple[np.ndarray, np.ndarray], tolerance: float = 1e-6
) -> Trained:
    """Minimize `loss` from every start and return the best result.

    Raises FloatingPointError if the likelihood could not be evaluated at any start.

    Args:
        loss: function that returns the negative log likelihood, its gradient, and the posterior.
        starts: where to begin, and how long each run may take.
        bounds: lower and upper limits of the parameters.
        tolerance: stop when a step improves the loss by less than this, relatively.
    """
    results = [_minimize(loss, start, bounds, tolerance) for start in starts]
    best = max(results, key=lambda result: result.log_likelihood)
    if best.log_likelihood == -math.inf:
        raise FloatingPointError("the likelihood could not be evaluated at any start of training")
    return replace(
        best,
        n_likelihoods=sum(result.n_likelihoods for result in results),
        n_iterations=sum(result.n_iterations for result in results),
    )


class _Evaluated(NamedTuple):
    """Parameters, and what the loss returned there; an unusable loss is infinite."""

    x: np.ndarray
    loss: float
    gradient: np.ndarray
    posterior: Any


def _evaluate(loss: Loss, x: np.ndarray) -> _Evaluated:
    value, gradient, posterior = loss(x)
    return _usable(x, value, np.asarray(gradient), posterior)


def _usable(x: np.ndarray, value: Any, gradient: np.ndarray, posterior: Any) -> _Evaluated:
    usable = math.isfinite(value) and bool(np.all(np.isfinite(gradient)))
    return _Evaluated(x, float(value) if usable else math.inf, gradient, posterior)


def _minimize(
    loss: Loss, start: Start, bounds: tuple[np.ndarray, np.ndarray], tolerance: float
) -> Trained:
    """Minimize `loss` from one start."""
    descent = _descend(start, bounds, tolerance)
    x = next(descent)
    while True:
        try:
            x = descent.send(_evaluate(loss, x))
        except StopIteration as end:
            return end.value


def train_together(
    loss: Callable[[np.ndarray], tuple[Any, Any, Any]],
    starts: list[Start],
    bounds: tuple[np.ndarray, np.ndarray],
    tolerance: float = 1e-6,
) -> tuple[list[Trained], Any]:
    """Minimize several losses in step, each evaluation of all of them being one batch.

    Each takes the steps that `train` would take with it alone.

    Args:
        loss: function of the parameters of all, one per row; returns the negative log likelihoods,
            their gradients as rows, and the posterior of all.
        starts: where each begins.
        bounds: lower and upper limits of the parameters, the same for all.
        tolerance: as in `train`.

    Returns:
        What was found for each, without a posterior, and the posterior of all there.
    """
    descents = [_descend(start, bounds, tolerance) for start in starts]
    x = np.stack([next(descent) for descent in descents])
    found: dict[int, Trained] = {}
    while True:
        values, gradients, posterior = loss(x)
        evaluated = np.array(x)
        rows = zip(descents, evaluated, np.asarray(values), np.asarray(gradients), strict=True)
        for i, (descent, at, value, gradient) in enumerate(rows):
            if i in found:
                continue
            try:
                x[i] = descent.send(_usable(at, value, gradient, None))
            except StopIteration as end:
                found[i] = end.value
                x[i] = end.value.flat
        if len(found) == len(starts):
            break
    if not np.array_equal(x, evaluated):
        posterior = loss(x)[2]
    if any(trained.log_likelihood == -math.inf for trained in found.values()):
        raise FloatingPointError("the likelihood could not be evaluated at the start of training")
    return [found[i] for i in range(len(starts))], posterior


def _descend(
    start: Start, bounds: tuple[np.ndarray, np.ndarray], tolerance: float
) -> Generator[np.ndarray, _Evaluated, Trained]:
    """Minimize a loss from one start: give parameters, be sent what the loss is there."""
    lower, upper = bounds
    pairs = start.pairs
    best = yield np.clip(start.flat, lower, upper)
    n_likelihoods = 1
    n_iterations = 0
    converged = False
    while math.isfinite(best.loss) and n_iterations < start.max_iterations:
        x, f, g, _ = best
        if np.max(np.abs(np.clip(x - g, lower, upper) - x)) <= _FLAT:
            converged = True
            break
        free = ~(((x <= lower) & (g > 0.0)) | ((x >= upper) & (g < 0.0)))
        direction = _direction(g, free, pairs)
        length = 1.0
        for _ in range(_TRIES):
            trial = yield np.clip(x + length * direction, lower, upper)
            n_likelihoods += 1
            expected = min(float(g @ (trial.x - x)), 0.0)  # a clipped step may lead uphill
            if trial.loss <= f + _SUFFICIENT * expected:
                break
            length *= _shortening(trial.loss - f - expected, expected)
        else:
            if not pairs:
                converged = True  # not even a short step downhill improves
                break
            pairs = []  # the curvature was misleading: begin again without
            continue
        n_iterations += 1
        step = trial.x - x
        change = trial.gradient - g
        if _is_curved(step, change):
            pairs = [*pairs, (step, change)][-_MEMORY:]
        converged = f - trial.loss <= tolerance * max(abs(f), abs(trial.loss), 1.0)
        best = trial
        if converged:
            break
    n_kept = min(len(pairs), _LARGEST // (2 * best.x.size))
    return Trained(
        flat=best.x,
        log_likelihood=-best.loss,
        converged=converged,
        start=start.name,
        n_likelihoods=n_likelihoods,
        n_iterations=n_iterations,
        curvature=np.ravel(pairs[len(pairs) - n_kept :]),
        posterior=best.posterior,
    )


def _shortening(rise: float, expected: float) -> float:
    """Return the factor, between 0.1 and 0.5, by which to shorten a step that was too long.

    It leads to the minimum of the parabola through the loss before, its slope, and the loss after.

    Args:
        rise: loss after the step, above what the slope predicts.
        expected: change of the loss that the slope predicts, at most 0.
    """
    if not math.isfinite(rise) or rise <= 0.0:
        return 0.1
    return min(0.5, max(0.1, -expected / (2.0 * rise)))


def _is_curved(step: np.ndarray, change: np.ndarray) -> bool:
    """Tell whether the loss curves upwards along a step, by the change of its gradient."""
    return bool(step @ change > _CURVED * np.linalg.norm(step) * np.linalg.norm(change))


def _direction(
    g: np.ndarray, free: np.ndarray, pairs: list[tuple[np.ndarray, np.ndarray]]
) -> np.ndarray:
    """Return the quasi-Newton step of the free parameters, by the two loops of Nocedal (1980).

    It is minus the gradient g times an approximation of the inverse Hessian.
    """
    usable = []
    for step, change in pairs:
        s = np.where(free, step, 0.0)
        y = np.where(free, change, 0.0)
        if _is_curved(s, y):
            usable.append((s, y, s @ y))
    q = np.where(free, g, 0.0)
    weights = []
    for s, y, sy in reversed(usable):
        weights.append(s @ q / sy)
        q = q - weights[-1] * y
    if usable:
        _, y, sy = usable[-1]
        q = q * (sy / (y @ y))
    else:
        q = q * min(1.0, 1.0 / np.sum(np.abs(q)))
    for (s, y, sy), weight in zip(usable, reversed(weights), strict=True):
        q = q + (weight - y @ q / sy) * s
    return -q
