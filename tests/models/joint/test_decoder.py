"""Every decoder against the dense Gaussian it stands for."""

import jax
import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.stats import multivariate_normal
from tests import laws

from infold.gp import padding
from infold.models.joint import decoder as dec
from infold.models.joint.decoder import Decoder, DecoderParams

pytestmark = pytest.mark.usefixtures("x64")

N, D, FEATURES = 6, 8, 2  # 3 does not divide D
NOISE = np.array(0.05)


def random_params(decoder: Decoder, rng) -> DecoderParams:
    blocks, size, kernels = decoder.layout(D)
    return DecoderParams(
        log_lengthscale=rng.normal(size=(kernels, FEATURES)) * 0.3,
        a=rng.normal(size=(blocks, size, min(decoder.rank or size, size))),
        log_kappa=rng.normal(size=(blocks, size)),
    )


def dense_prior(
    decoder: Decoder, params: DecoderParams, a: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """Cov(vec g(a), vec g(b)), outputs outermost, written out block by block."""
    pieces = []
    for q, (factor, log_kappa) in enumerate(zip(params.a, params.log_kappa, strict=True)):
        kernel = q if len(params.log_lengthscale) > 1 else 0
        size = min(params.a.shape[1], D - q * params.a.shape[1])
        coregionalization = (factor @ factor.T + np.diag(np.exp(log_kappa)))[:size, :size]
        pieces.append(
            np.kron(coregionalization, laws.matern52(a, b, np.exp(params.log_lengthscale[kernel])))
        )
    return block_diag(*pieces)


@pytest.fixture(params=[*dec.KINDS, "low rank"])
def decoder(request):
    return (
        Decoder(kind="full", rank=2) if request.param == "low rank" else Decoder(kind=request.param)
    )


@pytest.fixture
def setup(decoder, rng):
    params = random_params(decoder, rng)
    return decoder, params, rng.uniform(size=(N, FEATURES)), rng.normal(size=(N, D))


def pad(z, warped, size=10):
    return padding.pad_rows(z, size, 0.5), padding.pad_rows(warped, size), padding.row_mask(N, size)


@pytest.mark.parametrize("size", [N, 10])
def test_log_likelihood_matches_dense(setup, size):
    decoder, params, z, warped = setup
    covariance = dense_prior(decoder, params, z, z) + NOISE * np.eye(N * D)
    expected = multivariate_normal(np.zeros(N * D), covariance).logpdf(warped.T.reshape(-1))
    z_pad, warped_pad, mask = pad(z, warped, size)
    value = dec.infer(decoder, "matern52", params, z_pad, warped_pad, mask, NOISE)[0]
    assert value == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("size", [N, 10])
def test_mean_and_variance_match_dense(setup, size, rng):
    decoder, params, z, warped = setup
    z_star = rng.uniform(size=(5, FEATURES))
    covariance = dense_prior(decoder, params, z, z) + NOISE * np.eye(N * D)
    cross = dense_prior(decoder, params, z_star, z)
    mean = (cross @ np.linalg.solve(covariance, warped.T.reshape(-1))).reshape(D, 5).T
    prior = np.diagonal(dense_prior(decoder, params, z_star, z_star))
    variance = (prior - np.diagonal(cross @ np.linalg.solve(covariance, cross.T))).reshape(D, 5).T
    z_pad, warped_pad, mask = pad(z, warped, size)
    posterior = dec.infer(decoder, "matern52", params, z_pad, warped_pad, mask, NOISE)[1]
    got_mean, got_variance = dec.mean_and_variance(
        "matern52", params, posterior, z_pad, mask, z_star, D
    )
    np.testing.assert_allclose(got_mean, mean, atol=1e-8)
    np.testing.assert_allclose(got_variance, variance, atol=1e-8)
    np.testing.assert_allclose(
        dec.mean("matern52", params, posterior, z_pad, mask, z_star, D), mean, atol=1e-8
    )


@pytest.mark.parametrize("size", [N, 10])
def test_slopes_are_the_jacobian_of_the_mean(setup, size, rng):
    decoder, params, z, warped = setup
    z_pad, warped_pad, mask = pad(z, warped, size)
    _, posterior = dec.infer(decoder, "matern52", params, z_pad, warped_pad, mask, NOISE)
    z_star = np.concatenate([rng.uniform(size=(3, FEATURES)), z[:2]])  # at data too
    slopes = dec.slopes("matern52", params, posterior, z_pad, mask, z_star, D)

    def one(z):
        return dec.mean("matern52", params, posterior, z_pad, mask, z[None], D)[0]

    np.testing.assert_allclose(slopes, [jax.jacfwd(one)(point) for point in z_star], atol=1e-9)
    for output, feature in ((0, 0), (D - 1, FEATURES - 1)):
        entry = dec.slope(
            "matern52",
            params,
            posterior,
            z_pad,
            mask,
            z_star[1],
            np.array(output),
            np.array(feature),
        )
        assert entry == pytest.approx(float(slopes[1, output, feature]), abs=1e-12)


def test_shared_equals_hierarchical_with_tied_kernels(rng):
    shared, hierarchical = Decoder(kind="shared"), Decoder(kind="hierarchical")
    params = random_params(shared, rng)
    tied = params._replace(log_lengthscale=np.repeat(params.log_lengthscale, 3, axis=0))
    z, warped, mask = rng.uniform(size=(N, FEATURES)), rng.normal(size=(N, D)), np.ones(N, bool)
    values = [
        float(dec.infer(kind, "matern52", p, z, warped, mask, NOISE)[0])
        for kind, p in ((shared, params), (hierarchical, tied))
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-9)


def test_unknown_kind_is_named():
    with pytest.raises(
        ValueError, match="kind = 'diagonal': expected one of full, hierarchical, shared"
    ):
        Decoder(kind="diagonal")
