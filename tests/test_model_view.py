import numpy as np
import pytest
from scipy.stats import norm

from infold import Bool, Categorical, Float, Int, Optimizer

SPACE = {
    "a": Float(-1.0, 1.0),
    "b": Float(1e-3, 1.0, log=True),
    "n": Int(0, 10),
    "k": Categorical(["r", "s", "t"]),
    "idle": Float(0.0, 5.0),
    "flag": Bool(),
}


def objective(p: dict) -> float:
    return 3.0 + p["a"] ** 2 + 2.0 * (p["k"] == "s") + 0.1 * p["n"]


def told(direction="minimize", method="full_space", n=40) -> Optimizer:
    sign = 1.0 if direction == "minimize" else -1.0
    optimizer = Optimizer(SPACE, method=method, seed=0, direction=direction)
    rng = np.random.default_rng(0)
    for i in range(n):
        p = optimizer.space.decode(rng.uniform(size=optimizer.space.dimension))
        optimizer.tell(p, None if i == 7 else sign * objective(p))
    return optimizer


def new_points(n=30) -> list[dict]:
    space = told(n=1).space
    rng = np.random.default_rng(1)
    return [space.decode(rng.uniform(size=space.dimension)) for _ in range(n)]


def test_predictions_are_in_the_users_units():
    points = new_points()
    truth = np.array([objective(p) for p in points])
    mean, deviation = told().model().predict(points)
    assert np.sqrt(np.mean((mean - truth) ** 2)) < 0.35 * np.std(truth)
    assert np.all(deviation > 0)
    assert np.mean(np.abs(mean - truth) < 3 * deviation) > 0.8


def test_maximizing_changes_the_sign_of_predictions_alone():
    points = new_points()
    mean, deviation = told().model().predict(points)
    negative, same = told("maximize").model().predict(points)
    np.testing.assert_allclose(negative, -mean, rtol=1e-9)
    np.testing.assert_allclose(same, deviation, rtol=1e-9)


def test_one_point_is_as_good_as_a_list_of_one():
    model = told().model()
    (point,) = new_points(1)
    np.testing.assert_array_equal(model.predict(point), model.predict([point]))
    numbers = Optimizer([(0.0, 1.0)] * 3, method="full_space", seed=0)
    for x in np.random.default_rng(0).uniform(size=(5, 3)):
        numbers.tell(x, float(np.sum(x)))
    assert numbers.model().predict([0.1, 0.2, 0.3])[0].shape == (1,)
    assert numbers.model().predict(np.full((4, 3), 0.5))[0].shape == (4,)


@pytest.mark.parametrize("method", ["full_space", "mgpc", "add", "rembo"])
def test_leave_one_out_predicts_what_it_was_not_shown(method):
    optimizer = told(method=method)
    found = optimizer.model().leave_one_out()
    assert np.isnan(found.mean[7])
    ok = np.isfinite(optimizer.values)
    assert np.all(np.isfinite(found.mean[ok]))
    assert np.all(found.deviation[ok] > 0)
    assert found.log_score == pytest.approx(np.nanmean(found.log_density))


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_values_that_the_model_takes_for_lower_ones_are_not_scored(direction):
    """A penalty counts as a limit far above the others, which says nothing of the penalty."""
    sign = 1.0 if direction == "minimize" else -1.0
    optimizer = Optimizer([(0, 1)] * 2, method="full_space", seed=0, direction=direction)
    for i, x in enumerate(np.random.default_rng(0).uniform(size=(20, 2))):
        optimizer.tell(x, sign * (1e6 if i in (3, 11) else float(np.sum(x))))
    found = optimizer.model().leave_one_out()
    for column in (found.mean, found.deviation, found.log_density):
        assert np.flatnonzero(np.isnan(column)).tolist() == [3, 11]
    assert np.isfinite(found.log_score)


def test_the_log_score_is_that_of_the_density_in_the_users_units():
    """Without a transform of the values that is scipy's; a good model beats a guess."""
    optimizer = Optimizer(SPACE, method=plain_full_space(), seed=0)
    for evaluation in told().evaluations:
        optimizer.tell(evaluation.point, evaluation.value)
    found = optimizer.model().leave_one_out()
    values = optimizer.values
    ok = np.isfinite(values)
    expected = norm(found.mean[ok], found.deviation[ok]).logpdf(values[ok])
    np.testing.assert_allclose(found.log_density[ok], expected, rtol=1e-6)
    guess = norm(np.mean(values[ok]), np.std(values[ok])).logpdf(values[ok])
    assert found.log_score > np.mean(guess) + 0.3


def plain_full_space():
    from infold.methods import by_name

    return by_name("full_space", transform=False, clip_outliers=False)


def test_relevance_finds_what_matters_and_what_does_not():
    relevance = told(n=80).model().relevance()
    assert list(relevance) == list(SPACE)
    assert sum(relevance.values()) == pytest.approx(1.0)
    assert relevance["k"] == max(relevance.values())
    assert relevance["a"] + relevance["k"] + relevance["n"] > 0.9
    assert max(relevance["idle"], relevance["flag"], relevance["b"]) < 0.05


def test_features_are_encoded_and_decoded_where_there_are_some():
    model = told(method="mgpc").model()
    (point,) = new_points(1)
    features = model.encode(point)
    assert features.shape == (1, 4)
    decoded = model.decode(features[0])
    assert set(decoded) == set(SPACE)
    with pytest.raises(ValueError, match="FittedGP has no features"):
        told().model().encode(point)


def test_asking_the_model_costs_no_second_fit_and_changes_nothing(monkeypatch):
    from infold.models.full_space import FullSpaceGP

    optimizer, twin = told(), told()
    fits = []
    fit = FullSpaceGP.fit
    monkeypatch.setattr(FullSpaceGP, "fit", lambda self, *args: fits.append(1) or fit(self, *args))
    asked = optimizer.ask()
    model = optimizer.model()
    assert len(fits) == 1
    model.predict(asked)
    optimizer.tell(asked, 4.0)
    optimizer.model().relevance()  # a new evaluation: fitted once more
    assert len(fits) == 2
    optimizer.model()
    assert len(fits) == 2
    np.testing.assert_equal(twin.ask(), asked)
    twin.tell(asked, 4.0)
    np.testing.assert_equal(twin.ask(), optimizer.ask())


def test_a_method_without_a_model_says_so():
    optimizer = Optimizer(SPACE, method="random", seed=0)
    optimizer.tell(optimizer.ask(), 1.0)
    with pytest.raises(ValueError, match="random"):
        optimizer.model()
    with pytest.raises(ValueError, match="evaluation"):
        Optimizer(SPACE, method="full_space").model()


def test_the_best_point_is_one_that_was_evaluated():
    optimizer = Optimizer({"rate": Float(1e-5, 1.0, log=True), "b": (-0.7, 1.3)}, seed=0)
    rng = np.random.default_rng(0)
    points = [{"rate": rate, "b": 0.3} for rate in (1.2e-3, 1.3e-3, 0.7e-3, 1e-3, 3e-3)]
    for p in points * 3:
        optimizer.tell(p, np.log10(p["rate"]) ** 2 + rng.normal())
    assert optimizer.model().best()[0] in points


@pytest.mark.parametrize("noise", [0.04, 1.0])
def test_a_noise_that_was_given_is_the_noise_of_the_model(noise):
    optimizer = Optimizer([(-1.0, 1.0)] * 3, seed=0, noise=noise)
    rng = np.random.default_rng(0)
    for x in rng.uniform(-1.0, 1.0, size=(25, 3)):
        optimizer.tell(x, np.exp(2.0 * np.sum(x**2)) + np.sqrt(noise) * rng.normal())
    assert optimizer.model().noise == pytest.approx(noise)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_noise_of_any_scale_is_a_number(scale):
    optimizer = Optimizer([(0.0, 1.0)] * 3, seed=0)
    rng = np.random.default_rng(0)
    for x in rng.uniform(size=(15, 3)):
        optimizer.tell(x, scale * (np.sum((x - 0.3) ** 2) + 0.3 * rng.normal()))
    assert optimizer.model().noise >= 0.0


def test_no_points_have_no_predictions():
    model = told(n=12).model()
    for none in ([], np.empty((0, 3))):
        mean, deviation = model.predict(none)
        assert mean.shape == deviation.shape == (0,)
    with pytest.raises(ValueError, match=r"^points = None: expected a point"):
        model.predict(None)
