"""A GP on the features of designs, searched there and decoded to designs of the same kind.

The features of a point are those whose design is closest to it. How far it still is from that
design is one more coordinate of the GP: points unlike any design say little of those that are.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from infold._precision import float64
from infold._types import Array
from infold.gp import kernels, padding
from infold.gp.outputs import PowerTransform, without_outliers
from infold.learning.designs import KERNEL
from infold.learning.lessons import Manifold
from infold.models import regression
from infold.models.base import MeanAndVariance, State, kept_array
from infold.models.full_space import FittedGP, standardized_noise
from infold.models.likelihood import GPSurface
from infold.models.regression import Regression, RegressionPosterior
from infold.record import History

_MARGIN = 0.05  # of the range of the designs' features, by which the search may leave it
_STEPS = 15  # of Gauss and Newton's method towards the features of a point
_DAMPING = 1e-3
_BATCH = 4  # points that are encoded at once, always so many: a suggestion needs one at a time
_OWN = 1.0  # deviation of a log lengthscale
_ALL = 1.0  # deviation of their common factor


class Decoder(NamedTuple):
    """The decoder, conditioned on its designs."""

    z: Float[Array, "n q"]
    x: Float[Array, "n D"]
    lengthscale: Float[Array, " q"]
    alpha: Float[Array, "n D"]
    centre: Float[Array, " D"]
    weight: Float[Array, " D"]
    lower: Float[Array, " q"]
    width: Float[Array, " q"]
    spread: Float[Array, ""]
    """Deviation of the designs, the unit of distances from them."""


@functools.lru_cache(maxsize=4)
def decoder_of(manifold: Manifold) -> Decoder:
    """Return the decoder of a manifold: features are scaled to the unit cube by the designs.

    The last few are remembered, since every suggestion of a run has the same.
    """
    lower, upper = np.min(manifold.z, axis=0), np.max(manifold.z, axis=0)
    width = np.maximum(upper - lower, 1e-9)
    lower, width = lower - _MARGIN * width, (1.0 + 2.0 * _MARGIN) * width
    centre = np.mean(manifold.x, axis=0)
    lengthscale = np.exp(manifold.log_lengthscale)
    k = np.asarray(kernels.covariance(KERNEL, manifold.z, manifold.z, lengthscale))
    k_y = k + np.exp(manifold.log_noise) * np.eye(len(k))
    alpha = np.linalg.solve(k_y, manifold.x - centre)
    counted = manifold.weight > 0.0
    spread = np.sqrt(np.mean(np.var(manifold.x[:, counted], axis=0))) if np.any(counted) else 1.0
    return Decoder(
        manifold.z,
        manifold.x,
        lengthscale,
        alpha,
        centre,
        manifold.weight,
        lower,
        width,
        np.maximum(spread, 1e-9),
    )


def _decode(decoder: Decoder, u: Float[Array, " q"]) -> Float[Array, " D"]:
    """Return the design at features u, in units of the cube of features."""
    z = decoder.lower + decoder.width * u
    k = kernels.covariance(KERNEL, z[None], decoder.z, decoder.lengthscale)[0]
    return decoder.centre + k @ decoder.alpha


@jax.jit
def decode(decoder: Decoder, u: Float[Array, "m q"]) -> Float[Array, "m D"]:
    """Return the designs at features u."""
    return jax.vmap(functools.partial(_decode, decoder))(u)


@jax.jit
def _encode(decoder: Decoder, x: Float[Array, "m D"]) -> Float[Array, "m e"]:
    """Return the features of the designs closest to x, and how far these are."""

    def of_point(point: Array) -> Array:
        def miss(u: Array) -> Array:
            away = decoder.weight * (point - _decode(decoder, u))
            return away / (decoder.spread * jnp.sqrt(len(point)))

        gaps = jnp.sum((decoder.weight * (decoder.x - point)) ** 2, axis=1)
        start = (decoder.z[jnp.argmin(gaps)] - decoder.lower) / decoder.width

        def step(_: Array, carry: tuple) -> tuple:
            u, damping = carry
            r = miss(u)
            slope = jax.jacfwd(miss)(u)
            normal = slope.T @ slope + damping * jnp.eye(len(u))
            trial = jnp.clip(u - jnp.linalg.solve(normal, slope.T @ r), 0.0, 1.0)
            better = jnp.sum(miss(trial) ** 2) < jnp.sum(r**2)
            damping = jnp.where(better, 0.2 * damping, 10.0 * damping)
            return jnp.where(better, trial, u), damping

        u, _ = jax.lax.fori_loop(0, _STEPS, step, (start, jnp.asarray(_DAMPING)))
        return jnp.append(u, jnp.linalg.norm(miss(u)))

    return jax.lax.map(of_point, x)


def encode(decoder: Decoder, x: Float[np.ndarray, "m D"]) -> Float[np.ndarray, "m e"]:
    """Return the features of the designs closest to x, and how far these are."""
    found = []
    for begin in range(0, len(x), _BATCH):
        batch = x[begin : begin + _BATCH]
        rows = np.concatenate([batch, np.repeat(batch[-1:], _BATCH - len(batch), axis=0)])
        found.append(np.asarray(_encode(decoder, rows))[: len(batch)])
    return np.concatenate(found) if found else np.empty((0, decoder.z.shape[1] + 1))


@dataclass(frozen=True, kw_only=True)
class DesignsGP:
    """Settings of a GP on the features of designs; it takes part where lessons know designs."""

    noise_prior: tuple[float, float] = (-9.0, 2.0)
    """Location and scale of the log-normal prior on the noise variance."""
    least_noise: float = 1e-8
    """Least noise variance, of values of unit variance."""
    warm_training_iterations: int = 3
    """Training iterations from the last suggestion's parameters."""
    noise: float | None = None
    """Variance of the noise of an evaluation where it is known, 0 for none; learned when None."""

    def applies(self, history: History) -> bool:
        """Tell whether the lessons know designs."""
        return history.lessons is not None and history.lessons.manifold is not None

    @property
    def gp(self) -> Regression:
        """Settings of the GP itself."""
        return Regression(scaled_priors=True, learn_variance=False, least_noise=self.least_noise)

    @float64
    def fit(self, history: History, key: Sequence[int], state: State) -> "FittedDesigns":
        """Train from the last parameters, or from lengthscales of half the range of features."""
        assert history.lessons is not None
        assert history.lessons.manifold is not None
        decoder = decoder_of(history.lessons.manifold)
        places = _with_known(decoder, history.everywhere, state)
        values = without_outliers(history.imputed)
        outputs = PowerTransform.of(values)
        y = outputs.apply(values)
        count = places.shape[1]
        data = regression.make_data(
            places[: len(y)],
            y,
            padding.bucket_size(len(places)),
            extent=np.full(count, 0.25 * np.sqrt(count)),
            noise_prior=self.noise_prior,
            spread=np.append(np.full(count, _OWN), _ALL),
        )
        trained = regression.fit(
            self.gp,
            jax.device_put(data),
            warm=kept_array(state, "parameters"),
            curvature=kept_array(state, "curvature"),
            warm_iterations=self.warm_training_iterations,
            noise=standardized_noise(self.noise, outputs, values),
        )
        return FittedDesigns(
            gp=self.gp,
            history=history,
            outputs=outputs,
            y=y,
            trained=trained,
            posterior=trained.posterior,
            smooths=True,
            decoder=decoder,
            places=places,
        )


def _with_known(decoder: Decoder, x: np.ndarray, state: State) -> np.ndarray:
    """Return the features of x, those that the state knows taken from there."""
    known, features = kept_array(state, "x"), kept_array(state, "features")
    n_features = decoder.z.shape[1] + 1
    usable = (
        known is not None
        and features is not None
        and known.shape == (len(features), x.shape[1])
        and features.shape == (len(features), n_features)
        and bool(np.all(np.isfinite(features)))
    )
    if not usable or known is None or features is None:
        return encode(decoder, x)
    rows = {point.tobytes(): place for point, place in zip(known, features, strict=True)}
    missing = [i for i, point in enumerate(x) if point.tobytes() not in rows]
    found = dict(zip(missing, encode(decoder, x[missing]), strict=True))
    return np.stack([found[i] if i in found else rows[x[i].tobytes()] for i in range(len(x))])


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedDesigns(FittedGP):
    """A fitted GP on features of designs."""

    decoder: Decoder
    places: Float[np.ndarray, "all e"]
    """Features of all points, and how far each is from its design."""
    has_features: ClassVar[bool] = True

    @property
    def state(self) -> State:
        return {**super().state, "x": self.history.everywhere, "features": self.places}

    @functools.cached_property
    def surface(self) -> GPSurface:
        return self.surface_over(
            self.places[:, :-1],
            functools.partial(_predict, self.gp, self.posterior),
            functools.partial(_predict_with_gradients, self.gp, self.posterior),
            None,
            np.asarray(self.posterior.params.lengthscale)[:-1],
        )

    @float64
    def predict(self, x: Float[np.ndarray, "m D"]) -> MeanAndVariance:
        places = encode(self.decoder, x)
        mean, variance = np.asarray(_predict_places(self.gp, self.posterior, places))
        return mean, variance

    def predict_few(self, x: Float[np.ndarray, "m D"]) -> MeanAndVariance:
        padded = np.concatenate([x, np.repeat(x[-1:], -len(x) % _BATCH, axis=0)])
        mean, variance = self.predict(padded)
        return mean[: len(x)], variance[: len(x)]

    @float64
    def encode(self, x: Float[np.ndarray, "m D"]) -> list[np.ndarray]:
        return [encode(self.decoder, x)[:, :-1]]

    @float64
    def decode(self, places: Sequence[np.ndarray]) -> Float[np.ndarray, " D"]:
        return np.clip(np.asarray(decode(self.decoder, places[0][None]))[0], 0.0, 1.0)

    def _infer(self, x: np.ndarray, y: np.ndarray, size: int) -> RegressionPosterior:
        before = self.trained.posterior.data
        known = {"x": self.history.everywhere, "features": self.places}
        data = regression.make_data(
            _with_known(self.decoder, x, known),
            y,
            size,
            extent=before.extent,
            noise_prior=before.noise_prior,
            spread=before.spread,
        )
        return regression.evaluate(self.gp, self.trained.flat, data)[2]

    @float64
    def _with_pending(self, history: History, values: Float[np.ndarray, " q"]) -> "FittedDesigns":
        conditioned = super()._with_pending(history, values)
        assert isinstance(conditioned, FittedDesigns)
        known = {"x": self.history.everywhere, "features": self.places}
        places = _with_known(self.decoder, history.everywhere, known)
        return replace(conditioned, places=places)


def _on_designs(u: Float[Array, "m q"]) -> Float[Array, "m q+1"]:
    return jnp.concatenate([u, jnp.zeros((len(u), 1))], axis=1)


@functools.partial(jax.jit, static_argnums=0)
def _predict_places(
    settings: Regression, posterior: RegressionPosterior, places: Float[jax.Array, "m e"]
) -> Float[jax.Array, "2 m"]:
    return jnp.stack(regression.predict(settings, posterior, places))


@functools.partial(jax.jit, static_argnums=0)
def _predict(
    settings: Regression, posterior: RegressionPosterior, u: Float[jax.Array, "m q"]
) -> Float[jax.Array, "2 m"]:
    return jnp.stack(regression.predict(settings, posterior, _on_designs(u)))


@functools.partial(jax.jit, static_argnums=0)
def _predict_with_gradients(
    settings: Regression, posterior: RegressionPosterior, u: Float[jax.Array, "m q"]
) -> Float[Array, "m 2+2*q"]:
    columns = regression.predict_with_gradients(settings, posterior, _on_designs(u))
    mean, variance = jnp.split(columns[:, 2:], 2, axis=1)
    return jnp.concatenate([columns[:, :2], mean[:, :-1], variance[:, :-1]], axis=1)
