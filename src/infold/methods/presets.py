"""Methods by name."""

import itertools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from infold import _checks
from infold.acquisition import functions
from infold.acquisition.lipschitz import LipschitzConstraint
from infold.acquisition.regions import WholeCube
from infold.acquisition.search import Search
from infold.methods import settings
from infold.methods.auto import auto
from infold.methods.base import Method
from infold.methods.bayesian import BayesianOptimization, full_space
from infold.methods.random import RandomSearch
from infold.models.additive import AdditiveGP
from infold.models.base import features
from infold.models.embedded import EmbeddedGP
from infold.models.features import LearnedFeatures


def _learned(name: str, decoder: str) -> BayesianOptimization:
    """Return a variant of the paper's method; a name that ends with c has the constraint."""
    constrained = name.endswith("c")
    return BayesianOptimization(
        name=name,
        model=LearnedFeatures(decoder=decoder),
        region=LipschitzConstraint() if constrained else WholeCube(),
    )


def _vae(problem: str | None) -> BayesianOptimization:
    from infold.paper.vae import Autoencoder

    return BayesianOptimization(
        name="vae", model=EmbeddedGP(embedding=Autoencoder(problem=problem))
    )


_FULL_DECODER = 1000  # inputs; with 2000 a suggestion takes minutes


class _Preset(NamedTuple):
    summary: str
    make: Callable[..., Any]
    required: Mapping[str, Any] = MappingProxyType({})
    """Settings that it cannot be made without, with examples."""


_BLOCKS = "learned features, decoder in blocks of 3"
_PRESETS: dict[str, _Preset] = {
    "auto": _Preset("GPs on all inputs, in a trust region around the best point (default)", auto),
    "mgpc": _Preset(
        "learned features, full decoder, Lipschitz constraint", lambda: _learned("mgpc", "full")
    ),
    "mgp": _Preset("learned features, full decoder", lambda: _learned("mgp", "full")),
    "hmgpc": _Preset(
        f"{_BLOCKS} with a kernel each, Lipschitz constraint",
        lambda: _learned("hmgpc", "hierarchical"),
    ),
    "hmgp": _Preset(f"{_BLOCKS} with a kernel each", lambda: _learned("hmgp", "hierarchical")),
    "dmgpc": _Preset(
        f"{_BLOCKS} with one kernel, Lipschitz constraint", lambda: _learned("dmgpc", "shared")
    ),
    "dmgp": _Preset(f"{_BLOCKS} with one kernel", lambda: _learned("dmgp", "shared")),
    "full_space": _Preset("a GP on all inputs", full_space),
    "rembo": _Preset(
        "a GP on a random subspace (REMBO)",
        lambda: BayesianOptimization(name="rembo", model=EmbeddedGP()),
    ),
    "add": _Preset(
        "an additive GP over groups of inputs (ADD-BO)",
        lambda: BayesianOptimization(name="add", model=AdditiveGP(), search=Search(keep_best=True)),
    ),
    "vae": _Preset(
        "a GP on the latent space of an autoencoder trained on 500 extra evaluations (VAE-BO)",
        _vae,
        {"problem": "thomson"},
    ),
    "random": _Preset("a Sobol sequence, no model", RandomSearch),
}
_ARGUMENTS = ("n_features", "acquisition", "noise")  # of `Optimizer` that some methods have
NAMES = tuple(_PRESETS)
DEFAULT = "auto"
"""What is used where the caller does not say."""


def summary(name: str) -> str:
    """Return one line about the method."""
    return _PRESETS[name].summary


def settings_of(name: str) -> tuple[str, ...]:
    """Return the names of the settings that the method `name` has."""
    preset = _PRESETS[_checks.one_of("method", name, NAMES)]
    method = preset.make(**preset.required)
    found = [setting for setting in settings.names(method) if setting != "name"]
    if isinstance(method, BayesianOptimization):
        found.append("acquisition")
        of_functions = [settings.names(function()) for function in functions.FUNCTIONS.values()]
        found += itertools.chain.from_iterable(of_functions)
    return tuple(dict.fromkeys(found))


def by_name(name: str, **given: Any) -> Method:
    """Return the method `name` with the given settings.

    Those that are None are left at their default. `acquisition` may be given by its name.
    """
    known = settings_of(name)
    given = {key: value for key, value in given.items() if value is not None}
    for key, value in given.items():
        if key in _ARGUMENTS and key not in known:
            raise ValueError(
                f"{key} = {_checks.shown(value)}: the method {name} has no such setting"
            )
        _checks.one_of(f"setting of {name}", key, known)
    preset = _PRESETS[name]
    required = {key: given.pop(key, None) for key in preset.required}
    method = preset.make(**required)
    acquisition = given.get("acquisition")
    if isinstance(acquisition, str):
        given["acquisition"] = functions.by_name(acquisition)
    if "noise" in given:
        given["noise"] = _checks.variance_of("noise", given["noise"])
    made = settings.changed(method, given)
    for key in given.keys() - set(settings.names(made)) - {"acquisition"}:
        raise ValueError(f"{key} = {given[key]!r}: {acquisition or 'ei'} has no such setting")
    return made


def of(method: object, **given: Any) -> Method:
    """Return the method itself, or the one of that name with the given settings."""
    if isinstance(method, str):
        return by_name(method, **given)
    if not isinstance(method, Method):
        raise ValueError(f"method = {method!r}: expected one of {', '.join(NAMES)} or a method")
    names = [name for name, value in given.items() if value is not None]
    if names:
        raise ValueError(
            f"{' and '.join(names)}: settings go with the name of a method; "
            "set them on the method itself"
        )
    return method


def name_of(method: Method) -> str:
    """Return what records and messages call the method."""
    return getattr(method, "name", "") or type(getattr(method, "model", method)).__name__


def check_dimension(method: Method, dimension: int) -> None:
    """Raise ValueError where the method cannot do with so many inputs, D, or so few."""
    features(_n_features(method), dimension)
    model = getattr(method, "model", None)
    full = isinstance(model, LearnedFeatures) and model.decoder == "full"
    if full and dimension > _FULL_DECODER:
        raise ValueError(
            f"method = {name_of(method)!r}: the space has D = {dimension}, and the full decoder, "
            f"which learns D x D numbers, takes at most {_FULL_DECODER}; "
            "use method='full_space'"
        )


def with_features_in(method: Method, dimension: int) -> Method:
    """Return the method with no more features than there are inputs."""
    wanted = _n_features(method)
    if not isinstance(wanted, int) or wanted <= dimension:
        return method
    return settings.changed(method, {"n_features": dimension})


def _n_features(method: Method) -> int | str | None:
    return getattr(getattr(method, "model", None), "n_features", None)
