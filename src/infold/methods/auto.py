"""The method to use where nothing else is known."""

from infold.acquisition.search import Search
from infold.acquisition.trust_region import TrustRegion
from infold.methods.bayesian import BayesianOptimization
from infold.models.full_space import FullSpaceGP


def auto() -> BayesianOptimization:
    """Return a full-space GP in a trust region."""
    return BayesianOptimization(
        name="auto",
        model=FullSpaceGP(
            noise_prior=(-9.0, 2.0), least_noise=1e-10, retrain=True, local=True, smooths=True
        ),
        region=TrustRegion(),
        search=Search(n_candidates=1000, n_starts=8, search_iterations=100, vary_best=True),
        initial="centre",
    )
