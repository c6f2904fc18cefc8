"""What is learned from earlier runs, against independent computations."""

from collections.abc import Callable

import jax
import numpy as np
import pytest
import scipy.stats

from infold.gp import kernels
from infold.history import Rounding
from infold.learning import designs, learning, shared
from infold.learning.lessons import Run, learn


def _runs(n_runs: int, n: int, dimension: int, weights: np.ndarray | None = None) -> list[Run]:
    """Return runs of random points on bowls in a few directions, or in the first two inputs."""
    rng = np.random.default_rng(5)
    weights = np.eye(dimension)[:2] if weights is None else weights
    runs = []
    for number in range(n_runs):
        x = rng.uniform(size=(n, dimension))
        best = weights @ rng.uniform(size=dimension)
        runs.append(Run(str(number), x, np.sum((x @ weights.T - best) ** 2, axis=1)))
    return runs


def _data(n_runs: int = 2) -> shared.RunsData:
    runs = _runs(n_runs, 12, 3)
    return shared.make_data([(run.x, run.y) for run in runs if run.y is not None], 64)


def _rough(r: np.ndarray) -> np.ndarray:
    s = np.sqrt(5.0) * r
    return (1.0 + s + s**2 / 3.0) * np.exp(-s)


def _smooth(r: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * r**2)


@pytest.mark.parametrize("d", [0, 2])
@pytest.mark.parametrize(("kernel", "of"), [(shared.KERNEL, _rough), (shared.SMOOTH, _smooth)])
def test_summed_likelihood_matches_dense_algebra(
    d: int, kernel: str, of: Callable[[np.ndarray], np.ndarray]
) -> None:
    data = _data()
    rng = np.random.default_rng(1)
    flat = 0.3 * rng.normal(size=(3 if d == 0 else 3 * d) + 6)
    with jax.enable_x64(True):
        none = data._replace(weight=np.zeros(2))
        value = shared.infer(d, flat, data, kernel)[0] - shared.infer(d, flat, none, kernel)[0]
    noise, variance, scale = flat[-6:].reshape(3, 2)
    expected = 0.0
    weights = np.diag(np.exp(-flat[:3])) if d == 0 else flat[: 3 * d].reshape(d, 3)
    for t in range(2):
        x, y = data.x[t][data.mask[t]], data.y[t][data.mask[t]]
        z = x @ weights.T * np.exp(-float(scale[t]))
        r = np.linalg.norm(z[:, None] - z, axis=2)
        k = np.exp(float(variance[t])) * of(r)
        k += np.exp(float(noise[t])) * np.eye(len(y))
        solved = np.linalg.solve(k, np.ones(len(y)))
        mean = solved @ y / np.sum(solved)
        expected += scipy.stats.multivariate_normal(np.full(len(y), mean), k).logpdf(y)
        own = ((noise[t] + 9.0) / 3.0) ** 2 + variance[t] ** 2 + (scale[t] / 0.5) ** 2
        expected -= 0.5 * float(own)
    assert np.isclose(float(value), expected, rtol=1e-8)


@pytest.mark.parametrize("d", [0, 2])
def test_gradient_of_summed_likelihood_matches_finite_differences(d: int) -> None:
    data = _data()
    flat = 0.3 * np.random.default_rng(2).normal(size=(3 if d == 0 else 3 * d) + 6)
    with jax.enable_x64(True):
        gradient = np.asarray(shared.evaluate(d, flat, data)[1])
        for i in range(len(flat)):
            step = 1e-5 * np.eye(len(flat))[i]
            above, below = (float(shared.evaluate(d, flat + s, data)[0]) for s in (step, -step))
            assert np.isclose(gradient[i], (above - below) / 2e-5, rtol=1e-4, atol=1e-5)


def test_gradient_moments_match_finite_differences() -> None:
    data = _data(1)
    flat = np.append(np.zeros(3), [-5.0, 0.0, 0.0])
    with jax.enable_x64(True):
        found = shared.gradient_moments(flat, data)[0]
    x, y = data.x[0][data.mask[0]], data.y[0][data.mask[0]]
    with jax.enable_x64(True):
        k = np.asarray(kernels.covariance("matern52", x, x, np.ones(3)))
    k = k + np.exp(-5.0) * np.eye(12)
    ones = np.linalg.solve(k, np.ones(12))
    alpha = np.linalg.solve(k, y - ones @ y / np.sum(ones))

    def mean(points: np.ndarray) -> np.ndarray:
        return np.asarray(kernels.covariance("matern52", points, x, np.ones(3))) @ alpha

    with jax.enable_x64(True):
        steps = 1e-5 * np.eye(3)
        slopes = np.stack([(mean(x + step) - mean(x - step)) / 2e-5 for step in steps], axis=1)
    moment = slopes.T @ slopes
    assert np.allclose(found, moment / np.trace(moment), rtol=1e-4, atol=1e-6)


def test_metric_finds_the_inputs_that_matter() -> None:
    lessons = learn(_runs(3, 40, 6), n_features=0)
    assert lessons.metric is not None
    order = np.argsort(lessons.metric.log_lengthscale)
    assert set(order[:2].tolist()) == {0, 1}
    assert lessons.features is None
    assert lessons.n_runs == 3


def test_features_find_a_hidden_subspace() -> None:
    rng = np.random.default_rng(3)
    weights = np.linalg.qr(rng.normal(size=(8, 2)))[0].T
    lessons = learn(_runs(4, 40, 8, weights))
    assert lessons.features is not None
    basis = np.linalg.qr(lessons.features.weights[:2].T)[0]
    agreement = np.sum(np.linalg.svd(weights @ basis, compute_uv=False) ** 2) / 2
    assert agreement > 0.95
    best = max(lessons.evidence.features.values())
    assert best > lessons.evidence.metric


def _converged(form: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, list[Run]]:
    """Return two directions of ten inputs, and runs that end close to minimizers of their own."""
    rng = np.random.default_rng(3)
    directions = np.linalg.qr(rng.normal(size=(10, 2)))[0].T
    runs = []
    for number in range(6):
        best = rng.uniform(0.3, 0.7, size=10)
        x = np.concatenate(
            [rng.uniform(size=(12, 10)), best + 0.05 * rng.uniform(-1.0, 1.0, size=(20, 10))]
        )
        runs.append(Run(str(number), x, form((x - best) @ directions.T)))
    return directions, runs


def _missed(directions: np.ndarray, runs: list[Run]) -> float:
    """Return how much of the directions is not among the features that runs teach."""
    found = learn(runs, n_features=len(directions)).features
    assert found is not None
    within = np.linalg.qr(found.weights.T)[0]
    return float(len(directions) - np.linalg.norm(directions @ within) ** 2)


def test_smooth_runs_that_have_converged_teach_features_by_small_differences(monkeypatch) -> None:
    directions, runs = _converged(lambda z: np.sum(z**2, axis=1))
    turned = _missed(directions, runs)
    monkeypatch.setattr(learning, "_smoothed", lambda weights, data: weights)
    assert turned < 0.7 * _missed(directions, runs)


def test_features_of_rough_runs_are_not_turned_to_smooth_surfaces() -> None:
    directions, runs = _converged(lambda z: np.sum(np.abs(z), axis=1))
    data = shared.make_data([(run.x, run.y) for run in runs if run.y is not None], 64)
    with jax.enable_x64(True):
        alone = shared.fit(data, 3.0 * directions, iterations=150).flat[: directions.size]
        kept = learning._smoothed(3.0 * directions, data)
    np.testing.assert_allclose(
        kept.T @ kept, alone.reshape(directions.shape).T @ alone.reshape(directions.shape)
    )


def test_the_same_runs_teach_the_same() -> None:
    runs = _runs(2, 20, 4)
    first, again = (learn(runs, n_features=0).to_json() for _ in range(2))
    assert first == again


@pytest.mark.parametrize(
    "runs",
    [
        [Run("empty", np.empty((0, 3)), np.empty(0))],
        [Run("failed", np.full((2, 3), 0.5), np.full(2, np.nan))],
        [Run("designs", np.full((20, 3), 0.5))],
    ],
)
def test_runs_that_teach_nothing_say_so(runs: list[Run]) -> None:
    lessons = learn(runs)
    assert lessons.empty
    assert "nothing was learned" in str(lessons)


@pytest.mark.parametrize("y", [np.array([1.0]), np.full(1, -3.0)])
def test_one_evaluation_teaches_a_point(y: np.ndarray) -> None:
    lessons = learn([Run("one", np.full((1, 3), 0.25), y)])
    assert lessons.points.tolist() == [[0.25] * 3]
    assert lessons.metric is None


def test_equal_values_teach_no_metric() -> None:
    x = np.random.default_rng(0).uniform(size=(20, 3))
    assert learn([Run("flat", x, np.zeros(20))]).metric is None


def test_failed_evaluations_count_as_bad() -> None:
    run = _runs(1, 30, 3)[0]
    assert run.y is not None
    y = run.y.copy()
    y[:5] = np.nan
    lessons = learn([Run("failed", run.x, y)])
    assert np.array_equal(lessons.points[0], run.x[np.nanargmin(y)])
    assert lessons.metric is not None


def test_centre_of_discrete_points_can_be_evaluated() -> None:
    rounding = Rounding(np.array([True, False, False]), lambda x: np.round(x))
    lessons = learn(_runs(3, 1, 3), rounding=rounding)
    assert lessons.centre is not None
    assert np.array_equal(lessons.centre, np.round(lessons.centre))


def test_no_runs_and_other_dimensions_are_refused() -> None:
    with pytest.raises(ValueError, match="runs is empty"):
        learn([])
    with pytest.raises(ValueError, match="expected 3 columns"):
        learn([Run("a", np.full((1, 3), 0.5)), Run("b", np.full((1, 4), 0.5))])
    with pytest.raises(ValueError, match="n_features"):
        learn(_runs(1, 5, 3), n_features=-1)


def test_progress_ends_at_one() -> None:
    seen: list[float] = []
    learn(_runs(2, 10, 3), n_features=0, progress=lambda done, what: seen.append(done))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_likelihood_of_designs_matches_scipy() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(9, 4))
    flat = rng.normal(size=9 * 2 + 3)
    z, lengthscale = flat[:18].reshape(9, 2), np.exp(flat[18:20])
    r2 = np.sum(((z[:, None] - z) / lengthscale) ** 2, axis=2)
    k = np.exp(-0.5 * r2) + np.exp(flat[20]) * np.eye(9)
    normal = scipy.stats.multivariate_normal(np.zeros(9), k)
    expected = sum(normal.logpdf(column) for column in x.T) + 0.5 * 36 * np.log(2.0 * np.pi)
    expected -= 0.5 * np.sum(z**2) + 0.5 * np.sum(flat[18:20] ** 2)
    with jax.enable_x64(True):
        assert np.isclose(float(designs.log_likelihood(flat, x, 2)[0]), expected)


def test_designs_on_a_curve_need_one_feature() -> None:
    t = np.linspace(0.0, 1.0, 40)[:, None]
    x = np.concatenate([t, 0.5 + 0.4 * np.sin(3.0 * t), t**2, 0.5 * np.ones_like(t)], axis=1)
    lessons = learn([Run("curve", x)])
    assert lessons.manifold is not None
    assert lessons.manifold.z.shape[1] <= 2
    assert lessons.n_designs == 40
    assert len(lessons.points) > 1


def test_nothing_is_known_of_what_no_run_varied() -> None:
    runs = _runs(2, 12, 3)
    wider = [Run(r.name, np.insert(r.x, 1, 0.5, axis=1), r.y) for r in runs]
    found = learn(wider, n_features=0)
    assert found.metric is not None
    assert found.metric.known.tolist() == [True, False, True, True]
    assert found.relevance is not None
    assert found.relevance[1] == 0.0
    still = [Run(r.name, np.full_like(r.x, 0.5), r.y) for r in runs]
    assert learn(still, n_features=0).metric is None
