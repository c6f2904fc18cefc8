import numpy as np
import pytest

from infold.paper import figures
from infold.paper.statistics import Series

PROBLEM = "product-of-sines-linear"


def series(method: str, acquisition: str, d: int = 10, problem: str = PROBLEM) -> Series:
    return Series(problem=problem, method=method, acquisition=acquisition, n_features=d)


def runs(rng, n: int, seeds: int, end: float = 0.0) -> dict[int, np.ndarray]:
    return {seed: np.linspace(1.0, end, n) + 0.01 * rng.normal(size=n) for seed in range(seeds)}


def drawn(axis) -> dict[str, np.ndarray]:
    """Curves of a panel by the name of their method."""
    every = figures.METHODS | figures.REFERENCES
    return {x.get_label(): x.get_ydata() for x in axis.get_lines() if x.get_label() in every}


@pytest.fixture
def curves(rng):
    sizes = (("vae", 60, 2, 0.5), ("mgp", 110, 3, 0.5), ("mgpc", 310, 20, 0.2))
    return {
        series(name, acquisition): runs(rng, n, seeds, end)
        for name, n, seeds, end in sizes
        for acquisition in ("ei", "ucb", "pi")
    }


def test_figures_have_the_papers_panels_and_legend(curves):
    figure = figures.regrets(curves, PROBLEM, [310, 110])
    assert [axis.get_title() for axis in figure.axes] == ["EI", "UCB", "PI"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "MGPC-BO (20 seeds)",
        "MGP-BO (3 seeds)",
        "VAE-BO (2 seeds)",
    ]
    lines = drawn(figure.axes[1])
    assert {name: len(y) for name, y in lines.items()} == {"mgpc": 301, "mgp": 101, "vae": 51}
    of_seeds = list(curves[series("mgpc", "ucb")].values())
    np.testing.assert_allclose(lines["mgpc"], np.mean(of_seeds, axis=0)[9:])
    assert len({axis.get_ylim() for axis in figure.axes}) == 1


def test_the_thomson_problem_has_a_panel_for_each_dimension(rng):
    thomson = {series("add", "pi", d, "thomson"): runs(rng, 30, 1) for d in (2, 3, 4, 6)}
    panels = figures.regrets(thomson, "thomson", [310, 110]).axes
    assert [axis.get_title() for axis in panels] == [f"PI, d = {d}" for d in (2, 3, 4, 6)]


def test_other_methods_have_a_panel_beside_the_best_curve_of_the_paper(curves, rng):
    curves[series("mgpc", "pi")] = runs(rng, 310, 20, end=0.1)
    curves[series("hmgpc", "ei")] = runs(rng, 110, 3, end=-1.0)  # lower, but short
    for name in figures.REFERENCES:
        curves[series(name, "ei", 0)] = runs(rng, 310, 20, end=-9.0)
        curves[series(name, "pi", 0)] = runs(rng, 310, 20, end=-7.0)
    *papers, last = figures.regrets(curves, PROBLEM, [310, 110]).axes
    assert last.get_title() == "beside MGPC-BO, PI"
    assert list(drawn(last)) == ["mgpc", "full_space", "auto"]
    assert drawn(last)["auto"][-1] == pytest.approx(-9.0, abs=0.1)
    assert all(axis.get_ylim()[0] > -2.0 for axis in papers)


def test_curves_can_be_told_apart_without_colour():
    styles = (figures.METHODS | figures.REFERENCES).values()
    assert len({(style.line, style.marker, style.filled) for style in styles}) == len(styles)
    assert len({(style.marker, style.filled) for style in styles}) == len(styles)
