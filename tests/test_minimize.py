import numpy as np
import pytest
from scipy.optimize import OptimizeResult
from tests import objectives

import infold

BOUNDS = [(-1.0, 2.0)] * 5


def sphere(x) -> float:
    return float(np.sum(x**2))


def test_result_has_scipys_fields():
    result = infold.minimize(sphere, BOUNDS, method="full_space", n_trials=12, seed=0)
    assert isinstance(result, OptimizeResult)
    assert result.success
    assert result.nfev == 12
    assert len(result.x_iters) == len(result.func_vals) == 12
    assert result.fun == min(result.func_vals) == sphere(result.x)
    assert result.message == "all 12 evaluations done"
    assert [e.value for e in result.evaluations] == result.func_vals.tolist()
    assert [e.proposed_by for e in result.evaluations[:10]] == ["design"] * 10
    assert len(result.to_frame()) == 12


def test_result_given_to_a_callback_does_not_grow_afterwards():
    results = []
    infold.minimize(sphere, BOUNDS, method="random", n_trials=5, callback=results.append, seed=0)
    assert [len(result.evaluations) for result in results] == [1, 2, 3, 4, 5]


def test_errors_are_kept_with_the_evaluations():
    def broken(x):
        raise ZeroDivisionError("by zero")

    result = infold.minimize(broken, BOUNDS, method="random", n_trials=2, seed=0)
    assert [e.failed for e in result.evaluations] == [True, True]
    for evaluation in result.evaluations:
        what, where, _ = evaluation.error.splitlines()
        assert what == "ZeroDivisionError: by zero"
        assert where.strip().startswith(f'File "{__file__}", line ')


def test_finds_the_minimum_of_a_sphere():
    assert infold.minimize(sphere, BOUNDS, method="full_space", n_trials=40, seed=0).fun < 0.05


def test_maximize():
    result = infold.minimize(
        lambda x: -sphere(x), BOUNDS, method="full_space", n_trials=15, seed=0, direction="maximize"
    )
    assert result.fun == max(result.func_vals)


def test_known_evaluations_count_and_are_not_repeated():
    x0 = np.zeros((3, 5))
    x0[:, 0] = [0.1, 0.2, 0.3]
    calls = []
    result = infold.minimize(
        lambda x: calls.append(x) or sphere(x),
        BOUNDS,
        method="random",
        n_trials=8,
        x0=x0,
        y0=[sphere(x) for x in x0],
        seed=0,
    )
    assert len(calls) == result.nfev == 5
    assert result.nit == 8
    np.testing.assert_allclose(result.x_iters[0], x0[0], atol=1e-12)


@pytest.mark.parametrize("x0", [[0.5] * 5, np.full(5, 0.5), [[0.5] * 5], [np.full(5, 0.5)]])
def test_first_points_are_evaluated_first(x0):
    result = infold.minimize(sphere, BOUNDS, method="random", n_trials=3, x0=x0, seed=0)
    np.testing.assert_allclose(result.x_iters[0], 0.5, atol=1e-12)


def test_first_points_that_are_repeated_are_evaluated_as_often_after_a_resume_too(tmp_path):
    p, q = [0.5] * 5, [0.25] * 5
    options = {"method": "random", "x0": [p, p, p, q], "seed": 0}
    whole = infold.minimize(sphere, BOUNDS, n_trials=6, **options)
    for n_trials in (2, 6):
        parts = infold.minimize(
            sphere, BOUNDS, n_trials=n_trials, checkpoint=tmp_path / "run.json", **options
        )
    np.testing.assert_array_equal(parts.x_iters, whole.x_iters)
    np.testing.assert_array_equal(whole.x_iters[:4], [p, p, p, q])


def test_callback_stops_by_returning_true_or_by_stop_iteration():
    def enough(result):
        return result.nfev == 4

    def raises(result):
        if result.nfev == 4:
            raise StopIteration

    def numpy_bool(result):
        return np.bool_(result.nfev == 4)

    for callback in (enough, raises, numpy_bool):
        result = infold.minimize(
            sphere, BOUNDS, method="random", n_trials=10, callback=callback, seed=0
        )
        assert result.nfev == 4
        assert result.message == "stopped by the callback after 4 evaluations"


def test_dict_spaces_give_dicts():
    result = infold.minimize(
        lambda p: p["a"] ** 2 + p["b"],
        {"a": (-1, 1), "b": (0, 1)},
        method="random",
        n_trials=5,
        seed=0,
    )
    assert set(result.x) == {"a", "b"}


def test_the_objective_cannot_change_what_is_recorded():
    def rude(x):
        x[:] = 99.0
        return 1.0

    result = infold.minimize(rude, BOUNDS, method="random", n_trials=3, seed=0)
    assert np.all(np.abs(result.x_iters) <= 2)


def test_run_without_a_finite_value_says_so():
    result = infold.minimize(lambda x: float("nan"), BOUNDS, method="random", n_trials=3, seed=0)
    assert not result.success
    assert result.message.startswith("no evaluation returned a finite value")


def test_progress_bar_reports_the_best_value(capsys):
    infold.minimize(sphere, BOUNDS, method="random", n_trials=5, seed=0, progress=True)
    assert "5/5" in capsys.readouterr().out


def test_values_without_matching_points_are_named():
    with pytest.raises(
        ValueError, match=r"y0 has shape \(2,\): expected one value for each of the 1 points of x0"
    ):
        infold.minimize(sphere, BOUNDS, x0=np.zeros((1, 5)), y0=[1.0, 2.0])


@pytest.mark.parametrize("method", ["mgpc", "full_space"])
def test_beats_random_search_on_30_mixed_parameters(method):
    def median(method: str) -> float:
        runs = (
            infold.minimize(
                objectives.mixed, objectives.mixed_space(), method=method, n_trials=50, seed=seed
            )
            for seed in range(5)
        )
        return float(np.median([run.fun for run in runs]))

    assert median(method) < median("random")


@pytest.mark.parametrize("seed", range(4))
def test_the_best_choices_are_found_where_numbers_and_categories_mix(seed):
    """A maximum between two choices, rounded to a known point, once held the search for ever."""
    space = {f"x{i}": infold.Float(-1, 1) for i in range(4)} | {
        f"n{i}": infold.Int(0, 10) for i in range(2)
    }
    space |= {f"kind{i}": infold.Categorical(["a", "b", "c"]) for i in range(3)}

    def objective(p: dict) -> float:
        numbers = (
            sum(p[f"x{i}"] ** 2 for i in range(4))
            + sum((p[f"n{i}"] - 7) ** 2 for i in range(2)) / 25
        )
        return numbers + sum(p[f"kind{i}"] != "b" for i in range(3))

    assert infold.minimize(objective, space, n_trials=60, method="full_space", seed=seed).fun < 0.04
