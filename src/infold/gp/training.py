"""Maximum likelihood by a quasi-Newton method that can be continued.

Limited-memory BFGS with limits on the parameters (two-metric projection: those that rest on a limit and are pushed against it
stay, the others take the quasi-Newton step, cut to the limits). SciPy's L-BFGS-B is as good from a fresh start, and what the
tests compare with. From one suggestion to the next the data grow by a point and the likelihood hardly changes, so what was
learned of its curvature stays true: kept, two or three evaluations do what takes SciPy, which starts with none, six to ten.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from infold._types import Array

_MEMORY = 8  # steps from which the curvature is estimated
_LARGEST = 200_000  # numbers kept of the curvature between suggestions: run files hold them
_SUFFICIENT = 1e-4  # Armijo's constant
_TRIES = 20  # shortenings of a step before giving up
_FLAT = 1e-6  # a gradient this small is zero


@dataclass(frozen=True)
class Trained:
    """The best parameters found, and what all starts cost together."""

    flat: np.ndarray
    log_likelihood: float
    converged: bool
    start: str
    n_likelihoods: int
    n_iterations: int
    curvature: Float[np.ndarray, " _"]
    """The last steps and the changes of the gradient along them, as one vector; for a `Start` nearby."""
    posterior: Any
    """The third thing that the loss returned there."""


@dataclass(frozen=True)
class Start:
    """Where one run of training begins, how long it may take, and what is known of the curvature there.

    A curvature that is not finite, or cannot be of as many parameters, is ignored.
    """

    name: str
    flat: np.ndarray
    max_iterations: int
    curvature: np.ndarray | None = None

    @property
    def pairs(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Steps and changes of the gradient, oldest first."""
        known = self.curvature
        pairs, rest = (0, 0) if known is None else divmod(known.size, 2 * self.flat.size)
        if known is None or rest or pairs > _MEMORY or not np.all(np.isfinite(known)):
            return []
        return [(step, change) for step, change in known.reshape(-1, 2, self.flat.size)]


Loss = Callable[[np.ndarray], tuple[Any, Any, Any]]


def differentiate(
    infer: Callable[[Array], tuple[Array, Any]], flat: Array
) -> tuple[Array, Array, Any]:
    """What `train` wants of a loss: the negative of the log-likelihood that `infer` returns, its gradient, and the rest."""
    (value, posterior), gradient = jax.value_and_grad(infer, has_aux=True)(flat)
    return -value, -gradient, posterior


def start_from(
    initial: np.ndarray,
    warm: np.ndarray | None,
    curvature: np.ndarray | None,
    warm_iterations: int = 3,
) -> Start:
    """A start at `warm`, with what is known of the curvature there, or a long one at `initial` where `warm` does not fit."""
    if warm is not None and warm.shape == initial.shape and np.all(np.isfinite(warm)):
        return Start("warm", warm, warm_iterations, curvature)
    return Start("fresh", initial, 100)


def train(
    loss: Loss, starts: list[Start], bounds: tuple[np.ndarray, np.ndarray], tolerance: float = 1e-6
) -> Trained:
    """The best of all starts; `loss` returns a negative log-likelihood, its gradient, and whatever should be kept.

    Stops when the loss improves by less than `tolerance`, relatively. Raises FloatingPointError when the likelihood could
    not be evaluated at any start.
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


def _minimize(
    loss: Loss, start: Start, bounds: tuple[np.ndarray, np.ndarray], tolerance: float
) -> Trained:
    lower, upper = bounds
    n_likelihoods = 0

    def evaluate(x: np.ndarray) -> tuple[float, np.ndarray, Any]:
        nonlocal n_likelihoods
        n_likelihoods += 1
        value, gradient, posterior = loss(x)
        gradient = np.asarray(gradient)
        usable = math.isfinite(value) and bool(np.all(np.isfinite(gradient)))
        return float(value) if usable else math.inf, gradient, posterior

    x = np.clip(start.flat, lower, upper)
    pairs = start.pairs
    f, g, posterior = evaluate(x)
    converged, iteration = False, 0
    while math.isfinite(f) and iteration < start.max_iterations:
        if np.max(np.abs(np.clip(x - g, lower, upper) - x)) <= _FLAT:
            converged = True
            break
        free = ~(((x <= lower) & (g > 0.0)) | ((x >= upper) & (g < 0.0)))
        step = _direction(g, free, pairs)
        length = 1.0
        for _ in range(_TRIES):
            trial = np.clip(x + length * step, lower, upper)
            f_trial, g_trial, posterior_trial = evaluate(trial)
            expected = min(float(g @ (trial - x)), 0.0)  # cut to the limits, a step may lead uphill
            if f_trial <= f + _SUFFICIENT * expected:
                break
            # The minimum of the parabola through f, its slope and the value just seen.
            rise = f_trial - f - expected
            length *= (
                min(0.5, max(0.1, -expected / (2.0 * rise)))
                if math.isfinite(rise) and rise > 0.0
                else 0.1
            )
        else:
            if not pairs:
                converged = True  # not even a short step downhill improves
                break
            pairs = []  # what was known of the curvature misleads
            continue
        iteration += 1
        if (trial - x) @ (g_trial - g) > 1e-10 * np.linalg.norm(trial - x) * np.linalg.norm(
            g_trial - g
        ):
            pairs = [*pairs, (trial - x, g_trial - g)][-_MEMORY:]
        converged = f - f_trial <= tolerance * max(abs(f), abs(f_trial), 1.0)
        x, f, g, posterior = trial, f_trial, g_trial, posterior_trial
        if converged:
            break
    n_kept = min(len(pairs), _LARGEST // (2 * x.size))
    return Trained(
        flat=x,
        log_likelihood=-f,
        converged=converged,
        start=start.name,
        n_likelihoods=n_likelihoods,
        n_iterations=iteration,
        curvature=np.ravel(pairs[len(pairs) - n_kept :]),
        posterior=posterior,
    )


def _direction(
    g: np.ndarray, free: np.ndarray, pairs: list[tuple[np.ndarray, np.ndarray]]
) -> np.ndarray:
    """Minus the approximate inverse Hessian of the free parameters times the gradient: the two loops of Nocedal (1980)."""
    usable = []
    for step, change in pairs:
        s, y = np.where(free, step, 0.0), np.where(free, change, 0.0)
        if s @ y > 1e-10 * np.linalg.norm(s) * np.linalg.norm(y):
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
