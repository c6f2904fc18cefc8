"""The Thomson problem: where do 12 electrons settle on a sphere?

They repel each other, so they look for the least energy. The answer is known, the icosahedron, but
in 24 angles it is not easy to find.

    pip install 'infold[plot]'
    python thomson.py
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import ConvexHull

import infold

N = 12
ICOSAHEDRON = 49.165253  # the least energy that is known


def electrons(angles):
    """Return places on the sphere; `angles` has an azimuth and a polar angle for each."""
    azimuth, polar = angles[::2], angles[1::2]
    return np.stack(
        [np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)], axis=1
    )


def energy(angles):
    points = electrons(angles)
    i, j = np.triu_indices(N, k=1)
    return np.sum(1.0 / np.linalg.norm(points[i] - points[j], axis=1))


def draw(angles, value):
    points = electrons(angles)
    ax = plt.figure(figsize=(5, 5)).add_subplot(projection="3d", computed_zorder=False)
    u, v = np.mgrid[0 : 2 * np.pi : 60j, 0 : np.pi : 30j]
    ax.plot_surface(
        0.97 * np.cos(u) * np.sin(v),
        0.97 * np.sin(u) * np.sin(v),
        0.97 * np.cos(v),
        color="#dfe8f1",
        alpha=0.35,
        linewidth=0,
    )
    for triangle in ConvexHull(points).simplices:  # the faces between neighbours
        corners = points[[*triangle, triangle[0]]]
        ax.plot(*corners.T, color="#1f6fb2", linewidth=1)
    ax.scatter(*points.T, s=90, color="#d1495b", depthshade=True)
    ax.set_title(f"{N} electrons, energy {value:.3f}")
    ax.set_box_aspect((1, 1, 1), zoom=1.4)
    ax.set_axis_off()
    return ax.figure


if __name__ == "__main__":
    bounds = [(0.0, 2.0 * np.pi), (0.0, np.pi)] * N
    # In the middle of the box all electrons are in one place, so the run does not begin there.
    result = infold.minimize(energy, bounds, n_trials=300, noise=0.0, initial="sobol", seed=0)
    print(f"energy {result.fun:.4f}, least known {ICOSAHEDRON:.4f}")
    draw(result.x, result.fun).savefig("thomson.png", dpi=110)
    print("thomson.png has the picture")
