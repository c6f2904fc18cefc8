"""Problems with constraints and several objectives, against published values and other methods."""

import numpy as np
import pytest

from infold.comparison.suite import constrained, several
from infold.comparison.suite.truss import cantilever, sized

CONSTRAINED = {name: make() for name, make in constrained.PROBLEMS.items()}
SEVERAL = {name: make() for name, make in several.PROBLEMS.items()}


@pytest.mark.parametrize("problem", CONSTRAINED.values(), ids=CONSTRAINED)
def test_published_optima_are_feasible_and_have_the_published_value(problem):
    some = problem(problem.space.decode(np.full(problem.space.dimension, 0.3)))
    assert len(some.constraints) == problem.n_constraints
    if problem.minimizer is None:
        return
    best = problem(problem.space.normalize(problem.minimizer))
    assert best.value == pytest.approx(problem.minimum, rel=2e-5, abs=1e-9)
    assert max(best.constraints) < 1e-5  # they were printed with six digits


@pytest.mark.parametrize("problem", CONSTRAINED.values(), ids=CONSTRAINED)
def test_no_random_feasible_point_beats_the_published_optimum(problem, rng):
    if problem.minimum is None:
        return
    for unit in rng.uniform(size=(300, problem.space.dimension)):
        found = problem(problem.space.decode(unit))
        assert max(found.constraints) > 0.0 or found.value >= problem.minimum - 1e-6


def test_keanes_bump_has_its_published_value_in_20_dimensions():
    """Problem g02 of J. Liang et al. (2006)."""
    best = [
        3.16246061572185, 3.12833142812967, 3.09479212988791, 3.06145059523469, 3.02792915885555,
        2.99382606701730, 2.95866871765285, 2.92184227312450, 0.49482511456933, 0.48835711005490,
        0.48231642711865, 0.47664475092742, 0.47129550835493, 0.46623099264167, 0.46142004984199,
        0.45683664767217, 0.45245876903267, 0.44826762241853, 0.44424700958760, 0.44038285956317,
    ]  # fmt: skip
    found = constrained.keane(20)(np.array(best))
    assert found.value == pytest.approx(-0.80361910412559, rel=1e-9)
    assert max(found.constraints) < 1e-9


def test_forces_of_a_statically_determinate_truss_follow_from_equilibrium_alone(rng):
    truss = cantilever(8, braced_twice=False)
    areas = rng.uniform(1e-4, 1e-3, size=len(truss.bars))
    displacements, forces = truss.solve(areas)
    b = truss.equilibrium
    assert b.shape[0] == b.shape[1] == 32
    loads = truss.loads.ravel()[truss._free]
    np.testing.assert_allclose(forces, np.linalg.solve(b, loads), rtol=1e-8, atol=1e-4)
    # The virtual work of the loads is the energy of the bars.
    energy = np.sum(forces**2 * truss.lengths / (truss.modulus * areas))
    np.testing.assert_allclose(np.sum(truss.loads * displacements), energy, rtol=1e-10)


def test_the_bars_at_the_wall_bear_the_moment_of_all_loads():
    truss = cantilever(7)
    _, forces = truss.solve(np.full(35, 1e-3))
    moment = sum(100e3 / 7 * x for x in range(1, 8))
    # About the lower joint at the wall: the upper bar, and the diagonal from the upper joint.
    diagonal = forces[3] / np.sqrt(2.0)
    assert forces[1] + diagonal == pytest.approx(moment, rel=1e-9)


def test_thicker_bars_are_heavier_and_safer():
    truss = cantilever(7)
    thin, thick = (sized(truss, np.full(35, area)) for area in (1e-4, 1e-2))
    assert thick[0] == pytest.approx(100.0 * thin[0])
    assert min(thin[1]) > 0.0 > max(thick[1])


@pytest.mark.parametrize("problem", SEVERAL.values(), ids=SEVERAL)
def test_nothing_dominates_the_published_front(problem, rng):
    values = np.array(
        [problem(problem.space.decode(u)) for u in rng.uniform(size=(200, problem.space.dimension))]
    )
    assert values.shape == (200, problem.n_objectives)
    assert np.all(np.isfinite(values))
    if problem.front is None:
        return
    front = problem.front(100)
    for point in front:
        assert not np.any(np.all(np.concatenate([values, front]) <= point - 1e-7, axis=1))
    assert np.all(front <= problem.reference)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_zdt_reaches_its_front_where_all_but_the_first_parameter_are_0(number):
    problem = several.zdt(number)
    front = problem.front(50)
    for first, second in front:
        assert problem(np.append(first, np.zeros(29))) == pytest.approx([first, second])


def test_dtlz2_reaches_its_front_in_the_middle_of_the_other_parameters(rng):
    for m in (2, 3):
        problem = several.dtlz2(m)
        x = np.append(rng.uniform(size=m - 1), np.full(10, 0.5))
        assert np.linalg.norm(problem(x)) == pytest.approx(1.0)
    first, second, third = several.dtlz2(3)(np.append([0.25, 0.5], np.full(10, 0.5)))
    a, b = 0.125 * np.pi, 0.25 * np.pi
    expected = [np.cos(a) * np.cos(b), np.cos(a) * np.sin(b), np.sin(a)]
    assert [first, second, third] == pytest.approx(expected)


def test_re_problems_have_their_published_extremes():
    """Ideal points of the suite's own reference fronts."""
    lowest = several.re21()([1.0, np.sqrt(2.0), np.sqrt(2.0), 1.0])[0]
    assert lowest == pytest.approx(1237.8414230005742)
    stiffest = several.re21()([3.0, 3.0, np.sqrt(2.0), 3.0])[1]
    assert stiffest == pytest.approx(0.002761423749158419)
    brake = several.re33()([55.0, 75.0, 2000.0, 12.0])
    squares, cubes = 75.0**2 - 55.0**2, 75.0**3 - 55.0**3
    assert brake[0] == pytest.approx(4.9e-5 * squares * 11.0)
    assert brake[1] == pytest.approx(9.82e6 * squares / (2000.0 * 12.0 * cubes))
