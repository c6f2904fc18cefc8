"""Types that signatures throughout the package share."""

import jax
import numpy as np

Array = jax.Array | np.ndarray
"""Array as the formulas accept it, from JAX or from NumPy."""
