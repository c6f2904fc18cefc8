"""Response surfaces of several runs that see the inputs through one map.

Every run t has a GP of its own, with a constant mean, a signal and a noise variance and a scale;
all of them see A x, where A is diagonal (a metric) or has d rows (features). The objective is the
sum of their log marginal likelihoods and of the log priors: that of the paper, with T response
surfaces and a linear encoder. The vector that training sees is `Shared` in this order.

| symbol | code       | meaning                                         | shape      |
|--------|------------|-------------------------------------------------|------------|
| A      | `map`      | log lengthscales of a metric, or weights        | D, or d D  |
| σ_n²   | `noise`    | noise variance of each run                      | T          |
| σ_f²   | `variance` | signal variance of each run                     | T          |
| s      | `scale`    | factor of the lengthscales of each run          | T          |
"""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from infold._types import Array
from infold.gp import exact, kernels, padding
from infold.gp.outputs import PowerTransform, without_outliers
from infold.gp.training import Start, Trained, differentiate, train

KERNEL = "matern52"
SMOOTH = "squared-exponential"
"""Kernel for which all runs together may have better evidence."""
_NOISE = (-9.0, 3.0)  # location and deviation of the normal priors on logarithms
_VARIANCE = (0.0, 1.0)
_SCALE = (0.0, 0.5)
_LEAST_NOISE = math.log(1e-8)
WEIGHT_DEVIATION = 1.0  # of the normal prior on the weights of features
_METRIC = "metric"  # names of starts
_FEATURES = "features"
_OWN = 3  # parameters that each run has for itself


class RunsData(NamedTuple):
    """Inputs and standardized values of T runs, padded to the same number of rows."""

    x: Float[Array, "T n D"]
    y: Float[Array, "T n"]
    mask: Bool[Array, "T n"]
    weight: Float[Array, " T"]
    """How much each run counts in the sum: 0 for those left out."""


class Shared(NamedTuple):
    """Parameters of all runs, as logarithms but for the weights of features."""

    map: Float[Array, "..."]
    noise: Float[Array, " T"]
    variance: Float[Array, " T"]
    scale: Float[Array, " T"]


def make_data(runs: Sequence[tuple[np.ndarray, np.ndarray]], most: int) -> RunsData:
    """Return runs, each by its inputs and values without NaN, with at most `most` rows each."""
    parts = []
    for x, y in runs:
        rows = np.arange(len(y))
        if len(y) > most:
            rows = np.unique(np.round(np.linspace(0, len(y) - 1, most)).astype(int))
            rows[-1] = np.argmin(y)
            rows = np.unique(rows)
        values = without_outliers(y[rows])
        parts.append((x[rows], PowerTransform.of(values).apply(values)))
    size = padding.bucket_size(max(len(y) for _, y in parts))
    return RunsData(
        np.stack([padding.pad_rows(x, size) for x, _ in parts]),
        np.stack([padding.pad_rows(y, size) for _, y in parts]),
        np.stack([padding.row_mask(len(y), size) for _, y in parts]),
        np.ones(len(parts)),
    )


def split(
    data: RunsData, count: int, later: int, rng: np.random.Generator, size: int | None = None
) -> tuple[RunsData, RunsData]:
    """Return the first `count` evaluations of each run in two parts, the second of `later`.

    Which evaluations belong to the second is drawn. Values are standardized by the first part.
    Both are padded to `size` rows where it is given: one compiled program serves all.
    """
    y = np.asarray(data.y)
    mask = np.asarray(data.mask)
    order = rng.permutation(min(count, y.shape[1]))
    later = min(later, len(order) - 1)
    first = np.zeros_like(mask)
    first[:, order[later:]] = mask[:, order[later:]]
    n = np.maximum(np.sum(first, axis=1, keepdims=True), 1)
    mean = np.sum(np.where(first, y, 0.0), axis=1, keepdims=True) / n
    deviation = np.sqrt(np.sum(np.where(first, y - mean, 0.0) ** 2, axis=1, keepdims=True) / n)
    standardized = (y - mean) / np.where(deviation > 1e-12, deviation, 1.0)

    def part(rows: np.ndarray) -> RunsData:
        n_rows = padding.bucket_size(len(rows)) if size is None else size
        inside = padding.row_mask(len(rows), n_rows)
        rows = np.resize(rows, n_rows)
        kept = mask[:, rows] & inside
        values = np.where(kept, standardized[:, rows], 0.0)
        return RunsData(np.asarray(data.x)[:, rows], values, kept, data.weight)

    return part(order[later:]), part(order[:later])


def unflatten(d: int, dimension: int, flat: Float[Array, " p"]) -> Shared:
    """Return the parameters in the vector `flat`; d = 0 stands for a metric."""
    size = d * dimension if d else dimension
    shared = flat[:size].reshape((d, dimension)) if d else flat[:size]
    return Shared(shared, *jnp.split(flat[size:], _OWN))


def _seen(shared: Array, x: Float[Array, "n D"]) -> Float[Array, "n e"]:
    """Return A x."""
    return x * jnp.exp(-shared) if shared.ndim == 1 else x @ shared.T


def _infer_run(
    kernel: str, shared: Array, own: tuple, x: Array, y: Array, mask: Array
) -> tuple[Array, exact.ScalarPosterior]:
    noise, variance, scale = own
    z = _seen(shared, x) * jnp.exp(-scale)
    k = kernels.covariance(kernel, z, z, jnp.ones(z.shape[1]))
    k_y = jnp.exp(variance) * k + jnp.exp(noise) * jnp.eye(len(y))
    return exact.infer(padding.identity_pad(k_y, mask), y, mask, True)


def _normal(value: Array, prior: tuple[float, float]) -> Array:
    return -0.5 * ((value - prior[0]) / prior[1]) ** 2


def infer(
    d: int, flat: Float[Array, " p"], data: RunsData, kernel: str = KERNEL
) -> tuple[Float[Array, ""], exact.ScalarPosterior]:
    """Return the sum of the log likelihoods plus the log priors, and the posteriors of all runs."""
    dimension = data.x.shape[2]
    shared, noise, variance, scale = unflatten(d, dimension, flat)
    # One run after the other: batched, the program can wait for ever on a machine of few threads.
    values, posteriors = jax.lax.map(
        lambda run: _infer_run(kernel, shared, *run),
        ((noise, variance, scale), data.x, data.y, data.mask),
    )
    own = _normal(noise, _NOISE) + _normal(variance, _VARIANCE) + _normal(scale, _SCALE)
    if d:
        prior = jnp.sum(_normal(shared, (0.0, WEIGHT_DEVIATION)))
    else:  # the full-space GP's, in the lengthscale itself
        location = math.sqrt(2.0) + 0.5 * math.log(dimension)
        prior = jnp.sum(_normal(shared, (location, math.sqrt(3.0))) - shared)
    return jnp.sum(data.weight * (values + own)) + prior, posteriors


@functools.partial(jax.jit, static_argnums=(0, 3))
def evaluate(
    d: int, flat: Array, data: RunsData, kernel: str = KERNEL
) -> tuple[Array, Array, exact.ScalarPosterior]:
    """Return the negative of what `infer` returns first, its gradient, and the posteriors."""
    return differentiate(lambda flat: infer(d, flat, data, kernel), flat)


def _initial_own(n_runs: int) -> np.ndarray:
    start = np.array([math.log(1e-3), 0.0, 0.0])
    return np.repeat(start, n_runs)


def fit(
    data: RunsData,
    shared: Float[np.ndarray, "..."],
    *,
    own: np.ndarray | None = None,
    held: bool = False,
    iterations: int = 100,
    kernel: str = KERNEL,
) -> Trained:
    """Find the most likely parameters.

    Args:
        data: the runs.
        shared: where the shared map starts: D log lengthscales, or d x D weights.
        own: where the runs' own parameters start.
        held: leave the shared map as it is and train the runs' own parameters alone.
        iterations: most quasi-Newton steps.
        kernel: one of `SMOOTH` and `KERNEL`.
    """
    n_runs = len(data.y)
    d = 0 if shared.ndim == 1 else len(shared)
    start = np.append(shared.ravel(), _initial_own(n_runs) if own is None else own)
    lower = np.full(len(start), -20.0)
    upper = np.full(len(start), 20.0)
    lower[shared.size : shared.size + n_runs] = _LEAST_NOISE
    upper[shared.size : shared.size + n_runs] = 0.0
    if not d:
        lower[: shared.size] = math.log(1e-2)
        upper[: shared.size] = math.log(1e3)
    if held:
        lower[: shared.size] = upper[: shared.size] = shared.ravel()
    return train(
        lambda flat: evaluate(d, flat, data, kernel),
        [Start(_FEATURES if d else _METRIC, start, iterations)],
        (lower, upper),
    )


def initial_metric(dimension: int) -> np.ndarray:
    """Return log lengthscales to begin with: longer than those of a single run."""
    return np.full(dimension, 0.5 * math.log(dimension))


@functools.partial(jax.jit, static_argnums=0)
def _gradients(d: int, flat: Array, data: RunsData, posteriors: exact.ScalarPosterior) -> Array:
    shared, _, variance, scale = unflatten(d, data.x.shape[2], flat)

    def of_run(variance: Array, scale: Array, x: Array, mask: Array, alpha: Array) -> Array:
        def mean(point: Array) -> Array:
            a = _seen(shared, point[None]) * jnp.exp(-scale)
            b = _seen(shared, x) * jnp.exp(-scale)
            k = kernels.covariance(KERNEL, a, b, jnp.ones(a.shape[1]))[0]
            return jnp.exp(variance) * jnp.where(mask, k, 0.0) @ alpha

        return jax.vmap(jax.grad(mean))(x)

    return jax.lax.map(
        lambda run: of_run(*run), (variance, scale, data.x, data.mask, posteriors.alpha)
    )


def gradient_moments(flat: np.ndarray, data: RunsData) -> Float[np.ndarray, "T D D"]:
    """Return, for each run, the second moment of its surface's gradients, of trace 1.

    Args:
        flat: parameters with a shared metric.
        data: the runs.
    """
    posteriors = evaluate(0, flat, data)[2]
    slopes = np.asarray(_gradients(0, flat, data, posteriors))
    slopes = np.where(np.asarray(data.mask)[:, :, None], slopes, 0.0)
    moments = np.einsum("tni,tnj->tij", slopes, slopes)
    traces = np.trace(moments, axis1=1, axis2=2)
    return moments / np.maximum(traces, 1e-300)[:, None, None]


_LEAST_DENSITY = -10.0  # of one value: a single surprise must not decide


@functools.partial(jax.jit, static_argnums=0)
def _predict(
    d: int, flat: Array, data: RunsData, posteriors: exact.ScalarPosterior, x: Array
) -> tuple[Array, Array]:
    shared, noise, variance, scale = unflatten(d, data.x.shape[2], flat)

    def of_run(run: tuple) -> tuple[Array, Array]:
        noise, variance, scale, x, known, mask, posterior = run
        a = _seen(shared, x) * jnp.exp(-scale)
        b = _seen(shared, known) * jnp.exp(-scale)
        k = kernels.covariance(KERNEL, a, b, jnp.ones(a.shape[1]))
        k = jnp.exp(variance) * jnp.where(mask, k, 0.0)
        mean, spread = exact.predict(posterior, k, jnp.exp(variance))
        return mean, spread + jnp.exp(noise)

    return jax.lax.map(of_run, (noise, variance, scale, x, data.x, data.mask, posteriors))


def log_densities(data: RunsData, trained: Trained, later: RunsData) -> Float[np.ndarray, " T"]:
    """Return the mean log density of later values of each run; NaN where there are none.

    Args:
        data: what the model was trained on.
        trained: the parameters.
        later: values to predict, standardized like those of `data`.
    """
    n_runs, _, dimension = np.shape(data.x)
    d = (len(trained.flat) - _OWN * n_runs) // dimension
    d = 0 if d == 1 and trained.start == _METRIC else d
    mean, variance = _predict(d, trained.flat, data, trained.posterior, later.x)
    mean, variance = np.asarray(mean), np.asarray(variance)
    density = -0.5 * ((later.y - mean) ** 2 / variance + np.log(2.0 * np.pi * variance))
    density = np.where(later.mask, np.maximum(density, _LEAST_DENSITY), 0.0)
    count = np.sum(later.mask, axis=1)
    return np.where(count > 0, np.sum(density, axis=1) / np.maximum(count, 1), np.nan)
