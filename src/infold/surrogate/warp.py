"""The output warp of the decoder: x = Φ(x~), so that reconstructions lie in the unit cube."""

import jax.numpy as jnp
import numpy as np
import scipy.special
from jax.scipy.special import ndtr
from jaxtyping import Float

from infold._types import Array

_EDGE = 1e-4  # probit(1e-4) = -3.7: a point on the boundary stays within reach of a standard normal prior


def probit(x: Float[np.ndarray, "*s"]) -> Float[np.ndarray, "*s"]:
    """x~ = Φ⁻¹(x) for x in [0, 1], which is clipped to [1e-4, 1 - 1e-4] first."""
    return scipy.special.ndtri(np.clip(x, _EDGE, 1.0 - _EDGE))


def expected_squash(mean: Float[Array, "*s"], variance: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """E[Φ(x~)] for x~ ~ N(mean, variance), in closed form: Φ(mean / √(1 + variance))."""
    return ndtr(mean / jnp.sqrt(1.0 + variance))
