"""The output warp of the decoder, x = Φ(x~), which keeps reconstructions in the unit cube."""

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri

_EDGE = 1e-4  # probit(1e-4) = -3.7: the boundary stays within reach of a standard normal prior


def probit(x: Float[np.ndarray, "*s"]) -> Float[np.ndarray, "*s"]:
    """Return x~ = Φ⁻¹(x) for x in [0, 1], clipped to [1e-4, 1 - 1e-4] first."""
    return ndtri(np.clip(x, _EDGE, 1.0 - _EDGE))


def expected_squash(
    mean: Float[np.ndarray, "*s"], variance: Float[np.ndarray, "*s"]
) -> Float[np.ndarray, "*s"]:
    """Return E[Φ(x~)] for x~ ~ N(mean, variance), in closed form: Φ(mean / √(1 + variance))."""
    return ndtr(mean / np.sqrt(1.0 + variance))
