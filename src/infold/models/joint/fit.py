"""Training of the joint model, from a warm start and fresh ones."""

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np

from infold import _checks
from infold._precision import float64
from infold._types import Array
from infold.gp import blocks
from infold.gp.outputs import Standardization
from infold.gp.training import Start, Trained, differentiate, train
from infold.models.joint import decoder as dec
from infold.models.joint import encoder as enc
from infold.models.joint import joint
from infold.models.joint.joint import JointData, JointModel, JointParams, JointPosterior
from infold.models.joint.warp import expected_squash


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """How hard to train."""

    n_restarts: int = 1
    """Number of fresh random starts besides the warm one; at least one if there is no warm one."""
    iterations: int = 200
    """Most quasi-Newton steps from each start."""
    warm_iterations: int | None = None
    """Most quasi-Newton steps from the warm start; None: `iterations`."""
    tolerance: float = 1e-6
    """Stop when a step improves the objective by less than this, relatively."""

    def __post_init__(self) -> None:
        _checks.at_least("n_restarts", self.n_restarts, 0)
        _checks.at_least("iterations", self.iterations, 1)
        if self.warm_iterations is not None:
            _checks.at_least("warm_iterations", self.warm_iterations, 1)


@dataclass(frozen=True)
class Fit:
    """A trained model, how its training went, and its predictions in the caller's units."""

    model: JointModel
    posterior: JointPosterior
    dimension: int
    standardization: Standardization
    training: Trained
    seconds: float

    @property
    def log_likelihood(self) -> float:
        return self.training.log_likelihood

    @property
    def converged(self) -> bool:
        return self.training.converged

    @property
    def params(self) -> JointParams:
        return self.posterior.params

    @float64
    def encode(self, x: np.ndarray) -> np.ndarray:
        """Return the features of points of the unit cube."""
        x = _checks.unit_cube("x", x, self.dimension)
        params = jax.tree.map(np.asarray, self.params.encoder)
        return np.asarray(enc.encode(self.model.encoder, params, self.model.encoder.inputs(x), np))

    @float64
    def predict(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation of the response surface at features z."""
        z = _checks.unit_cube("z", z, self.model.encoder.n_features)
        mean, variance = _predict(self.model, self.posterior, z)
        return self.standardization.spread(np.asarray(mean), np.sqrt(np.asarray(variance)))

    @float64
    def decode(self, z: np.ndarray) -> np.ndarray:
        """Return the points of the unit cube that features z decode to."""
        z = _checks.unit_cube("z", z, self.model.encoder.n_features)
        return decode(self.model, self.posterior, z, self.dimension)


def evaluate(
    model: JointModel, flat: Array, data: JointData
) -> tuple[Array, Array, JointPosterior]:
    """Return the negative joint objective, its gradient in all parameters, and the posterior."""
    if model.decoder.kind != "hierarchical":
        return _evaluate(model, flat, data)
    prior = _decoder_prior(model, flat, data)
    solved = dec.solve(model.decoder, model.kernel, prior, data.warped, data.mask)
    return _evaluate(model, flat, data, solved)


@functools.partial(jax.jit, static_argnames="model")
def _evaluate(
    model: JointModel, flat: Array, data: JointData, solved: blocks.Solved | None = None
) -> tuple[Array, Array, JointPosterior]:
    def infer(flat: Array) -> tuple[Array, JointPosterior]:
        return joint.infer(model, joint.unflatten(model, data.warped.shape[1], flat), data, solved)

    return differentiate(infer, flat)


@functools.partial(jax.jit, static_argnames="model")
def _decoder_prior(model: JointModel, flat: Array, data: JointData) -> blocks.Prior:
    params = joint.unflatten(model, data.warped.shape[1], flat)
    return joint.decoder_prior(model, params, data)


@float64
def decode(
    model: JointModel, posterior: JointPosterior, z: np.ndarray, dimension: int
) -> np.ndarray:
    """Return the points of the unit cube that features z decode to, Φ(μ / √(1 + σ²))."""
    moments = joint.decode if model.decoder.kind == "hierarchical" else _decode
    mean, variance = moments(model, posterior, z, dimension)
    return expected_squash(np.asarray(mean), np.asarray(variance))


_predict = jax.jit(joint.predict, static_argnames="model")
_decode = jax.jit(joint.decode, static_argnames=("model", "dimension"))


@float64
def fit(
    x: np.ndarray,
    y: np.ndarray,
    model: JointModel,
    *,
    key: int | Sequence[int],
    warm: np.ndarray | None = None,
    curvature: np.ndarray | None = None,
    settings: FitSettings | None = None,
) -> Fit:
    """Train `model` and return the start with the best likelihood.

    Raises FloatingPointError if the likelihood could not be evaluated at any start.

    Args:
        x: points of the unit cube, one per row.
        y: values there, in any units.
        model: the model to train.
        key: seed of the fresh starts.
        warm: parameter vector of an earlier fit of the same model, `Fit.training.flat`.
        curvature: what that fit knew of the curvature, `Fit.training.curvature`.
        settings: how hard to train.
    """
    settings = FitSettings() if settings is None else settings
    x = _checks.unit_cube("x", x, None)
    n, dimension = x.shape
    _checks.at_least("the number of rows of x", n, 1)
    y = _checks.finite_array("y", y, (n,))
    if model.encoder.n_features > dimension:
        raise ValueError(
            f"n_features = {model.encoder.n_features}: "
            f"expected at most the dimension of x, {dimension}"
        )
    began = time.perf_counter()
    standardization = Standardization.of(y)
    data = jax.device_put(joint.make_data(model, x, standardization.apply(y)))
    rng = np.random.default_rng(key)

    starts: list[Start] = []
    if warm is not None:
        warm = _checks.finite_array("warm", warm, (joint.n_parameters(model, dimension),))
        limit = settings.warm_iterations
        limit = settings.iterations if limit is None else limit
        starts.append(Start("warm", warm, limit, curvature))
    for _ in range(max(settings.n_restarts, 0 if starts else 1)):
        initial = joint.flatten(joint.initial_params(model, x, rng))
        starts.append(Start("fresh", initial, settings.iterations))

    trained = train(
        lambda flat: evaluate(model, flat, data),
        starts,
        joint.parameter_bounds(model, dimension),
        settings.tolerance,
    )
    return Fit(
        model=model,
        posterior=trained.posterior,
        dimension=dimension,
        standardization=standardization,
        training=trained,
        seconds=time.perf_counter() - began,
    )
