"""Which method a release is made by: its parameters, checked before anything is read, drawn or entered in the ledger.

Refused is what cannot be handed over: methods without a promise, noise from a seed, training without noise, numbers that would have to be
read off the data. What an anonymizer draws are ids and orders; its seeds come from the operating system, as do those of everything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trajkit.anonymize.anonymizer import Anonymizer
from trajkit.errors import ParameterError
from trajkit.handover.budget import Spend
from trajkit.methods import Method, make_method, method_class
from trajkit.yamlio import load_yaml

OS = "os"
PUBLISHED = ("gan", "privtrace")  # methods of which a variant as published promises nothing


@dataclass(frozen=True)
class Choice:
    """``method`` (not fitted) under its ``name``; ``spend``: what it will cost at most, None for anonymizers that have no epsilon."""

    name: str
    method: Method
    spend: Spend | None

    @property
    def keeps_true_ones(self) -> bool:
        """Whether trajectories made from true ones leave, coarser: these are in no epsilon."""
        return isinstance(self.method, Anonymizer)

    @property
    def protects_user_by(self) -> int | None:
        """The most trajectories of a user that are looked at, where that is what makes the user the unit."""
        return getattr(self.method.config, "trips_per_user", None)


def parameters_of(file: str | Path | None, **given: Any) -> dict[str, Any]:
    """Parameters from a YAML ``file`` (a mapping of names to values) and those ``given`` by name (None: not given), which must not contradict."""
    found = dict(load_yaml(file)) if file else {}
    for name, value in given.items():
        if value is None:
            continue
        if name in found and found[name] != value:
            raise ParameterError(f"{name} = {value} was given, but {file} says {found[name]}: leave one of the two out")
        found[name] = value
    return found


def chosen(name: str, parameters: dict[str, Any]) -> Choice:
    """The method ``name`` with ``noise: os``. Raises ParameterError, naming the parameter, for what may not be handed over."""
    cls = method_class(name)
    fields = cls.Config.model_fields
    if issubclass(cls, Anonymizer) and "noise" not in fields:
        return Choice(name, make_method(name, **parameters), None)
    if "noise" not in fields:
        raise ParameterError(
            f"method {name} gives no guarantee to persons or trajectories, so there is nothing that may be handed over: choose another METHOD"
        )
    if parameters.get("noise", OS) != OS:
        raise ParameterError(
            f"noise = {parameters['noise']!r}: whoever learns the seed takes the noise off; a release draws it from the operating system, "
            "so leave noise out"
        )
    private = {"regime": "private"} if "regime" in fields else {}
    if parameters.get("regime", "private") != "private":
        raise ParameterError(f"regime = {parameters['regime']!r} promises nothing: leave regime out")
    method = make_method(name, **{**private, **parameters, "noise": OS})
    return Choice(name, method, _cost(name, method.config))


def _cost(name: str, config: Any) -> Spend:
    """What the parameters say a release will cost. Raises ParameterError where they say too little, or promise nothing."""
    for field, refused in (("dp_target", ("generator", "both")), ("variant", ("published",))):
        if name in PUBLISHED and getattr(config, field, None) in refused:
            raise ParameterError(
                f"{field} = {getattr(config, field)!r} of method {name} is not what a release is made by: leave {field} out"
            )
    condition = getattr(config, "condition", None)
    if condition is not None and condition.is_conditional:
        raise ParameterError(
            "condition: a release with a condition protects two sets of people by two budgets, which the ledger does not count: leave it out"
        )
    if config.epsilon is None:
        raise ParameterError("epsilon is missing: say what the release may cost (EPSILON=1), not its noise_multiplier")
    delta = getattr(config, "delta", 0.0)
    if delta is None:
        raise ParameterError(
            "delta is missing: by default it follows from the exact number of records, which may not leave; state a round one, 1e-6 say"
        )
    by_user = getattr(config, "trips_per_user", None) is not None
    return Spend(float(config.epsilon), float(delta), "user" if by_user else "trajectory")
