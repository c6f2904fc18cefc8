"""The Thomson problem: place electrons on a unit sphere at the least potential energy."""

import functools

import numpy as np
import scipy.optimize

from infold import _checks
from infold.problems.problem import Problem

_CAP = 1e9  # two electrons in one place have infinite energy

# Best-known energies (D. J. Wales and S. Ulker, Phys. Rev. B 74, 212101, 2006).
BEST_KNOWN = {
    2: 0.500000000,
    3: 1.732050808,
    4: 3.674234614,
    5: 6.474691495,
    6: 9.985281374,
    7: 14.452977414,
    8: 19.675287861,
    9: 25.759986531,
    10: 32.716949460,
    11: 40.596450510,
    12: 49.165253058,
}


def energy(x: np.ndarray) -> np.ndarray:
    """Return Σ_{i<j} 1/distance for rows of (azimuth / 2π, polar angle / π), capped at 1e9."""
    angles = x.reshape(len(x), -1, 2)
    azimuth = 2.0 * np.pi * angles[:, :, 0]
    polar = np.pi * angles[:, :, 1]
    points = np.stack(
        [np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)], axis=-1
    )
    i, j = np.triu_indices(points.shape[1], k=1)
    distance = np.linalg.norm(points[:, i] - points[:, j], axis=-1)
    return np.minimum(np.sum(1.0 / np.maximum(distance, 1e-12), axis=1), _CAP)


@functools.cache
def _best_configuration(n_electrons: int) -> np.ndarray:
    """Return a configuration of the best-known energy, found by repeated local searches."""
    if n_electrons == 6:  # the octahedron: two poles and a square on the equator
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.5, 0.25, 0.5, 0.5, 0.5, 0.75, 0.5])
    rng = np.random.default_rng(0)
    best = np.empty(0)
    best_energy = np.inf
    while best_energy > BEST_KNOWN[n_electrons] + 1e-8:
        start = rng.uniform(size=2 * n_electrons)
        result = scipy.optimize.minimize(
            lambda x: float(energy(x[None])[0]),
            start,
            method="L-BFGS-B",
            bounds=[(0.0, 1.0)] * (2 * n_electrons),
            options={"ftol": 1e-15, "gtol": 1e-9},
        )
        if result.fun < best_energy:
            best = result.x
            best_energy = result.fun
    return best


def thomson(*, n_electrons: int = 6) -> Problem:
    """The energy of electrons on a sphere, two angles each."""
    _checks.at_least("n_electrons", n_electrons, 2)
    if n_electrons not in BEST_KNOWN:
        raise ValueError(
            f"n_electrons = {n_electrons}: "
            f"expected at most {max(BEST_KNOWN)}, the last whose energy is tabulated"
        )
    return Problem(
        name="thomson",
        dimension=2 * n_electrons,
        minimum=BEST_KNOWN[n_electrons],
        minimizer=_best_configuration(n_electrons),
        function=energy,
    )
