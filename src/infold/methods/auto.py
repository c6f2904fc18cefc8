"""The method to use where nothing else is known about the objective.

Two GPs on all inputs, in a trust region around the best point, fitted to the evaluations near it.
One takes the objective for exact, as simulators mostly are; the other takes what it cannot follow
for noise, which sees through ripples to the slope beneath them. Evidence chooses between the two
for every suggestion. More take part where earlier runs taught something: one knows which inputs
matter, one sees learned features of them, one searches among designs of a kind. `docs/notes.md`
says what else was tried.
"""

from infold.acquisition.search import Search
from infold.acquisition.trust_region import TrustRegion
from infold.methods.bayesian import BayesianOptimization
from infold.models.designs import DesignsGP
from infold.models.full_space import FullSpaceGP
from infold.models.taught import TaughtGP
from infold.models.team import Team


def _expert(noise_prior: tuple[float, float]) -> FullSpaceGP:
    return FullSpaceGP(
        noise_prior=noise_prior, least_noise=1e-10, local=True, retrain=True, smooths=True
    )


def auto() -> BayesianOptimization:
    """Return the default method."""
    return BayesianOptimization(
        name="auto",
        model=Team(
            names=("exact", "noisy", "metric", "features", "designs"),
            models=(
                _expert((-9.0, 2.0)),
                _expert((-2.0, 1.0)),
                TaughtGP(knows="metric"),
                TaughtGP(knows="features"),
                DesignsGP(),
            ),
        ),
        region=TrustRegion(),
        search=Search(n_candidates=1000, n_starts=8, search_iterations=100, vary_best=True),
        initial="centre",
    )
