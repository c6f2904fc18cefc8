"""Every contender takes evaluations of a space and suggests points of it."""

import numpy as np
import pytest

from infold import Bool, Categorical, Float, Int
from infold.comparison import contenders
from infold.space import Space

CUBE = Space.of([(-1.0, 3.0)] * 4)
MIXED = Space(
    {
        "rate": Float(1e-4, 1.0, log=True),
        "share": Float(0.0, 1.0, step=0.25),
        "layers": Int(1, 5),
        "width": Int(4, 64, log=True),
        "kind": Categorical(("a", "b", "c")),
        "on": Bool(),
    }
)
ABLE = [name for name in ("random", *contenders.PEERS) if not contenders.missing(name)]


def value(space: Space, point: object) -> float:
    return float(np.sum((space.encode(point) - 0.3) ** 2))


def begin(name: str, space: Space, seed: int = 0) -> contenders.Contender:
    contender = contenders.create(name, space, seed)
    for point in contenders.first_points(space, seed):
        contender.tell(point, value(space, point))
    return contender


@pytest.mark.parametrize("space", [CUBE, MIXED], ids=["continuous", "mixed"])
@pytest.mark.parametrize("name", ABLE)
def test_suggestions_are_points_of_the_space_and_repeat_with_the_seed(name, space):
    if name in contenders.CONTINUOUS and space is MIXED:
        with pytest.raises(ValueError, match=f"{name} takes real numbers only"):
            contenders.create(name, space)
        return
    seen = []
    for _ in range(2):
        contender = begin(name, space)
        points = []
        for n in (1, 1, 2):
            asked = contender.ask(n)
            assert len(asked) == n
            for point in asked:
                space.normalize(point)  # raises where a value is illegal
                contender.tell(point, value(space, point))
            points += asked
        seen.append([space.identity(point) for point in points])
    assert seen[0] == seen[1]
    assert len(set(seen[0])) > 1


def test_samplers_of_optuna_are_told_every_evaluation_once():
    few = Space({"on": Bool()})  # most points come several times at once
    contender = begin("tpe", few)
    for _ in range(2):
        for point in contender.ask(5):
            contender.tell(point, value(few, point))
    trials = contender._study.trials
    assert len(trials) == contenders.N_FIRST + 10
    assert all(trial.state.is_finished() for trial in trials)


def test_first_points_are_the_centre_and_our_own_design():
    from infold import Optimizer

    first = contenders.first_points(CUBE, seed=3)
    assert len(first) == contenders.N_FIRST
    assert first[0] == pytest.approx([1.0] * 4)
    design = Optimizer(CUBE, method="random", seed=3).ask(contenders.N_FIRST)
    np.testing.assert_allclose(first[1:], design[:-1], rtol=1e-12)


def test_random_search_continues_the_sequence_of_the_first_points():
    first = contenders.first_points(CUBE, seed=1)
    later = begin("random", CUBE, seed=1).ask(7)
    sequence = contenders.sobol_points(CUBE, 1, 0, 16)
    np.testing.assert_allclose([*first[1:], *later], sequence, rtol=1e-12)


def test_evolution_starts_at_the_best_of_the_first_points():
    distances = []
    for seed in range(5):
        first = contenders.first_points(CUBE, seed)
        best = CUBE.encode(min(first, key=lambda point: value(CUBE, point)))
        points = begin("cmaes", CUBE, seed).ask(4)
        distances += [np.linalg.norm(CUBE.encode(point) - best) for point in points]
    # The deviation of a first step is a sixth of the range along each of 4 axes.
    assert np.mean(distances) < 2.0 * np.sqrt(4.0) / 6.0


def test_turbo_halves_a_region_after_failures_and_gives_up_a_short_one():
    pytest.importorskip("botorch")
    contender = begin("turbo", CUBE)
    for _ in range(4):
        [point] = contender.ask()
        contender.tell(point, 100.0)
    contender.ask()
    assert contender._length == pytest.approx(0.4)
    contender._length = 1e-3
    [point] = contender.ask()
    contender.tell(point, 1.0)
    assert len(contender._y) == 1
