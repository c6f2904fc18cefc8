import dataclasses

import numpy as np
import pytest

from infold import methods
from infold.acquisition.functions import ProbabilityOfImprovement
from infold.acquisition.lipschitz import LipschitzConstraint
from infold.acquisition.regions import WholeCube
from infold.paper import runner, variants
from infold.paper.store import Cell, Run
from infold.paper.trust_constr import TrustConstr


def made(name: str) -> methods.Method:
    return variants.method(Cell(problem="thomson", method=name, acquisition="pi", n_features=2))


def test_a_cell_has_the_settings_of_its_name():
    assert made("vae").model.embedding.problem == "thomson"
    free = made("mgp+orthogonal")
    assert free.region == WholeCube()
    assert free.acquisition == ProbabilityOfImprovement()
    assert (free.model.weight_deviation, free.model.orthogonal) == (None, True)
    assert free.model.n_features == 2
    assert made("rembo+priors").model.gp.scaled_priors
    with pytest.raises(ValueError, match=r"rembo\+orthogonal: rembo has no setting"):
        made("rembo+orthogonal")


def test_the_papers_text_has_no_prior_and_searches_with_an_interior_point_method():
    text = made("mgpc+text")
    assert (text.model.weight_deviation, text.model.orthogonal) == (None, False)
    assert text.region == LipschitzConstraint(n_slopes=None)
    assert isinstance(text.search, TrustConstr)
    assert (text.search.n_candidates, text.search.n_starts) == (5000, 100)


def test_the_papers_code_has_orthonormal_weights_and_takes_the_constant_over_ten_data():
    code = made("dmgpc+code")
    assert (code.model.weight_deviation, code.model.orthogonal) == (None, True)
    assert code.region == LipschitzConstraint(n_slopes=10)
    assert not isinstance(code.search, TrustConstr)


@pytest.mark.parametrize(("variant", "same"), [("text", "free"), ("code", "orthogonal")])
def test_twins_without_the_constraint_take_what_concerns_them(variant, same):
    assert made(f"dmgp+{variant}") == made(f"dmgp+{same}")


def test_a_variant_gives_the_decoder_a_noise_of_its_own_and_changes_nothing_else():
    default = made("mgpc")
    expected = dataclasses.replace(default.model, separate_noise=True)
    assert made("mgpc+noise") == dataclasses.replace(default, model=expected)


def test_names_are_those_of_methods_that_have_the_settings():
    names = variants.names()
    assert {"auto", "mgpc+text", "mgp+code", "hmgpc+noise", "random+uniform"} <= set(names)
    assert not {"rembo+text", "add+noise", "random+free"} & set(names)
    for name in names:
        made_from_name = variants.method(Cell(problem="thomson", method=name))
        assert isinstance(made_from_name, methods.Method)


@pytest.mark.parametrize("name", ["mgpc", "dmgp", "hmgpc+orthogonal", "mgpc+text"])
def test_the_papers_methods_take_values_as_they_are(name):
    assert not made(name).model.clip_outliers


def test_a_run_with_the_papers_text_goes_on_and_repeats(monkeypatch):
    few = dataclasses.replace(made("mgpc+text").search, n_candidates=50, n_starts=3)
    full = variants.method

    def cheaper(cell: Cell) -> methods.Method:
        return dataclasses.replace(full(cell), search=few)

    monkeypatch.setattr(variants, "method", cheaper)
    (cell,) = runner.grid("thomson", ["mgpc+text"], ["pi"], [0], [2])
    run = runner.advance(runner.advance(Run(cell=cell), 12), 14)
    assert len(run.values) == 14
    assert np.all(np.isfinite(run.values))
    assert "TrustConstr" in run.state
    assert run.values == runner.advance(Run(cell=cell), 14).values
