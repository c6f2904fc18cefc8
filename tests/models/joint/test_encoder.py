import numpy as np
import pytest

from infold.models.joint import encoder as enc
from infold.models.joint.encoder import Encoder

pytestmark = pytest.mark.usefixtures("x64")


@pytest.mark.parametrize("hidden", [(), (20,), (8, 5)])
@pytest.mark.parametrize("orthogonal", [False, True])
def test_features_lie_in_the_unit_cube(hidden, orthogonal, rng):
    encoder = Encoder(n_features=3, hidden=hidden, orthogonal=orthogonal)
    x = np.vstack([rng.uniform(size=(10, 7)), np.zeros(7), np.ones(7)])
    x = encoder.inputs(x)
    z = np.asarray(enc.encode(encoder, enc.initial_params(encoder, x, rng), x))
    assert z.shape == (12, 3)
    assert np.all((z >= 0) & (z <= 1))


def test_forward_pass_matches_the_formula(rng):
    encoder = Encoder(n_features=2, hidden=(4,), warp_input=False)
    x = rng.uniform(size=(5, 3))
    params = enc.initial_params(encoder, x, rng)

    def sigmoid(a):
        return 1 / (1 + np.exp(-a))

    (w1, w2), (b1, b2) = params.weights, params.biases
    np.testing.assert_allclose(
        enc.encode(encoder, params, x), sigmoid(sigmoid(x @ w1 + b1) @ w2 + b2), atol=1e-13
    )


def test_orthogonal_option_ignores_the_scale_of_the_weights(rng):
    encoder = Encoder(n_features=2, orthogonal=True)
    x = rng.uniform(size=(5, 30))
    params = enc.initial_params(encoder, x, rng)
    scaled = params._replace(weights=tuple(3.0 * w for w in params.weights))
    np.testing.assert_allclose(
        enc.encode(encoder, params, x), enc.encode(encoder, scaled, x), atol=1e-12
    )


def test_orthonormal_factor_has_orthonormal_columns_or_rows(rng):
    tall, wide = (
        np.asarray(enc._orthonormal(rng.normal(size=(6, 3)))),
        np.asarray(enc._orthonormal(rng.normal(size=(3, 6)))),
    )
    np.testing.assert_allclose(tall.T @ tall, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(wide @ wide.T, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 50])
def test_initial_features_are_finite_and_spread_when_there_is_something_to_spread(n, rng):
    encoder = Encoder(n_features=4)
    x = rng.uniform(size=(n, 9))
    z = np.asarray(enc.encode(encoder, enc.initial_params(encoder, x, rng), x))
    assert np.all(np.isfinite(z))
    if n == 50:
        assert np.all(z.std(axis=0) > 0.1)
