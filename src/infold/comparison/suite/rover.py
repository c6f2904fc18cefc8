"""Planning of a rover's path among obstacles: 60 parameters, the coordinates of 30 points.

After Z. Wang, C. Gehring, P. Kohli and S. Jegelka, Batched Large-scale Bayesian Optimization in
High-dimensional Spaces (2018). A path is the smoothing cubic B-spline of the points, with SciPy's
default smoothing as in their code: in effect one cubic close to all points. Its cost is 0.05 per
unit of length, 20 more inside an obstacle and outside the unit square, and 10 times the l1 distance
by which it misses the start and the goal. Departures: the obstacles are drawn anew, as many and as
large as theirs; and the small displacement that keeps points apart is always the same, where theirs
is noise.
"""

import numpy as np
import scipy.interpolate

from infold.comparison.suite.benchmark import Benchmark
from infold.space import Space

_N_POINTS = 30
_START = np.array([0.05, 0.05])
_GOAL = np.array([0.95, 0.95])
_N_OBSTACLES = 113
_HALF_WIDTH = 0.025  # of an obstacle, a square
_CLEARANCE = 0.05  # around start and goal, where no obstacle is
_N_SAMPLES = 1000  # places along the path at which the cost is taken
_DISPLACEMENT = 1e-4  # splines need points that differ


def _obstacles(rng: np.random.Generator) -> np.ndarray:
    centres = rng.uniform(size=(10 * _N_OBSTACLES, 2))
    ends = np.stack([_START, _GOAL])
    distance = np.max(np.abs(centres[:, None] - ends), axis=2)
    return centres[np.all(distance > _HALF_WIDTH + _CLEARANCE, axis=1)][:_N_OBSTACLES]


def rover(name: str) -> Benchmark:
    """Return the problem of the path of least cost."""
    rng = np.random.default_rng(2018)
    centres = _obstacles(rng)
    displacement = _DISPLACEMENT * rng.normal(size=(_N_POINTS, 2))

    def cost(x: object) -> float:
        points = np.asarray(x, dtype=float).reshape(_N_POINTS, 2) + displacement
        spline, _ = scipy.interpolate.splprep(points.T, k=3)
        path = np.stack(scipy.interpolate.splev(np.linspace(0.0, 1.0, _N_SAMPLES), spline), axis=1)
        blocked = np.any(
            np.all(np.abs(path[:, None] - centres) <= _HALF_WIDTH, axis=2), axis=1
        ) | np.any((path < 0.0) | (path > 1.0), axis=1)
        density = 0.05 + 20.0 * blocked
        lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
        along = np.sum(lengths * (density[:-1] + density[1:]) / 2.0)
        missed = np.sum(np.abs(path[0] - _START)) + np.sum(np.abs(path[-1] - _GOAL))
        return float(along + 10.0 * missed)

    return Benchmark(name=name, space=Space.of([(-0.1, 1.1)] * 2 * _N_POINTS), function=cost)
