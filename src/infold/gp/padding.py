"""Bucket sizes and masks, so that N can grow by one without compiling again.

Arrays of N rows are extended to `bucket_size(N)` rows, and a mask says which are real. Covariances
of padded rows are replaced so that the padding drops out of every result exactly:

- `identity_pad`: the padding is an independent block I. The Cholesky factor, the solution for a
  zero-padded right-hand side and the log-determinant are those of the real block.
- `eigen_pad`: the padding is an independent block -I. No covariance has an eigenvalue near -1, so
  an eigendecomposition returns the padding first and `real_eigenvalues` tells it apart.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from infold._types import Array

_STEP = 64  # a smaller eigendecomposition takes under 1 ms; five compilations up to N = 320


def bucket_size(n: int) -> int:
    """Return the padded size for n rows.

    Sizes are multiples of 64 up to 512, of 128 up to 1024, of 256 up to 2048, and so on.
    """
    step = _STEP
    while n > 8 * step:
        step *= 2
    return step * max(1, -(-n // step))


def pad_rows(a: np.ndarray, size: int, fill: float = 0.0) -> np.ndarray:
    """Return `a` extended to `size` rows by rows of `fill`."""
    n, *rest = a.shape
    return np.concatenate([a, np.full((size - n, *rest), fill, dtype=a.dtype)])


def row_mask(n: int, size: int) -> np.ndarray:
    """Return a mask of `size` rows, true for the first n."""
    return np.arange(size) < n


def _with_diagonal(
    k: Float[Array, "n n"], mask: Bool[Array, " n"], value: float
) -> Float[Array, "n n"]:
    return jnp.where(mask[:, None] & mask[None, :], k, jnp.diag(jnp.where(mask, 0.0, value)))


def identity_pad(k: Float[Array, "n n"], mask: Bool[Array, " n"]) -> Float[Array, "n n"]:
    """Return `k` with the padded rows and columns replaced by those of I."""
    return _with_diagonal(k, mask, 1.0)


def eigen_pad(k: Float[Array, "n n"], mask: Bool[Array, " n"]) -> Float[Array, "n n"]:
    """Return `k` with the padded rows and columns replaced by those of -I."""
    return _with_diagonal(k, mask, -1.0)


def real_eigenvalues(eigenvalues: Float[Array, "*s"]) -> Bool[Array, "*s"]:
    """Tell which eigenvalues of a covariance padded by `eigen_pad` belong to real rows."""
    return eigenvalues > -0.5
