"""What a cloaked release says about itself: the guarantee in words, the sizes of regions, what was lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trajkit.anonymize.anonymizer import WHO
from trajkit.anonymize.cloak_regions import UNSETTLED, Cloaks, Rung
from trajkit.anonymize.suppression import missing
from trajkit.privacy.guarantee import Guarantee
from trajkit.release import HIDDEN
from trajkit.trajectories import Trajectories

if TYPE_CHECKING:
    from trajkit.anonymize.cloaking import CloakingConfig


def figures(train: Trajectories, cloaks: Cloaks, ladder: list[Rung], held: dict[str, float], k: int) -> dict[str, Any]:
    """The report of a fit; what is computed from true places and not released stands under HIDDEN."""
    kept = cloaks.rung != UNSETTLED
    public, exact = missing(train, np.bincount(train.traj_of_point[kept], minlength=len(train)), k)
    return {
        "suppressed": public,
        HIDDEN: {
            "suppressed": exact,
            "share of points with k people in the": held,
            "share of points by side of the region, m": _shares(ladder, cloaks.rung[kept], train.n_points),
        },
    }


def _shares(ladder: list[Rung], rung: np.ndarray, n: int) -> dict[str, float]:
    counts = np.bincount(rung, minlength=len(ladder))
    return {name(r): float(counts[i] / max(n, 1)) for i, r in enumerate(ladder) if counts[i]}


def name(rung: Rung) -> str:
    """A rung in words, e.g. "500 m, 60 min"."""
    return f"{rung.side_m:g} m" + (f", {rung.minutes} min" if rung.minutes is not None else "")


def sizes(ladder: list[Rung], emitted: Cloaks) -> dict[str, Any]:
    """Regions of the released file by size: area in square metres, distinct regions, released points.

    Which size a released place has can be read from it: centres of squares of one size are no centres of another.
    """
    table = {}
    for level, rung in enumerate(ladder):
        here = emitted.rung == level
        if here.any():
            regions = np.unique(np.column_stack([emitted.cell[here], emitted.bin[here]]), axis=0)
            table[name(rung)] = {"area, m2": rung.side_m**2, "regions": len(regions), "points": int(here.sum())}
    areas = np.array([rung.side_m**2 for rung in ladder])[emitted.rung]
    return {
        "regions": table,
        "area of the region of a released point, mean m2": float(areas.mean()) if len(areas) else 0.0,
    }


def guarantee(c: CloakingConfig) -> Guarantee:
    """The record of what is enforced: k people in each region, nothing about whole trajectories."""
    people = "distinct users" if c.count == "user" else "trajectories (one person may have several of them)"
    held = (
        f"every released region is released for at least {c.k} {people}, who were all in it"
        if c.reciprocal
        else f"at least {c.k} {people} were in every released region; some may have got a smaller one, so that whoever knows where all were "
        "can leave them out"
    )
    time = (
        "time is not released"
        if c.minutes is None
        else "a region is a cell and a time bin"
        + (" counted from local midnight of a trajectory's first day" if c.of == "clock" else "")
        + "; times within it say the order of places and nothing else, but a bin can be narrowed by those before and after it"
    )
    return Guarantee(
        holds=True,
        kind="k-anonymity",
        k=c.k,
        unit="point",
        mechanism="cloaking by "
        + ("public cells enlarged" if c.space else "time bins enlarged")
        + f" until {c.k} people are in them",
        accountant="places, times and people in each region recounted from the released file",
        numerics="exact",
        assumptions=(
            held,
            "points alone are covered, whole trajectories are not: the regions that follow one another in one trajectory, taken together, can "
            "single out a person even though each holds k",
            time,
            "all who were in a region may have been there for the same reason: what a place says about them is not hidden",
            "it does not compose with other releases of the same people",
            *([WHO] if c.count == "user" else []),
            "box, cells, bins, ladder and k are public; what is left out, and the figures of the report under its own heading, are not covered",
        ),
    )
