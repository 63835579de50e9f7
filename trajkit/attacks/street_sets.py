"""Anonymity sets of released trajectories: whom the released places fit, and whom the streets rebuilt from them still fit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from trajkit.attacks.street_sequences import Streets, overlap
from trajkit.trajectories import Trajectories


class Regions(NamedTuple):
    """What was released, as squares: ``xy`` [N, 2] their middles, ``half`` [N] half their sides (metres), ``offsets`` [n + 1]."""

    xy: np.ndarray
    half: np.ndarray
    offsets: np.ndarray


class Sets(NamedTuple):
    """Of each target [p]: people who fit ``before`` and ``after``, and whether the target is ``in_before`` and ``in_after``."""

    before: np.ndarray
    in_before: np.ndarray
    after: np.ndarray
    in_after: np.ndarray


def street_sets(
    regions: Regions, rebuilt: Streets, rows: np.ndarray, raw: Trajectories, true: Streets, source: np.ndarray,
    length_m: np.ndarray, *, agree: float, whole: bool,
) -> Sets:  # fmt: skip
    """Count distinct people behind raw trajectories that fit the released ones at ``rows`` [p], made from raw ones ``source`` [p].

    before  the trajectory has points in all released squares, in their order; ``whole``: and none outside of all
    after   besides, the streets that it really drove (``true``) agree with the rebuilt ones nearly as well as anybody's of those before:
            the share of their joint length that they have in common is at least ``agree`` of the highest such share
    """
    return Sets(
        *_sets(
            regions.xy, regions.half, regions.offsets, _bounds(regions.xy, regions.half, regions.offsets), rebuilt.edges,
            rebuilt.offsets, rows, np.ascontiguousarray(raw.xy), raw.offsets,
            _bounds(np.ascontiguousarray(raw.xy), np.zeros(raw.n_points), raw.offsets), raw.user, true.edges, true.offsets, source, length_m,
            float(agree), whole, int(raw.user.max()) + 1,
        )
    )  # fmt: skip


def _bounds(xy: np.ndarray, half: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """float64 [n, 8] of each trajectory: x and y range of its squares, and how far in their outer borders all of the squares reach."""
    first = offsets[:-1]
    low, high = xy - half[:, None], xy + half[:, None]
    return np.hstack(
        [
            np.minimum.reduceat(low, first),
            np.maximum.reduceat(high, first),
            np.minimum.reduceat(high, first),
            np.maximum.reduceat(low, first),
        ]
    )


@njit(cache=True)
def _inside(xy, i, region_xy, half, j):  # pragma: no cover - compiled
    return abs(xy[i, 0] - region_xy[j, 0]) <= half[j] and abs(xy[i, 1] - region_xy[j, 1]) <= half[j]


@njit(cache=True)
def _fits(xy, a, b, region_xy, half, first, last, whole):  # pragma: no cover - compiled
    """Whether the points a..b - 1 visit the squares first..last - 1 in order, and, if ``whole``, lie in some of them."""
    j = first
    for i in range(a, b):
        while j < last and _inside(xy, i, region_xy, half, j):
            j += 1
        if j == last:
            break
    if j < last:
        return False
    if whole:
        near = first  # neighbouring points lie in neighbouring squares: begin where the last one was found
        for i in range(a, b):
            found = False
            for step in range(last - first):
                j = near + step if near + step < last else near + step - (last - first)
                if _inside(xy, i, region_xy, half, j):
                    near, found = j, True
                    break
            if not found:
                return False
    return True


@njit(cache=True)
def _sets(
    region_xy, half, region_offsets, region_bounds, edges, offsets, rows, xy, raw_offsets, raw_bounds, person, true_edges,
    true_offsets, source, length, agree, whole, n_persons,
):  # fmt: skip  # pragma: no cover - compiled
    n = len(rows)
    before, after = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    in_before, in_after = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    seen = np.full(n_persons, -1, dtype=np.int64)
    best, who = np.zeros(n_persons), np.empty(n_persons, dtype=np.int64)
    mark = np.full(len(length), -1, dtype=np.int64)
    stamp = 0
    for t in range(n):
        r = rows[t]
        me = person[source[t]]
        a = edges[offsets[r] : offsets[r + 1]]
        box = region_bounds[r]
        found, highest = 0, 0.0
        for u in range(len(raw_offsets) - 1):
            b = raw_bounds[u]
            # the squares must all be reached, so the raw range must meet the outermost of them
            if b[0] > box[4] or b[1] > box[5] or b[2] < box[6] or b[3] < box[7]:
                continue
            if whole and (b[0] < box[0] or b[1] < box[1] or b[2] > box[2] or b[3] > box[3]):
                continue
            if not _fits(
                xy, raw_offsets[u], raw_offsets[u + 1], region_xy, half, region_offsets[r], region_offsets[r + 1], whole
            ):
                continue
            p = person[u]
            if seen[p] != t:
                seen[p] = t
                who[found], best[p] = p, 0.0
                found += 1
            stamp += 2
            in_a, in_b, both = overlap(a, true_edges[true_offsets[u] : true_offsets[u + 1]], length, mark, stamp)
            if both > 0:
                best[p] = max(best[p], both / (in_a + in_b - both))
                highest = max(highest, best[p])
        before[t], in_before[t] = found, seen[me] == t
        for j in range(found):
            if best[who[j]] >= agree * highest:
                after[t] += 1
                in_after[t] = in_after[t] or who[j] == me
    return before, in_before, after, in_after
