"""Definitions that make no sense, in Python and in TOML: one clear line each."""

import datetime
import itertools
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from infold import Bool, Categorical, Float, Int, Space
from infold.space import Parameter


def read(folder: Path, text: str) -> Space:
    path = folder / "space.toml"
    path.write_text(text)
    return Space.from_toml(path)


def test_toml(tmp_path):
    text = (
        '[rate]\ntype = "float"\nlow = 1e-5\nhigh = 1.0\nlog = true\n'
        '[dropout]\ntype = "float"\nlow = 0\nhigh = 0.5\nstep = 0.1\n'
        '[layers]\ntype = "int"\nlow = 1\nhigh = 9\nstep = 2\n'
        '[kind]\ntype = "categorical"\nchoices = ["relu", 2, 0.5, true]\n'
        '[bias]\ntype = "bool"\n'
        '[epochs]\ntype = "int"\nlow = 5\nhigh = 5\n'
        '[optimizer]\ntype = "categorical"\nchoices = ["adam"]\n'
        '["a name with a dot."]\ntype = "bool"\n'
    )
    expected = {
        "rate": Float(1e-5, 1.0, log=True),
        "dropout": Float(0.0, 0.5, step=0.1),
        "layers": Int(1, 9, step=2),
        "kind": Categorical(["relu", 2, 0.5, True]),
        "bias": Bool(),
        "epochs": Int(5, 5),
        "optimizer": Categorical(["adam"]),
        "a name with a dot.": Bool(),
    }
    assert read(tmp_path, text) == Space(expected)
    assert read(tmp_path, "\ufeff" + text) == Space(expected)  # as Windows writes it


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        (Float(1.0, 0.0), r"p = \(1.0, 0.0\): lower must be below upper, or equal to fix"),
        (Float(0.0, math.nan), r"p = \(0.0, nan\): expected finite limits"),
        (
            Float(0.0, 1.0, log=True),
            r"p = \(0.0, 1.0\): a logarithmic scale needs a lower limit above 0",
        ),
        (
            Float(0.0, 0.0, log=True),
            r"p = \(0.0, 0.0\): a logarithmic scale needs a lower limit above 0",
        ),
        (Float(0.0, 1.0, step=0.0), "p.step = 0.0: expected a finite number above 0"),
        (Float(0.0, 1.0, step=math.nan), "p.step = nan: expected a finite number above 0"),
        (Float(0.0, 1.0, step=2.0), "p.step = 2.0: expected at most high - low, 1.0"),
        (Float(0.0, 1.0, step=1e-300), r"p.step = 1e-300: expected at most 2\*\*50 steps"),
        (Float(1.0, 2.0, log=True, step=0.5), "p.step = 0.5: a logarithmic scale has no steps"),
        (Int(3, 2), r"p = \(3, 2\): lower must be below upper, or equal to fix"),
        (Int(0.5, 3), "p.low = 0.5: expected a whole number"),
        (Int(0, math.inf), "p.high = inf: expected a whole number"),
        (Int("0", 3), "p.low = '0': expected a whole number"),
        (Int(0, 3, step=0), "p.step = 0: expected a whole number of at least 1"),
        (Int(0, 3, step=5), "p.step = 5: expected at most high - low, 3"),
        (Int(0, 9, log=True), r"p = \(0, 9\): a logarithmic scale needs a lower limit above 0"),
        (Int(0, 9, log="yes"), "p.log = 'yes': expected True or False"),
        (Int(1, 9, log=True, step=2), "p.step = 2: expected 1 on a logarithmic scale"),
        (Categorical([]), r"p.choices = \[\]: expected at least one choice"),
        (Categorical(["a", "b", "a"]), r"p.choices\[2\] = 'a': expected every choice once"),
        (
            Categorical(["a", [1]]),
            r"p.choices\[1\] = \[1\]: expected a value that can be hashed, such as text",
        ),
        (Categorical(["a", ([],)]), r"p.choices\[1\] = \(\[\],\): expected a value that can be"),
        (
            Categorical([1.0, math.nan]),
            r"p.choices\[1\] = nan: expected a value that equals itself",
        ),
        ("float", "p = 'float': expected a Float, Int, Categorical or Bool"),
    ],
)
def test_bad_definitions_are_named(parameter, message):
    with pytest.raises(ValueError, match=message):
        Space({"p": parameter})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "space is empty"),
        ("[p", "is not a TOML file"),
        ("p = " + "9" * 5000, "is not a TOML file"),
        ("p = " + "[" * 5000, "is not a TOML file"),
        ("p = 3", "p = 3: expected a table with type = 'float', 'int', 'categorical', 'bool'"),
        ("[[p]]\nlow = 1", r"p = \[{'low': 1}\]: expected a table with type"),
        ("[p]\nlow = 1\nhigh = 2", "p has no type: expected a table with type"),
        ('[p]\ntype = "real"', "p.type = 'real': expected a table with type = 'float', 'int'"),
        ('[p]\ntype = ["float"]', r"p.type = \['float'\]: expected a table with type"),
        ("[p]\ntype = {a = 1}", "p.type = {'a': 1}: expected a table with type"),
        (
            '[net.rate]\ntype = "float"\nlow = 0\nhigh = 1',
            "net is a table with the table rate inside: expected one table per parameter; "
            r'a name with a dot needs quotes, \["net.rate"\]',
        ),
        ('[""]\ntype = "bool"', "a table is called '': expected a name on one line"),
        ('["a\\nb"]\ntype = "bool"', r"a table is called 'a\\nb': expected a name on one line"),
        (
            '[p]\ntype = "float"\nlow = 1\nhihg = 2',
            "p has the fields low, hihg: a float takes low, high, log, step",
        ),
        ('[p]\ntype = "float"\nlow = "1"\nhigh = 2', "p.low = '1': expected a number"),
        ('[p]\ntype = "float"\nlow = false\nhigh = 2', "p.low = False: expected a number"),
        ('[p]\ntype = "float"\nlow = [1]\nhigh = 2', r"p.low = \[1\]: expected a number"),
        ('[p]\ntype = "float"\nlow = 2024-01-01\nhigh = 2', "p.low = datetime.date"),
        ('[p]\ntype = "float"\nlow = 1\nhigh = 2\nlog = 1', "p.log = 1: expected True or False"),
        ('[p]\ntype = "int"\nlow = true\nhigh = 2', "p.low = True: expected a whole number"),
        ('[p]\ntype = "int"\nlow = [1]\nhigh = 2', r"p.low = \[1\]: expected a whole number"),
        ('[p]\ntype = "bool"\nlow = 0', "p has the fields low: a bool takes none"),
        (
            '[p]\ntype = "categorical"\nchoices = "abc"',
            "p.choices = 'abc': expected a list of choices",
        ),
        ('[p]\ntype = "categorical"\nchoices = [[1], "a"]', r"p.choices\[0\] = \[1\]: expected a"),
        ('[p]\ntype = "int"\nlow = 1\nhigh = 1', r"every parameter is fixed \(p\)"),
    ],
)
def test_bad_toml_is_named_with_its_file_in_one_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "space.toml"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("bounds", [[("0", "1")], [(0, 1, 2)], [3], [None], {"x": ["a", "b"]}])
def test_bad_bounds_are_named(bounds):
    with pytest.raises(ValueError, match=r"= .*: expected a \(low, high\) pair or a Float"):
        Space.of(bounds)


def test_a_number_too_large_for_a_float_is_named():
    with pytest.raises(ValueError, match="high = a whole number of 16610 bits: expected a number"):
        Float(0, 10**5000)


JUNK = [
    None, True, -1, 1.5, math.nan, math.inf, 10**400, 10**5000, "a", "", "1", b"x", [], [1], [[]],
    (1, 2), {}, {"a": 1}, {1}, range(3), np.array([1.0, 2.0]), np.array(3), np.float32(1),
    np.int64(3), np.bool_(True), 1j, object(), float, datetime.date(2026, 1, 1), Decimal("0.5"),
    Fraction(1, 3),
]  # fmt: skip


def use(*parameters: Parameter) -> None:
    space = Space({"free": Bool(), **{f"p{i}": p for i, p in enumerate(parameters)}})
    point, unit, _ = space.resolve(space.decode(np.full(space.dimension, 0.3)))
    assert len(unit) == space.dimension
    assert space.normalize(point) == point


def test_whatever_is_given_works_or_gets_one_line():
    space = Space.of({"a": (0, 1), "b": Float(0, 1, step=0.5), "c": Int(0, 9), "d": Bool()})
    point = space.decode(np.full(4, 0.3))
    attempts: list[Callable[[], object]] = []
    for a, b in itertools.product(JUNK, JUNK):
        for kind in (Float, Int):
            attempts += [
                lambda kind=kind, a=a, b=b: use(kind(a, b)),
                lambda kind=kind, a=a, b=b: use(kind(1, a, step=b)),
                lambda kind=kind, a=a, b=b: use(kind(1, a, log=b)),
            ]
    for a in JUNK:
        attempts += [
            lambda a=a: use(Categorical(a)),
            lambda a=a: use(Categorical(["a", a])),
            lambda a=a: Space.of(a),
            lambda a=a: Space.of([(0, 1), a]),
            lambda a=a: Space.of({"x": a}),
            lambda a=a: Space.from_json(a),
            lambda a=a: Space.from_json({"named": a, "parameters": {"p": {"type": "bool"}}}),
            lambda a=a: Space.from_json({"named": True, "parameters": {"p": a}}),
            lambda a=a: Space.from_json({"named": True, "parameters": {"p": {"type": a}}}),
            lambda a=a: space.resolve(a),
            *(lambda a=a, name=name: space.resolve({**point, name: a}) for name in point),
        ]
    said = []
    for attempt in attempts:
        try:
            attempt()
        except ValueError as error:
            said.append(str(error))
    assert len(said) > len(attempts) / 2
    for text in said:
        assert any(word in text for word in ("expected", "must be", "needs", "has no steps")), text
        assert "\n" not in text
        assert len(text) < 300
