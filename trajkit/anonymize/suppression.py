"""Who is missing from a release: shares of trajectories, users and points, and where, when and how far they travelled.

Suppression is not harmless: who is rare goes first, and who knows a person's route sees that it is not there. Shares for the public are
rounded, and strata are given only where they hold enough people that one of them, with no more trajectories than others, is within the
rounding. This is care and no guarantee: a person with many trajectories moves a share by more, and so does anybody in a small set. The exact
shares are for the holder of the data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trajkit.anonymize.tessellation import SquareCells, unpack
from trajkit.anonymize.time_bins import TimeBins
from trajkit.trajectories import Trajectories

STEP = 0.05  # of rounded shares
FEWEST = 20  # persons of a stratum: one of them is one step of the rounding
LENGTHS_KM = (1, 2, 5, 10, 20, 50)  # public bounds, never quantiles of the data
START_M = 5_000.0


def rounded(share: float) -> float:
    """``share`` to the nearest multiple of `STEP`."""
    return round(round(share / STEP) * STEP, 2)


def missing(trajs: Trajectories, released_points: np.ndarray, k: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Suppressed shares, for the public and exact, where ``released_points`` (int64 [n]) of each trajectory are released.

    A user is suppressed who has nothing in the release. Strata are by travelled length, by the public square of ``START_M`` metres in which
    a trajectory starts, and by local hour of its start where there are times.
    """
    gone = released_points == 0
    exact = shares(trajs, released_points)
    public: dict[str, Any] = {what: rounded(share) for what, share in exact.items()}
    public["rounded to"] = STEP
    fewest, many = max(k, FEWEST), np.int64(max(len(trajs.user_ids), 1))
    for name, (labels, named) in _strata(trajs).items():
        known, of = np.unique(labels, return_inverse=True)
        count = np.bincount(of, minlength=len(known))
        lost = np.bincount(of[gone], minlength=len(known))
        people = np.bincount(np.unique(of * many + trajs.user) // many, minlength=len(known))
        rows = list(
            zip(map(named, known.tolist()), (lost / count).tolist(), count.tolist(), people.tolist(), strict=True)
        )
        exact[name] = {label: {"suppressed": s, "trajectories": c, "users": p} for label, s, c, p in rows}
        public[name] = {label: rounded(s) for label, s, _, p in rows if p >= fewest}
    public["strata of fewer users are left out"] = fewest
    return public, exact


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
    step = np.hypot(*np.diff(trajs.xy, axis=0, prepend=trajs.xy[:1]).T)
    step[trajs.starts] = 0.0
    return np.add.reduceat(step, trajs.starts) if len(trajs) else step
