"""The contract that every method keeps."""

import logging
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from infold import Categorical, Float, Int, Optimizer, Space, methods
from infold.acquisition import discrete
from infold.acquisition.lipschitz import LipschitzConstraint
from infold.methods import BayesianOptimization, RandomSearch
from infold.models import additive_gp, features, regression
from infold.paper.trust_constr import with_trust_constr
from infold.record import History

CHEAP = {"n_candidates": 64, "n_starts": 8, "search_iterations": 5}
DIMENSION = {
    name: 12 if name == "vae" else 7 for name in methods.NAMES
}  # vae has that of its problem
FEATURE_NAMES = tuple(name for name in methods.NAMES if "mgp" in name)


def cheap(name: str, **settings) -> methods.Method:
    """The method, with less effort per suggestion."""
    effort = {} if name == "random" else CHEAP
    if name in FEATURE_NAMES:
        effort = {
            **effort,
            "n_features": 2,
            "training_iterations": 5,
            "warm_training_iterations": 3,
        }
    if name == "vae":
        effort = {**effort, "problem": "thomson", "n_pairs": 100, "n_steps": 20}
    return methods.by_name(name, **{**effort, **settings})


def history(rng, n=14, dimension=7) -> History:
    x = rng.uniform(size=(n, dimension))
    return History(x, np.sum((x - 0.4) ** 2, axis=1))


@pytest.mark.parametrize("name", methods.NAMES)
def test_same_arguments_same_answer_and_the_key_matters(name, rng):
    method, data = cheap(name), history(rng, dimension=DIMENSION[name])
    first, second, other = (method.suggest(data, 1, key) for key in ((3, 4), (3, 4), (5, 4)))
    np.testing.assert_array_equal(first.x, second.x)
    assert not np.array_equal(first.x, other.x)


@pytest.mark.parametrize("name", methods.NAMES)
def test_methods_pickle(name, rng):
    method, data = cheap(name), history(rng, dimension=DIMENSION[name])
    copy = pickle.loads(pickle.dumps(method))
    assert copy == method
    np.testing.assert_array_equal(
        copy.suggest(data, 1, (0, 0)).x, method.suggest(data, 1, (0, 0)).x
    )


@pytest.mark.parametrize("name", methods.NAMES)
def test_batches_are_distinct_points_of_the_cube(name, rng):
    dimension = DIMENSION[name]
    data = history(rng, dimension=dimension).with_pending(rng.uniform(size=(2, dimension)))
    x = cheap(name).suggest(data, 3, (0, 0)).x
    assert x.shape == (3, dimension)
    assert np.all((x >= 0) & (x <= 1))
    distances = np.linalg.norm(x[:, None] - np.concatenate([x, data.pending])[None], axis=-1)
    assert np.min(distances[~np.eye(3, 5, dtype=bool)]) > 1e-6


def awkward_histories(rng, dimension) -> dict[str, History]:
    x = rng.uniform(size=(12, dimension))
    y = rng.normal(size=12)
    failed = np.where(np.arange(12) % 5 < 2, np.nan, y)
    return {
        "constant y": History(x, np.full(12, 3.0)),
        "duplicated x": History(np.repeat(x[:3], 4, axis=0), y),
        "one x only": History(np.repeat(x[:1], 12, axis=0), y),
        "huge range": History(x, np.logspace(-8, 12, 12)),
        "tiny values": History(x, 1e-300 * y),
        "huge values": History(x, 1e300 * y),
        "boundary": History(np.round(x), y),
        "one point": History(x[:1], y[:1]),
        "two points": History(x[:2], y[:2]),
        "no points": History(np.empty((0, dimension)), np.empty(0)),
        "some failed": History(x, failed),
        "all failed": History(x, np.full(12, np.nan)),
    }


@pytest.mark.parametrize("name", methods.NAMES)
def test_methods_never_raise_on_data(name, rng):
    method = cheap(name)
    for label, data in awkward_histories(rng, DIMENSION[name]).items():
        suggestion = method.suggest(data, 1, (0, 0))
        assert suggestion.x.shape == (1, DIMENSION[name]), label
        assert np.all((suggestion.x >= 0) & (suggestion.x <= 1)), label


@pytest.mark.parametrize("name", [name for name in methods.NAMES if name != "random"])
def test_a_cache_changes_the_effort_and_a_foreign_one_is_ignored(name, rng):
    method, data = cheap(name), history(rng, dimension=DIMENSION[name])
    cold = method.suggest(data, 1, (0, 0))
    warm = method.suggest(data, 1, (0, 1), cold.cache)
    assert (
        warm.proposals[-1].diagnostics["log_likelihood"]
        >= cold.proposals[-1].diagnostics["log_likelihood"]
    )
    strange = np.full(3, np.nan)
    for foreign in (
        dict.fromkeys(cold.cache, strange),
        {"model": dict.fromkeys(cold.cache["model"], strange)},
        {"model": {name: {"a": strange} for name in cold.cache["model"]}},
    ):
        np.testing.assert_array_equal(method.suggest(data, 1, (0, 0), foreign).x, cold.x)


@pytest.mark.parametrize("name", FEATURE_NAMES)
def test_diagnostics_say_what_a_person_would_want_to_see(name, rng):
    diagnostics = cheap(name).suggest(history(rng), 1, (0, 0)).proposals[-1].diagnostics
    for item in (
        "log_likelihood",
        "mean",
        "deviation",
        "distance",
        "reencoding_error",
        "feature_spread",
        "acquisition",
    ):
        assert np.isfinite(diagnostics[item]), item
    assert diagnostics["fallback"] is None
    assert set(diagnostics["seconds"]) >= {"fit", "search", "decode"}
    if name.endswith("c"):
        assert diagnostics["distance"] <= diagnostics["radius"] * (1 + 1e-9)
        assert diagnostics["L"] > 0


def broken(*args, **kwargs):
    raise FloatingPointError("on purpose")


def test_trouble_in_training_falls_back_step_by_step(rng, monkeypatch, caplog):
    data, method = history(rng), cheap("mgpc")
    monkeypatch.setattr(features, "fit", broken)
    with caplog.at_level(logging.WARNING):
        suggestion = method.suggest(data, 2, (0, 0))
    assert suggestion.x.shape == (2, 7)
    assert suggestion.proposals[-1].diagnostics["fallback"] == "full_space"
    assert "training again from a fresh start" in caplog.text
    assert "falling back to the full-space GP" in caplog.text
    monkeypatch.setattr(regression, "fit", broken)
    suggestion = method.suggest(data, 2, (0, 0))
    assert suggestion.x.shape == (2, 7)
    assert suggestion.proposals[-1].diagnostics["fallback"] == "random"


def test_trouble_with_a_warm_start_is_met_with_a_fresh_one(rng, monkeypatch, caplog):
    data, method = history(rng), cheap("add", n_features=3)
    cache = method.suggest(data, 1, (0, 0)).cache
    fit = additive_gp.fit

    def fails_when_warm(data, *, warm=None, curvature=None):
        return fit(data) if warm is None else broken()

    monkeypatch.setattr(additive_gp, "fit", fails_when_warm)
    with caplog.at_level(logging.WARNING):
        (proposal,) = method.suggest(data, 1, (0, 1), cache).proposals
    assert (proposal.by, proposal.diagnostics["fallback"]) == ("", "fresh start")
    assert "add: on purpose; training again from a fresh start" in caplog.text
    monkeypatch.setattr(additive_gp, "fit", broken)
    proposals = method.suggest(data, 2, (0, 0)).proposals
    assert [proposal.by for proposal in proposals] == ["full_space"] * 2


def test_padding_of_the_last_group_is_not_searched(rng):
    """D = 7 in groups of 3: f depends on the last input alone, whose group is padded."""
    x = rng.uniform(size=(40, 7))
    data = History(x, (x[:, 6] - 0.7) ** 2)
    method = methods.by_name("add", n_features=3, n_candidates=500, n_starts=20)
    assert method.suggest(data, 1, (0, 0)).x[0, 6] == pytest.approx(0.7, abs=0.05)


def test_decoder_that_is_not_finite_falls_back(rng, monkeypatch):
    monkeypatch.setattr(features, "decode", lambda *a: np.full((1, 7), np.nan))
    suggestion = cheap("mgp").suggest(history(rng), 1, (0, 0))
    assert suggestion.proposals[-1].diagnostics["fallback"] == "full_space"
    assert np.all(np.isfinite(suggestion.x))


def test_fresh_starts_come_in_their_turn_also_in_batches(rng):
    """Every 4 evaluations, less often where that is not a tenth of them, and once at the same N."""
    method, cache, turns = cheap("mgpc", restart_every=4), {}, []
    data = history(rng, n=70)
    for n in (11, 11, 13, 15, 15, 17, 19, 60, 64, 66):
        suggestion = method.suggest(History(data.x[:n], data.y[:n]), 1, (0, n), cache)
        restarted = suggestion.cache["model"]["restarted"]
        turns.append(not np.array_equal(cache.get("model", {}).get("restarted"), restarted))
        cache = suggestion.cache
    assert turns == [True, False, False, True, False, False, True, True, False, True]


def test_trust_constr_solver_is_available(rng):
    method = with_trust_constr(cheap("mgpc", n_starts=2))
    diagnostics = method.suggest(history(rng), 1, (0, 0)).proposals[-1].diagnostics
    assert diagnostics["fallback"] is None
    assert diagnostics["distance"] <= diagnostics["radius"] * (1 + 1e-9)


def test_suggesting_leaves_the_users_float32_alone(rng):
    cheap("mgpc").suggest(history(rng), 1, (0, 0))
    assert jnp.ones(1).dtype == jnp.float32


MIXED = Space(
    {
        "a": Float(-1.0, 1.0),
        "b": Float(-1.0, 1.0),
        "n": Int(0, 10),
        "k": Categorical(list("rst")),
        "m": Categorical(list("uvw")),
    }
)


def mixed_history(rng, n=14) -> History:
    x = np.array(
        [MIXED.place(MIXED.decode(unit)) for unit in rng.uniform(size=(n, MIXED.dimension))]
    )
    return History(x, np.sum((x - 0.4) ** 2, axis=1), rounding=MIXED.rounding)


@pytest.mark.parametrize("name", [name for name in methods.NAMES if name not in ("random", "vae")])
def test_suggestions_in_a_mixed_space_can_be_evaluated(name, rng):
    data = mixed_history(rng)
    for unit in cheap(name).suggest(data, 2, (0, 0)).x:
        np.testing.assert_allclose(MIXED.encode(MIXED.decode(unit)), unit, atol=1e-12)


@pytest.mark.parametrize("name", [*FEATURE_NAMES, "rembo", "add"])
def test_a_rounded_point_is_the_most_promising_of_many(name, rng, monkeypatch):
    """Better than what the decoder's own point is rounded to, by the model's own account."""
    seen = {}

    def watched(x, history, rounding, worth, rng):
        chosen = choose(x, history, rounding, worth, rng)
        seen["rounded"] = worth(rounding.snap(x[None]))[0]
        seen["chosen"] = worth(chosen[0][None])[0]
        return chosen

    choose = discrete.choose
    monkeypatch.setattr(discrete, "choose", watched)
    suggestion = cheap(name).suggest(mixed_history(rng), 1, (0, 0))
    value = suggestion.proposals[-1].diagnostics["acquisition"]
    assert value == pytest.approx(seen["chosen"], rel=1e-9)
    assert seen["chosen"] >= seen["rounded"]


def test_a_batch_of_discrete_points_repeats_nothing_while_there_is_something_new(rng):
    space = Space({"n": Int(0, 3), "k": Categorical(list("rst"))})
    x = np.array([space.place({"n": n, "k": k}) for n in range(3) for k in "rst"])
    data = History(x, rng.normal(size=9), rounding=space.rounding)
    suggested = cheap("mgpc").suggest(data, 3, (0, 0)).x
    assert {space.decode(unit)["n"] for unit in suggested} == {3}
    assert len({space.decode(unit)["k"] for unit in suggested}) == 3
    everything = History(
        np.concatenate([x, suggested]), rng.normal(size=12), rounding=space.rounding
    )
    assert cheap("mgpc").suggest(everything, 1, (0, 0)).x.shape == (1, 4)


def test_mgpc_finds_the_right_categories(rng):
    optimizer = Optimizer(MIXED, method="mgpc", n_initial=8, seed=0)
    for _ in range(40):
        x = optimizer.ask()
        optimizer.tell(
            x,
            x["a"] ** 2 + x["b"] ** 2 + (x["n"] - 7) ** 2 / 25 + (x["k"] != "s") + (x["m"] != "w"),
        )
    best, value = optimizer.best
    assert (best["k"], best["m"]) == ("s", "w")
    assert value < 0.3


def test_full_space_does_far_better_than_random_on_a_sphere(rng):
    data, cache = history(rng, n=5, dimension=10), None
    method = methods.by_name("full_space")
    for i in range(25):
        suggestion = method.suggest(data, 1, (0, i), cache)
        cache = suggestion.cache
        x = np.concatenate([data.x, suggestion.x])
        data = History(x, np.sum((x - 0.4) ** 2, axis=1))
    assert data.y.min() < 0.5 * np.min(history(rng, n=30, dimension=10).y)


@pytest.mark.parametrize(
    ("method", "matters"),
    [
        (cheap("full_space"), False),
        (cheap("full_space", clip_outliers=False), True),
        (cheap("mgpc"), False),
        (cheap("mgpc", clip_outliers=False), True),
        (cheap("rembo"), True),  # the paper's baselines take values as they are
        (cheap("vae"), True),
    ],
)
def test_whether_it_matters_how_large_a_penalty_is(method, matters, rng):
    data = history(rng, n=20, dimension=DIMENSION["vae"])
    likelihoods = []
    for penalty in (1e3, 1e9):
        y = data.y.copy()
        y[3] = penalty
        likelihoods.append(
            method.suggest(History(data.x, y), 1, (0, 0))
            .proposals[-1]
            .diagnostics["log_likelihood"]
        )
    assert (likelihoods[0] != likelihoods[1]) == matters


def test_one_penalty_does_not_blind_the_model():
    optimizer = Optimizer([(-1.0, 1.0)] * 3, method="full_space", n_initial=10, seed=0)
    for i in range(40):
        x = optimizer.ask()
        optimizer.tell(x, 1e6 if i == 3 else float(np.sum((x - 0.2) ** 2)))
    assert optimizer.best[1] < 1e-3


def test_sobol_points_continue_one_sequence():
    empty = History(np.empty((0, 3)), np.empty(0))
    together = RandomSearch().suggest(empty, 8, (1, 0)).x
    one_by_one = np.concatenate([RandomSearch().suggest(empty, 1, (1, i)).x for i in range(8)])
    np.testing.assert_array_equal(together, one_by_one)


def test_one_compilation_per_bucket_and_program(rng):
    """N grows from 10 to 310 through five buckets; a second run compiles nothing."""
    compiled: list[str] = []

    def listen(event: str, seconds: float, **details) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            compiled.append(str(details.get("fun_name")))

    x = rng.uniform(size=(310, 6))
    y = np.sum(x, axis=1)
    method = methods.by_name(
        "mgpc",
        n_features=2,
        n_candidates=60,
        n_starts=7,
        training_iterations=1,
        warm_training_iterations=1,
        search_iterations=1,
    )
    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        cache = None
        for n in range(10, 311):
            cache = method.suggest(History(x[:n], y[:n]), 1, (0, n), cache).cache
        assert len(compiled) > 0
        per_program = {name: compiled.count(name) for name in set(compiled)}
        assert max(per_program.values()) <= 5, per_program
        compiled.clear()
        for n in range(10, 311, 10):
            cache = method.suggest(History(x[:n], y[:n]), 1, (1, n), cache).cache
        assert compiled == []
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("mgpd", {}, "method = 'mgpd': expected one of auto, mgpc"),
        ("random", {"n_features": 3}, "n_features = 3: the method random has no such setting"),
        ("mgpc", {"acquisition": "kg"}, "acquisition = 'kg': expected one of ei, pi, ucb"),
        ("mgpc", {"n_features": 0}, "n_features = 0: expected a whole number of at least 1"),
        ("mgpc", {"solver": "newton"}, "setting of mgpc = 'solver': expected one of"),
        ("mgpc", {"beta": 2.0}, "beta = 2.0: ei has no such setting"),
        (
            "mgpc",
            {"weight_deviation": 0.0},
            "weight_deviation = 0.0: expected a positive number or None",
        ),
        (
            "mgpc",
            {"warm_training_iterations": 0},
            "warm_training_iterations = 0: expected a whole number of at least 1",
        ),
        (
            "full_space",
            {"n_starts": 50, "n_candidates": 10},
            "n_candidates = 10: expected a whole number of at least 50",
        ),
    ],
)
def test_bad_settings_are_named(name, settings, message):
    with pytest.raises(ValueError, match=message):
        methods.by_name(name, **settings)


def test_more_features_than_inputs_are_named(rng):
    with pytest.raises(
        ValueError, match="n_features = 8: expected at most the dimension of the space, 7"
    ):
        methods.by_name("mgpc", n_features=8).suggest(history(rng), 1, (0, 0))


@pytest.mark.parametrize("name", ["full_space", "mgpc", "add", "rembo"])
def test_known_points_of_a_discrete_space_are_not_suggested_while_there_are_others(name, rng):
    """Suggested all the same, they would be replaced by random ones."""
    space = Space({"n": Int(0, 3), "m": Int(0, 3)})
    every = [space.place({"n": n, "m": m}) for n in range(4) for m in range(4)]
    order = rng.permutation(16)
    effort = {"n_candidates": 500} if name == "full_space" else {"n_features": 1}
    method = cheap(name, **effort)
    for n in range(4, 16):
        x = np.array([every[i] for i in order[:n]])
        y = np.sum((x - 0.4) ** 2, axis=1)
        (unit,) = method.suggest(History(x, y, rounding=space.rounding), 1, (0, n)).x
        assert not discrete.known(unit[None], x)[0]


def test_a_region_that_the_model_cannot_have_is_refused_at_once():
    with pytest.raises(ValueError, match="expected a model with a decoder, such as LearnedFeat"):
        BayesianOptimization(region=LipschitzConstraint())


def test_each_point_of_a_batch_has_its_own_seconds(rng):
    proposals = cheap("full_space").suggest(history(rng), 3, (0, 0)).proposals
    assert ["fit" in proposal.diagnostics["seconds"] for proposal in proposals] == [
        True,
        False,
        False,
    ]


def test_more_inputs_than_the_full_decoder_can_take_are_an_error_that_says_what_to_use():
    with pytest.raises(ValueError, match="takes at most 1000; use method='full_space'"):
        Optimizer([(0.0, 1.0)] * 2000, method="mgpc")
    for name in ("full_space", "dmgpc"):
        Optimizer([(0.0, 1.0)] * 2000, method=name)


CORNER_SPACES = {
    "mixed": [Int(0, 9), Categorical(list("rst")), (0.0, 1.0), Float(1e-3, 1.0, log=True)],
    "continuous": [(0.0, 1.0)] * 3,
}


def corner(x) -> float:
    """Values that are least where all coordinates are."""
    return float(sum("rst".index(value) if isinstance(value, str) else value for value in x))


@pytest.mark.parametrize("limits", [(), (0.5,)], ids=["free", "constrained"])
@pytest.mark.parametrize("space", CORNER_SPACES)
@pytest.mark.parametrize("name", ["auto", "full_space", "rembo", "add", "dmgpc"])
def test_converged_run_never_proposes_known_points(name, space, limits):
    """The best point is a corner: the gradient search leads back to it from everywhere."""
    optimizer = Optimizer(CORNER_SPACES[space], method=cheap(name), n_initial=8, seed=100)
    for x in optimizer.ask(7):
        optimizer.tell(x, corner(x), constraints=[x[0] - limit for limit in limits])
    best = [p.decode(np.zeros(p.width)) for p in optimizer.space.parameters.values()]
    optimizer.tell(best, corner(best), constraints=[best[0] - limit for limit in limits])
    for _ in range(6):
        for x in optimizer.ask(2):
            optimizer.tell(x, corner(x), constraints=[x[0] - limit for limit in limits])
    assert not [e for e in optimizer.evaluations if e.proposed_by.endswith("replaced")]


def test_where_the_best_point_is_known_the_next_best_is_taken_and_noted():
    optimizer = Optimizer([(0.0, 1.0)] * 2, method="full_space", n_initial=8, seed=0)
    for x in optimizer.ask(7):
        optimizer.tell(x, corner(x))
    optimizer.tell([0.0, 0.0], 0.0)
    noted = []
    for _ in range(10):
        x = optimizer.ask()
        optimizer.tell(x, corner(x))
        noted.append(optimizer.diagnostics.get("passed_over", 0))
    assert max(noted) >= 1
    assert len({tuple(e.point) for e in optimizer.evaluations}) == 18
