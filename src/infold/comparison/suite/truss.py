"""A planar truss by finite elements: bars that carry axial forces, joined by hinges.

| symbol | code | meaning |
|--------|------|---------|
| A, L   | `areas`, `lengths` | cross-section and length of each bar |
| c      | `directions` | unit vector along each bar |
| K u = p |     | stiffness, displacements and loads of the free coordinates |
| N      | `forces` | axial force of each bar, positive where it is pulled |
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, kw_only=True, eq=False)
class Truss:
    """A truss: joints, bars, supports and loads."""

    joints: Float[np.ndarray, "j 2"]
    bars: Int[np.ndarray, "b 2"]
    """Numbers of the joints at both ends of each bar."""
    supported: Int[np.ndarray, " s"]
    """Joints that do not move."""
    loads: Float[np.ndarray, "j 2"]
    modulus: float
    """Young's modulus."""

    @property
    def lengths(self) -> Float[np.ndarray, " b"]:
        """Length of each bar."""
        return np.linalg.norm(self._ways, axis=1)

    @property
    def _ways(self) -> Float[np.ndarray, "b 2"]:
        return self.joints[self.bars[:, 1]] - self.joints[self.bars[:, 0]]

    @property
    def equilibrium(self) -> Float[np.ndarray, "f b"]:
        """Matrix that takes the forces of the bars to what they exert at free coordinates."""
        directions = self._ways / self.lengths[:, None]
        matrix = np.zeros((self.joints.size, len(self.bars)))
        for k, ((i, j), c) in enumerate(zip(self.bars, directions, strict=True)):
            matrix[2 * i : 2 * i + 2, k] = -c
            matrix[2 * j : 2 * j + 2, k] = c
        return matrix[self._free]

    @property
    def _free(self) -> Int[np.ndarray, " f"]:
        held = np.isin(np.repeat(np.arange(len(self.joints)), 2), self.supported)
        return np.flatnonzero(~held)

    def solve(
        self, areas: Float[np.ndarray, " b"]
    ) -> tuple[Float[np.ndarray, "j 2"], Float[np.ndarray, " b"]]:
        """Return the displacements of the joints and the axial forces of the bars."""
        b = self.equilibrium
        stiffness = self.modulus * areas / self.lengths
        u = np.linalg.solve((b * stiffness) @ b.T, self.loads.ravel()[self._free])
        displacements = np.zeros(self.joints.size)
        displacements[self._free] = u
        return displacements.reshape(-1, 2), stiffness * (b.T @ u)


def cantilever(
    n_bays: int, *, braced_twice: bool = True, load: float = 100e3, modulus: float = 70e9
) -> Truss:
    """Return a truss that leaves a wall: bays of 1 m by 1 m, pulled down at each lower joint.

    Args:
        n_bays: number of bays; each has a bar above, below and at its end, and diagonals.
        braced_twice: two diagonals in each bay, otherwise one, which makes forces independent of
            the areas.
        load: sum of the loads, in newtons.
        modulus: Young's modulus, in pascals; that of aluminium.
    """
    steps = np.arange(n_bays + 1.0)
    joints = np.concatenate(
        [np.stack([steps, 0.0 * steps], 1), np.stack([steps, 0.0 * steps + 1.0], 1)]
    )
    bars = []
    for i in range(n_bays):
        low, low_next, high, high_next = i, i + 1, n_bays + 1 + i, n_bays + 2 + i
        bars += [(low, low_next), (high, high_next), (low_next, high_next), (high, low_next)]
        if braced_twice:
            bars.append((low, high_next))
    loads = np.zeros_like(joints)
    loads[1 : n_bays + 1, 1] = -load / n_bays
    return Truss(
        joints=joints,
        bars=np.array(bars),
        supported=np.array([0, n_bays + 1]),
        loads=loads,
        modulus=modulus,
    )


_DENSITY = 2700.0  # kg/m³
_PULLED = 170e6  # Pa that a bar bears
_PUSHED = 100e6  # less, since it buckles
_SAG = 0.05  # m that a joint may move: stresses matter as well


def sized(truss: Truss, areas: Float[np.ndarray, " b"]) -> tuple[float, list[float]]:
    """Return the weight in kg, and the constraints: stresses pulled and pushed, and the sag.

    Each is relative to its limit, and satisfied up to 0.

    Args:
        truss: the truss.
        areas: cross-sections of its bars, in m².
    """
    displacements, forces = truss.solve(areas)
    stress = forces / areas
    weight = _DENSITY * float(np.sum(areas * truss.lengths))
    return weight, [
        float(np.max(stress)) / _PULLED - 1.0,
        float(np.max(-stress)) / _PUSHED - 1.0,
        float(np.max(np.abs(displacements))) / _SAG - 1.0,
    ]
