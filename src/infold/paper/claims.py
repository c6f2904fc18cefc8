"""The paper's claims, as lists of comparisons that runs can decide."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from infold.paper.runner import paper_acquisitions
from infold.paper.statistics import Series

MARGIN = 0.1
"""Decades of regret, a factor of 1.26: what differs by less counts as the same, and what gains less
as flat. One margin serves all laws."""
CONSTRAINED = {"mgpc": "mgp", "hmgpc": "hmgp", "dmgpc": "dmgp"}
"""The unconstrained twin of each constrained variant."""
_METHODS = {*CONSTRAINED, *CONSTRAINED.values()}

Law = Literal["better", "no worse", "same", "flat", "flattens", "stalls"]
_OF_TWO = {"better": "better than", "no worse": "no worse than", "same": "the same as"}
_OF_ONE = {
    "flat": f"gains less than {MARGIN} decades in all",
    "flattens": f"gains less than {MARGIN} decades after the first third",
    "stalls": f"gains more in the first third, and less than {MARGIN} decades after",
}


@dataclass(frozen=True)
class Part:
    """One comparison of a claim."""

    law: Law
    """What is claimed; `infold.paper.judging` says how each is tested.

    better: a ends lower than b.
    no worse: a ends less than the margin higher than b, or lower.
    same: a and b end less than the margin apart.
    flat: a gains less than the margin in all.
    flattens: a gains less than the margin after the first third of its iterations.
    stalls: a flattens, and gained more in the first third than after it.
    """
    a: Series
    b: tuple[Series, ...] = ()
    """Rivals of a: it is compared with the one of the lowest median. Empty for a law on a alone."""

    @property
    def label(self) -> str:
        """The comparison in words."""
        a = self.a
        where = a.acquisition.upper()
        if a.problem == "thomson":
            where += f", d = {a.n_features}"
        if not self.b:
            return f"{where}: {a.method} {_OF_ONE[self.law]}"
        rivals = []
        for b in self.b:
            name = b.method
            if b.n_features != a.n_features:
                name += f" with d = {b.n_features}"
            if b.acquisition != a.acquisition:
                name += f" with {b.acquisition.upper()}"
            rivals.append(name)
        return f"{where}: {a.method} {_OF_TWO[self.law]} {' or '.join(rivals)}"

    def with_variant(self, variant: str) -> "Part":
        """Return the comparison with the paper's own methods in that variant."""

        def renamed(series: Series) -> Series:
            if series.method not in _METHODS:
                return series
            return replace(series, method=f"{series.method}+{variant}")

        return replace(self, a=renamed(self.a), b=tuple(map(renamed, self.b)))


@dataclass(frozen=True)
class Claim:
    """A statement of the paper and the comparisons that it stands for."""

    name: str
    text: str
    parts: tuple[Part, ...]

    def with_variant(self, variant: str) -> "Claim":
        """Return the claim about the paper's own methods in that variant."""
        return replace(self, parts=tuple(part.with_variant(variant) for part in self.parts))


def _series(problem: str, method: str, acquisition: str, n_features: int = 10) -> Series:
    return Series(problem=problem, method=method, acquisition=acquisition, n_features=n_features)


def _pairs(
    law: Law, problem: str, pairs: Sequence[tuple[str, str]], acquisitions: Sequence[str]
) -> tuple[Part, ...]:
    return tuple(
        Part(law, _series(problem, a, acquisition), (_series(problem, b, acquisition),))
        for (a, b), acquisition in itertools.product(pairs, acquisitions)
    )


def _alone(
    law: Law, problem: str, names: Sequence[str], acquisitions: Sequence[str]
) -> tuple[Part, ...]:
    return tuple(
        Part(law, _series(problem, name, acquisition))
        for name, acquisition in itertools.product(names, acquisitions)
    )


def _thomson(law: Law, d: int, *others: tuple[str, int]) -> Part:
    return Part(
        law,
        _series("thomson", "mgpc", "pi", d),
        tuple(_series("thomson", b, "pi", other) for b, other in others),
    )


_ROS = "rosenbrock-linear"
_PSL = "product-of-sines-linear"
_PSN = "product-of-sines-nonlinear"
_ALL = paper_acquisitions(_ROS)
_TWINS = tuple(CONSTRAINED.items())
CLAIMS = (
    Claim(
        "ROS-1",
        "rosenbrock-linear: each constrained variant ends no worse than its unconstrained twin",
        _pairs("no worse", _ROS, _TWINS, _ALL),
    ),
    Claim(
        "ROS-2",
        "rosenbrock-linear: VAE-BO improves early and then stalls; "
        "ADD-BO suffers from the coupling",
        _alone("stalls", _ROS, ["vae"], _ALL) + _pairs("better", _ROS, [("mgpc", "add")], _ALL),
    ),
    Claim(
        "PSL-1",
        "product-of-sines-linear: constrained beats unconstrained for EI and PI, "
        "where the unconstrained curves flatten early",
        _pairs("better", _PSL, _TWINS, ("ei", "pi"))
        + _alone("flattens", _PSL, list(CONSTRAINED.values()), ("ei", "pi")),
    ),
    Claim(
        "PSL-2",
        "product-of-sines-linear: REMBO is the most competitive baseline, most of all with UCB; "
        "VAE-BO stays flat",
        _pairs("better", _PSL, [("rembo", "add"), ("rembo", "vae")], _ALL)
        + tuple(
            Part("better", _series(_PSL, "rembo", "ucb"), (_series(_PSL, "rembo", other),))
            for other in ("ei", "pi")
        )
        + _alone("flat", _PSL, ["vae"], _ALL),
    ),
    Claim(
        "PSN-1",
        "product-of-sines-nonlinear: DMGPC-BO ends better than ADD-BO (paper: p ≤ 0.00014)",
        _pairs("better", _PSN, [("dmgpc", "add")], _ALL),
    ),
    Claim(
        "PSN-2",
        "product-of-sines-nonlinear: "
        "the constrained variants end better than their twins and than VAE-BO",
        _pairs("better", _PSN, [*_TWINS, *((name, "vae") for name in CONSTRAINED)], _ALL),
    ),
    Claim(
        "THO-2",
        "thomson, d = 2: MGPC-BO and the best of ADD-BO and REMBO do not differ significantly "
        "(paper: p = 0.135)",
        (_thomson("same", 2, ("add", 2), ("rembo", 2)),),
    ),
    Claim(
        "THO-3",
        "thomson, d = 3: MGPC-BO ends better than ADD-BO (paper: p ≤ 0.002)",
        (_thomson("better", 3, ("add", 3)),),
    ),
    Claim(
        "THO-4",
        "thomson, d = 4: MGPC-BO ends better than ADD-BO (paper: p ≤ 0.003)",
        (_thomson("better", 4, ("add", 4)),),
    ),
    Claim(
        "THO-6",
        "thomson, d = 6: MGPC-BO ends better than REMBO (paper: p ≤ 0.006)",
        (_thomson("better", 6, ("rembo", 6)),),
    ),
    Claim(
        "THO-D",
        "thomson: performance deteriorates as d shrinks, clearly at 2",
        (
            _thomson("no worse", 6, ("mgpc", 4)),
            _thomson("no worse", 4, ("mgpc", 3)),
            _thomson("better", 3, ("mgpc", 2)),
        ),
    ),
)
