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

    The limit on the distance to the pivot starts at ``radius_m`` and grows by the factor ``growth`` until at most the share ``trash`` of
    all that are in spans with k people is in no group; spans where nothing is left over stay as they are. It ends, because at some radius
    every trajectory is near to a pivot.
    """
    of = np.full(len(aligned), ALONE, dtype=np.int64)
    spans, thin = _spans(aligned, who, k, seed)
    allowed = int(trash * (len(aligned) - thin))
    results = [_greedy(*span.arrays, k, radius_m) for span in spans]
    while sum(int((group < 0).sum()) for group, _ in results) > allowed:
        radius_m *= growth
        results = [
            _greedy(*span.arrays, k, radius_m) if (found[0] < 0).any() else found
            for span, found in zip(spans, results, strict=True)
        ]
    count = 0
    for span, (group, chosen) in zip(spans, results, strict=True):
        of[span.members] = np.where(group >= 0, group + count, ALONE)
        count += len(chosen)
    return Groups(of, count, radius_m, thin, int((of == ALONE).sum()) - thin)


@dataclass(frozen=True)
class _Span:
    """Trajectories of one time span: indices ``members`` [m]; (places [m, T, 2], people [m], order of pivots [m])."""

    members: np.ndarray
    arrays: tuple[np.ndarray, np.ndarray, np.ndarray]


def _spans(aligned: Aligned, who: np.ndarray, k: int, seed: int) -> tuple[list[_Span], int]:
    """The spans with at least ``k`` people, and how many trajectories are in others."""
    order = np.argsort(aligned.span, kind="stable")
    rng = seeds.rng(seed, "sampling", "pivots")
    spans, thin = [], 0
    for members in np.split(order, np.flatnonzero(np.diff(aligned.span[order])) + 1) if len(order) else []:
        people, codes = np.unique(who[members], return_inverse=True)
        if len(people) < k:
            thin += len(members)
            continue
        points = aligned.offsets[members[0] + 1] - aligned.offsets[members[0]]
        xy = aligned.xy[aligned.offsets[members][:, None] + np.arange(points)]
        spans.append(_Span(members, (xy, codes.astype(np.int64), rng.permutation(len(members)))))
    return spans, thin


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
