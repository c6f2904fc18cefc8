import logging

import jax
import numpy as np
import pytest
from scipy import stats

from infold import methods, problems
from infold.methods import RandomSearch
from infold.models.joint.warp import probit
from infold.paper import vae
from infold.paper.vae import Autoencoder, Task
from infold.record import History

TASK = Task("thomson", n_features=4, n_pairs=500, n_steps=1500, seed=0)
QUICK = Task("thomson", n_features=2, n_pairs=100, n_steps=20, seed=0)
CHEAP = {
    "problem": "thomson",
    "n_features": 2,
    "n_pairs": 100,
    "n_steps": 20,
    "n_candidates": 50,
    "n_starts": 5,
    "search_iterations": 3,
}


def test_the_loss_falls_and_the_decoder_stays_in_the_cube(rng):
    trained = vae.train(TASK)
    assert np.mean(trained.losses[-100:]) < np.mean(trained.losses[:20]) - 0.3
    anywhere = rng.uniform(-50, 50, size=(200, 4))
    x = vae.decode(trained.weights, anywhere, 12)
    assert x.shape == (200, 12)
    assert np.all((x >= 0) & (x <= 1))


def test_reconstructions_are_nearer_than_the_mean():
    trained = vae.train(TASK)
    x, _ = vae.pairs(TASK)
    again = vae.decode(trained.weights, vae.encode(trained.weights, x, 4), 12)
    assert np.mean((probit(x) - probit(again)) ** 2) < 0.9 * np.var(probit(x))


def test_the_loss_is_the_negative_evidence_lower_bound(x64, rng):
    """Compared with scipy.stats, with the divergence by Monte Carlo."""
    d, dimension, n = 2, 5, 3
    weights = vae._initial_weights(dimension, d, rng)
    weights[-2:] = rng.normal(size=2)
    x, y = rng.normal(size=(n, dimension)), rng.normal(size=n)
    w = [np.asarray(part) for part in vae._unpack(weights, dimension, d)]

    def network(first, second, inputs):
        return np.tanh(inputs @ first[:-1] + first[-1]) @ second[:-1] + second[-1]

    mean, log_variance = np.split(network(w[0], w[1], x), 2, axis=1)
    deviation = np.exp(0.5 * log_variance)
    draws = stats.norm(mean, deviation).rvs(size=(40_000, n, d), random_state=1)
    noise = np.sqrt(1e-4 + np.exp(weights[-2:]))
    bound = (
        np.sum(stats.norm(network(w[2], w[3], draws), noise[0]).logpdf(x), axis=-1)
        + stats.norm(network(w[4], w[5], draws)[..., 0], noise[1]).logpdf(y)
        + np.sum(stats.norm.logpdf(draws) - stats.norm(mean, deviation).logpdf(draws), axis=-1)
    )
    constant = 0.5 * (dimension + 1) * np.log(2 * np.pi)
    keys = jax.random.split(jax.random.key(0), 4000)
    losses = np.asarray(jax.vmap(lambda key: vae.loss(weights, x, y, key, d))(keys))
    error = 4 * np.hypot(np.std(bound.mean(axis=1)) / 200, np.std(losses) / np.sqrt(4000))
    assert np.mean(losses) == pytest.approx(-np.mean(bound) - constant, abs=error)


def test_the_extra_evaluations_are_not_those_of_the_run():
    x, y = vae.pairs(QUICK)
    problem = problems.get("thomson")
    noise = y - problem(x)
    assert np.all(np.abs(noise) < 0.06)
    assert np.std(noise) > 0.005
    of_the_run = [problem.observe(x[0], 0, trial) - problem(x[0]) for trial in range(310)]
    assert not np.any(np.isclose(of_the_run, noise[0], atol=1e-9))
    assert not np.array_equal(x, vae.pairs(QUICK._replace(seed=1))[0])
    initial = (
        RandomSearch(design="uniform")
        .suggest(History(np.empty((0, 12)), np.empty(0)), 10, (0, 0))
        .x
    )
    assert np.min(np.linalg.norm(x[:, None] - initial, axis=2)) > 0.1


def test_a_run_keeps_its_own_autoencoder(rng, monkeypatch):
    """Another machine may train a different one, if only through rounding."""
    method = methods.by_name("vae", **CHEAP)
    history = History(rng.uniform(size=(6, 12)), rng.normal(size=6))
    first = method.suggest(history, 1, (0, 0))
    expected = method.suggest(history, 1, (0, 1), first.cache)
    monkeypatch.setattr(vae, "train", None)
    np.testing.assert_array_equal(method.suggest(history, 1, (0, 1), first.cache).x, expected.x)


def test_training_that_diverges_ends_in_the_full_space(rng, monkeypatch, caplog):
    def diverge(task):
        raise FloatingPointError("training of the autoencoder diverged")

    monkeypatch.setattr(vae, "train", diverge)
    history = History(rng.uniform(size=(6, 12)), rng.normal(size=6))
    suggestion = methods.by_name("vae", **CHEAP).suggest(history, 2, (0, 0))
    assert suggestion.x.shape == (2, 12)
    assert [proposal.by for proposal in suggestion.proposals] == ["full_space"] * 2
    assert "diverged; falling back to the full-space GP" in caplog.text


def test_training_is_kept_by_problem_and_seed(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    vae.train.cache_clear()
    first = vae.train(QUICK)
    (path,) = tmp_path.glob("infold/vae/*.json")
    trained = []
    train = vae._train
    monkeypatch.setattr(vae, "_train", lambda task: trained.append(task) or train(task))
    vae.train.cache_clear()
    np.testing.assert_array_equal(vae.train(QUICK).weights, first.weights)
    assert not trained
    assert not np.array_equal(vae.train(QUICK._replace(seed=1)).weights, first.weights)
    path.write_text('{"format": "infold-vae"')
    vae.train.cache_clear()
    with caplog.at_level(logging.WARNING):
        np.testing.assert_array_equal(vae.train(QUICK).weights, first.weights)
    assert len(trained) == 2
    assert "cut short" in caplog.text


def test_the_data_lie_in_the_box_and_suggestions_are_where_their_proposals_say(rng):
    method = methods.by_name("vae", **CHEAP)
    embedding = method.model.embedding
    maps = embedding.maps(embedding.parameters(12, 2, 0), 12, 2)
    inside = maps.place(vae.pairs(QUICK)[0])
    assert np.all((inside > 0) & (inside < 1))
    history = History(rng.uniform(size=(6, 12)), rng.normal(size=6))
    suggestion = method.suggest(history, 2, (0, 0))
    places = np.array([proposal.diagnostics["features"] for proposal in suggestion.proposals])
    np.testing.assert_allclose(maps.point(places), suggestion.x)


def test_misuse_is_reported():
    with pytest.raises(
        ValueError, match="problem = None: vae is trained on evaluations made before the run"
    ):
        methods.by_name("vae")
    with pytest.raises(ValueError, match="problem = 'nonesuch'"):
        Autoencoder(problem="nonesuch")
    with pytest.raises(
        ValueError, match="the space has dimension 5: thomson, which vae was made for, has 12"
    ):
        methods.by_name("vae", problem="thomson").suggest(
            History(np.zeros((1, 5)), np.zeros(1)), 1, (0, 0)
        )
