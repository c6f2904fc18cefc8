import numpy as np
import pytest
import scipy.optimize

from infold.gp.training import Start, train


def quadratic(rng, size=30):
    """Return a badly scaled convex quadratic, whose posterior is the sum of x."""
    axes = np.linalg.qr(rng.normal(size=(size, size)))[0]
    hessian = axes @ np.diag(np.logspace(-2, 2, size)) @ axes.T
    centre = rng.normal(size=size)

    def loss(x):
        return 0.5 * (x - centre) @ hessian @ (x - centre), hessian @ (x - centre), x.sum()

    return loss


def rosenbrock(x):
    return scipy.optimize.rosen(x), scipy.optimize.rosen_der(x), None


def reference(loss, start, bounds):
    return scipy.optimize.minimize(
        lambda x: loss(x)[:2],
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=scipy.optimize.Bounds(*bounds),
        options={"ftol": 1e-14, "gtol": 1e-8, "maxiter": 10_000},
    )


@pytest.mark.parametrize(
    "width", [0.3, 1.0, np.inf], ids=["tight limits", "some limits", "no limits"]
)
def test_minimum_within_limits_is_that_of_lbfgsb(width, rng):
    for loss, size in ((quadratic(rng), 30), (rosenbrock, 6)):
        bounds = np.full(size, -width), np.full(size, width)
        start = rng.uniform(-0.3, 0.3, size=size)
        trained = train(loss, [Start("fresh", start, 2000)], bounds, 1e-14)
        expected = reference(loss, start, bounds)
        assert -trained.log_likelihood == pytest.approx(expected.fun, rel=1e-5, abs=1e-7)
        assert np.all((trained.flat >= bounds[0]) & (trained.flat <= bounds[1]))
        assert trained.converged


def test_posterior_is_that_of_the_parameters_returned(rng):
    loss = quadratic(rng)
    for iterations in (1, 7):
        trained = train(
            loss,
            [Start("fresh", np.zeros(30), iterations)],
            (np.full(30, -0.2), np.full(30, 0.2)),
            1e-9,
        )
        assert trained.posterior == trained.flat.sum()
        assert -trained.log_likelihood == loss(trained.flat)[0]
        assert trained.n_iterations == iterations


def test_with_the_curvature_known_one_iteration_finds_the_minimum_of_a_quadratic(rng):
    """Steps along the axes of a quadratic determine its curvature."""
    axes, scales = np.linalg.qr(rng.normal(size=(6, 6)))[0], np.logspace(-2, 2, 6)

    def loss(x):
        gradient = axes @ (scales * (axes.T @ (x - 0.7)))
        return 0.5 * (x - 0.7) @ gradient, gradient, None

    curvature = np.ravel(np.stack([axes.T, scales[:, None] * axes.T], axis=1))
    free = np.full(6, -np.inf), np.full(6, np.inf)
    known, unknown = (
        train(loss, [Start("warm", np.zeros(6), 1, c)], free, 1e-14) for c in (curvature, None)
    )
    np.testing.assert_allclose(known.flat, 0.7, atol=1e-10)
    assert known.n_likelihoods == 2
    assert not np.allclose(unknown.flat, 0.7, atol=1e-2)


@pytest.mark.parametrize(
    "curvature", [np.ones(7), np.full(120, np.nan), np.empty(0), np.zeros(120), np.ones(60 * 9)]
)
def test_curvature_that_does_not_fit_is_ignored(curvature, rng):
    loss = quadratic(rng)
    bounds = np.full(30, -1.0), np.full(30, 1.0)
    plain, strange = (
        train(loss, [Start("warm", np.zeros(30), 5, c)], bounds, 1e-9) for c in (None, curvature)
    )
    np.testing.assert_array_equal(plain.flat, strange.flat)


def test_misleading_curvature_is_forgotten(rng):
    loss = quadratic(rng)
    free = np.full(30, -np.inf), np.full(30, np.inf)
    steps, changes = rng.normal(size=(2, 3, 30))
    # They describe a function that is all but flat, on which steps are endless.
    changes *= 1e-30 * np.sign(np.sum(steps * changes, axis=1, keepdims=True))
    wrong = np.ravel(np.stack([steps, changes], axis=1))
    trained = train(loss, [Start("warm", np.zeros(30), 500, wrong)], free, 1e-14)
    assert -trained.log_likelihood == pytest.approx(0.0, abs=1e-6)


def test_a_step_that_the_limits_turn_uphill_is_not_taken():
    """Clipped at the limit of the first parameter, the quasi-Newton step raises the loss."""

    def loss(x):
        return x[0] + x[1], np.ones(2), None

    long, short = np.array([1.0, -0.1]), np.array([0.1, 1.0])
    known = np.ravel([[long, 0.1 * long], [short, 100.0 * short]])
    bounds = np.array([-0.01, -10.0]), np.array([10.0, 10.0])
    for iterations in (1, 2, 50):
        trained = train(loss, [Start("warm", np.zeros(2), iterations, known)], bounds, 1e-12)
        assert trained.log_likelihood > 0.0


def test_little_is_kept_of_very_many_parameters():
    for size, pairs in ((1_000, 5), (60_000, 1), (300_000, 0)):
        scales = np.linspace(1.0, 3.0, size)

        def loss(x, s=scales):
            return 0.5 * s @ x**2, s * x, None

        free = np.full(size, -np.inf), np.full(size, np.inf)
        assert (
            train(loss, [Start("fresh", scales, 5)], free, 1e-14).curvature.size == 2 * pairs * size
        )


def test_steps_into_places_without_a_value_are_shortened():
    def loss(x):
        """Defined for x < 1, its minimum near the edge."""
        inside = x[0] < 1.0
        return (x[0] - 0.99) ** 2 if inside else np.nan, 2.0 * (x - 0.99), None

    trained = train(
        loss,
        [Start("fresh", np.array([-50.0]), 100)],
        (np.array([-np.inf]), np.array([np.inf])),
        1e-14,
    )
    assert trained.flat[0] == pytest.approx(0.99, abs=1e-4)


def test_the_best_start_wins_and_starts_without_a_value_do_not():
    def loss(x):
        return (
            np.nan if x[0] > 5.0 else (x[0] ** 2 - 1.0) ** 2 + 0.3 * x[0],
            np.array([4 * x[0] * (x[0] ** 2 - 1) + 0.3]),
            None,
        )

    bounds = np.array([-10.0]), np.array([10.0])
    starts = [
        Start("right", np.array([1.2]), 50),
        Start("left", np.array([-1.2]), 50),
        Start("nowhere", np.array([6.0]), 50),
    ]
    best = train(loss, starts, bounds, 1e-12)
    assert best.start == "left"
    alone = [train(loss, [start], bounds, 1e-12).n_likelihoods for start in starts[:2]]
    assert best.n_likelihoods == sum(alone) + 1
    assert best.flat[0] == pytest.approx(-1.035, abs=1e-2)
    with pytest.raises(FloatingPointError, match="could not be evaluated at any start"):
        train(loss, starts[2:], bounds, 1e-12)
