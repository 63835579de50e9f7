"""The guarantee of a conditional run: one part for the training set, one for the conditioning set, and what both give together."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from trajkit.deep.condition_set import ConditioningSet
from trajkit.deep.training_guarantee import UNIT
from trajkit.errors import PrivacyAccountingError
from trajkit.privacy.guarantee import CONDITIONING, Guarantee, Part, no_guarantee

REPLACE_ONE = "replace-one"
ASSUMPTIONS = (
    "the size of the conditioning set is public, as replace-one has it",
    "which conditioning trajectory stands behind which released one stays secret, as do the vectors before the noise",
    "no amplification is claimed for conditions that were drawn and not all used",
)
DISJOINT = "training set and conditioning set are disjoint: which trajectory is in which was drawn by seed before any was looked at"
TEST = "the conditioning set is the test set: metrics compare the release with its own conditions"


def conditional_guarantee(training: Guarantee, conditions: ConditioningSet) -> Guarantee:
    """Compose ``training`` (of a training on the other records) with what the mechanism promises the conditioning set.

    Disjoint sets: a replaced trajectory is in one of them, so the larger epsilon (under replace-one) covers both. A conditioning
    set drawn from the training set: both see the same trajectory, so their budgets add up, and where one of them is
    not private nothing holds. A set without protection makes the whole not hold; the part of the other set stands.
    """
    config = conditions.config
    part = _part(conditions)
    overlapping = config.drawn_from == "training"
    open_set = f"the {CONDITIONING} is not protected: its {config.type}s condition what is generated, without noise"
    if not training.holds and part is None:
        return replace(training, reason=f"{training.reason}; {open_set}")
    if overlapping and (part is None or not training.holds):
        why = open_set if part is None else f"{training.reason}, and these trajectories are also its {CONDITIONING}"
        return no_guarantee(
            f"{why}: one set serves as both, and a trajectory is as exposed as its weaker use",
            unit=UNIT,
            rng=training.rng,
        )
    if part is None:
        return no_guarantee(open_set, unit=UNIT, rng=training.rng, parts=_apart(training), adjacency=training.adjacency)
    if not training.holds:
        return no_guarantee(
            f"the training set is not protected: {training.reason}",
            unit=UNIT,
            adjacency=REPLACE_ONE,
            rng=training.rng,
            parts=(part,),
        )
    spent = _replace_one(training)
    how = (
        "basic composition, since both use the same trajectories"
        if overlapping
        else "the larger, since the sets are disjoint"
    )
    combine = sum if overlapping else max
    return replace(
        training,
        epsilon=combine((spent.epsilon, part.epsilon)),
        delta=combine((spent.delta, part.delta)),
        adjacency=REPLACE_ONE,
        mechanism=f"{training.mechanism}; conditions: {part.mechanism}",
        accountant=f"{spent.accountant} for the training set under replace-one, {_name(conditions)} for the {CONDITIONING}; {how}",
        parts=(*_apart(training), part),
        assumptions=(
            *training.assumptions,
            *ASSUMPTIONS,
            *(() if overlapping else (TEST if config.drawn_from == "test" else DISJOINT,)),
        ),
    )


def _apart(training: Guarantee) -> tuple[Part, ...]:
    return tuple(replace(p, adjacency=training.adjacency) for p in training.parts)


def _part(conditions: ConditioningSet) -> Part | None:
    """k releases of each record cost k epsilon and k delta."""
    config, private, k = conditions.config, conditions.private, conditions.releases
    if private is None or config.epsilon is None:
        return None
    one = conditions.delta or 0.0
    words = f"{private.mechanism.in_words()}, on conditions of {config.d_out} numbers bounded to norm {config.norm:g}"
    if k > 1:
        words += f", {k} releases of each (more trajectories were generated than the set has)"
    details = {
        "mechanism": config.mechanism,
        "epsilon of one release": config.epsilon,
        "delta of one release": one,
        "releases": k,
        "size": len(conditions),
        "d_out": config.d_out,
        "norm": config.norm,
        "drawn_from": config.drawn_from,
        "numerics": private.mechanism.numerics,
    }
    return Part(CONDITIONING, words, k * config.epsilon, k * one, details, REPLACE_ONE)


def _name(conditions: ConditioningSet) -> str:
    return {
        "laplace": "Laplace mechanism",
        "gaussian": "analytic Gaussian mechanism",
        "vmf": "von Mises-Fisher mechanism",
    }[conditions.config.mechanism]


@dataclass(frozen=True)
class _Spent:
    epsilon: float
    delta: float
    accountant: str


def _replace_one(training: Guarantee) -> _Spent:
    """What DP-SGD spends under replace-one; where no accountant says, the bound for a removal and an addition."""
    from trajkit.privacy.accounting import DpSgd, epsilon_of

    d, delta = training.parts[0].details, float(training.delta or 0.0)
    mechanism = DpSgd(d["sample_rate"], d["noise_multiplier"], d["steps"])
    try:
        spent = epsilon_of(mechanism, delta=delta, unit=UNIT, adjacency=REPLACE_ONE)
        return _Spent(spent.epsilon, spent.delta, spent.accountant)
    except PrivacyAccountingError:
        epsilon = float(training.epsilon or 0.0)
        doubled = delta * (1 + math.exp(min(epsilon, 700.0)))
        if doubled >= 1:
            raise
        return _Spent(2 * epsilon, doubled, f"{training.accountant}, doubled")
