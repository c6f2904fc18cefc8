"""Figures of matplotlib draw the numbers of the report."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")

import matplotlib.pyplot as plt
from tests.report.runs import limited, mixed, several, told, with_features

import infold
from infold import plot
from infold.report.figures.front import volume
from infold.report.figures.model import left_out
from infold.report.subject import subject_of


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_convergence_draws_values_and_the_best_so_far():
    optimizer = told(16)
    ax = plot.convergence(optimizer)
    drawn = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
    np.testing.assert_array_equal(drawn["evaluations"], optimizer.values)
    np.testing.assert_array_equal(drawn["best so far"], np.minimum.accumulate(optimizer.values))


def test_every_figure_can_be_drawn_into_given_axes():
    optimizer = told(14, space=mixed())
    _, given = plt.subplots()
    for draw in (plot.convergence, plot.best_tenth, plot.importance, plot.predictions, plot.times):
        assert draw(optimizer, ax=given) is given
    assert len(plot.slices(optimizer, n_parameters=3, columns=2)) == 3
    plt.gcf().canvas.draw()


def test_slices_along_categories_show_their_names_and_the_best_point():
    drawn = plot.slices(told(14, space=mixed()))
    plt.gcf().canvas.draw()
    axes = {ax.get_xlabel(): ax for ax in drawn}
    assert [label.get_text() for label in axes["kind"].get_xticklabels()] == ["a", "None"]
    assert axes["rate"].get_xscale() == "log"
    assert axes["layers"].get_xscale() == "linear"
    *others, dot = axes["kind"].get_lines()
    assert dot.get_color() == plot.drawing.WARM
    assert all(dot.get_zorder() > line.get_zorder() for line in others)


def test_the_feature_space_is_drawn():
    subject = with_features()
    for layer in ("mean", "deviation", "acquisition"):
        ax = plot.features(subject, layer=layer, near=True)
    assert len(ax.patches) == 14
    with pytest.raises(ValueError, match="layer = 'colour'"):
        plot.features(subject, layer="colour")


def test_fronts_volumes_and_constraints_are_drawn():
    optimizer = several(20, limits=True)
    drawn = {line.get_label(): line.get_xydata() for line in plot.front(optimizer).get_lines()}
    values = optimizer.values
    np.testing.assert_array_equal(drawn["front"], values[optimizer.front])
    assert sum(map(len, drawn.values())) == np.sum(np.isfinite(values[:, 0]))
    share = plot.hypervolume(optimizer).get_lines()[0].get_ydata()
    np.testing.assert_array_equal(share, volume(subject_of(optimizer)).share)
    lines = plot.constraints(optimizer, constraint=1).get_lines()
    column = np.array([e.constraints[1] for e in optimizer.evaluations])
    by_label = {line.get_label(): line.get_ydata() for line in lines}
    np.testing.assert_array_equal(by_label["violated"], column[column > 0])
    np.testing.assert_array_equal(by_label["satisfied"], column[column <= 0])
    plot.best_tenth(optimizer)
    with pytest.raises(ValueError, match="constraint = 2: the run has 2"):
        plot.constraints(optimizer, constraint=2)


def test_models_are_drawn_of_the_objective_that_is_asked_for():
    optimizer = several(12)
    part = subject_of(optimizer).parts[1]
    drawn = plot.predictions(optimizer, objective=1).get_lines()[1].get_xydata()
    expected = left_out(part)
    np.testing.assert_allclose(drawn, np.stack([expected.actual, expected.mean], axis=1))
    with pytest.raises(ValueError, match="objective = 2: the run has 2"):
        plot.importance(optimizer, objective=2)


def test_points_that_violate_constraints_are_marked_in_the_convergence():
    optimizer = limited(12)
    lines = {line.get_label(): line.get_ydata() for line in plot.convergence(optimizer).get_lines()}
    values = optimizer.values
    rest = np.isfinite(values) & ~optimizer.feasible
    np.testing.assert_array_equal(lines["evaluations"], values[optimizer.feasible])
    np.testing.assert_array_equal(lines["not feasible"], values[rest])


def test_what_is_not_there_is_named():
    with pytest.raises(ValueError, match="no features"):
        plot.features(told())
    with pytest.raises(ValueError, match="no hypervolume to draw: there is one objective"):
        plot.hypervolume(told())
    with pytest.raises(ValueError, match="no constraints"):
        plot.constraints(told())
    with pytest.raises(ValueError, match="no trust region"):
        plot.region(told())


def test_a_result_shows_itself_in_a_notebook():
    space = {"<b>x</b>": (0.0, 1.0), **{f"y{i}": (0.0, 1.0) for i in range(9)}}
    result = infold.minimize(lambda x: x["<b>x</b>"], space, method="random", n_trials=5, seed=0)
    text = result._repr_html_()
    assert "&lt;b&gt;x&lt;/b&gt;" in text
    assert "<b>x" not in text
    assert "<script" not in text
    assert text.count("<polyline") == 1
    assert f"{result.fun:.5g}" in text
    failed = infold.minimize(lambda x: np.nan, [(0.0, 1.0)], method="random", n_trials=2)
    assert "<svg" not in failed._repr_html_()
