"""Models and methods that know lessons."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from infold import methods
from infold.history import History, Proposal
from infold.learning.lessons import Evidence, FeatureMap, Lessons, Metric, Run, learn
from infold.models import designs as designs_model
from infold.models.designs import DesignsGP
from infold.models.taught import TaughtGP
from infold.models.team import SCRATCH, FittedTeam, Team

_D = 6
_UNTAUGHT = {"exact", "noisy", "uneven", "plain"}
_WEIGHTS = np.linalg.qr(np.random.default_rng(8).normal(size=(_D, 2)))[0].T


def _lessons(weights: np.ndarray = 2.0 * _WEIGHTS) -> Lessons:
    rng = np.random.default_rng(1)
    return Lessons(
        dimension=_D,
        points=rng.uniform(size=(4, _D)),
        centre=rng.uniform(size=_D),
        metric=Metric(log_lengthscale=np.zeros(_D), known=np.arange(_D) < 4),
        features=FeatureMap(weights=weights),
        evidence=Evidence(scratch=0.0, metric=0.1, features={2: 0.5}, n_runs=4),
        n_runs=4,
    )


def _value(x: np.ndarray) -> np.ndarray:
    return np.sum((x @ _WEIGHTS.T - 0.3) ** 2, axis=1)


def _history(n: int = 15, **given: object) -> History:
    x = np.random.default_rng(0).uniform(size=(n, _D))
    return replace(History(x, _value(x), lessons=_lessons()), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["metric", "features"])
def test_gradients_match_finite_differences(kind: str) -> None:
    surface = TaughtGP(knows=kind).fit(_history(), (0, 1), {}).surface
    x = np.random.default_rng(2).uniform(0.2, 0.8, size=(3, _D))
    found = surface.predict_with_gradients(x)
    for i in range(_D):
        step = 1e-5 * np.eye(_D)[i]
        above, below = surface.predict(x + step), surface.predict(x - step)
        for got, a, b in zip(found[2:], above, below, strict=True):
            assert np.allclose(got[:, i], (a - b) / 2e-5, rtol=1e-2, atol=1e-5)


def test_features_predict_what_inputs_alone_do_not() -> None:
    x = np.random.default_rng(3).uniform(size=(50, _D))
    fitted = TaughtGP(knows="features").fit(_history(), (0, 1), {})
    mean, _ = fitted.predict(x)
    error = np.sqrt(np.mean((fitted.outputs.invert(mean) - _value(x)) ** 2))
    assert error < 0.2 * np.std(_value(x))


def test_models_that_know_lessons_stay_away_without_them() -> None:
    history = _history(lessons=None)
    team = methods.by_name("auto").model  # type: ignore[attr-defined]
    assert isinstance(team, Team)
    fitted = team.fit(history, (0, 1), {})
    assert set(fitted.scores) == _UNTAUGHT
    assert fitted.forecasts(history.x[0]) == {}


def test_lessons_without_parts_change_no_suggestion() -> None:
    auto = methods.by_name("auto")
    history = _history(lessons=None)
    empty = replace(history, lessons=Lessons.none(_D))
    assert np.array_equal(auto.suggest(history, 1, (0, 3)).x, auto.suggest(empty, 1, (0, 3)).x)


def _team(history: History) -> FittedTeam:
    team = methods.by_name("auto").model  # type: ignore[attr-defined]
    return team.fit(history, (0, 1), {})


def test_evidence_of_runs_left_out_counts_in_the_beginning() -> None:
    assert _team(_history()).by == "features"


def test_bad_forecasts_outweigh_the_evidence_of_other_runs() -> None:
    history = _history()
    forecasts = {SCRATCH: [0.0, 1.0], "features": [50.0, 1.0]}
    said = Proposal("features", {"forecasts": forecasts})
    told = replace(history, proposals=(Proposal("design"),) * 10 + (said,) * 5)
    assert _team(told).by in _UNTAUGHT


@pytest.mark.parametrize(
    "forecasts", [None, 3, {}, {SCRATCH: [0.0]}, {SCRATCH: ["a", "b"], "features": [0.0, -1.0]}]
)
def test_damaged_forecasts_are_passed_over(forecasts: object) -> None:
    said = Proposal("features", {"forecasts": forecasts})
    assert _team(_history(proposals=(said,) * 15)).by == "features"


def test_unrelated_lessons_lose_the_say_within_a_run() -> None:
    other = np.linalg.svd(_WEIGHTS)[2][2:4]  # directions along which nothing changes
    auto = methods.by_name("auto")
    history = _history(12, lessons=_lessons(2.0 * other))
    cache: dict = {}
    for number in range(12, 30):
        suggestion = auto.suggest(history, 1, (0, number), cache)
        cache = suggestion.cache
        x = np.concatenate([history.x, suggestion.x])
        proposals = history.proposals + suggestion.proposals
        history = History(x, _value(x), proposals=proposals, lessons=history.lessons)
    chosen = [proposal.by for proposal in history.proposals[-8:]]
    assert chosen.count("features") <= 2


@pytest.mark.parametrize(("worst", "by"), [(9.0, "metric"), (0.0, "exact")])
def test_a_metric_of_equal_lengthscales_is_believed_where_points_carry_over(worst, by) -> None:
    """Shuffling tells nothing of it; that points of its runs are better than others does."""
    lessons = replace(
        _lessons(),
        features=None,
        metric=Metric(log_lengthscale=np.zeros(_D), known=np.full(_D, True)),
        evidence=Evidence(scratch=0.0, metric=0.9, n_runs=4),
    )
    rng = np.random.default_rng(5)
    x = np.concatenate([lessons.points, np.full((1, _D), 0.5), rng.uniform(size=(3, _D))])
    y = np.concatenate([_value(lessons.points), [worst], 9.0 + rng.uniform(size=3)])
    y[1] += 9.0 - worst  # where the centre is best, one of the earlier points is among the worst
    history = History(x, y, proposals=(Proposal("design"),) * 8, lessons=lessons)
    fitted = _team(history)
    assert (fitted.by == "metric") == (by == "metric")
    assert fitted.describe()["carried"] == (by == "metric")


def test_suggestions_with_lessons_are_a_function_of_the_history() -> None:
    auto = methods.by_name("auto")
    first, again = (auto.suggest(_history(), 2, (3, 15)) for _ in range(2))
    assert np.array_equal(first.x, again.x)
    assert "forecasts" in first.proposals[0].diagnostics


def _curves(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 1.0, 12)
    a, b = rng.uniform(size=(2, n, 1))
    return 0.5 + 0.4 * a * np.sin(2.0 * np.pi * (t + 0.5 * b))


def test_designs_are_encoded_and_decoded() -> None:
    lessons = learn([Run("curves", _curves(60))])
    assert lessons.manifold is not None
    other = _curves(10, seed=1)
    with jax.enable_x64(True):
        decoder = designs_model.decoder_of(lessons.manifold)
        u = designs_model.encode(decoder, other)
        again = np.asarray(designs_model.decode(decoder, u[:, :-1]))
    assert np.sqrt(np.mean((again - other) ** 2)) < 0.1 * np.std(other)


def test_auto_proposes_designs_of_the_kind_that_it_was_shown() -> None:
    lessons = learn([Run("curves", _curves(60))])
    x = _curves(12, seed=2)
    wanted = _curves(1, seed=3)[0]
    history = History(x, np.mean((x - wanted) ** 2, axis=1), lessons=lessons)
    suggestion = methods.by_name("auto").suggest(history, 2, (0, 12))
    assert suggestion.proposals[0].by == "designs"
    fitted = DesignsGP().fit(history, (0, 1), {})
    with jax.enable_x64(True):
        assert np.all(designs_model.encode(fitted.decoder, suggestion.x)[:, -1] < 0.3)
    again = DesignsGP().fit(history, (0, 1), fitted.state)
    assert np.allclose(again.places, fitted.places)
