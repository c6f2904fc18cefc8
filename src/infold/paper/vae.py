"""VAE-BO: a GP on the latent space of a variational autoencoder (R. Gómez-Bombarelli et al., ACS
Central Science, 2018).

The autoencoder is trained on evaluations made before the run, which its budget does not count, and
never again.

| symbol | code | shape |
|--------|------|-------|
| x~     | probit(x), what is reconstructed | D |
| q(z given x) | N(`mean`, exp(`log_variance`)), from the encoder | d |
| z      | searched in the range of the encoded pairs, 0.2 wider, as the unit cube | d |
| loss   | - log p(x~ given z) + KL(q(z given x), N(0, 1)) - log p(y given z), mean over pairs | |
"""

import functools
import importlib.util
import json
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from infold import _checks, problems, runfile
from infold._precision import float64
from infold._types import Array
from infold.compilation import user_folder
from infold.gp.outputs import Standardization
from infold.models.embedded import Maps
from infold.models.joint.warp import probit

FORMAT, VERSION = "infold-vae", 1
_HIDDEN = 64  # units of the hidden layer of encoder, decoder and property predictor
_BATCH = 100  # pairs per step
_RATE = 2e-3  # of Adam; the loss levels off within the default number of steps on the four problems
_MARGIN = 0.2  # on either side of the encoded data, as the paper's code has it
_PAIRS = (2, 2)  # streams of random numbers of a run's seed; (i,) is that of its initial point i
_TRAINING = (3, 2)
_FIRST_TRIAL = 1_000_000  # trial number of the extra evaluations: their noise is not the run's
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Autoencoder:
    """The latent space of an autoencoder trained on extra evaluations of a test problem."""

    problem: str | None = None
    """One of `infold.problems.NAMES`: the test problem of the extra evaluations."""
    n_pairs: int = 500
    """Extra evaluations, at uniform points."""
    n_steps: int = 3000
    """Steps of training."""

    def __post_init__(self) -> None:
        if importlib.util.find_spec("optax") is None:
            raise ImportError("vae needs optax: pip install 'infold[experiments]'")
        if self.problem is None:
            raise ValueError(
                "problem = None: vae is trained on evaluations made before the run; expected the "
                f"test problem that they are of, one of {', '.join(problems.NAMES)}"
            )
        _checks.one_of("problem", self.problem, problems.NAMES)
        _checks.at_least("n_pairs", self.n_pairs, _BATCH)
        _checks.at_least("n_steps", self.n_steps, 1)

    def n_parameters(self, dimension: int, n_features: int) -> int:
        return _n_weights(dimension, n_features) + 2 * n_features

    def parameters(self, dimension: int, n_features: int, seed: int) -> Float[np.ndarray, " p"]:
        """Return weights, then the limits of the encoded pairs."""
        expected = problems.get(str(self.problem)).dimension
        if dimension != expected:
            raise ValueError(
                f"the space has dimension {dimension}: "
                f"{self.problem}, which vae was made for, has {expected}"
            )
        trained = train(Task(str(self.problem), n_features, self.n_pairs, self.n_steps, seed))
        return np.concatenate([trained.weights, trained.low, trained.high])

    def maps(self, parameters: Float[np.ndarray, " p"], dimension: int, n_features: int) -> Maps:
        weights, low, high = np.split(parameters, [-2 * n_features, -n_features])
        low = low - _MARGIN
        width = high + _MARGIN - low

        def place(x: np.ndarray) -> np.ndarray:
            return np.clip((encode(weights, x, n_features) - low) / width, 0.0, 1.0)

        def point(v: np.ndarray) -> np.ndarray:
            return decode(weights, low + v * width, dimension)

        return Maps(place, point)


class Task(NamedTuple):
    """What an autoencoder is trained on."""

    problem: str
    n_features: int
    n_pairs: int
    n_steps: int
    seed: int


class Trained(NamedTuple):
    weights: Float[np.ndarray, " p"]
    low: Float[np.ndarray, " d"]
    """Of the encoded pairs."""
    high: Float[np.ndarray, " d"]
    losses: Float[np.ndarray, " steps"]


def pairs(task: Task) -> tuple[Float[np.ndarray, "n D"], Float[np.ndarray, " n"]]:
    """The extra evaluations."""
    problem = problems.get(task.problem)
    x = np.random.default_rng([task.seed, *_PAIRS]).uniform(size=(task.n_pairs, problem.dimension))
    return x, np.array(
        [problem.observe(point, task.seed, _FIRST_TRIAL + i) for i, point in enumerate(x)]
    )


@functools.lru_cache(maxsize=8)
def train(task: Task) -> Trained:
    """Return the autoencoder of the task, from the cache folder where an earlier run left it."""
    constants = (_HIDDEN, _BATCH, _RATE)
    try:
        path = user_folder() / "vae" / ("-".join(map(str, (*task, *constants))) + ".json")
        return _read(path)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        _log.warning("%s; training the autoencoder again", error)
    except RuntimeError as error:  # a user without a home
        _log.warning("the trained autoencoder is not kept: %s", error)
        return _train(task)
    trained = _train(task)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fields = {name: runfile.to_text(array) for name, array in trained._asdict().items()}
        runfile.replace(path, json.dumps({"format": FORMAT, "version": VERSION, **fields}) + "\n")
    except OSError as error:
        _log.warning("the trained autoencoder is not kept: %s", error)
    return trained


def _read(path: Path) -> Trained:
    data = runfile.checked_json(
        path.read_bytes(),
        str(path),
        kind="an autoencoder of infold",
        format=FORMAT,
        version=VERSION,
        required=Trained._fields,
    )
    return Trained(**{name: runfile.from_text(data[name]) for name in Trained._fields})


@float64
def _train(task: Task) -> Trained:
    import optax

    x, y = pairs(task)
    dimension, d = x.shape[1], task.n_features
    data = jnp.asarray(probit(x)), jnp.asarray(Standardization.of(y).apply(y))
    rng = np.random.default_rng([task.seed, *_TRAINING])
    optimizer = optax.adam(_RATE)

    def step(state: tuple, key: Array) -> tuple[tuple, Array]:
        weights, moments = state
        choice, noise = jax.random.split(key)
        rows = jax.random.choice(choice, task.n_pairs, (_BATCH,), replace=False)
        value, gradient = jax.value_and_grad(loss)(weights, data[0][rows], data[1][rows], noise, d)
        updates, moments = optimizer.update(gradient, moments)
        return (optax.apply_updates(weights, updates), moments), value

    weights = jnp.asarray(_initial_weights(dimension, d, rng))
    keys = jax.random.split(jax.random.key(int(rng.integers(2**31))), task.n_steps)
    (weights, _), losses = jax.jit(lambda *start: jax.lax.scan(step, start, keys))(
        weights, optimizer.init(weights)
    )
    if not np.all(np.isfinite(weights)):
        raise FloatingPointError("training of the autoencoder diverged")
    z = encode(np.asarray(weights), x, d)
    return Trained(np.asarray(weights), np.min(z, axis=0), np.max(z, axis=0), np.asarray(losses))


def _layers(dimension: int, d: int) -> list[tuple[int, int]]:
    """Return inputs and outputs of each layer: two each of encoder, decoder, predictor."""
    return [
        (dimension, _HIDDEN),
        (_HIDDEN, 2 * d),
        (d, _HIDDEN),
        (_HIDDEN, dimension),
        (d, _HIDDEN),
        (_HIDDEN, 1),
    ]


def _n_weights(dimension: int, d: int) -> int:
    return sum((n + 1) * m for n, m in _layers(dimension, d)) + 2


def _initial_weights(dimension: int, d: int, rng: np.random.Generator) -> np.ndarray:
    parts = [
        rng.normal(size=(n + 1, m)) * np.append(np.full(n, 1.0 / math.sqrt(n)), 0.0)[:, None]
        for n, m in _layers(dimension, d)
    ]
    return np.concatenate(
        [*map(np.ravel, parts), np.zeros(2)]
    )  # and the logarithms of two noise variances


def _unpack(weights: Array, dimension: int, d: int) -> Sequence[Array]:
    """The matrix of each layer, its last row the bias; then the two logarithms."""
    sizes = [(n + 1) * m for n, m in _layers(dimension, d)]
    parts = jnp.split(weights, np.cumsum(sizes))
    return [
        part.reshape(-1, m) for part, (_, m) in zip(parts, _layers(dimension, d), strict=False)
    ] + [parts[-1]]


def _network(first: Array, second: Array, inputs: Float[Array, "n i"]) -> Float[Array, "n o"]:
    hidden = jnp.tanh(inputs @ first[:-1] + first[-1])
    return hidden @ second[:-1] + second[-1]


def loss(
    weights: Array, x: Float[Array, "n D"], y: Float[Array, " n"], key: Array, d: int
) -> Float[Array, ""]:
    """Return the negative evidence lower bound per pair, of probits x and standardized y."""
    w = _unpack(weights, x.shape[1], d)
    mean, log_variance = jnp.split(_network(w[0], w[1], x), 2, axis=1)
    z = mean + jnp.exp(0.5 * log_variance) * jax.random.normal(key, mean.shape, dtype=mean.dtype)
    divergence = 0.5 * jnp.sum(mean**2 + jnp.exp(log_variance) - log_variance - 1.0, axis=1)
    reconstruction = _negative_log_density(x - _network(w[2], w[3], z), w[6][0])
    prediction = _negative_log_density(y[:, None] - _network(w[4], w[5], z), w[6][1])
    return jnp.mean(divergence + reconstruction + prediction)


def _negative_log_density(error: Float[Array, "n k"], log_variance: Array) -> Float[Array, " n"]:
    """Of a normal error, up to a constant; its variance is learned, not below 1e-4."""
    variance = 1e-4 + jnp.exp(log_variance)
    return 0.5 * jnp.sum(error**2 / variance + jnp.log(variance), axis=1)


@float64
def encode(weights: np.ndarray, x: Float[np.ndarray, "n D"], d: int) -> Float[np.ndarray, "n d"]:
    """The mean of z at points x of the unit cube."""
    w = _unpack(jnp.asarray(weights), x.shape[1], d)
    return np.asarray(_network(w[0], w[1], jnp.asarray(probit(x)))[:, :d])


@float64
def decode(
    weights: np.ndarray, z: Float[np.ndarray, "n d"], dimension: int
) -> Float[np.ndarray, "n D"]:
    """Points of the unit cube at z."""
    w = _unpack(jnp.asarray(weights), dimension, z.shape[1])
    return ndtr(np.asarray(_network(w[2], w[3], jnp.asarray(z))))
