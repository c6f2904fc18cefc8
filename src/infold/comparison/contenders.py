"""Our optimizers and those of other libraries behind one interface.

Each is told the same data and asked for one suggestion at a time. Each is used as its documentation
shows, with its defaults. `missing` says which of them cannot be used for want of a package.
"""

import importlib.util
import warnings
from typing import Any, Protocol

import numpy as np

PEERS = {
    "gpsampler": ("optuna", "torch"),
    "botorch": ("botorch",),
    "tpe": ("optuna",),
    "cmaes": ("optuna", "cmaes"),
}
"""Names of the optimizers of other libraries, and the packages that each needs."""


class Contender(Protocol):
    """An optimizer on the unit cube."""

    def tell(self, x: np.ndarray, y: float) -> None:
        """Take in an evaluation: its point and its value."""
        ...

    def ask(self) -> np.ndarray:
        """Suggest the next point."""
        ...


class Infold:
    """A method of infold."""

    def __init__(self, method: str, dimension: int, seed: int) -> None:
        from infold.optimizer import Optimizer

        self._optimizer = Optimizer([(0.0, 1.0)] * dimension, method=method, seed=seed)

    def tell(self, x: np.ndarray, y: float) -> None:
        self._optimizer.tell(x, y)

    def ask(self) -> np.ndarray:
        return np.asarray(self._optimizer.ask())


class Optuna:
    """A sampler of Optuna, with its study in memory."""

    def __init__(self, sampler: str, dimension: int, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some samplers are marked experimental
            samplers = {
                "gpsampler": lambda: optuna.samplers.GPSampler(seed=seed),
                "tpe": lambda: optuna.samplers.TPESampler(seed=seed),
                "cmaes": lambda: optuna.samplers.CmaEsSampler(seed=seed),
            }
            self._study = optuna.create_study(sampler=samplers[sampler]())
        self._distributions: dict[str, Any] = {
            f"x{i}": optuna.distributions.FloatDistribution(0.0, 1.0) for i in range(dimension)
        }
        self._create_trial = optuna.trial.create_trial
        self._waiting: tuple[Any, np.ndarray] | None = None

    def tell(self, x: np.ndarray, y: float) -> None:
        if self._waiting is not None and np.array_equal(self._waiting[1], x):
            self._study.tell(self._waiting[0], y)
            self._waiting = None
            return
        params = dict(zip(self._distributions, map(float, x), strict=True))
        self._study.add_trial(
            self._create_trial(params=params, distributions=self._distributions, value=y)
        )

    def ask(self) -> np.ndarray:
        trial = self._study.ask(self._distributions)
        x = np.array([trial.params[name] for name in self._distributions])
        self._waiting = trial, x
        return x


class BoTorch:
    """BoTorch: a SingleTaskGP trained anew for each suggestion, and a search on log EI.

    The search has 8 restarts and 512 raw samples.
    """

    def __init__(self, dimension: int, seed: int) -> None:
        import torch

        torch.manual_seed(seed)
        self._dimension = dimension
        self._x: list[np.ndarray] = []
        self._y: list[float] = []

    def tell(self, x: np.ndarray, y: float) -> None:
        self._x.append(x)
        self._y.append(y)

    def ask(self) -> np.ndarray:
        import torch
        from botorch.acquisition import LogExpectedImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.transforms import Standardize
        from botorch.optim import optimize_acqf
        from gpytorch.mlls import ExactMarginalLogLikelihood

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = torch.tensor(np.array(self._x), dtype=torch.float64)
            y = -torch.tensor(self._y, dtype=torch.float64)[:, None]
            model = SingleTaskGP(x, y, outcome_transform=Standardize(m=1))
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            bounds = torch.stack(
                [torch.zeros(self._dimension), torch.ones(self._dimension)]
            ).double()
            acquisition = LogExpectedImprovement(model, best_f=y.max())
            point, _ = optimize_acqf(
                acquisition, bounds=bounds, q=1, num_restarts=8, raw_samples=512
            )
        return point[0].numpy()


def missing(name: str) -> str | None:
    """Name a package that the peer needs and that is not installed; None if all are."""
    return next(
        (package for package in PEERS[name] if importlib.util.find_spec(package) is None), None
    )


def create(name: str, dimension: int, seed: int = 0) -> Contender:
    """Make the contender `name`.

    Args:
        name: name of a method of infold, or one of `PEERS`.
        dimension: number of parameters.
        seed: seed of every random choice.
    """
    if name == "botorch":
        return BoTorch(dimension, seed)
    if name in PEERS:
        return Optuna(name, dimension, seed)
    return Infold(name, dimension, seed)
