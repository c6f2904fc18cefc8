"""A method of a user's own: a random forest with expected improvement."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

import infold
from infold.acquisition.search import Search
from infold.methods import BayesianOptimization
from infold.models.base import Fitted


class FittedForest(Fitted):
    def __init__(self, forest, history):
        self.forest = forest
        self.history = history

    def predict(self, x):
        trees = np.array([tree.predict(x) for tree in self.forest.estimators_])
        return trees.mean(axis=0), trees.var(axis=0) + 1e-6


@dataclass(frozen=True)
class Forest:
    n_trees: int = 20

    def fit(self, history, key, state):
        forest = RandomForestRegressor(self.n_trees, random_state=key[1])
        return FittedForest(forest.fit(history.x, history.imputed), history)


METHOD = BayesianOptimization(
    model=Forest(), search=Search(n_candidates=200, n_starts=10, vary_best=True)
)


def objective(p: dict) -> float:
    return (p["x"] - 0.3) ** 2 + (p["y"] + 0.2) ** 2 + (p["kind"] != "b")


SPACE = {"x": (-1.0, 1.0), "y": (-1.0, 1.0), "kind": infold.Categorical(["a", "b", "c"])}


def run(n_trials, method=METHOD, **settings):
    return infold.minimize(objective, SPACE, method=method, n_trials=n_trials, seed=0, **settings)


def test_it_is_checkpointed_and_continued_exactly(tmp_path):
    path = tmp_path / "run.json"
    whole = run(24)
    run(16, checkpoint=path)
    resumed = run(24, checkpoint=path)
    assert resumed.nfev == 8
    assert resumed.x_iters == whole.x_iters
    assert whole.fun < run(24, method="random").fun
    assert {e.proposed_by for e in whole.evaluations[10:]} == {"Forest"}


def test_a_file_imports_no_code_and_says_what_to_pass(tmp_path):
    path = tmp_path / "run.json"
    run(12, checkpoint=path)
    with pytest.raises(ValueError, match=r"run.json.*pass it as method="):
        infold.Optimizer.load(path)
    optimizer = infold.Optimizer.load(path, method=METHOD)
    assert len(optimizer) == 12
    mean, deviation = optimizer.model().predict(optimizer.points)
    assert mean.shape == deviation.shape == (12,)
    assert optimizer.model().relevance()["kind"] > 0.2
