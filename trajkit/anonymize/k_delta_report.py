"""What a (k, delta) release says about itself: the guarantee in words, what was lost, how far points were moved."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from trajkit.anonymize.alignment import Aligned
from trajkit.anonymize.anonymizer import WHO
from trajkit.anonymize.discs import extents, layout
from trajkit.anonymize.k_delta_groups import Groups
from trajkit.anonymize.suppression import missing
from trajkit.privacy.guarantee import Guarantee
from trajkit.release import HIDDEN
from trajkit.trajectories import Trajectories

if TYPE_CHECKING:
    from trajkit.anonymize.k_delta import KDeltaConfig


def figures(
    c: KDeltaConfig,
    train: Trajectories,
    aligned: Aligned,
    groups: Groups,
    before: Aligned,
    after: Aligned,
    group: np.ndarray,
) -> dict[str, Any]:
    """The report of a fit, from the members of groups ``before`` and ``after`` they were moved; true figures stand under HIDDEN."""
    n = max(len(train), 1)
    released = np.zeros(len(train), dtype=np.int64)
    released[before.kept] = train.lengths[before.kept]
    public, exact = missing(train, released, c.k)
    moved = np.hypot(*(after.xy - before.xy).T)
    apart, radius = extents(before.xy, *layout(before.offsets, group))
    return {
        "delta, m": c.delta_m,
        "radius of a disc that delta alone assures, m": c.delta_m / math.sqrt(3),
        "suppressed": public,
        HIDDEN: {
            "suppressed": exact,
            "suppressed by reason, share of trajectories": {
                "shorter than one step of the span": (len(train) - len(aligned)) / n,
                "fewer than k people with that span": groups.thin / n,
                "trash": groups.trash / n,
            },
            "trash, share of spans with k people": groups.trash / max(len(aligned) - groups.thin, 1),
            "radius limit reached, m": groups.radius_m,
            "points moved, mean m": float(moved.mean()) if len(moved) else 0.0,
            "points moved, max m": float(moved.max(initial=0.0)),
            "largest distance of two members at one time, before, m": float(apart.max(initial=0.0)),
            "largest radius of the smallest disc around a group, before, m": float(radius.max(initial=0.0)),
            "share of groups within delta before": float((apart <= c.delta_m).mean()) if len(apart) else 0.0,
        },
    }


def guarantee(c: KDeltaConfig) -> Guarantee:
    """The record of what is enforced."""
    place = "place along the path" if c.interval_s is None else "time"
    same = c.edit == "centre"
    who = (
        "distinct users (one may have more than one trajectory in it)"
        if c.count == "user"
        else "trajectories (one person may have several of them)"
    )
    apart = (
        f"all members of a group are released as one and the same line, the centre of the smallest disc around them at every {place}"
        if same
        else f"members of a group are within delta = {c.delta_m:g} m of each other at every {place}; where they were so before, and inside "
        "the disc, released places are true places"
    )
    criticism = (
        "so the released lines of a group cannot be told apart, whatever delta is; where the line runs is still computed from the true paths"
        if same
        else "for delta > 0 this does not imply trajectory k-anonymity: someone who does not share the uncertainty of delta, and knows a "
        "place more exactly, can tell members apart (Trujillo-Rasua and Domingo-Ferrer 2013)"
    )
    if same:
        criticism += "; (k, delta)-anonymity as such does not imply trajectory k-anonymity for delta > 0 (Trujillo-Rasua and Domingo-Ferrer 2013)"
    return Guarantee(
        holds=True,
        kind="(k,delta)-anonymity",
        k=c.k,
        unit=c.count,
        mechanism=f"NWA: greedy groups, {'centre lines' if same else 'translation into a cylinder'}, delta = {c.delta_m:g} m, pairwise",
        accountant="groups, people, times and distances recounted from the released file",
        numerics="exact",
        assumptions=(
            f"every group holds at least {c.k} {who} over the same {place}s",
            apart,
            f"pairwise within delta assures a disc of radius delta / sqrt(3) = {c.delta_m / math.sqrt(3):.4g} m, not delta / 2",
            criticism,
            "whoever knows that a person is in the data learns about where the group was; that all of a group go to one place is not hidden",
            "it does not compose with other releases of the same people",
            *([WHO] if c.count == "user" else []),
            "box, steps, spans, delta and k are public; who was left out, and exact figures of the report under its own heading, are not covered",
        ),
    )
