import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests import laws

from infold.gp import kernels

pytestmark = pytest.mark.usefixtures("x64")


def test_matern52_matches_textbook_formula(rng):
    a, b, ell = rng.uniform(size=(7, 3)), rng.uniform(size=(5, 3)), np.array([0.3, 1.0, 4.0])
    np.testing.assert_allclose(
        kernels.covariance("matern52", a, b, ell), laws.matern52(a, b, ell), atol=1e-13
    )


def test_squared_exponential_matches_textbook_formula(rng):
    a, b, ell = rng.uniform(size=(7, 3)), rng.uniform(size=(5, 3)), np.array([0.3, 1.0, 4.0])
    expected = np.exp(-0.5 * (((a[:, None] - b[None]) / ell) ** 2).sum(-1))
    np.testing.assert_allclose(
        kernels.covariance("squared-exponential", a, b, ell), expected, atol=1e-13
    )


@pytest.mark.parametrize("kernel", kernels.KERNELS)
def test_first_and_second_derivatives_match_finite_differences(kernel, rng):
    b, ell = rng.uniform(size=(5, 3)), np.array([0.3, 1.0, 4.0])

    def value(z):
        return jnp.sum(kernels.covariance(kernel, z[None], b, ell) * jnp.arange(1.0, 6.0))

    z, v, w = rng.uniform(size=3), rng.normal(size=3), rng.normal(size=3)
    assert jax.grad(value)(z) @ v == pytest.approx(laws.finite_difference(value, z, v), rel=1e-7)

    def slope(z):
        return jax.grad(value)(z) @ v

    assert jax.grad(slope)(z) @ w == pytest.approx(laws.finite_difference(slope, z, w), rel=1e-6)


@pytest.mark.parametrize("kernel", kernels.KERNELS)
def test_derivatives_are_finite_at_zero_distance(kernel):
    z, ell = jnp.full((2, 3), 0.4), jnp.ones(3)

    def value(z):
        return kernels.covariance(kernel, z, z, ell)[0, 1]

    np.testing.assert_allclose(jax.grad(value)(z), 0.0, atol=1e-15)
    assert np.all(np.isfinite(jax.hessian(value)(z)))


@pytest.mark.parametrize(
    ("kernel", "curvature"), [("matern52", 5 / 3), ("squared-exponential", 1.0)]
)
def test_curvature_at_a_datum_is_the_kernels(kernel, curvature, rng):
    """A clipped squared distance would have a derivative of 0 or half of it there."""
    b, ell = rng.uniform(size=(6, 3)), np.array([0.7, 0.3, 1.1])
    for i in range(6):

        def value(z, i=i):
            return kernels.covariance(kernel, z[None], b, ell)[0, i]

        np.testing.assert_allclose(
            jax.hessian(value)(jnp.asarray(b[i])), -curvature * np.diag(ell**-2.0), atol=1e-5
        )


@pytest.mark.parametrize("kernel", kernels.KERNELS)
def test_covariance_is_positive_semidefinite_with_unit_diagonal(kernel, rng):
    z = np.repeat(rng.uniform(size=(20, 4)), 2, axis=0)
    k = np.asarray(kernels.covariance(kernel, z, z, np.full(4, 0.5)))
    np.testing.assert_allclose(np.diagonal(k), 1.0, atol=1e-14)
    assert np.linalg.eigvalsh(k).min() > -1e-12
