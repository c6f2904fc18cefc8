"""Arrays as the formulas take them: JAX's, or NumPy's on their way there."""

import jax
import numpy as np

Array = jax.Array | np.ndarray
