"""Stay points, home-like places, and cutting both out of trajectories before anything else is done to them.

Rule (Li, Zheng, Xie, Chen, Liu, Ma 2008, "Mining user similarity based on location history"): from point i, j is the last point such
that every point of i..j lies at most ``radius_m`` from point i (metres of the declared CRS, border included). Where t_j - t_i is at
least ``dwell_s``, i..j is a stay and the search goes on at j + 1; else at i + 1. The time until the first point outside does not
count, a silence within i..j does. Trips are cut at silences before, by `preprocess.split_at_gaps`.

Suppression gives no guarantee. Parts that end around an empty disc point at its middle when there are several of them (Hassan, Hussain,
Bates 2018), and the same place may be passed without a stop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal
from zoneinfo import ZoneInfo

import numpy as np
from numba import njit

from trajkit.anonymize.tessellation import SquareCells
from trajkit.errors import ParameterError
from trajkit.local_time import DAY_MS, local_ms
from trajkit.preprocess import DropReport, finish
from trajkit.trajectories import Trajectories

HOUR_MS = 3_600_000
NIGHT_FROM, NIGHT_TO = 20 * HOUR_MS, 6 * HOUR_MS


@dataclass(frozen=True)
class Stays:
    """s stays, in order of their points. int64 [s]: ``trajectory``, ``first`` and ``last`` point (of the whole set, both within),
    ``arrival`` and ``departure`` (ms UTC); ``centre`` float64 [s, 2]: mean of the points, metres."""

    trajectory: np.ndarray
    first: np.ndarray
    last: np.ndarray
    arrival: np.ndarray
    departure: np.ndarray
    centre: np.ndarray

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True)
class Places:
    """h home-like places, at most one a user: ``user`` int64 [h], ``centre`` float64 [h, 2] (metres), ``night_h`` float64 [h] (hours)."""

    user: np.ndarray
    centre: np.ndarray
    night_h: np.ndarray

    def __len__(self) -> int:
        return len(self.user)


def stay_points(trajs: Trajectories, *, radius_m: float, dwell_s: float) -> Stays:
    """Stays of ``dwell_s`` seconds within ``radius_m`` metres; see the module for the rule. Raises ParameterError."""
    if not radius_m > 0 or not dwell_s > 0:
        raise ParameterError(
            f"radius_m = {radius_m} and dwell_s = {dwell_s} must be positive: metres and seconds of a stay"
        )
    if trajs.t is None:
        raise ParameterError(
            f"{trajs.meta.dataset} has no times, and a stay is a matter of time: map a time column, or leave the step out"
        )
    xy = np.ascontiguousarray(trajs.xy)
    first, last = _stays(xy, trajs.t, trajs.offsets, float(radius_m), round(dwell_s * 1000))
    return Stays(trajs.traj_of_point[first], first, last, trajs.t[first], trajs.t[last], _means(xy, first, last))


@njit(cache=True)
def _stays(xy, t, offsets, radius, dwell):  # pragma: no cover - compiled
    """int64 [s], int64 [s]: first and last point of each stay."""
    first = np.empty(len(xy), dtype=np.int64)
    last = np.empty(len(xy), dtype=np.int64)
    found = 0
    for r in range(len(offsets) - 1):
        i = offsets[r]
        while i < offsets[r + 1]:
            j = i
            while (
                j + 1 < offsets[r + 1] and (xy[j + 1, 0] - xy[i, 0]) ** 2 + (xy[j + 1, 1] - xy[i, 1]) ** 2 <= radius**2
            ):
                j += 1
            if t[j] - t[i] >= dwell:
                first[found], last[found] = i, j
                found += 1
                i = j + 1
            else:
                i += 1
    return first[:found].copy(), last[:found].copy()


def _means(xy: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """float64 [s, 2]: mean of the points first..last, about the first of them so that no digits are lost."""
    size = last - first + 1
    at = np.repeat(np.arange(len(first)), size)
    start = np.cumsum(size) - size
    rows = np.arange(size.sum()) - np.repeat(start, size) + np.repeat(first, size)
    off = xy[rows] - xy[first][at]
    sums = np.column_stack([np.bincount(at, off[:, axis], minlength=len(first)) for axis in (0, 1)])
    return xy[first] + sums / size[:, None]


def night_ms(arrival: np.ndarray, departure: np.ndarray, tz: str) -> np.ndarray:
    """int64 [s]: ms between ``arrival`` and ``departure`` (ms UTC) at which the clock of ``tz`` shows 20:00 to 06:00.

    A clock change within the interval counts as the clock shows it. Raises ParameterError for an unknown zone.
    """
    try:
        ZoneInfo(tz)
    except (KeyError, ValueError, TypeError, OSError) as error:
        raise ParameterError(f"time zone {tz!r} is unknown: write a name such as Asia/Shanghai") from error
    before, after = _nights(arrival, tz), _nights(departure, tz)
    return np.clip(after - before, 0, departure - arrival)


def _nights(t: np.ndarray, tz: str) -> np.ndarray:
    """int64 [s]: ms of night from 1970 to ``t``, by the local clock."""
    day, clock = np.divmod(local_ms(t, tz), DAY_MS)
    return day * (NIGHT_TO + DAY_MS - NIGHT_FROM) + np.minimum(clock, NIGHT_TO) + np.maximum(clock - NIGHT_FROM, 0)


def home_like(stays: Stays, trajs: Trajectories, tz: str, *, cells_m: float = 500.0) -> Places:
    """Each user's place with most night hours: stays of one user whose centres share a public square of ``cells_m`` metres are one place.

    ``tz`` is the zone in which people live, `trajs.meta.tz`: nights by UTC are not nights. The centre is that of the stays, weighted by
    their night. Users without a stay at night have none. A place on the border of two squares counts in each for a part.
    """
    night = night_ms(stays.arrival, stays.departure, tz)
    at_night = night > 0
    night, centre, user = night[at_night], stays.centre[at_night], trajs.user[stays.trajectory[at_night]]
    pairs, place = np.unique(np.column_stack([user, SquareCells(cells_m).cell_of(centre)]), axis=0, return_inverse=True)
    place = place.ravel()
    total = np.bincount(place, night, minlength=len(pairs))
    order = np.lexsort([-total, pairs[:, 0]])
    best = order[np.unique(pairs[order, 0], return_index=True)[1]]
    weighted = np.column_stack([np.bincount(place, night * centre[:, a], minlength=len(pairs)) for a in (0, 1)])
    return Places(pairs[best, 0], weighted[best] / total[best, None], total[best] / HOUR_MS)


def suppress_stays(
    trajs: Trajectories,
    *,
    radius_m: float,
    dwell_s: float,
    which: Literal["home", "all"] = "home",
    around_m: float = 0.0,
    cells_m: float = 500.0,
) -> tuple[Trajectories, DropReport]:
    """Cut stays out, and what lies around protected places next to a cut or at the end of a trip; parts are named ``<id>_<k>``.

    ``which``: stays within ``around_m`` of the user's home-like place or in its square of ``cells_m`` ("home"; the nights are those of
    ``meta.tz``), or every stay ("all"). Protected places are home-like places and, under "all", the centres of all the user's stays: from
    each end of a trip or part, points go as long as they lie within ``around_m`` metres of one. What is cut out leaves two parts, so no
    line leads through the gap; parts of one point stay (`preprocess.filter_length`). Trajectories of which nothing is left are reported.
    Raises ParameterError.
    """
    if which not in ("home", "all"):
        raise ParameterError(f"which = {which!r} is unknown: use home or all")
    if not around_m >= 0:
        raise ParameterError(f"around_m = {around_m} must be at least 0 metres")
    stays = stay_points(trajs, radius_m=radius_m, dwell_s=dwell_s)
    homes = home_like(stays, trajs, trajs.meta.tz, cells_m=cells_m)
    whose = trajs.user[stays.trajectory]
    cut = np.ones(len(stays), dtype=bool) if which == "all" else _at_home(stays, whose, homes, around_m, cells_m)
    in_stay = _covered(stays.first[cut], stays.last[cut], trajs.n_points)
    user = np.concatenate([homes.user, whose] if which == "all" else [homes.user])
    centre = np.concatenate([homes.centre, stays.centre] if which == "all" else [homes.centre])
    order = np.argsort(user, kind="stable")
    place_of = np.searchsorted(user[order], np.arange(len(trajs.user_ids) + 1))
    gone = _trimmed(
        np.ascontiguousarray(trajs.xy), trajs.offsets, trajs.user, place_of, centre[order], float(around_m), in_stay
    )
    after, emptied = _parts(trajs, ~gone)
    settings = {
        "radius_m": radius_m,
        "dwell_s": dwell_s,
        "which": which,
        "around_m": around_m,
        "cells_m": cells_m,
        "tz": trajs.meta.tz,
    }
    reasons = {
        "stay": (0, int(in_stay.sum())),
        "around a protected place, next to a cut or an end": (0, int((gone & ~in_stay).sum())),
        "nothing left": (emptied, 0),
    }
    found = {"stays": len(stays), "stays cut out": int(cut.sum()), "users with a home-like place": len(homes)}
    return finish(
        trajs, after, "suppress_stays", settings, reasons, created=len(after) - len(trajs) + emptied, found=found
    )


def _at_home(stays: Stays, whose: np.ndarray, homes: Places, around_m: float, cells_m: float) -> np.ndarray:
    """bool [s]: the stay is at the home-like place of its user."""
    if not len(homes):
        return np.zeros(len(stays), dtype=bool)
    row = np.minimum(np.searchsorted(homes.user, whose), len(homes) - 1)
    cells = SquareCells(cells_m)
    near = np.hypot(*(stays.centre - homes.centre[row]).T) <= around_m
    same = cells.cell_of(stays.centre) == cells.cell_of(homes.centre)[row]
    return (homes.user[row] == whose) & (near | same)


def _covered(first: np.ndarray, last: np.ndarray, n: int) -> np.ndarray:
    """bool [n]: the point lies in one of the ranges first..last, which do not overlap."""
    edge = np.zeros(n + 1, dtype=np.int64)
    edge[first] += 1
    edge[last + 1] -= 1
    return np.cumsum(edge)[:n] > 0


@njit(cache=True)
def _trimmed(xy, offsets, user, place_of, centre, around, cut):  # pragma: no cover - compiled
    """bool [N]: ``cut``, and what lies around a place of the user with nothing kept between it and a cut or an end."""
    gone = cut.copy()
    for r in range(len(offsets) - 1):
        a, b = place_of[user[r]], place_of[user[r] + 1]
        for way in (1, -1):
            i = offsets[r] if way == 1 else offsets[r + 1] - 1
            open_ = True
            while offsets[r] <= i < offsets[r + 1]:
                if open_ and not gone[i]:
                    for p in range(a, b):
                        if (xy[i, 0] - centre[p, 0]) ** 2 + (xy[i, 1] - centre[p, 1]) ** 2 <= around**2:
                            gone[i] = True
                            break
                open_ = gone[i]
                i += way
    return gone


def _parts(trajs: Trajectories, keep: np.ndarray) -> tuple[Trajectories, int]:
    """Runs of points that are kept, each a trajectory ``<id>_<k>``; and how many trajectories have none."""
    rows = np.flatnonzero(keep)
    owner = trajs.traj_of_point[rows]
    new = np.append(True, (np.diff(rows) != 1) | (np.diff(owner) != 0))[: len(rows)]
    starts = np.flatnonzero(new)
    parent = owner[starts]
    order = np.arange(len(starts)) - np.searchsorted(parent, parent)
    after = replace(
        trajs,
        lonlat=trajs.lonlat[rows],
        t=None if trajs.t is None else trajs.t[rows],
        offsets=np.append(starts, len(rows)).astype(np.int64),
        user=trajs.user[parent],
        traj_ids=np.array([f"{a}_{k}" for a, k in zip(trajs.traj_ids[parent], order, strict=True)], dtype=str),
    )
    return after, len(trajs) - len(np.unique(parent))
