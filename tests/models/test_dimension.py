"""The number of features, chosen by predictions of evaluations that the model has not seen."""

import numpy as np
import pytest

from infold import Optimizer
from infold.models.dimension import n_features_for
from infold.models.features import LearnedFeatures
from infold.record import History

pytestmark = pytest.mark.usefixtures("x64")
MODEL = LearnedFeatures(n_features="auto", training_iterations=15)


def history(rng, n, dimension=12) -> History:
    x = rng.uniform(size=(n, dimension))
    return History(x, np.sin(3.0 * x @ np.ones(dimension) / dimension))


def test_choice_is_the_one_that_predicts_best(monkeypatch, rng):
    from infold.models import dimension

    monkeypatch.setattr(dimension, "_score", lambda model, history, key, d: -abs(d - 5.4))
    assert n_features_for(MODEL, history(rng, 25), 0, {})[0] == 5


def test_score_is_of_evaluations_that_were_not_shown(rng):
    """Values that only the last evaluations have make the score worse, however they are fitted."""
    from infold.models.dimension import _score

    data = history(rng, 40)
    strange = data.y.copy()
    strange[32:] += 5.0
    assert _score(MODEL, data, (0, 40), 2) > _score(MODEL, History(data.x, strange), (0, 40), 2)


def test_choice_depends_on_the_history_alone(rng):
    data = history(rng, 45)
    choice, kept = n_features_for(MODEL, data, 0, {})
    assert n_features_for(MODEL, data, 0, {"choice": kept})[0] == choice
    earlier = data.part(np.arange(41))  # the question was asked at 40
    assert n_features_for(MODEL, earlier, 0, {})[0] == choice


def test_before_there_are_enough_evaluations_it_is_the_default(rng):
    assert n_features_for(MODEL, history(rng, 10), 0, {})[0] == 6


def test_whole_run_with_it():
    optimizer = Optimizer([(0, 1)] * 8, method="mgpc", n_features="auto", seed=0, n_initial=19)
    rng = np.random.default_rng(0)
    for x in rng.uniform(size=(20, 8)):
        optimizer.tell(x, float(np.sum(x[:2])))
    optimizer.ask()
    assert optimizer.diagnostics["n_features"] in (2, 5, 10, 20)
    assert len(optimizer.diagnostics["features"]) == optimizer.diagnostics["n_features"]
    again = Optimizer.from_text(optimizer.to_text())
    np.testing.assert_array_equal(again.ask(), optimizer.ask())


@pytest.mark.parametrize("wrong", ["many", 0, 2.5])
def test_other_words_are_refused(wrong):
    with pytest.raises(ValueError, match="n_features"):
        Optimizer([(0, 1)] * 8, method="mgpc", n_features=wrong)
