"""Optimizers made of BoTorch: its default model with log EI, and TuRBO-1. Both work on the cube."""

import math
import warnings
from typing import Any

import numpy as np

from infold.space import Point, Space


class _OnCube:
    """What both have: evaluations on the unit cube, values to maximize."""

    def __init__(self, space: Space, seed: int) -> None:
        import torch

        torch.manual_seed(seed)
        self._space = space
        self._x: list[np.ndarray] = []
        self._y: list[float] = []

    def tell(self, point: Point, value: float) -> None:
        self._x.append(self._space.encode(point))
        self._y.append(-value)

    def _data(self) -> tuple[Any, Any]:
        import torch

        x = torch.tensor(np.array(self._x), dtype=torch.float64)
        return x, torch.tensor(self._y, dtype=torch.float64)[:, None]

    def _points(self, x: Any) -> list[Point]:
        return [self._space.decode(unit) for unit in np.clip(x.numpy(), 0.0, 1.0)]


class BoTorch(_OnCube):
    """BoTorch: a SingleTaskGP trained anew for each suggestion, and a search on log EI.

    The search has 8 restarts and 512 raw samples.
    """

    def ask(self, n: int = 1) -> list[Point]:
        import torch
        from botorch.acquisition import LogExpectedImprovement, qLogExpectedImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.transforms import Standardize
        from botorch.optim import optimize_acqf
        from gpytorch.mlls import ExactMarginalLogLikelihood

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x, y = self._data()
            model = SingleTaskGP(x, y, outcome_transform=Standardize(m=1))
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            improvement = LogExpectedImprovement if n == 1 else qLogExpectedImprovement
            points, _ = optimize_acqf(
                improvement(model, best_f=y.max()),
                bounds=torch.tensor([[0.0], [1.0]], dtype=torch.float64).expand(2, x.shape[1]),
                q=n,
                num_restarts=8,
                raw_samples=512,
            )
        return self._points(points)


_N_RANDOM = 10  # points with which a region begins
_LENGTH = 0.8  # of a region at its start
_SHORTEST = 0.5**7  # shorter regions are given up
_LONGEST = 1.6
_SUCCESSES = 10  # so many in a row make the region grow; 3 in the paper, 10 in the tutorial
_LEAST_GAIN = 1e-3  # of the best value, for a success


class Turbo(_OnCube):
    """TuRBO-1 with Thompson sampling (D. Eriksson et al. 2019), as BoTorch's tutorial builds it.

    A region that has become too short is given up with its evaluations, and a new one begins with
    random points.
    """

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self._begin_region()

    def _begin_region(self) -> None:
        self._x.clear()
        self._y.clear()
        self._length = _LENGTH
        self._successes = 0
        self._failures = 0
        self._batch = 0  # points chosen last by the model

    def ask(self, n: int = 1) -> list[Point]:
        import torch

        self._learn()
        if self._length < _SHORTEST:
            self._begin_region()
        if len(self._y) < _N_RANDOM:
            return self._points(torch.rand(n, self._space.dimension, dtype=torch.float64))
        self._batch = n
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._points(self._sample(n))

    def _learn(self) -> None:
        """Change the length of the region by what came of the last batch."""
        if not self._batch:
            return
        before = max(self._y[: -self._batch])
        patience = math.ceil(max(4, self._space.dimension) / self._batch)
        if max(self._y[-self._batch :]) > before + _LEAST_GAIN * abs(before):
            self._successes += 1
            self._failures = 0
        else:
            self._successes = 0
            self._failures += 1
        if self._successes == _SUCCESSES:
            self._length = min(2.0 * self._length, _LONGEST)
            self._successes = 0
        elif self._failures == patience:
            self._length /= 2.0
            self._failures = 0
        self._batch = 0

    def _sample(self, n: int) -> Any:
        """Return the best of many candidates in n functions drawn from the posterior."""
        import gpytorch
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.generation import MaxPosteriorSampling
        from botorch.models import SingleTaskGP
        from gpytorch.constraints import Interval
        from gpytorch.kernels import MaternKernel, ScaleKernel
        from gpytorch.likelihoods import GaussianLikelihood
        from gpytorch.mlls import ExactMarginalLogLikelihood
        from torch.quasirandom import SobolEngine

        x, y = self._data()
        n_inputs = x.shape[1]
        kernel = MaternKernel(
            nu=2.5, ard_num_dims=n_inputs, lengthscale_constraint=Interval(0.005, 4.0)
        )
        with gpytorch.settings.max_cholesky_size(float("inf")):
            model = SingleTaskGP(
                x,
                (y - y.mean()) / y.std(),
                covar_module=ScaleKernel(kernel),
                likelihood=GaussianLikelihood(noise_constraint=Interval(1e-8, 1e-3)),
            )
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            scales = model.covar_module.base_kernel.lengthscale.squeeze().detach()
            half = 0.5 * self._length * scales / torch.exp(torch.mean(torch.log(scales)))
            centre = x[y.argmax()]
            low, high = (centre - half).clamp(0.0, 1.0), (centre + half).clamp(0.0, 1.0)
            n_candidates = min(5000, max(2000, 200 * n_inputs))
            drawn = SobolEngine(n_inputs, scramble=True).draw(n_candidates).to(x)
            # Some coordinates are moved, at least one of them; 20 on average.
            moved = torch.rand(n_candidates, n_inputs) <= 20.0 / n_inputs
            still = torch.where(~moved.any(dim=1))[0]
            moved[still, torch.randint(0, n_inputs, (len(still),))] = True
            candidates = torch.where(moved, low + (high - low) * drawn, centre)
            # A draw at thousands of candidates is what takes long, and a GPU makes it short.
            place = "cuda" if torch.cuda.is_available() else "cpu"
            with torch.no_grad():
                sampling = MaxPosteriorSampling(model=model.to(place), replacement=False)
                return sampling(candidates.to(place), num_samples=n).cpu()
