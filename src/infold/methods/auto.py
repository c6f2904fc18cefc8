"""The method to use where nothing else is known about the objective.

Four GPs on all inputs, in a trust region around the best point, fitted to the evaluations near it.
Three take the objective for exact, as simulators mostly are: one expects all inputs to matter about
alike, which few evaluations can tell, one lets them differ more, and one takes values as they are,
where the others transform them. The fourth takes what it cannot follow for noise, which sees
through ripples to the slope beneath them. Evidence chooses one of them for every suggestion. More
take part where earlier runs taught something: one knows which inputs matter, one sees learned
features of them, one searches among designs of a kind. `docs/notes.md` says what else was tried.
"""

from infold.acquisition.search import Search
from infold.acquisition.trust_region import TrustRegion
from infold.methods.bayesian import BayesianOptimization
from infold.models.designs import DesignsGP
from infold.models.full_space import FullSpaceGP
from infold.models.taught import TaughtGP
from infold.models.team import Team

_EXACT = (-9.0, 2.0)
_NOISY = (-2.0, 1.0)


def _expert(noise_prior: tuple[float, float], spread: float, transform: bool = True) -> FullSpaceGP:
    return FullSpaceGP(
        transform=transform,
        noise_prior=noise_prior,
        least_noise=1e-10,
        local=True,
        retrain=True,
        smooths=True,
        spread=spread,
    )


def auto() -> BayesianOptimization:
    """Return the default method."""
    return BayesianOptimization(
        name="auto",
        model=Team(
            names=("exact", "noisy", "uneven", "plain", "metric", "features", "designs"),
            models=(
                _expert(_EXACT, 0.15),
                _expert(_NOISY, 0.3),
                _expert(_EXACT, 0.6),
                _expert(_EXACT, 0.3, transform=False),
                TaughtGP(knows="metric"),
                TaughtGP(knows="features"),
                DesignsGP(),
            ),
        ),
        region=TrustRegion(),
        search=Search(n_candidates=1000, n_starts=8, search_iterations=100, vary_best=True),
        initial="centre",
    )
