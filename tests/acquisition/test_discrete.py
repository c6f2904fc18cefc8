import numpy as np

from infold import Categorical, Float, Int, Space
from infold.acquisition import discrete
from infold.record import History

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
    units = rng.uniform(size=(n, MIXED.dimension))
    x = np.array([MIXED.place(MIXED.decode(unit)) for unit in units])
    return History(x, np.sum((x - 0.4) ** 2, axis=1), rounding=MIXED.rounding)


def test_variations_can_be_evaluated_and_differ_in_few_discrete_parameters(rng):
    data = mixed_history(rng)
    coordinates = data.rounding.coordinates
    x = rng.uniform(size=MIXED.dimension)
    varied = discrete.rounded_variations(x, data, data.rounding, rng)
    np.testing.assert_allclose(data.rounding.snap(varied), varied, atol=1e-12)
    continuous = np.tile(x[~coordinates], (len(varied), 1))
    np.testing.assert_allclose(varied[:, ~coordinates], continuous, atol=1e-12)
    np.testing.assert_array_equal(varied[:1], data.rounding.snap(x[None]))
    assert len(np.unique(varied[:, coordinates], axis=0)) > 50
    best = data.x[np.argmin(data.y)]
    assert np.any(np.all(np.isclose(varied[:, coordinates], best[coordinates]), axis=1))


def test_the_variation_of_the_largest_worth_is_chosen(rng):
    data = mixed_history(rng)

    def worth(x):
        return -np.sum((x - 0.7) ** 2, axis=1)

    x = rng.uniform(size=MIXED.dimension)
    chosen, value = discrete.choose(x, data, data.rounding, worth, np.random.default_rng(1))
    everything = discrete.rounded_variations(x, data, data.rounding, np.random.default_rng(1))
    assert value == np.max(worth(everything))
    np.testing.assert_array_equal(worth(chosen[None]), [value])


def test_known_points_and_worthless_ones_come_last(rng):
    space = Space({"n": Int(0, 1), "k": Categorical(list("rs"))})
    every = [space.place({"n": n, "k": k}) for n in (0, 1) for k in "rs"]
    data = History(np.array(every[:3]), np.arange(3.0), rounding=space.rounding)
    x = rng.uniform(size=space.dimension)

    def worth(x):
        return np.where(discrete.known(x, data.x), 5.0, 1.0)

    chosen, value = discrete.choose(x, data, space.rounding, worth, rng)
    np.testing.assert_array_equal(chosen, every[3])
    assert value == 1.0

    def undefined(x):
        return np.where(discrete.known(x, data.x), 5.0, np.nan)

    chosen, value = discrete.choose(x, data, space.rounding, undefined, rng)
    assert value == 5.0
