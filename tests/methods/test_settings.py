"""Settings that nest: changed by name, written and read, also as older files have them."""

import json
import logging
import pickle
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from infold import methods
from infold.acquisition import functions
from infold.acquisition.functions import UpperConfidenceBound
from infold.methods import BayesianOptimization, settings, version_1
from infold.models.features import LearnedFeatures
from infold.paper.trust_constr import TrustConstr, with_trust_constr

VERSION_1 = json.loads((Path(__file__).parents[1] / "data/version-1-methods.json").read_text())
GIVEN = {name: {"problem": "thomson"} if name == "vae" else {} for name in methods.NAMES}


@pytest.mark.parametrize("name", methods.NAMES)
def test_methods_come_back_from_plain_data(name):
    method = methods.by_name(name, **GIVEN[name])
    assert methods.from_json(json.loads(json.dumps(methods.to_json(method)))) == method
    assert pickle.loads(pickle.dumps(method)) == method


def test_settings_inside_settings_come_back():
    method = methods.by_name(
        "mgpc", hidden=(8, 4), n_slopes=10, acquisition="ucb", beta=0.5, n_starts=7
    )
    assert method.acquisition == UpperConfidenceBound(beta=0.5)
    assert method.region.n_slopes == 10
    method = with_trust_constr(method)
    again = methods.from_json(json.loads(json.dumps(methods.to_json(method))))
    assert again == method
    assert isinstance(again.search, TrustConstr)
    assert again.model.hidden == (8, 4)


@pytest.mark.parametrize("name", methods.NAMES)
def test_every_setting_can_be_changed_by_its_name(name):
    known = methods.settings_of(name)
    assert "name" not in known
    assert len(known) == len(set(known))
    for setting in known:
        if setting in ("n_features", "n_starts"):
            method = methods.by_name(name, **{**GIVEN[name], setting: 3})
            assert setting in json.dumps(methods.to_json(method))


def test_a_setting_that_is_gone_is_left_out_with_a_warning(caplog):
    data = methods.to_json(methods.by_name("full_space"))
    data["model"]["fashion"] = 1
    with caplog.at_level(logging.WARNING):
        assert methods.from_json(data) == methods.by_name("full_space")
    assert "FullSpaceGP has no setting fashion any more" in caplog.text


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "os.system"},
        {"kind": "Optimizer"},
        {},
        [],
        {"kind": "BayesianOptimization", "model": {"kind": "subprocess.Popen"}},
        {"kind": "BayesianOptimization", "search": {"kind": "Search", "n_starts": 0}},
    ],
)
def test_a_file_names_nothing_but_infolds_own_settings(data):
    with pytest.raises(ValueError, match=r"kind|n_starts"):
        methods.from_json(data)


@dataclass(frozen=True)
class Strange:
    def fit(self, history, key, state): ...


def test_methods_with_foreign_parts_are_not_written():
    with pytest.raises(ValueError, match="Strange is not one of infold's own"):
        methods.to_json(BayesianOptimization(model=Strange()))


def test_a_class_of_the_same_name_is_foreign_all_the_same():
    class LearnedFeatures(globals()["LearnedFeatures"]):
        pass

    with pytest.raises(ValueError, match="LearnedFeatures is not one of infold's own"):
        methods.to_json(BayesianOptimization(model=LearnedFeatures()))


@pytest.mark.parametrize("name", VERSION_1)
def test_methods_of_version_1_are_the_same_methods(name):
    saved = VERSION_1[name]
    method = version_1.method_of(saved["kind"], saved["settings"])
    assert method == methods.by_name(name, **GIVEN[name])


def test_changed_settings_of_version_1_keep_their_values():
    settings = {**VERSION_1["mgpc"]["settings"], "weight_deviation": None, "max_iterations": 7}
    settings |= {"acquisition": "ucb", "beta": 2.0, "solver": "trust-constr", "n_slopes": 10}
    method = version_1.method_of("FeatureSpace", {**settings, "gone": 1})
    assert method.model == LearnedFeatures(weight_deviation=None, training_iterations=7)
    assert method.acquisition == UpperConfidenceBound(beta=2.0)
    assert method.region.n_slopes == 10
    assert isinstance(method.search, TrustConstr)


def test_caches_of_version_1_find_their_owners():
    a, b, c, d = (np.full(2, float(i)) for i in range(4))
    assert version_1.cache_of({}) == {}
    assert version_1.cache_of({"full_space": a, "full_space_curvature": b}) == {
        "model": {"parameters": a, "curvature": b}
    }
    features = {"feature_space": a, "feature_space_curvature": b, "restarted": np.array([9.0])}
    upgraded = version_1.cache_of({**features, "full_space": c})
    assert upgraded["model"]["parameters"] is a
    assert upgraded["model"]["restarted"] == 9.0
    assert upgraded["fallback"]["model"]["parameters"] is c
    embedded = version_1.cache_of({"embedding": d, "full_space": a, "places": c})
    assert embedded == {"model": {"embedding": d, "gp": {"parameters": a}}}


@dataclass(frozen=True, kw_only=True)
class Team:
    """A method that contains methods."""

    experts: tuple = (methods.by_name("full_space"), methods.by_name("mgpc"))
    patience: int = 3


def test_methods_inside_methods_are_changed_written_and_read(monkeypatch):
    monkeypatch.setitem(settings._HOMES, "Team", Team.__module__)
    monkeypatch.setitem(sys.modules, Team.__module__, sys.modules[__name__])
    team = Team(experts=(methods.by_name("full_space"), methods.by_name("mgpc", n_features=4)))
    assert {"patience", "transform", "n_features"} <= set(settings.names(team))
    smaller = methods.changed(team, {"n_features": 2, "n_starts": 3})
    assert [expert.search.n_starts for expert in smaller.experts] == [3, 3]
    assert smaller.experts[1].model.n_features == 2
    assert methods.from_json(json.loads(json.dumps(methods.to_json(smaller)))) == smaller


def test_an_acquisition_function_is_added_in_one_place(monkeypatch):
    """Its settings are known by name, and it is written to files, by being listed."""
    for name, function in functions.FUNCTIONS.items():
        method = methods.by_name("mgpc", acquisition=name)
        assert isinstance(method.acquisition, function)
        assert set(settings.names(method.acquisition)) <= set(methods.settings_of("mgpc"))
        assert methods.from_json(methods.to_json(method)) == method


def test_numbers_of_numpy_are_written_as_numbers():
    team = Team(experts=(), patience=np.int64(2))
    assert json.dumps(settings._plain(team.patience)) == "2"
