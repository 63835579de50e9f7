"""The guarantee of a conditional run: one part for the training set, one for the conditioning set, and what both give together."""

from __future__ import annotations

from dataclasses import replace

from trajkit.deep.condition_config import NAMES
from trajkit.deep.condition_set import ConditioningSet
from trajkit.deep.training_guarantee import UNIT
from trajkit.errors import PrivacyAccountingError
from trajkit.privacy.guarantee import CONDITIONING, Guarantee, Part, no_guarantee
from trajkit.privacy.ledger import Spent

REPLACE_ONE = "replace-one"
ASSUMPTIONS = (
    "the size of the conditioning set is public, as replace-one has it",
    "which conditioning trajectory stands behind which released one stays secret, as do the vectors before the noise",
    "no amplification is claimed for conditions that were drawn and not all used",
    "releases of another training, also of this one fitted again, are not counted: each costs as much again",
)
DISJOINT = (
    "training set and conditioning set are disjoint, and which trajectory is in which is given: it was drawn by seed before any "
    "was looked at, and one more trajectory in the input would deal them anew"
)
TEST = (
    "the conditioning set is the test set, which shares no trajectory id with the training set; metrics compare the release with "
    "its own conditions"
)
UNPROTECTED = f"the {CONDITIONING} is not protected: {{}}s condition what is generated, without noise"


def conditional_guarantee(training: Guarantee, conditions: ConditioningSet) -> Guarantee:
    """Compose ``training`` (of a training on the other records) with what the mechanism promises the conditioning set.

    Disjoint sets: a replaced trajectory is in one of them, so the larger epsilon (under replace-one) covers both. A conditioning
    set drawn from the training set: both see the same trajectory, so their budgets add up, and where one of them is
    not private nothing holds. A set without protection makes the whole not hold; the part of the other set stands.
    """
    part = _part(conditions)
    missing = [] if training.holds else [f"the training set is not protected: {training.reason}"]
    missing += [] if part else [UNPROTECTED.format(conditions.config.type.removesuffix("s"))]
    parts = (*_apart(training), *([part] if part else []))
    if part is None or missing:
        return _without_the_whole(training, conditions, parts, missing)
    overlapping = conditions.config.drawn_from == "training"
    how = "the sum, since both use the same trajectories" if overlapping else "the larger, since the sets are disjoint"
    combine = sum if overlapping else max
    try:
        spent = replace_one(training)
    except PrivacyAccountingError as error:
        return _without_the_whole(
            training, conditions, parts, [f"no epsilon covers both sets under replace-one: {error}"]
        )
    delta = combine((spent.delta, part.delta))
    if delta >= 1:
        return _without_the_whole(training, conditions, parts, [f"the deltas of both uses add up to {delta:.2g}"])
    return replace(
        training,
        epsilon=combine((spent.epsilon, part.epsilon)),
        delta=delta,
        adjacency=REPLACE_ONE,
        mechanism=f"{training.mechanism}; conditions: {part.mechanism}",
        accountant=f"{spent.accountant} for the training set under replace-one, {NAMES[conditions.config.mechanism]} mechanism for the {CONDITIONING}; {how}",
        parts=parts,
        assumptions=_assumptions(training, conditions),
    )


def _without_the_whole(
    training: Guarantee, conditions: ConditioningSet, parts: tuple[Part, ...], missing: list[str]
) -> Guarantee:
    """The record of a release of which only ``parts`` hold, and not even they where one set serves as both."""
    if conditions.config.drawn_from == "training":
        missing = [*missing, "one set serves as both, and a trajectory is as exposed as its weaker use"]
        parts = ()
    return no_guarantee(
        "; ".join(missing),
        unit=UNIT,
        rng=training.rng,
        parts=parts,
        assumptions=_assumptions(training, conditions) if parts else (),
    )


def _assumptions(training: Guarantee, conditions: ConditioningSet) -> tuple[str, ...]:
    sets: dict[str, tuple[str, ...]] = {"held-out": (DISJOINT,), "test": (TEST,), "training": ()}
    private = ASSUMPTIONS if conditions.private is not None else ()
    return (*training.assumptions, *private, *sets[conditions.config.drawn_from])


def _apart(training: Guarantee) -> tuple[Part, ...]:
    return tuple(replace(p, adjacency=training.adjacency) for p in training.parts)


def _part(conditions: ConditioningSet) -> Part | None:
    """k releases of each record cost k epsilon and k delta."""
    config, private, k = conditions.config, conditions.private, conditions.releases
    if private is None or config.epsilon is None:
        return None
    one = conditions.delta or 0.0
    words = private.in_words()
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


def replace_one(training: Guarantee) -> Spent:
    """What DP-SGD spends under replace-one at its own delta. Raises PrivacyAccountingError where no accountant says."""
    from trajkit.privacy.accounting import DpSgd, epsilon_of

    d = training.parts[0].details
    mechanism = DpSgd(d["sample_rate"], d["noise_multiplier"], d["steps"])
    return epsilon_of(mechanism, delta=float(training.delta or 0.0), unit=UNIT, adjacency=REPLACE_ONE)
