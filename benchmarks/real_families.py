"""Families of real problems, none of which needs a download.

Paths, fits, classifiers, schedules of training and controllers. Members of a family differ as
problems do that come one after the other: another goal, other measurements, another data set,
another body. Each is a function of the unit cube to minimize.
"""

import functools
import itertools

import numpy as np
import scipy.interpolate
from families import Task


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


_N_EPOCHS = 12
_N_UNITS = 16


def schedules(number: int) -> Task:
    """Return the log loss of a small network, by 32 numbers of the way it is trained.

    They are the learning rate and the momentum of each of 12 epochs, and the decay of weights, the
    scale at which they begin, the scale of inputs and the noise added to them, each for both layers
    or both halves of the training. Each task is another data set: some classes of the digits, the
    wines or the tumours, 120 rows to train on and as many to judge by.
    """
    rng = np.random.default_rng([number, 29])
    x, labels, x_held, labels_held = _some_classes(rng)
    n_classes = int(np.max(labels)) + 1
    initial = [
        rng.normal(size=(x.shape[1], _N_UNITS)) / np.sqrt(x.shape[1]),
        rng.normal(size=(_N_UNITS, n_classes)) / np.sqrt(_N_UNITS),
    ]
    order = [np.array_split(rng.permutation(len(x)), 6) for _ in range(_N_EPOCHS)]
    disturbance = rng.normal(size=(_N_EPOCHS, *x.shape))
    targets = np.eye(n_classes)[labels]

    def loss(u: np.ndarray) -> float:
        u = np.asarray(u)
        rates = 10.0 ** (3.0 * u[:12] - 2.5)
        momenta = 0.99 * u[12:24]
        decay = 10.0 ** (4.0 * u[24:26] - 5.0)
        first = 10.0 ** (2.0 * u[26:28] - 1.0)
        scale = 10.0 ** (2.0 * u[28] - 1.0)
        noise = u[29:31]
        smoothing = 0.3 * u[31]
        w = [part * factor for part, factor in zip(initial, first, strict=True)]
        bias = [np.zeros(_N_UNITS), np.zeros(n_classes)]
        speed = [np.zeros_like(part) for part in (*w, *bias)]
        wanted = (1.0 - smoothing) * targets + smoothing / n_classes
        for epoch in range(_N_EPOCHS):
            blurred = scale * (x + noise[2 * epoch // _N_EPOCHS] * disturbance[epoch])
            for rows in order[epoch]:
                hidden = np.tanh(blurred[rows] @ w[0] + bias[0])
                error = (_softmax(hidden @ w[1] + bias[1]) - wanted[rows]) / len(rows)
                back = (error @ w[1].T) * (1.0 - hidden**2)
                slopes = (
                    blurred[rows].T @ back + decay[0] * w[0],
                    hidden.T @ error + decay[1] * w[1],
                    np.sum(back, axis=0),
                    np.sum(error, axis=0),
                )
                for part, moved, slope in zip((*w, *bias), speed, slopes, strict=True):
                    moved *= momenta[epoch]
                    moved -= rates[epoch] * slope
                    part += moved
        p = _softmax(np.tanh(scale * x_held @ w[0] + bias[0]) @ w[1] + bias[1])
        of_truth = p[np.arange(len(labels_held)), labels_held]
        return float(np.log10(np.mean(-np.log(np.clip(of_truth, 1e-9, 1.0))) + 1e-4))

    return Task(f"schedules-{number}", 32, loss)


def _softmax(a: np.ndarray) -> np.ndarray:
    e = np.exp(np.clip(a - np.max(a, axis=1, keepdims=True), -700.0, 0.0))
    return e / np.sum(e, axis=1, keepdims=True)


def _some_classes(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return scaled rows and labels of a few classes of a data set, in two parts."""
    import sklearn.datasets

    name = ("digits", "digits", "wine", "breast_cancer")[rng.integers(4)]
    data = getattr(sklearn.datasets, f"load_{name}")()
    classes = np.unique(data.target)
    if name == "digits":
        classes = rng.choice(classes, size=rng.integers(3, 7), replace=False)
    rows = rng.permutation(np.flatnonzero(np.isin(data.target, classes)))[:240]
    x, labels = data.data[rows], np.searchsorted(np.sort(classes), data.target[rows])
    half = len(rows) // 2
    centre, deviation = np.mean(x[:half], axis=0), np.std(x[:half], axis=0)
    x = np.clip((x - centre) / np.where(deviation > 1e-9, deviation, 1.0), -5.0, 5.0)
    return x[:half], labels[:half], x[half:], labels[half:]


_N_LINKS = 12
_N_CYCLES = 3
_N_STEPS = 60  # of a cycle


def swimmers(number: int) -> Task:
    """Return how far from its goal a swimming robot ends, by 33 numbers of its controller.

    A chain of twelve links in a viscous fluid, whose eleven joints swing with an amplitude, a phase
    and a rest angle each. Bodies differ in the lengths of links, the drag of the skin and the
    strength of the motors. The goal is a body's length ahead, after three cycles; work costs a
    little.
    """
    rng = np.random.default_rng([number, 31])
    length = rng.uniform(0.6, 1.4, size=_N_LINKS)
    length /= np.sum(length)
    along, across = 1.0, rng.uniform(1.6, 3.0)  # drag of a link, by its length
    strength = rng.uniform(0.6, 1.2, size=_N_LINKS - 1)
    lag = rng.uniform(0.0, 0.5, size=_N_LINKS - 1)
    t = np.arange(_N_CYCLES * _N_STEPS) / _N_STEPS
    step = t[1] - t[0]

    def cost(u: np.ndarray) -> float:
        u = np.asarray(u)
        amplitude = 1.2 * strength * u[:11]
        phase = 2.0 * np.pi * (t[:, None] + u[11:22]) - lag
        rest = 1.0 * (u[22:] - 0.5)
        joints = rest + amplitude * np.sin(phase)
        turning = 2.0 * np.pi * amplitude * np.cos(phase)
        # Angles of the links and their rates, and the places of their middles, seen from the head.
        zero = np.zeros((len(t), 1))
        angle = np.concatenate([zero, np.cumsum(joints, axis=1)], axis=1)
        rate = np.concatenate([zero, np.cumsum(turning, axis=1)], axis=1)
        tangent = np.stack([np.cos(angle), np.sin(angle)], axis=2)
        normal = np.stack([-tangent[..., 1], tangent[..., 0]], axis=2)
        whole = length[:, None] * tangent
        swung = (length * rate)[..., None] * normal
        middle = np.cumsum(whole, axis=1) - 0.5 * whole
        moved = np.cumsum(swung, axis=1) - 0.5 * swung
        # Velocity of each middle: of the head, by its turning, and by the joints. Forces and the
        # moment about the head add up to zero, which leaves three equations at each time.
        across_place = np.stack([-middle[..., 1], middle[..., 0]], axis=2)
        modes = np.zeros((len(t), _N_LINKS, 3, 2))
        modes[:, :, 0, 0] = modes[:, :, 1, 1] = 1.0
        modes[:, :, 2] = across_place
        slow = np.sqrt(length)[:, None]
        seen = np.stack(
            [
                np.sqrt(along) * np.einsum("tlmk,tlk->tlm", modes, tangent) * slow,
                np.sqrt(across) * np.einsum("tlmk,tlk->tlm", modes, normal) * slow,
            ],
            axis=3,
        )
        own = np.stack(
            [
                np.sqrt(along) * np.einsum("tlk,tlk->tl", moved, tangent) * slow[:, 0],
                np.sqrt(across) * np.einsum("tlk,tlk->tl", moved, normal) * slow[:, 0],
            ],
            axis=2,
        )
        spin = across * length**3 / 12.0
        drag = np.einsum("tlmk,tlnk->tmn", seen, seen)
        drag[:, 2, 2] += np.sum(spin)
        push = np.einsum("tlmk,tlk->tm", seen, own)
        push[:, 2] += rate @ spin
        body = -np.linalg.solve(drag, push[..., None])[..., 0]
        work = np.einsum("tlk,tlk->t", own, own) + (rate**2) @ spin
        work += np.einsum("tm,tm->t", push, body)
        heading = np.cumsum(body[:, 2]) * step
        cos, sin = np.cos(heading), np.sin(heading)
        x = np.sum(cos * body[:, 0] - sin * body[:, 1]) * step
        y = np.sum(sin * body[:, 0] + cos * body[:, 1]) * step
        return float(np.hypot(x + 1.0, y) + 0.02 * np.mean(work))

    return Task(f"swimmers-{number}", 33, cost)
