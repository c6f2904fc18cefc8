"""Stationary kernels with one lengthscale per input (ARD).

| symbol | code             | shape |
|--------|------------------|-------|
| z, z'  | `a`, `b`         | n d, m d |
| r²     | `scaled_sq_dist` | n m   |
| ℓ      | `lengthscale`    | d     |

All kernels have unit variance; callers multiply by their own. They are functions of r², not of r,
and carry their own derivatives in r²: a distance has no derivative at zero, the kernels do.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Float

from infold._types import Array

_SQRT5 = 5.0**0.5


def scaled_sq_dist(
    a: Float[Array, "n d"], b: Float[Array, "m d"], lengthscale: Float[Array, " d"]
) -> Float[Array, "n m"]:
    """Return r² = Σ_j ((a_j - b_j) / ℓ_j)² between all rows of `a` and of `b`.

    Computed by one matrix product, so accurate to about 1e-16 times the largest |a/ℓ|².
    """
    center = jnp.mean(b, axis=0)  # r² is translation invariant; centred inputs cancel less
    a = (a - center) / lengthscale
    b = (b - center) / lengthscale
    r2 = jnp.sum(a * a, axis=1)[:, None] + jnp.sum(b * b, axis=1)[None, :] - 2.0 * a @ b.T
    # Rounding may leave a tiny negative number. The value is clipped, but not the derivative,
    # which would vanish at a datum.
    return r2 + jax.lax.stop_gradient(jnp.maximum(r2, 0.0) - r2)


@jax.custom_jvp
def _matern52_slope(r2: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """Return dk/d(r²) = -5/6 (1 + √5 r) exp(-√5 r) of the Matern-5/2 kernel."""
    s = _SQRT5 * jnp.sqrt(r2)
    return -5.0 / 6.0 * (1.0 + s) * jnp.exp(-s)


@_matern52_slope.defjvp
def _matern52_slope_jvp(primals: tuple, tangents: tuple) -> tuple:
    (r2,) = primals
    (t,) = tangents
    curvature = 25.0 / 12.0 * jnp.exp(-_SQRT5 * jnp.sqrt(r2))
    return _matern52_slope(r2), curvature * t


@jax.custom_jvp
def matern52_of_sq_dist(r2: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """Return the Matern-5/2 kernel k(r²) = (1 + √5 r + 5/3 r²) exp(-√5 r).

    First and second derivatives in r² are exact for all r² >= 0.
    """
    s = _SQRT5 * jnp.sqrt(r2)
    return (1.0 + s + s * s / 3.0) * jnp.exp(-s)


@matern52_of_sq_dist.defjvp
def _matern52_jvp(primals: tuple, tangents: tuple) -> tuple:
    (r2,) = primals
    (t,) = tangents
    return matern52_of_sq_dist(r2), _matern52_slope(r2) * t


def squared_exponential_of_sq_dist(r2: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """Return the squared exponential kernel k(r²) = exp(-r²/2)."""
    return jnp.exp(-0.5 * r2)


_RADIAL: dict[str, Callable] = {
    "matern52": matern52_of_sq_dist,
    "squared-exponential": squared_exponential_of_sq_dist,
}
KERNELS = tuple(_RADIAL)


def slope(
    kernel: str, a: Float[Array, "n d"], b: Float[Array, "m d"], lengthscale: Float[Array, " d"]
) -> Float[Array, "n m"]:
    """Return the derivative of `covariance` in r²."""
    r2 = scaled_sq_dist(a, b, lengthscale)
    return jax.jvp(_RADIAL[kernel], (r2,), (jnp.ones_like(r2),))[1]


def covariance(
    kernel: str, a: Float[Array, "n d"], b: Float[Array, "m d"], lengthscale: Float[Array, " d"]
) -> Float[Array, "n m"]:
    """Return the kernel, one of `KERNELS`, between all rows of `a` and of `b`."""
    return _RADIAL[kernel](scaled_sq_dist(a, b, lengthscale))
