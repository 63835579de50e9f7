"""Greedy groups of at least k people around pivots, one time span at a time (the clustering of NWA, Abul, Bonchi, Nanni 2008).

Distance of two trajectories: the largest over all times, so that a group is near at every time, not on average. Pivots come in random
order, where the paper takes the farthest from those before: that one needs all distances, and begins with the outliers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from trajkit import seeds
from trajkit.anonymize.alignment import Aligned

ALONE = -1


@dataclass(frozen=True)
class Groups:
    """``of`` int64 [n]: group of each aligned trajectory, or -1; ``count`` of groups; ``radius_m``: widest radius limit that was used.

    ``thin``: trajectories in spans with fewer than k people, which no radius helps; ``trash``: the others that are in no group.
    """

    of: np.ndarray
    count: int
    radius_m: float
    thin: int
    trash: int


def grouped(
    aligned: Aligned, who: np.ndarray, *, k: int, radius_m: float, growth: float, trash: float, seed: int
) -> Groups:
    """Group trajectories so that each group holds at least ``k`` distinct people ``who`` [n].

    In every span the limit on the distance to the pivot starts at ``radius_m`` and grows by the factor ``growth`` until at most the share
    ``trash`` of the span is in no group.
    """
    of = np.full(len(aligned), ALONE, dtype=np.int64)
    order = np.lexsort([np.arange(len(aligned)), aligned.span])
    cuts = np.flatnonzero(np.diff(aligned.span[order])) + 1
    rng = seeds.rng(seed, "sampling", "pivots")
    count, widest, thin = 0, 0.0, 0
    for members in np.split(order, cuts) if len(order) else []:
        people, codes = np.unique(who[members], return_inverse=True)
        if len(people) < k:
            thin += len(members)
            continue
        points = aligned.offsets[members[0] + 1] - aligned.offsets[members[0]]
        xy = aligned.xy[aligned.offsets[members][:, None] + np.arange(points)]
        pivots = rng.permutation(len(members))
        local, found, used = _span_groups(xy, codes.astype(np.int64), pivots, k, radius_m, growth, trash)
        of[members] = np.where(local >= 0, local + count, ALONE)
        count, widest = count + found, max(widest, used)
    return Groups(of, count, widest, thin, int((of == ALONE).sum()) - thin)


def _span_groups(
    xy: np.ndarray, who: np.ndarray, pivots: np.ndarray, k: int, radius_m: float, growth: float, trash: float
) -> tuple[np.ndarray, int, float]:
    """Groups of one span; at some radius all are near to a pivot, so that this ends."""
    radius = radius_m
    while True:
        group, chosen = _greedy(xy, who, pivots, k, radius)
        if (group < 0).sum() <= int(trash * len(xy)):
            return group, len(chosen), radius
        radius *= growth


@njit(cache=True)
def _far(xy, a, b, limit):  # pragma: no cover - compiled
    """Square of the largest distance of two trajectories over all times; where it is above ``limit``, some number above it."""
    worst = 0.0
    for s in range(xy.shape[1]):
        dx, dy = xy[a, s, 0] - xy[b, s, 0], xy[a, s, 1] - xy[b, s, 1]
        worst = max(worst, dx * dx + dy * dy)
        if worst > limit:
            break
    return worst


@njit(cache=True)
def _greedy(xy, who, pivots, k, radius):  # pragma: no cover - compiled
    """(group of each, the pivots): nearest trajectories of k - 1 other people within ``radius``, then the rest to the nearest pivot in reach."""
    n, limit = len(xy), radius * radius
    group = np.full(n, -1, np.int64)
    seen = np.full(who.max() + 1, -1, np.int64)
    near, far = np.empty(n, np.int64), np.empty(n)
    chosen = np.empty(n, np.int64)
    count = 0
    for pivot in pivots:
        if group[pivot] >= 0:
            continue
        m = 0
        for i in range(n):
            if group[i] < 0:
                d = -1.0 if i == pivot else _far(xy, pivot, i, limit)
                if d <= limit:
                    near[m], far[m] = i, d
                    m += 1
        if m < k:
            continue
        found = 0
        taken = np.empty(k, np.int64)
        for c in np.argsort(far[:m], kind="mergesort"):
            i = near[c]
            if seen[who[i]] != pivot:
                seen[who[i]] = pivot
                taken[found] = i
                found += 1
                if found == k:
                    break
        if found == k:
            group[taken] = count
            chosen[count] = pivot
            count += 1
    _assign(xy, group, chosen[:count], limit)
    return group, chosen[:count]


@njit(cache=True)
def _assign(xy, group, chosen, limit):  # pragma: no cover - compiled
    for i in range(len(xy)):
        if group[i] >= 0:
            continue
        best = limit
        for g in range(len(chosen)):
            d = _far(xy, i, chosen[g], best)
            if d <= best and (d < best or group[i] < 0):
                best = d
                group[i] = g
