"""The methods of the study, and variants of them with other settings.

A variant is named after a plus sign: `mgpc+text` is `mgpc` with the settings of the paper's text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from infold import _checks, methods
from infold.paper.store import Cell
from infold.paper.trust_constr import with_trust_constr


@dataclass(frozen=True, kw_only=True)
class Variant:
    """What a variant changes in a method."""

    settings: Mapping[str, Any]
    """Settings that take the place of the method's own. A method without them has no such
    variant."""
    constrained: Mapping[str, Any] = field(default_factory=dict)
    """More settings, for methods with the Lipschitz constraint alone."""
    trust_constr: bool = False
    """Whether methods with the Lipschitz constraint are searched with SciPy's trust-constr."""


_FREE = {"weight_deviation": None}
_ORTHOGONAL = {**_FREE, "orthogonal": True}
VARIANTS = {
    "text": Variant(settings=_FREE, trust_constr=True),
    "code": Variant(settings=_ORTHOGONAL, constrained={"n_slopes": 10}),
    "noise": Variant(settings={"separate_noise": True}),
    "free": Variant(settings=_FREE),
    "orthogonal": Variant(settings=_ORTHOGONAL),
    "priors": Variant(settings={"scaled_priors": True}),
    "uniform": Variant(settings={"design": "uniform"}),
}
"""All variants by name.

text: the paper's text. No prior on the encoder's weights, the Lipschitz constant L over the whole
    feature space, an interior-point method for the constrained search.
code: the paper's published code. Orthonormal weights without a prior, L over 10 of the data.
noise: the default settings, but response surface and decoder have a noise variance each.
free: no prior on the weights, and the library's own search.
orthogonal: orthonormal weights without a prior, and the library's own L.
priors: a baseline with priors on its GP.
uniform: random search with uniform points.

Without the constraint nothing is left of `text` but `free`, and of `code` but `orthogonal`.
"""


def applies(variant: str, name: str) -> bool:
    """Whether the method `name` has all settings that the variant changes."""
    return VARIANTS[variant].settings.keys() <= set(methods.settings_of(name))


def names() -> list[str]:
    """List all methods, and after them all their variants."""
    return [
        *methods.NAMES,
        *(f"{name}+{v}" for name in methods.NAMES for v in VARIANTS if applies(v, name)),
    ]


def method(cell: Cell) -> methods.Method:
    """Return the method of the cell, with the settings of its variant."""
    name, _, variant = cell.method.partition("+")
    known = methods.settings_of(name)
    made = methods.by_name(
        name,
        acquisition=cell.acquisition or None,
        n_features=cell.n_features or None,
        problem=cell.problem if "problem" in known else None,
    )
    if "weight_deviation" in known:
        made = methods.changed(made, {"clip_outliers": False})  # the paper takes values as they are
    if not variant:
        return made
    changes = VARIANTS[_checks.one_of("variant", variant, VARIANTS)]
    for setting in changes.settings:
        if setting not in known:
            raise ValueError(f"{cell.method}: {name} has no setting {setting}")
    made = methods.changed(made, changes.settings)
    if "n_slopes" not in known:  # no constraint
        return made
    made = methods.changed(made, changes.constrained)
    return with_trust_constr(made) if changes.trust_constr else made
