"""Who is missing from a release: shares of trajectories, users and points, and where, when and how far they travelled.

Suppression is not harmless: who is rare goes first, and who knows a person's route sees that it is not there. Shares for the public are
means over persons, rounded, and given only of enough persons that one of them is within the rounding, however many trajectories he has.
This is care and no guarantee. The exact shares, of trajectories, are for the holder of the data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trajkit.anonymize.tessellation import SquareCells, unpack
from trajkit.anonymize.time_bins import TimeBins
from trajkit.segment_index import polyline_lengths
from trajkit.trajectories import Trajectories

STEP = 0.05  # of rounded shares
FEWEST = 20  # persons of a stratum: one of them is one step of the rounding
LENGTHS_KM = (1, 2, 5, 10, 20, 50)  # public bounds, never quantiles of the data
START_M = 5_000.0


def rounded(share: float) -> float:
    """``share`` to the nearest multiple of `STEP`."""
    return round(round(share / STEP) * STEP, 2)


def told(shares_: dict[str, float], trajs: Trajectories, k: int) -> dict[str, float]:
    """What the public may know of overall shares: rounded, and nothing of a set of fewer than max(k, `FEWEST`) persons."""
    enough = len(np.unique(trajs.user)) >= max(k, FEWEST)
    return {what: rounded(share) for what, share in shares_.items()} if enough else {}


def missing(
    trajs: Trajectories, released_points: np.ndarray, k: int, *, parts: bool = False
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Suppressed shares, for the public and exact, where ``released_points`` (int64 [n]) of each trajectory are released.

    ``parts``: trajectories may be released in part, so strata are told of the share of points as well: one short part that is left makes a
    trajectory no missing one.

    A user is suppressed who has nothing in the release. Strata are by travelled length, by the public square of ``START_M`` metres in which
    a trajectory starts, and by local hour of its start where there are times.
    """
    gone = released_points == 0
    exact = shares(trajs, released_points)
    public: dict[str, Any] = {**told(by_person(trajs, released_points), trajs, k), "rounded to": STEP}
    fewest, many = max(k, FEWEST), np.int64(max(len(trajs.user_ids), 1))
    for name, (labels, named) in _strata(trajs).items():
        known, of = np.unique(labels, return_inverse=True)
        lost = np.bincount(of[gone], minlength=len(known))
        count = np.bincount(of, minlength=len(known))
        pair, at = np.unique(of * many + trajs.user, return_inverse=True)
        people = np.bincount(pair // many, minlength=len(known))
        names = [named(label) for label in known.tolist()]
        rows = list(zip(names, (lost / count).tolist(), count.tolist(), people.tolist(), strict=True))
        exact[name] = {label: {"suppressed": s, "trajectories": c, "users": p} for label, s, c, p in rows}
        told_of = {name: (gone, np.ones(len(trajs)))}
        told_of |= {f"points, {name}": (trajs.lengths - released_points, trajs.lengths)} if parts else {}
        for what, (less, all_) in told_of.items():
            own = np.bincount(at, less) / np.maximum(np.bincount(at, all_), 1)
            mean = np.bincount(pair // many, own, minlength=len(known)) / np.maximum(people, 1)
            public[what] = {
                label: rounded(m) for label, m, p in zip(names, mean.tolist(), people, strict=True) if p >= fewest
            }
    public["sets and strata of fewer users are left out"] = fewest
    return public, exact


def by_person(trajs: Trajectories, released_points: np.ndarray) -> dict[str, float]:
    """As `shares`, but each person weighs the same: mean over persons of the share of theirs that is suppressed."""
    n = len(trajs.user_ids)
    count = np.bincount(trajs.user, minlength=n)
    points = np.bincount(trajs.user, trajs.lengths, minlength=n)
    lost = np.bincount(trajs.user, released_points == 0, minlength=n)
    kept = np.bincount(trajs.user, released_points, minlength=n)
    there = count > 0
    if not there.any():
        return {"trajectories": 0.0, "users": 0.0, "points": 0.0}
    return {
        "trajectories": float((lost[there] / count[there]).mean()),
        "users": float((kept[there] == 0).mean()),
        "points": float((1 - kept[there] / np.maximum(points[there], 1)).mean()),
    }


def shares(trajs: Trajectories, released_points: np.ndarray) -> dict[str, Any]:
    """Suppressed share of trajectories, users and points; 0 of nothing is 0."""
    there = np.zeros(len(trajs.user_ids), dtype=bool)
    there[trajs.user[released_points > 0]] = True
    users = np.unique(trajs.user)
    return {
        "trajectories": int((released_points == 0).sum()) / max(len(trajs), 1),
        "users": int((~there[users]).sum()) / max(len(users), 1),
        "points": 1 - int(released_points.sum()) / trajs.n_points if trajs.n_points else 0.0,
    }


def _strata(trajs: Trajectories) -> dict[str, tuple[np.ndarray, Callable[[int], str]]]:
    """Name of a division -> int64 [n], the stratum of each trajectory, and how a stratum is called."""
    found: dict[str, tuple[np.ndarray, Callable[[int], str]]] = {
        "by length": (np.searchsorted(np.array(LENGTHS_KM) * 1000.0, travelled_m(trajs), side="right"), _length_name),
        f"by start (column and row of squares of {START_M:g} m)": (
            SquareCells(START_M).cell_of(trajs.xy[trajs.starts]),
            _square_name,
        ),
    }
    if trajs.t is not None:
        hour = TimeBins(60, "clock", trajs.meta.tz).bin_of(trajs.t[trajs.starts], len(trajs))
        found["by local hour of the start"] = (hour, "{:02d}".format)
    return found


def _length_name(i: int) -> str:
    bounds = (0, *LENGTHS_KM)
    return f"{bounds[i]} to {bounds[i + 1]} km" if i < len(LENGTHS_KM) else f"over {bounds[i]} km"


def _square_name(cell: int) -> str:
    column, row = unpack(np.array([cell]))
    return f"{column[0]} {row[0]}"


def travelled_m(trajs: Trajectories) -> np.ndarray:
    """float64 [n]: metres along the fixes."""
    return np.asarray(polyline_lengths(trajs.xy, trajs.offsets))
