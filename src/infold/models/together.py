"""GPs of several outputs on the places of one surface, trained and asked as one batch.

The batch is a compiled loop and not a `vmap`: Cholesky factors are no faster together, and with a
batch of them XLA has been seen to wait for ever on machines of two cores (jaxlib 0.10.2).

| symbol | code   | meaning                                         | shape |
|--------|--------|-------------------------------------------------|-------|
| Z      | `x`    | places of the evaluations, the same for all     | n d   |
| c      | `y`    | transformed values, zero where one is not known | k n   |
|        | `mask` | which values are known                          | k n   |
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from infold._precision import float64
from infold._types import Array
from infold.gp import padding
from infold.gp.exact import ScalarPosterior
from infold.gp.training import start_from, train_together
from infold.models import regression
from infold.models.base import State, Surface, kept_array, kept_state
from infold.models.regression import (
    Regression,
    RegressionData,
    RegressionParams,
    RegressionPosterior,
)

_GP = Regression(scaled_priors=True, learn_variance=False, least_noise=1e-8)
_NOISE_PRIOR = (-7.0, 2.0)  # outputs come from simulators, which are mostly exact
_WARM = 1  # training iterations from the last parameters; a suggestion makes the next better
_FRESH = 30  # training iterations from the modes of the priors
_LEAST_EXTENT = 1e-6
_OTHER = 1.3  # factor between the numbers of data, or their extents, that asks for a fresh start


class _Batch(NamedTuple):
    """Places and values of all constraints, padded to a bucket size."""

    x: Float[Array, "n d"]
    y: Float[Array, "k n"]
    mask: Bool[Array, "k n"]
    extent: Float[Array, " d"]

    def one(self, y: Array, mask: Array) -> RegressionData:
        """Return the data of one of them."""
        return RegressionData(self.x, y, mask, self.extent, jnp.asarray(_NOISE_PRIOR))


class _Posterior(NamedTuple):
    """The GPs conditioned on data: what is not shared, with one row each."""

    batch: _Batch
    params: RegressionParams
    exact: ScalarPosterior


@jax.jit
def _evaluate(flat: Float[Array, "k p"], batch: _Batch) -> tuple[Array, Array, _Posterior]:
    """Return the negative log likelihoods, their gradients, and the posterior."""

    def one(row: tuple[Array, Array, Array]) -> tuple:
        flat, y, mask = row
        value, gradient, posterior = regression.evaluate(_GP, flat, batch.one(y, mask))
        return value, gradient, posterior.params, posterior.exact

    value, gradient, params, inner = jax.lax.map(one, (flat, batch.y, batch.mask))
    return value, gradient, _Posterior(batch, params, inner)


@jax.jit
def _predict(posterior: _Posterior, z: Float[Array, "m d"]) -> Float[Array, "k 2 m"]:
    def one(row: tuple[RegressionParams, ScalarPosterior, Array, Array]) -> Array:
        params, inner, y, mask = row
        known = RegressionPosterior(params, posterior.batch.one(y, mask), inner)
        return jnp.stack(regression.predict(_GP, known, z))

    batch = posterior.batch
    return jax.lax.map(one, (posterior.params, posterior.exact, batch.y, batch.mask))


@jax.jit
def _predict_with_gradients(
    posterior: _Posterior, z: Float[Array, "m d"]
) -> Float[Array, "k m 2+2*d"]:
    def one(row: tuple[RegressionParams, ScalarPosterior, Array, Array]) -> Array:
        params, inner, y, mask = row
        known = RegressionPosterior(params, posterior.batch.one(y, mask), inner)
        return regression.predict_with_gradients(_GP, known, z)

    batch = posterior.batch
    return jax.lax.map(one, (posterior.params, posterior.exact, batch.y, batch.mask))


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedTogether:
    """GPs of several outputs, fitted."""

    flat: Float[np.ndarray, "k p"]
    """Logarithms of the parameters."""
    posterior: _Posterior
    state: State
    """Warm start for the next fit."""
    n_known: int
    """Evaluations; places beyond them are pending."""

    @float64
    def predict(
        self, z: Float[np.ndarray, "m d"]
    ) -> tuple[Float[np.ndarray, "k m"], Float[np.ndarray, "k m"]]:
        """Return mean and variance of each transformed output at z."""
        both = np.asarray(_predict(self.posterior, z))
        return both[:, 0], both[:, 1]

    @float64
    def predict_with_gradients(
        self, z: Float[np.ndarray, "m d"]
    ) -> tuple[
        Float[np.ndarray, "k m"],
        Float[np.ndarray, "k m"],
        Float[np.ndarray, "k m d"],
        Float[np.ndarray, "k m d"],
    ]:
        """Return mean and variance of each transformed output at z, and their gradients."""
        array = np.asarray(_predict_with_gradients(self.posterior, z))
        d = z.shape[1]
        return array[..., 0], array[..., 1], array[..., 2 : 2 + d], array[..., 2 + d :]

    def pending(self, places: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "k p"]:
        """Return what is predicted at pending places, those beyond the evaluations."""
        pending = places[self.n_known :]
        return self.predict(_in_buckets(pending))[0][:, : len(pending)]

    @float64
    def posterior_with(
        self, places: Float[np.ndarray, "n d"], lies: Float[np.ndarray, "k p"]
    ) -> _Posterior:
        """Return the GPs conditioned on pending places too, with made-up values.

        Args:
            places: those of the evaluations, then of the pending points.
            lies: transformed values at the latter.
        """
        before = self.posterior.batch
        size = max(padding.bucket_size(len(places)), len(before.x))
        y = np.concatenate([np.asarray(before.y)[:, : self.n_known], lies], axis=1)
        mask = np.asarray(before.mask)[:, : self.n_known]
        mask = np.concatenate([mask, np.ones(lies.shape, dtype=bool)], axis=1)
        batch = _padded(places, y, mask, np.asarray(before.extent), size)
        return _evaluate(self.flat, batch)[2]


def _in_buckets(places: np.ndarray) -> np.ndarray:
    """Return places padded by the last one: their number does not compile a program each."""
    missing = padding.bucket_size(len(places)) - len(places)
    return np.concatenate([places, np.repeat(places[-1:], missing, axis=0)])


def _padded(
    x: np.ndarray, y: np.ndarray, mask: np.ndarray, extent: np.ndarray, size: int
) -> _Batch:
    return _Batch(
        padding.pad_rows(x, size),
        padding.pad_rows(y.T, size).T,
        padding.pad_rows(mask.T, size).T,
        extent,
    )


@float64
def fit_together(
    y: Float[np.ndarray, "k n"], mask: Bool[np.ndarray, "k n"], surface: Surface, state: State
) -> FittedTogether:
    """Fit one GP to each of several outputs.

    Args:
        y: transformed values of the evaluations; anything where one is not known.
        mask: which are known.
        surface: what is searched on; all outputs share its places.
        state: that of an earlier fit, or empty, or foreign.
    """
    n = y.shape[1]
    x = surface.data[:n]
    extent = _extent(x, surface)
    size = padding.bucket_size(len(surface.data))
    batch = jax.device_put(_padded(x, np.where(mask, y, 0.0), mask, extent, size))
    data = batch.one(batch.y[0], batch.mask[0])
    fresh = regression.initial_params(_GP, data)
    summary = np.array([n, np.exp(np.mean(np.log(extent)))])
    continues = _resembles(kept_array(state, "data"), summary)
    starts = []
    for k in range(len(y)):
        known = kept_state(state, str(k)) if continues else {}
        warm = kept_array(known, "parameters")
        start = start_from(fresh, warm, kept_array(known, "curvature"), _WARM)
        starts.append(replace(start, max_iterations=min(start.max_iterations, _FRESH)))
    lower, upper = regression.parameter_bounds(_GP, x.shape[1])
    lower[: x.shape[1]] += np.log(extent)
    trained, posterior = train_together(
        lambda flat: _evaluate(flat, batch), starts, (lower, upper), tolerance=1e-5
    )
    states: State = {
        str(k): {"parameters": each.flat, "curvature": each.curvature}
        for k, each in enumerate(trained)
    }
    return FittedTogether(
        flat=np.stack([each.flat for each in trained]),
        posterior=posterior,
        state={**states, "data": summary},
        n_known=n,
    )


def _extent(x: Float[np.ndarray, "n d"], surface: Surface) -> Float[np.ndarray, " d"]:
    """Return how far the places reach from the best one; discrete ones as far as they can."""
    # Two points anywhere in the cube are √(1/6) apart along a coordinate.
    reach = np.sqrt(6.0 * np.mean((x - surface.promising[0]) ** 2, axis=0))
    extent = np.clip(reach, _LEAST_EXTENT, 1.0)
    if surface.rounding is not None:
        extent = np.where(surface.rounding.coordinates, 1.0, extent)
    return extent


def _resembles(known: np.ndarray | None, summary: np.ndarray) -> bool:
    """Tell whether the data are not much fewer than the last time, nor on another scale."""
    if known is None or known.shape != (2,):
        return False
    n, extent = summary
    return bool(_OTHER * n >= known[0] and 1.0 / _OTHER < extent / known[1] < _OTHER)
