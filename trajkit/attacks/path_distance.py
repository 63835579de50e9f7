"""Which released paths lie nearest to known points: distances in space alone, or at the time of each known point."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from trajkit.trajectories import Trajectories

TIE_M = 1e-6  # paths closer to each other than this in distance are equally near


class Paths(NamedTuple):
    """xy float64 [N, 2] metres, offsets int64 [r + 1], t int64 [N] ms (empty: none), boxes float64 [r, 4] (x0, y0, x1, y1)."""

    xy: np.ndarray
    offsets: np.ndarray
    t: np.ndarray
    boxes: np.ndarray


class Rule(NamedTuple):
    """worst: the largest of the distances of a target's points counts, else their mean. timed: the place at the known time counts.

    speed: metres a second by which a known time before the first or after the last fix adds to the distance.
    """

    worst: bool
    timed: bool
    speed: float


def paths_of(trajs: Trajectories, *, timed: bool) -> Paths:
    """The released trajectories (none of them empty) as paths."""
    low, high = (f.reduceat(trajs.xy, trajs.starts, axis=0) for f in (np.minimum, np.maximum))
    t = trajs.t if timed and trajs.t is not None else np.zeros(0, dtype=np.int64)
    return Paths(np.ascontiguousarray(trajs.xy), trajs.offsets, t, np.hstack([low, high]))


@njit(cache=True)
def _to_box(x, y, box):  # pragma: no cover - compiled
    dx = max(box[0] - x, 0.0, x - box[2])
    dy = max(box[1] - y, 0.0, y - box[3])
    return np.hypot(dx, dy)


@njit(cache=True)
def _to_path(x, y, xy, first, last):  # pragma: no cover - compiled
    """Metres from a point to the polyline of ``xy[first:last]``."""
    best = (xy[first, 0] - x) ** 2 + (xy[first, 1] - y) ** 2
    for i in range(first, last - 1):
        dx, dy = xy[i + 1, 0] - xy[i, 0], xy[i + 1, 1] - xy[i, 1]
        norm = dx * dx + dy * dy
        s = 0.0
        if norm > 0.0:
            s = min(1.0, max(0.0, ((x - xy[i, 0]) * dx + (y - xy[i, 1]) * dy) / norm))
        ex, ey = x - xy[i, 0] - s * dx, y - xy[i, 1] - s * dy
        best = min(best, ex * ex + ey * ey)
    return np.sqrt(best)


@njit(cache=True)
def _at_time(x, y, when, xy, t, first, last, speed):  # pragma: no cover - compiled
    """Metres to the place at time ``when`` (ms), between fixes on the straight line, outside the path's time its end and the wait."""
    j = first + np.searchsorted(t[first:last], when)
    if j in (first, last):
        k = first if j == first else last - 1
        return np.hypot(np.hypot(x - xy[k, 0], y - xy[k, 1]), speed * abs(when - t[k]) / 1000.0)
    s = (when - t[j - 1]) / (t[j] - t[j - 1])
    px, py = xy[j - 1, 0] + s * (xy[j, 0] - xy[j - 1, 0]), xy[j - 1, 1] + s * (xy[j, 1] - xy[j - 1, 1])
    return np.hypot(x - px, y - py)


@njit(cache=True)
def _distance(known, when, paths, r, rule, enough):  # pragma: no cover - compiled
    """Distance of the known points [p, 2] to path ``r``; anything above ``enough`` may come out as infinite."""
    p = len(known)
    near = 0.0
    for j in range(p):
        d = _to_box(known[j, 0], known[j, 1], paths.boxes[r])
        near = max(near, d) if rule.worst else near + d / p
    if near > enough:
        return np.inf
    total = 0.0
    first, last = paths.offsets[r], paths.offsets[r + 1]
    for j in range(p):
        if rule.timed:
            d = _at_time(known[j, 0], known[j, 1], when[j], paths.xy, paths.t, first, last, rule.speed)
        else:
            d = _to_path(known[j, 0], known[j, 1], paths.xy, first, last)
        total = max(total, d) if rule.worst else total + d / p
        if total > enough:
            return np.inf
    return total


@njit(cache=True)
def nearest_paths(known, when, paths, rule, own_starts, own, who_starts, who):  # pragma: no cover - compiled
    """For each target with points ``known`` [n, p, 2] at ``when`` [n, p]: (distance, paths equally near, chance to name the target).

    own[own_starts[i]:own_starts[i + 1]] (rising) are the released paths that stand for target i, who[who_starts[r]:who_starts[r + 1]] the
    persons (from 0 on) whom path r stands for. The adversary names one of the distinct persons behind the nearest paths at random.
    """
    n, released = len(known), len(paths.offsets) - 1
    best, ties, success = np.full(n, np.inf), np.zeros(n, dtype=np.int64), np.zeros(n)
    tied = np.empty(released, dtype=np.int64)
    seen = np.full(who.max() + 1 if len(who) else 0, -1, dtype=np.int64)
    for i in range(n):
        m = 0
        for r in range(released):
            d = _distance(known[i], when[i], paths, r, rule, best[i] + TIE_M)
            if d < best[i] - TIE_M:
                best[i], m = d, 0
            if d <= best[i] + TIE_M:
                tied[m] = r
                m += 1
        ties[i] = m
        mine = own[own_starts[i] : own_starts[i + 1]]
        persons, found = 0, False
        for k in range(m):
            at = np.searchsorted(mine, tied[k])
            found = found or (at < len(mine) and mine[at] == tied[k])
            for j in range(who_starts[tied[k]], who_starts[tied[k] + 1]):
                if seen[who[j]] != i:
                    seen[who[j]] = i
                    persons += 1
        if found:
            success[i] = 1.0 / persons
    return best, ties, success
