"""The contract that every model keeps."""

import jax
import numpy as np
import pytest
from tests import laws

from infold.gp.outputs import Standardization
from infold.models.additive import AdditiveGP
from infold.models.base import Fitted, InputSurface, Model, SmoothSurface
from infold.models.embedded import EmbeddedGP
from infold.models.features import LearnedFeatures
from infold.models.full_space import FullSpaceGP
from infold.record import History

MODELS: dict[str, Model] = {
    "full_space": FullSpaceGP(),
    "full_space without priors": FullSpaceGP(transform=False, scaled_priors=False),
    "features": LearnedFeatures(n_features=3, training_iterations=20),
    "features, shared decoder": LearnedFeatures(
        n_features=2, training_iterations=20, decoder="shared", separate_noise=True
    ),
    "additive": AdditiveGP(n_features=3),
    "embedded": EmbeddedGP(n_features=3),
}


@pytest.fixture(autouse=True)
def in_double_precision(x64):
    """Models follow the precision of their caller, which the methods set."""


def history(rng, n=25, dimension=7) -> History:
    x = rng.uniform(size=(n, dimension))
    y = np.sum((x - 0.4) ** 2, axis=1) + 0.3 * np.sin(5 * x[:, 0])
    y[3] = np.nan
    return History(x, y)


@pytest.fixture(params=MODELS)
def fitted(request, rng) -> Fitted:
    return MODELS[request.param].fit(history(rng), (0, 0), {})


def test_gradients_of_every_surface_match_finite_differences(fitted, rng):
    for surface in fitted.surfaces:
        assert isinstance(surface, SmoothSurface)
        z = surface.upper * rng.uniform(0.1, 0.9, size=(1, len(surface.upper)))
        direction = surface.upper * rng.normal(size=len(surface.upper))
        at = surface.predict_with_gradients(z)
        for i in range(2):

            def value(z, surface=surface, i=i):
                return surface.predict(z[None])[i][0]

            expected = laws.finite_difference(value, z[0], direction)
            found = at[2 + i][0] @ direction
            assert found == pytest.approx(expected, rel=1e-5, abs=1e-7)
            np.testing.assert_allclose(at[i], surface.predict(z)[i], rtol=1e-9, atol=1e-12)


def test_places_and_inputs_match(fitted, rng):
    x = rng.uniform(size=(4, 7))
    places = fitted.encode(x)
    assert len(places) == len(fitted.surfaces)
    for place, surface in zip(places, fitted.surfaces, strict=True):
        assert place.shape == (4, len(surface.upper))
        assert np.all((place >= 0) & (place <= surface.upper))
    decoded = fitted.decode([place[0] for place in places])
    assert decoded.shape == (7,)
    assert np.all((decoded >= 0) & (decoded <= 1))
    if not fitted.has_features:
        np.testing.assert_array_equal(decoded, x[0])


def test_few_points_are_predicted_as_many_are(fitted, rng):
    if len(fitted.surfaces) > 1:
        pytest.skip("a sum of several surfaces has no such program")
    x = rng.uniform(size=(3, 7))
    for few, many in zip(fitted.predict_few(x), fitted.predict(x), strict=True):
        np.testing.assert_allclose(few, many, rtol=1e-9, atol=1e-12)


def test_believing_what_is_predicted_of_pending_points_changes_no_prediction(fitted, rng):
    if len(fitted.surfaces) > 1:
        pytest.skip("of a sum of surfaces only the whole is predicted")
    if "embedding" in fitted.state:
        pytest.skip("pending points may be off the subspace")
    pending = rng.uniform(size=(11, 7))
    elsewhere = rng.uniform(size=(5, 7))
    believed = fitted.believe(fitted.history.with_pending(pending))
    before, after = fitted.predict(elsewhere), believed.predict(elsewhere)
    # A mean that is estimated with the values may move a little.
    np.testing.assert_allclose(after[0], before[0], atol=1e-6)
    assert np.all(believed.predict(pending)[1] < fitted.predict(pending)[1] + 1e-12)
    assert fitted.believe(fitted.history) is fitted


def test_conditioning_takes_the_doubt_out_of_pending_points_and_trains_nothing(fitted, rng):
    pending = rng.uniform(size=(2, 7))
    conditioned = fitted.condition(fitted.history.with_pending(pending))
    before, after = fitted.predict(pending), conditioned.predict(pending)
    assert np.all(after[1] < before[1] + 1e-12)
    if "embedding" not in fitted.state:  # there the pending points may be off the subspace
        # The lie is the best value; the mean moves towards it.
        lie = np.min(fitted.targets[fitted.history.succeeded])
        assert np.all(np.abs(after[0] - lie) <= np.abs(before[0] - lie) + 1e-9)
    np.testing.assert_array_equal(
        *(jax.tree.leaves(model.state)[0] for model in (fitted, conditioned))
    )
    n_data = len(fitted.history.x) + 2
    assert all(len(surface.data) == n_data for surface in conditioned.surfaces)


def test_without_pending_points_conditioning_changes_nothing(fitted, rng):
    x = rng.uniform(size=(3, 7))
    again = fitted.condition(fitted.history)
    np.testing.assert_array_equal(again.predict(x), fitted.predict(x))


def test_leave_one_out_is_closer_to_the_others_than_the_fit_itself(fitted):
    """Left out, a value is predicted worse than it is fitted, and with more doubt."""
    mean, variance = fitted.leave_one_out()
    assert mean.shape == variance.shape == fitted.history.y.shape
    fit, doubt = fitted.predict(fitted.history.x)
    if "embedding" not in fitted.state:  # `predict` there is at the inputs' places alone
        error = np.mean((fitted.targets - mean) ** 2)
        assert error >= np.mean((fitted.targets - fit) ** 2)
        assert np.all(variance >= doubt - 1e-9)


def test_a_warm_fit_is_no_less_likely_than_the_fresh_one(fitted, request):
    model = MODELS[request.node.callspec.params["fitted"]]
    again = model.fit(fitted.history, (0, 1), fitted.state)
    fresh = fitted.describe()["log_likelihood"]
    assert again.describe()["log_likelihood"] >= fresh - 1e-9


def test_the_sum_of_the_additive_components_matches_dense_algebra(rng):
    fitted = AdditiveGP(n_features=3).fit(history(rng), (0, 0), {})
    params = fitted.posterior.params
    x = fitted.history.x
    new = rng.uniform(size=(5, 7))

    def covariance(a, b):
        groups = zip(fitted.encode(a), fitted.encode(b), strict=True)
        parts = (
            params.variance[g] * laws.matern52(p, q, np.asarray(params.lengthscale[g]))
            for g, (p, q) in enumerate(groups)
        )
        return sum(parts)

    k = covariance(x, x) + params.noise * np.eye(len(x))
    k_star = covariance(new, x)
    mean, variance = fitted.predict(new)
    np.testing.assert_allclose(mean, k_star @ np.linalg.solve(k, fitted.targets), rtol=1e-7)
    dense = np.sum(params.variance) - np.sum(k_star * np.linalg.solve(k, k_star.T).T, axis=1)
    np.testing.assert_allclose(variance, dense, rtol=1e-6)


def test_a_component_improves_on_its_own_mean_at_the_best_point(rng):
    fitted = AdditiveGP(n_features=3).fit(history(rng), (0, 0), {})
    best = fitted.history.x[np.nanargmin(fitted.history.y)]
    for surface, place in zip(fitted.surfaces, fitted.encode(best[None]), strict=True):
        assert surface.y_min == pytest.approx(surface.predict(place)[0][0], abs=1e-9)


class Line(Fitted):
    """The least that a model of one's own needs."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.outputs = Standardization.of(history.imputed)

    def predict(self, x):
        return x[:, 0] - 0.5, np.full(len(x), 0.1)


def test_a_model_of_ones_own_needs_only_predictions(rng):
    data = history(rng)
    fitted = Line(data)
    (surface,) = fitted.surfaces
    assert isinstance(surface, InputSurface)
    assert surface.y_min == pytest.approx(np.nanmin(fitted.outputs.apply(data.y)))
    np.testing.assert_array_equal(surface.promising[0], data.x[np.nanargmin(data.y)])
    with pytest.raises(ValueError, match="Line has no leave-one-out predictions in closed form"):
        fitted.leave_one_out()
    assert fitted.condition(data) is fitted
