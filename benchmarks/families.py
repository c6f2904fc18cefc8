"""Families of problems whose members have something in common that earlier runs can teach.

Every task is a function of the unit cube to minimize. `new` tasks have other numbers than those of
earlier runs, and hidden maps have seeds: settings were chosen with maps from 100 on, reported ones
are those below.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from infold.problems.embedded import embedding


@dataclass(frozen=True)
class Task:
    """A function of the unit cube."""

    name: str
    dimension: int
    value: Callable[[np.ndarray], float]
    minimum: float = 0.0


_N_HIDDEN = 10


def hidden(kind: str, seed: int, number: int, dimension: int = 60) -> Task:
    """Return a function of ten hidden variables, a linear map of the inputs or its sigmoid.

    Tasks of one seed share the map and nothing else: four forms take turns, with a minimizer and
    curvatures of their own.
    """
    r = embedding(dimension, _N_HIDDEN, seed=1000 + seed)
    rng = np.random.default_rng([seed, number, 7])
    u_best = rng.uniform(-0.6, 0.6, size=_N_HIDDEN)
    rotation = np.linalg.qr(rng.normal(size=(_N_HIDDEN, _N_HIDDEN)))[0]
    curvature = np.exp(rng.uniform(-1.0, 1.0, size=_N_HIDDEN))

    def features(u: np.ndarray) -> np.ndarray:
        return u if kind == "linear" else 2.0 * expit(2.0 * u) - 1.0

    best = features(u_best)
    form = _FORMS[number % len(_FORMS)]

    def value(x: np.ndarray) -> float:
        step = features(r @ (2.0 * np.asarray(x) - 1.0)) - best
        return float(form(step, rotation, curvature))

    return Task(f"{kind}-{seed}-{number}", dimension, value)


def unhidden(kind: str, seed: int, number: int) -> Task:
    """Return the same function of the ten hidden variables themselves.

    Each reaches two deviations of what uniform points of the cube have. A run on this task knows
    the map exactly, and nothing else of the family.
    """
    task = hidden(kind, seed, number)
    r = embedding(task.dimension, _N_HIDDEN, seed=1000 + seed)
    reach = 2.0 / np.sqrt(3.0)

    def value(h: np.ndarray) -> float:
        u = reach * (2.0 * np.asarray(h) - 1.0)
        return task.value(0.5 + 0.5 * r.T @ u)

    return Task(f"un{task.name}", _N_HIDDEN, value)


def _bowl(step: np.ndarray, rotation: np.ndarray, curvature: np.ndarray) -> float:
    return float(np.sum(curvature * (rotation @ step) ** 2))


def _cone(step: np.ndarray, rotation: np.ndarray, curvature: np.ndarray) -> float:
    return float(np.log1p(5.0 * _bowl(step, rotation, curvature)))


def _valley(step: np.ndarray, rotation: np.ndarray, curvature: np.ndarray) -> float:
    v = rotation @ step
    bent = v[1:] - 0.7 * v[:-1] ** 2
    return float(0.5 * v[0] ** 2 + np.sum(curvature[1:] * bent**2))


def _ripples(step: np.ndarray, rotation: np.ndarray, curvature: np.ndarray) -> float:
    w = rotation @ step
    return float(np.sum(curvature * (w**2 + 0.1 * np.sin(2.0 * np.pi * w) ** 2)))


_FORMS = (_bowl, _cone, _valley, _ripples)


_N_CURVE = 60


def profiles(seed: int, count: int) -> np.ndarray:
    """Return so many curves of 60 numbers, in the unit cube, of five hidden parameters.

    A bow of some height and skewness, and a bump of some height, place and width.
    """
    rng = np.random.default_rng([seed, 11])
    return np.stack([_profile(rng.uniform(size=5)) for _ in range(count)])


def _profile(h: np.ndarray) -> np.ndarray:
    t = np.linspace(0.0, 1.0, _N_CURVE)
    bow = (0.2 + 0.5 * h[0]) * np.sin(np.pi * t ** np.exp(1.4 * h[1] - 0.7))
    bump = 0.4 * (h[2] - 0.3) * np.exp(-(((t - 0.2 - 0.6 * h[3]) / (0.05 + 0.15 * h[4])) ** 2))
    return np.clip(0.15 + bow + bump, 0.0, 1.0)


def profile_task(seed: int) -> Task:
    """Return how far heights, slopes and their products are from those of a hidden curve."""
    wanted = _flow(_profile(np.random.default_rng([seed, 13]).uniform(0.1, 0.9, size=5)))
    return Task(
        f"profile-{seed}",
        _N_CURVE,
        lambda x: float(np.mean((_flow(np.asarray(x)) - wanted) ** 2)),
    )


def _flow(x: np.ndarray) -> np.ndarray:
    slope = np.gradient(x, 1.0 / (_N_CURVE - 1))
    return np.concatenate([3.0 * x, slope, x * slope])
