"""What others do with earlier runs: CMA-ES started from them, and an ensemble of their GPs.

Both need packages of the extra `peers`. Inputs are those of the unit cube, values are minimized.
"""

import time
import warnings
from collections.abc import Sequence

import families
import numpy as np
from driving import Trace

from infold.learning.lessons import Run

_N_FIRST = 5  # points with which the ensemble begins, the centre of the cube among them
_SAMPLES = 256  # of each model's predictions, which are ranked
_RESTARTS = 5  # of the search for the next point
_RAW = 256


def _standardized(y: np.ndarray) -> np.ndarray:
    return (y - np.mean(y)) / max(float(np.std(y)), 1e-12)


def cmaes(task: families.Task, runs: Sequence[Run], budget: int, seed: int) -> Trace:
    """Return a run of Optuna's `CmaEsSampler` with `source_trials` (M. Nomura et al., 2021).

    Values of each earlier run are standardized, since all trials are ranked together.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    names = [f"x{i}" for i in range(task.dimension)]
    cube = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in names}
    trials = []
    for run in runs:
        assert run.y is not None
        for x, value in zip(run.x, _standardized(run.y), strict=True):
            point = dict(zip(names, map(float, x), strict=True))
            trials.append(
                optuna.trial.create_trial(params=point, distributions=cube, value=float(value))
            )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # marked experimental
        sampler = optuna.samplers.CmaEsSampler(
            source_trials=trials, seed=seed, n_startup_trials=0, warn_independent_sampling=False
        )
    study = optuna.create_study(sampler=sampler)
    xs, ys, seconds = [], [], []
    for _ in range(budget):
        began = time.perf_counter()
        trial = study.ask(cube)
        x = np.array([trial.params[name] for name in names])
        seconds.append(time.perf_counter() - began)
        value = task.value(x)
        study.tell(trial, value)
        xs.append(x)
        ys.append(value)
    return Trace(np.array(xs), np.array(ys), np.array(seconds), ["cmaes"] * budget)


def rgpe(task: families.Task, runs: Sequence[Run], budget: int, seed: int) -> Trace:
    """Return a run with a ranking-weighted ensemble of GPs (M. Feurer et al., 2018).

    As BoTorch's tutorial builds it: a GP for each earlier run and one for this run, weighted by how
    often each ranks this run's values best, and noisy expected improvement of their weighted sum.
    """
    import torch

    torch.manual_seed(seed)
    before = []
    for run in runs:
        assert run.y is not None
        before.append(_gp(torch.tensor(run.x), torch.tensor(-_standardized(run.y))))
    rng = np.random.default_rng(seed)
    xs = [np.full(task.dimension, 0.5), *rng.uniform(size=(_N_FIRST - 1, task.dimension))]
    ys = [task.value(x) for x in xs]
    seconds = [0.0] * _N_FIRST
    while len(ys) < budget:
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = _suggest(before, np.array(xs), -_standardized(np.array(ys)))
        seconds.append(time.perf_counter() - began)
        xs.append(x)
        ys.append(task.value(x))
    return Trace(np.array(xs), np.array(ys), np.array(seconds), ["rgpe"] * budget)


def _gp(x, y):
    """Return BoTorch's default GP, fitted to standardized values."""
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    model = SingleTaskGP(x, y[:, None], outcome_transform=None)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model.eval()


def _suggest(before: list, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    import torch
    from botorch.acquisition import qLogNoisyExpectedImprovement
    from botorch.optim import optimize_acqf

    known, values = torch.tensor(x), torch.tensor(y)
    own = _gp(known, values)
    losses = [_ranking_losses(_samples(model, known), values) for model in before]
    losses.append(_left_out_losses(own, known, values))
    best = torch.stack(losses).argmin(dim=0)
    weights = torch.bincount(best, minlength=len(losses)) / _SAMPLES
    model = _ensemble([*before, own], weights)
    point, _ = optimize_acqf(
        qLogNoisyExpectedImprovement(model, X_baseline=known, prune_baseline=False),
        bounds=torch.tensor([[0.0], [1.0]], dtype=torch.float64).expand(2, x.shape[1]),
        q=1,
        num_restarts=_RESTARTS,
        raw_samples=_RAW,
    )
    return np.clip(point[0].numpy(), 0.0, 1.0)


def _samples(model, x):
    import torch

    with torch.no_grad():
        return model.posterior(x).sample(torch.Size([_SAMPLES]))[..., 0]


def _ranking_losses(sampled, y):
    """Return how many pairs of values each sample ranks the other way round."""
    other = (sampled[:, :, None] < sampled[:, None, :]) ^ (y[:, None] < y[None, :])
    return other.sum(dim=(1, 2))


def _left_out_losses(model, x, y):
    """Return the same for this run's own GP, each value predicted from the others."""
    import torch

    with torch.no_grad():
        noise = model.likelihood.noise
        k = model.covar_module(x).to_dense()
        mean = model.mean_module(x)
        inverse = torch.linalg.inv(k + noise * torch.eye(len(y), dtype=k.dtype))
        variance = 1.0 / inverse.diagonal()
        centre = y - variance * (inverse @ (y - mean))
        drawn = centre + variance.sqrt() * torch.randn(_SAMPLES, len(y), dtype=k.dtype)
        # A pair counts where the left out value stands on the wrong side of the other's.
        other = (drawn[:, :, None] < y[None, None, :]) ^ (y[:, None] < y[None, :])
        return other.sum(dim=(1, 2))


def _ensemble(models: list, weights):
    """Return the weighted sum of the models, as one model of BoTorch's."""
    import torch
    from botorch.models.gpytorch import GPyTorchModel
    from gpytorch.distributions import MultivariateNormal
    from gpytorch.models import GP

    class Ensemble(GP, GPyTorchModel):
        _num_outputs = 1

        def __init__(self) -> None:
            super().__init__()
            self.models = torch.nn.ModuleList(models)
            self.likelihood = models[-1].likelihood

        def forward(self, x):
            means, covariances = 0.0, 0.0
            for weight, model in zip(weights, self.models, strict=True):
                if weight > 0.0:
                    said = model.posterior(x).mvn
                    means = means + weight * said.mean
                    covariances = covariances + weight**2 * said.covariance_matrix
            jitter = 1e-6 * torch.eye(x.shape[-2], dtype=x.dtype)
            return MultivariateNormal(means, covariances + jitter)

    return Ensemble().eval()
