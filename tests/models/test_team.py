"""A team of models: the one that predicts best speaks."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from infold.models.base import log_densities
from infold.models.full_space import FullSpaceGP
from infold.models.team import Team
from infold.record import History

pytestmark = pytest.mark.usefixtures("x64")

EXACT = FullSpaceGP(noise_prior=(-9.0, 2.0), noise=0.0)
NOISY = FullSpaceGP(noise_prior=(-2.0, 1.0))


def history(rng, noise=0.0, n=60) -> History:
    x = rng.uniform(size=(n, 3))
    return History(x, np.sum((x - 0.4) ** 2, axis=1) + noise * rng.normal(size=n))


@dataclass(frozen=True)
class Broken:
    def fit(self, history, key, state):
        raise FloatingPointError("broken")


def test_log_densities_match_scipy(rng):
    fitted = FullSpaceGP(transform=False).fit(history(rng, 0.1), (0, 0), {})
    mean, variance = fitted.leave_one_out()
    scale = fitted.outputs.deviation
    expected = stats.norm.logpdf(
        fitted.history.y, fitted.outputs.invert(mean), scale * np.sqrt(variance)
    )
    np.testing.assert_allclose(log_densities(fitted), expected)


@pytest.mark.parametrize(("noise", "expected"), [(0.0, "exact"), (0.05, "noisy")])
def test_the_data_choose(noise, expected, rng):
    team = Team(names=("exact", "noisy"), models=(EXACT, NOISY))
    fitted = team.fit(history(rng, noise), (0, 0), {})
    assert fitted.by == expected
    scores = fitted.describe()["evidence"]
    assert scores[expected] == max(scores.values())
    assert np.mean(log_densities(fitted)) == pytest.approx(scores[expected])


def test_order_does_not_matter_and_the_chosen_model_is_as_if_alone(rng):
    data = history(rng, 0.05)
    one = Team(names=("exact", "noisy"), models=(EXACT, NOISY)).fit(data, (0, 0), {})
    other = Team(names=("noisy", "exact"), models=(NOISY, EXACT)).fit(data, (0, 0), {})
    alone = NOISY.fit(data, (0, 0), {})
    x = rng.uniform(size=(5, 3))
    for found in (one, other):
        np.testing.assert_array_equal(found.predict(x), alone.predict(x))
        assert found.noise == alone.noise


def test_state_of_every_model_is_kept(rng):
    team = Team(names=("exact", "noisy"), models=(EXACT, NOISY))
    first = team.fit(history(rng), (0, 0), {})
    assert set(first.state) == {"exact", "noisy"}
    again = team.fit(history(rng), (0, 0), first.state)
    assert again.describe()["start"] == "warm"


def test_model_that_fails_is_left_out(rng):
    team = Team(names=("broken", "noisy"), models=(Broken(), NOISY))
    assert team.fit(history(rng), (0, 0), {}).by == "noisy"
    with pytest.raises(FloatingPointError, match="broken"):
        Team(names=("broken",), models=(Broken(),)).fit(history(rng), (0, 0), {})


def test_names_and_models_must_match():
    with pytest.raises(ValueError, match="one for each of 1 models"):
        Team(names=("a", "b"), models=(EXACT,))
