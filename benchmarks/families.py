"""Families of problems whose members have something in common that earlier runs can teach.

Every task is a function of the unit cube to minimize. `new` tasks have other numbers than those of
earlier runs, and hidden maps have seeds: settings were chosen with maps from 100 on, reported ones
are those below.
"""

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.interpolate
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


def rover(number: int) -> Task:
    """Return a rover's path from a start on the left to a goal on the right, as the suite has it.

    Obstacles are the same in all tasks, starts and goals differ.
    """
    obstacles = np.random.default_rng(2018).uniform(size=(100, 2))
    rng = np.random.default_rng([number, 17])
    start = np.array([0.05, rng.uniform(0.05, 0.5)])
    goal = np.array([0.95, rng.uniform(0.5, 0.95)])
    away = np.minimum(
        np.max(np.abs(obstacles - start), axis=1), np.max(np.abs(obstacles - goal), axis=1)
    )
    centres = obstacles[away > 0.075]
    displacement = 1e-4 * np.random.default_rng(0).normal(size=(30, 2))

    def cost(x: np.ndarray) -> float:
        points = (1.2 * np.asarray(x) - 0.1).reshape(30, 2) + displacement
        spline, _ = scipy.interpolate.splprep(points.T, k=3)
        path = np.stack(scipy.interpolate.splev(np.linspace(0.0, 1.0, 500), spline), axis=1)
        inside = np.any(np.all(np.abs(path[:, None] - centres) <= 0.025, axis=2), axis=1)
        blocked = inside | np.any((path < 0.0) | (path > 1.0), axis=1)
        density = 0.05 + 20.0 * blocked
        lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
        along = np.sum(lengths * (density[:-1] + density[1:]) / 2.0)
        missed = np.sum(np.abs(path[0] - start)) + np.sum(np.abs(path[-1] - goal))
        return float(along + 10.0 * missed)

    return Task(f"rover-{number}", 60, cost)


@functools.cache
def _digits() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    images = load_digits()
    return images.data / 16.0, images.target


def pixels(number: int) -> Task:
    """Return the log loss of a kernel classifier of two digits, by 66 hyper-parameters.

    They are the weight of each of the 64 pixels, the width of the kernel and the ridge, all on
    logarithmic scales. Each task is another pair of digits: fit to 60 images, judged on 120.
    """
    pairs = list(itertools.combinations(range(10), 2))
    first, second = pairs[int(np.random.default_rng(45).permutation(45)[number % 45])]
    images, labels = _digits()
    rows = np.flatnonzero((labels == first) | (labels == second))
    rows = np.random.default_rng([number, 19]).permutation(rows)[:180]
    x, y = images[rows], np.where(labels[rows] == first, 1.0, -1.0)

    def loss(u: np.ndarray) -> float:
        u = np.asarray(u)
        weight = 10.0 ** (2.0 * u[:64] - 1.0)
        z = x * weight / (4.0 * 10.0 ** (1.5 * u[64] - 0.75))
        ridge = 10.0 ** (5.0 * u[65] - 4.0)
        square = np.sum(z**2, axis=1)
        kernel = np.exp(-0.5 * np.maximum(square[:, None] + square[:60] - 2.0 * z @ z[:60].T, 0.0))
        fitted = kernel[60:] @ np.linalg.solve(kernel[:60] + ridge * np.eye(60), y[:60])
        return float(np.log10(np.mean(np.logaddexp(0.0, -4.0 * fitted * y[60:]))))

    return Task(f"pixels-{number}", 66, loss)


_N_TANKS = 16


def tanks(number: int) -> Task:
    """Return how far a chain of tanks is from what was measured, by its 32 rates.

    Tank i passes its contents on at the rate k_i and loses some at the rate l_i; every fourth is
    measured. Chains are of one make, so that rates differ by a quarter or so from one to the next,
    and what comes in is different each time.
    """
    make = np.random.default_rng(23).uniform(0.2, 0.8, size=2 * _N_TANKS)
    rng = np.random.default_rng([number, 23])
    truth = np.clip(make + 0.07 * rng.normal(size=make.shape), 0.0, 1.0)
    pulse = rng.uniform(0.5, 2.0, size=3)
    times = np.linspace(0.0, 40.0, 401)
    step = times[1] - times[0]
    inflow = pulse[0] * np.exp(-times / (2.0 * pulse[1])) + 0.2 * pulse[2]

    def contents(u: np.ndarray) -> np.ndarray:
        rates = 0.2 * 10.0 ** (1.5 * u[:_N_TANKS])
        losses = 1e-3 * 10.0 ** (2.0 * u[_N_TANKS:])
        matrix = np.diag(rates[:-1], -1) - np.diag(rates + losses)
        # The trapezoidal rule: x' = M x + b, a step at a time.
        half = np.eye(_N_TANKS) - 0.5 * step * matrix
        moved = np.linalg.solve(half, np.eye(_N_TANKS) + 0.5 * step * matrix)
        entered = np.linalg.solve(half, step * np.eye(_N_TANKS)[0])
        x = np.zeros(_N_TANKS)
        found = []
        for k in range(len(times) - 1):
            x = moved @ x + 0.5 * (inflow[k] + inflow[k + 1]) * entered
            found.append(x[3::4])
        return np.array(found[::10])

    measured = contents(truth)

    def misfit(u: np.ndarray) -> float:
        error = contents(np.asarray(u)) - measured
        return float(np.log10(np.sqrt(np.mean(error**2)) / np.max(measured) + 1e-4))

    return Task(f"tanks-{number}", 2 * _N_TANKS, misfit)
