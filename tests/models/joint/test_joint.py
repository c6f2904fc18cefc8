"""The joint objective: what it is made of, its gradient, and its padding."""

import jax
import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from tests import laws

from infold.models.joint import Decoder, Encoder, JointModel, Priors, joint
from infold.models.joint import decoder as dec
from infold.models.joint import encoder as enc
from infold.models.joint.fit import evaluate

pytestmark = pytest.mark.usefixtures("x64")


def make_model(kind="full", **settings) -> JointModel:
    return JointModel(
        encoder=Encoder(n_features=2, hidden=(5,)), decoder=Decoder(kind=kind), **settings
    )


def problem(rng, n=12, dimension=7):
    return rng.uniform(size=(n, dimension)), rng.normal(size=n)


def test_objective_is_the_papers_sum(rng):
    model = make_model()
    x, y = problem(rng)
    params = joint.initial_params(model, x, rng)
    z = np.asarray(enc.encode(model.encoder, params.encoder, model.encoder.inputs(x)))
    k_y = laws.matern52(z, z, np.ones(2)) + 0.01 * np.eye(12)
    b = params.decoder.a[0] @ params.decoder.a[0].T + 0.1 * np.eye(7)
    k_v = np.kron(b, laws.matern52(z, z, np.ones(2))) + 0.01 * np.eye(84)
    data = joint.make_data(model, x, y)
    expected = multivariate_normal(np.zeros(12), k_y).logpdf(y)
    expected += multivariate_normal(np.zeros(84), k_v).logpdf(data.warped[:12].T.reshape(-1)) / 7
    assert joint.infer(model, params, data)[0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("kind", dec.KINDS)
@pytest.mark.parametrize("separate", [False, True], ids=["one noise", "two noises"])
def test_gradient_matches_finite_differences(kind, separate, rng):
    priors = (
        Priors(weight_deviation=1.0, log_lengthscale=(0.0, 1.0), log_noise=(-4.0, 1.0))
        if separate
        else Priors()
    )
    model = make_model(kind, separate_noise=separate, priors=priors)
    x, y = problem(rng)
    data = joint.make_data(model, x, y, size=16)
    flat = joint.flatten(joint.initial_params(model, x, rng))
    gradient = np.asarray(evaluate(model, flat, data)[1])

    def f(flat):
        return evaluate(model, flat, data)[0]

    for _ in range(5):
        direction = rng.normal(size=flat.size)
        assert gradient @ direction == pytest.approx(
            laws.finite_difference(f, flat, direction, 1e-4), rel=2e-6
        )


@pytest.mark.parametrize("kind", dec.KINDS)
@pytest.mark.parametrize(
    "case", ["B = I", "duplicated rows", "one point", "all y equal", "boundary"]
)
def test_gradient_is_finite_where_eigenvalues_repeat(kind, case, rng):
    model = make_model(kind)
    x, y = problem(rng)
    if case == "duplicated rows":
        x = np.repeat(x[:4], 3, axis=0)
    if case == "one point":
        x, y = x[:1], np.zeros(1)
    if case == "all y equal":
        y = np.zeros(12)
    if case == "boundary":
        x = np.round(x)
    params = joint.initial_params(model, x, rng)
    if case == "B = I":
        params = params._replace(
            decoder=params.decoder._replace(
                a=np.zeros_like(params.decoder.a), log_kappa=np.zeros_like(params.decoder.log_kappa)
            )
        )
    value, gradient, _ = evaluate(model, joint.flatten(params), joint.make_data(model, x, y))
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))


@pytest.mark.parametrize("kind", dec.KINDS)
def test_padded_and_unpadded_agree(kind, rng):
    model = make_model(kind)
    x, y = problem(rng)
    params = joint.initial_params(model, x, rng)
    z = rng.uniform(size=(4, 2))
    results = []
    for size in (12, 20):
        data = joint.make_data(model, x, y, size=size)
        value, gradient, posterior = evaluate(model, joint.flatten(params), data)
        results.append(
            [
                value,
                gradient,
                *jax.jit(joint.predict, static_argnums=0)(model, posterior, z),
                *joint.decode(model, posterior, z, 7),
                jax.jit(joint.decoder_mean, static_argnums=(0, 3))(model, posterior, z, 7),
            ]
        )
    for plain, padded in zip(*results, strict=True):
        np.testing.assert_allclose(padded, plain, atol=1e-10, rtol=1e-10)


def test_leave_one_out_is_the_prediction_from_the_other_points(rng):
    model = make_model()
    x, y = problem(rng)
    params = joint.initial_params(model, x, rng)
    data = joint.make_data(model, x, y, size=16)
    _, posterior = joint.infer(model, params, data)
    mean, variance = joint.leave_one_out(posterior, data.y)
    for i in range(12):
        rest = np.arange(12) != i
        _, others = joint.infer(model, params, joint.make_data(model, x[rest], y[rest]))
        expected_mean, expected_variance = joint.predict(model, others, posterior.z[i : i + 1])
        assert mean[i] == pytest.approx(float(expected_mean[0]), abs=1e-9)
        assert variance[i] - params.response_noise == pytest.approx(
            float(expected_variance[0]), abs=1e-9
        )


def test_priors_add_exactly_their_log_density(rng):
    x, y = problem(rng)
    data = joint.make_data(make_model(), x, y)
    params = joint.initial_params(make_model(), x, rng)
    plain = float(joint.infer(make_model(), params, data)[0])
    priors = Priors(weight_deviation=2.0, log_lengthscale=(0.5, 0.7), log_noise=(-3.0, 1.5))
    expected = sum(norm(0, 2.0).logpdf(w).sum() for w in params.encoder.weights)
    expected += norm(0.5, 0.7).logpdf(0.0) * 4 + norm(-3.0, 1.5).logpdf(np.log(1e-2))
    with_priors = float(joint.infer(make_model(priors=priors), params, data)[0])
    assert with_priors - plain == pytest.approx(expected, rel=1e-9)


def test_flatten_and_unflatten_are_inverse(rng):
    model = make_model("hierarchical", separate_noise=True)
    params = joint.initial_params(model, rng.uniform(size=(5, 7)), rng)
    restored = joint.unflatten(model, 7, joint.flatten(params))
    for a, b in zip(jax.tree.leaves(params), jax.tree.leaves(restored), strict=True):
        np.testing.assert_array_equal(a, b)
