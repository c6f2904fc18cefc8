import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest

from infold import problems
from infold.models.joint import Encoder, FitSettings, JointModel, Priors, fit, joint

QUICK = FitSettings(iterations=20)


def bent_surface(rng, n=150, dimension=20):
    """A smooth two-dimensional surface in `dimension` dimensions, and a smooth function on it."""
    t = rng.uniform(-1, 1, size=(n, 2))
    return t, np.sin(2 * t[:, 0]) + t[:, 1] ** 2


@pytest.mark.parametrize("key", [0, 1, 2])
def test_bent_surface_is_learned_from_every_random_start(key, rng):
    a, b = rng.normal(size=(2, 20)), rng.normal(size=20)
    t, y = bent_surface(rng, 300)
    x = 0.5 + 0.35 * np.sin(t @ a + b)
    train, test = slice(0, 150), slice(150, 300)
    fitted = fit(x[train], y[train], JointModel(encoder=Encoder(n_features=2)), key=key)
    z = fitted.encode(x[test])

    center = x[train].mean(axis=0)
    axes = np.linalg.svd(x[train] - center)[2][:2]
    pca_error = np.sqrt(np.mean((center + (x[test] - center) @ axes.T @ axes - x[test]) ** 2))
    assert np.sqrt(np.mean((fitted.decode(z) - x[test]) ** 2)) <= 0.1 * pca_error
    mean, deviation = fitted.predict(z)
    assert np.sqrt(np.mean((mean - y[test]) ** 2)) < 0.05 * y.std()
    assert np.all(deviation > 0)


@pytest.fixture
def small(rng):
    return rng.uniform(size=(15, 6)), rng.normal(size=15), JointModel(encoder=Encoder(n_features=2))


def test_same_key_same_fit(small):
    x, y, model = small
    first, second = (fit(x, y, model, key=3, settings=QUICK) for _ in range(2))
    np.testing.assert_array_equal(joint.flatten(first.params), joint.flatten(second.params))


def test_warm_start_is_never_worse_than_where_it_started(small):
    x, y, model = small
    cold = fit(x, y, model, key=0, settings=QUICK)
    warm = fit(
        x,
        y,
        model,
        key=1,
        warm=joint.flatten(cold.params),
        settings=FitSettings(n_restarts=1, iterations=20),
    )
    assert warm.log_likelihood >= cold.log_likelihood
    assert warm.training.n_likelihoods > 0


def test_training_goes_further_with_the_curvature_kept(rng):
    """On average over four starts, when ten evaluations come one by one, two iterations each."""
    problem = problems.get("thomson")
    x = rng.uniform(size=(50, problem.dimension))
    y = np.array([problem.observe(point, 0, i) for i, point in enumerate(x)])
    model = JointModel(encoder=Encoder(n_features=5), priors=Priors(weight_deviation=1.0))
    settings = FitSettings(n_restarts=0, warm_iterations=2)
    gain = []
    for key in range(4):
        first = fit(x[:40], y[:40], model, key=key, settings=FitSettings(iterations=50))
        kept = dropped = first
        for n in range(41, 51):
            last = kept.training
            kept = fit(
                x[:n],
                y[:n],
                model,
                key=key,
                warm=last.flat,
                curvature=last.curvature,
                settings=settings,
            )
            dropped = fit(
                x[:n], y[:n], model, key=key, warm=dropped.training.flat, settings=settings
            )
        gain.append(kept.log_likelihood - dropped.log_likelihood)
    assert np.mean(gain) > 0, gain


def test_fit_says_whether_it_converged(small):
    x, y, model = small
    assert not fit(x, y, model, key=0, settings=FitSettings(iterations=2)).converged
    assert fit(x, y, model, key=0, settings=FitSettings(iterations=2000, tolerance=1e-3)).converged


def test_users_float32_is_unaffected(small):
    x, y, model = small
    fitted = fit(x, y, model, key=0, settings=QUICK)
    fitted.decode(fitted.encode(x))
    assert jnp.ones(1).dtype == jnp.float32
    assert fitted.predict(fitted.encode(x))[0].dtype == np.float64


def test_predictions_do_not_depend_on_the_units_of_y(small):
    x, y, model = small
    plain, scaled = (
        fit(x, y, model, key=0, settings=QUICK),
        fit(x, 1e6 * y - 3e7, model, key=0, settings=QUICK),
    )
    z = plain.encode(x)
    np.testing.assert_allclose(scaled.predict(z)[0], 1e6 * plain.predict(z)[0] - 3e7, rtol=1e-6)


# VmHWM is the peak of this process alone; ru_maxrss begins at that of the process that started it.
MEMORY_PROGRAM = """
import re
import numpy as np
from infold.models.joint import Decoder, Encoder, FitSettings, JointModel, fit

rng = np.random.default_rng(0)
model = JointModel(encoder=Encoder(n_features=10), decoder=Decoder(kind="KIND"))
x, y = rng.uniform(size=(300, 1000)), rng.normal(size=300)
fitted = fit(x, y, model, key=0, settings=FitSettings(iterations=2))
x = fitted.decode(rng.uniform(size=(2, 10)))
assert x.shape == (2, 1000) and np.all((x > 0) & (x < 1))
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read()).group(1)) / 2**20)
"""


@pytest.mark.parametrize("kind", ["full", "shared"])
def test_300_points_in_1000_dimensions_fit_and_decode_in_under_2_gigabytes(kind):
    done = subprocess.run(
        [sys.executable, "-c", MEMORY_PROGRAM.replace("KIND", kind)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout) < 2.0


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.zeros(6), np.zeros(1), r"x has shape \(6,\): expected \(any, any\)"),
        (np.full((3, 6), 1.5), np.zeros(3), r"x\[0, 0\] = 1.5: expected values in \[0, 1\]"),
        (np.full((3, 6), np.nan), np.zeros(3), r"x\[0, 0\] = nan: expected finite numbers"),
        (np.zeros((3, 6)), np.zeros(2), r"y has shape \(2,\): expected \(3\)"),
        (np.zeros((3, 6)), np.array([0.0, np.inf, 0.0]), r"y\[1\] = inf: expected finite numbers"),
        (
            np.zeros((0, 6)),
            np.zeros(0),
            "the number of rows of x = 0: expected a whole number of at least 1",
        ),
        (np.zeros((3, 1)), np.zeros(3), "n_features = 2: expected at most the dimension of x, 1"),
    ],
)
def test_bad_input_is_named(x, y, message):
    with pytest.raises(ValueError, match=message):
        fit(x, y, JointModel(encoder=Encoder(n_features=2)), key=0)


def test_warm_start_of_another_model_is_named(small):
    x, y, model = small
    with pytest.raises(ValueError, match=r"warm has shape \(3,\): expected"):
        fit(x, y, model, key=0, warm=np.zeros(3))
