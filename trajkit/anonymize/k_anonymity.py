"""Trajectory k-anonymity: every released signature is that of at least k distinct persons; what is rarer is suppressed.

Places become cells, times become bins, both public; trajectories with the same sequence of (cell, bin) form a class. The finest
generalization whose suppression stays within a budget is searched; who is suppressed is told by rounded shares. After emission the classes
are formed again from the released coordinates and times, bit by bit, and the persons behind each are counted by the private map.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trajkit.anonymize.anonymizer import WHO, Anonymizer, all_of_them, persons, published
from trajkit.anonymize.emission import midnight, places, smallest_class, times
from trajkit.anonymize.quad_cells import ASSUMPTION
from trajkit.anonymize.search import RULES, Found, KAnonymityConfig, search
from trajkit.anonymize.suppression import missing
from trajkit.baselines import public_meta
from trajkit.methods import fitted_attribute
from trajkit.privacy.guarantee import Guarantee
from trajkit.ragged import ragged_rows
from trajkit.release import HIDDEN, Release
from trajkit.trajectories import Meta, Trajectories


@dataclass(frozen=True)
class KAnonymityModel:
    """What a fit leaves; private. One trajectory a class: ``lonlat`` [M, 2], ``t`` [M] or None, ``offsets`` [c + 1].

    int64 [R]: class ``of`` each trajectory to release, the ``person`` it counts for, and its ``origin``, a trajectory of the input.
    """

    meta: Meta
    lonlat: np.ndarray
    t: np.ndarray | None
    offsets: np.ndarray
    of: np.ndarray
    person: np.ndarray
    origin: np.ndarray
    guarantee: Guarantee
    report: dict[str, Any]


class KAnonymity(Anonymizer):
    """See the module."""

    Config = KAnonymityConfig
    TEMPLATE = "method-k-anonymity"

    def __init__(self, config: KAnonymityConfig) -> None:
        self.config = config

    def fit(self, train: Trajectories, *, seed: int) -> KAnonymity:
        """Search the lattice and form the classes; nothing is random. Raises DataContractError for a set that breaks the contract."""
        train = self.prepared(train)
        c = self.config
        midnight_ms = midnight(c.day, train.meta.tz)
        found = search(train, c)
        groups, setting = found.groups, found.setting
        self.model_ = KAnonymityModel(
            meta=public_meta(train.meta),
            lonlat=places(groups.signatures, setting.cells, train.meta.crs),
            t=times(groups.signatures, setting.bins, midnight_ms),
            offsets=groups.signatures.offsets,
            of=groups.of,
            person=persons(train, c.count)[groups.origin],
            origin=groups.origin,
            guarantee=_guarantee(c, found),
            report=_report(train, c, found),
        )
        return self

    def release(self, n: int | None, *, seed: int) -> Release:
        """Return all that may be released (``n`` must be None), perhaps nothing.

        Raises PrivacyAccountingError where a class of the emitted trajectories holds fewer than k persons.
        """
        all_of_them(n)
        model: KAnonymityModel = fitted_attribute(self, "model_")
        rows, offsets = ragged_rows(model.offsets, model.of)
        t = None if model.t is None else model.t[rows]
        out, private_map = published(model.lonlat[rows], offsets, t, model.of, meta=model.meta, seed=seed)
        self.origin_ = self.source_[model.origin[private_map]]
        smallest = smallest_class(out, model.person[private_map], self.config.k)
        hidden = {
            **model.report[HIDDEN],
            "preparation": self.steps_,
            "fewest persons in a released class, recounted": smallest,
        }
        return Release(out, model.guarantee, {**model.report, "released": len(out), HIDDEN: hidden})


def _report(train: Trajectories, c: KAnonymityConfig, found: Found) -> dict[str, Any]:
    parts = c.suppress == "segments"
    public, exact = missing(train, found.groups.released_points(len(train)), c.k, parts=parts)
    judged = "points" if parts else "trajectories"
    notes = []
    if not found.within_budget:
        notes.append(
            f"no setting suppresses at most {c.suppression_budget:.0%} of the {judged}: the one that suppresses least was taken"
        )
    if train.t is None and any(m is not None for m in c.minutes):
        notes.append("the set has no times: only settings without time were tried")
    if c.count == "user" and len(train) > 1 and len(np.unique(train.user)) == len(train):
        notes.append(
            "every trajectory has a user of its own: if they are not people, k counts trajectories and protects no person"
        )
    if not len(found.groups.of):
        notes.append(
            f"nothing can be released: in no setting are {c.k} of them alike, so allow coarser cells and bins, or a lower k"
        )
    return {
        "setting": {**found.setting.named(), "of": c.of, "suppress": c.suppress},
        "rule": f"finest setting that suppresses at most {c.suppression_budget:.0%} of the {judged}; finest: {RULES[c.order]}",
        "within budget": found.within_budget,
        "notes": notes,
        "classes": len(found.groups.signatures),
        "suppressed": public,
        "lattice": found.public,
        HIDDEN: {
            "suppressed": exact,
            "lattice": found.exact,
            "share of trajectories alone in their class": found.unique_share,
        },
    }


def _guarantee(c: KAnonymityConfig, found: Found) -> Guarantee:
    what = "trajectory" if c.suppress == "trajectory" else "part of a trajectory"
    assumptions = [
        "the box, the candidate cells and time bins, the time zone and the day on which clock bins are released are public",
        "cell and bin sizes were chosen, and the rounded shares of what was suppressed computed, from the data",
        "nothing is promised where all of a class share a sensitive place, where trips of one person in several classes can be linked, "
        "about who is missing, or across several releases of the same people",
    ]
    if c.suppress == "segments":
        assumptions.append(
            "parts of one trajectory are released apart; who joins them by place and time may narrow down whose they are"
        )
    if c.cells == "adaptive":
        assumptions.append(ASSUMPTION)
    if c.count == "trajectory":
        assumptions.append("k counts trajectories: all of a class may be of one person, so no person is protected")
    else:
        assumptions.append(WHO)
    people = "distinct users" if c.count == "user" else "trajectories"
    return Guarantee(
        holds=True,
        kind="k-anonymity",
        k=c.k,
        unit=c.count,
        mechanism=f"every released {what} has the sequence of cells and time bins of at least {c.k} {people}; the rest is suppressed",
        accountant="classes recounted from the released coordinates and times",
        numerics="exact",
        assumptions=tuple(assumptions),
    )
