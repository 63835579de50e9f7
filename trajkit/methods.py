"""The `Method` protocol and the registry by which runner, contract tests and explorer find every method."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict

from trajkit.errors import ParameterError

if TYPE_CHECKING:  # who only looks a name up needs no data frames
    from trajkit.release import Release
    from trajkit.trajectories import Trajectories

# for parameters that are tuples: params files have lists only, which strict models refuse
FromList = BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value)


class MethodConfig(BaseModel):
    """Base of every method's typed parameters: frozen, unknown names refused, no silent conversion."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


@runtime_checkable
class Method(Protocol):
    """fit, then release. ``fit`` never changes its input; learned attributes end in ``_``."""

    config: MethodConfig

    def fit(self, train: Trajectories, *, seed: int) -> Method:
        """Learn from ``train``; every random draw derives from ``seed``."""
        ...

    def release(self, n: int | None, *, seed: int) -> Release:
        """Return ``n`` trajectories (anonymizers: ``None`` only) with their guarantee."""
        ...


# name -> "module:class"; the class has an attribute ``Config`` (a MethodConfig) and takes one instance of it
METHODS: dict[str, str] = {
    "uniform": "trajkit.baselines:Uniform",
    "cloud": "trajkit.baselines:Cloud",
    "straight": "trajkit.baselines:StraightLines",
    "real": "trajkit.baselines:RealData",
    "diffusion": "trajkit.deep.diffusion:Diffusion",
    "vae": "trajkit.deep.vae:Vae",
    "gan": "trajkit.deep.gan:Gan",
    "prefix_tree": "trajkit.classical.prefix_method:PrefixTreeMethod",
    "privtrace": "trajkit.classical.privtrace:PrivTrace",
    "adatrace": "trajkit.classical.adatrace:AdaTrace",
    "flat": "trajkit.classical.flat:Flat",
    "road_counts": "trajkit.classical.road_counts:RoadCounts",
    "k_anonymity": "trajkit.anonymize.k_anonymity:KAnonymity",
    "private_evolution": "trajkit.classical.private_evolution:PrivateEvolution",
    "k_delta": "trajkit.anonymize.k_delta:KDelta",
    "cloaking": "trajkit.anonymize.cloaking:Cloaking",
    "lkc": "trajkit.anonymize.lkc:Lkc",
    "escalation": "trajkit.anonymize.escalation:Escalation",
    "pseudonyms": "trajkit.anonymize.unprotected:Pseudonyms",
    "planar_laplace": "trajkit.anonymize.unprotected:PerturbedPoints",
}


def method_class(name: str) -> Any:
    """Return the class registered under ``name``. Raises ParameterError naming the known ones."""
    if name not in METHODS:
        raise ParameterError(f"method {name!r} is unknown: use one of {', '.join(METHODS)}")
    module, _, attribute = METHODS[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def make_method(name: str, **parameters: Any) -> Method:
    """Build a method from its name and parameters; pydantic's complaints become one ParameterError."""
    from trajkit.parameters import checked

    cls = method_class(name)
    return cls(checked(cls.Config, parameters, where=f"method {name}"))


def number_for(method: object, n: int) -> int | None:
    """What to ask ``method`` (an instance or a class) for: ``n``, or None where its attribute ``RELEASES_ALL`` says that it takes no number."""
    return None if getattr(method, "RELEASES_ALL", False) else n


def count_asked(n: int | None) -> int:
    """Return ``n``, how many trajectories to release. Raises ParameterError unless it is a whole number of at least 1."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise ParameterError(f"n = {n!r}: say how many trajectories to release, a whole number of at least 1")
    return int(n)


def fitted_attribute(method: object, attribute: str) -> Any:
    """Return what ``fit`` has left in ``method``. Raises ParameterError where it was not called."""
    if not hasattr(method, attribute):
        raise ParameterError(f"{type(method).__name__} has not been fitted: call fit first")
    return getattr(method, attribute)
