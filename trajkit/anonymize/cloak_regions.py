"""Public regions for cloaking: a ladder of square cells and time bins, each rung made of whole regions of the one below."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numba import njit

from trajkit.anonymize.tessellation import SquareCells

MINUTE_MS = 60_000
UNSETTLED = -1


@dataclass(frozen=True)
class Rung:
    """Regions of one size: cells of ``side_m``, anchored at (0, 0) of the metric CRS, times bins of ``minutes`` (None: all time)."""

    side_m: float
    minutes: int | None

    def regions(self, xy: np.ndarray, times: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """(cell, bin) int64 [N] each, of points [N, 2] (metres) and compared times [N] (ms)."""
        cells = SquareCells(self.side_m).cell_of(xy)
        if self.minutes is None or times is None:
            return cells, np.zeros(len(xy), dtype=np.int64)
        return cells, times // (self.minutes * MINUTE_MS)


@dataclass(frozen=True)
class Cloaks:
    """Region of each point [N]: ``rung`` (-1: suppressed), ``cell``, ``bin``, all int64."""

    rung: np.ndarray
    cell: np.ndarray
    bin: np.ndarray


def people_in(cell: np.ndarray, bins: np.ndarray, who: np.ndarray) -> np.ndarray:
    """int64 [N]: distinct people in the region (cell, bin) of each point."""
    if not len(cell):
        return np.zeros(0, dtype=np.int64)
    order = np.lexsort([who, cell, bins])
    c, b, w = cell[order], bins[order], who[order]
    new = np.append(True, (c[1:] != c[:-1]) | (b[1:] != b[:-1]))
    other = new | np.append(True, w[1:] != w[:-1])
    counts = np.add.reduceat(other.astype(np.int64), np.flatnonzero(new))
    out = np.empty(len(cell), dtype=np.int64)
    out[order] = counts[np.cumsum(new) - 1]
    return out


def settled(
    ladder: list[Rung],
    xy: np.ndarray,
    times: np.ndarray | None,
    who: np.ndarray,
    start: np.ndarray,
    *,
    k: int,
    reciprocal: bool,
) -> Cloaks:
    """The first rung from ``start`` [N] upwards on which each point's region holds ``k`` people.

    reciprocal: people count for a region only if it is released for them as well, not if they have got a smaller one; then every released
    region is shared by k people (the reciprocity of Kalnis et al. 2007). Otherwise all who were there count.
    """
    rung = np.full(len(xy), UNSETTLED, dtype=np.int64)
    cell, bins = np.zeros(len(xy), dtype=np.int64), np.zeros(len(xy), dtype=np.int64)
    for level, step in enumerate(ladder):
        waiting = np.flatnonzero((rung == UNSETTLED) & (start <= level))
        c, b = step.regions(xy, times)
        counts = people_in(c[waiting], b[waiting], who[waiting]) if reciprocal else people_in(c, b, who)[waiting]
        done = waiting[counts >= k]
        rung[done], cell[done], bins[done] = level, c[done], b[done]
    return Cloaks(rung, cell, bins)


def recount(region: tuple[np.ndarray, np.ndarray], who: np.ndarray, asked: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """int64 [m]: distinct people of ``who`` [N] in the regions (cell, bin) that are ``asked`` [m] for, counted anew through tables."""
    frame = pd.DataFrame({"cell": region[0], "bin": region[1], "who": who}).drop_duplicates()
    people = frame.groupby(["cell", "bin"]).size()
    found = people.reindex(pd.MultiIndex.from_arrays(asked)) if len(asked[0]) else pd.Series([], dtype=np.float64)
    return found.fillna(0).to_numpy().astype(np.int64)


def discs_hold(
    xy: np.ndarray, bins: np.ndarray, who: np.ndarray, asked: np.ndarray, radius: np.ndarray, k: int
) -> np.ndarray:
    """bool [m]: whether the disc of ``radius`` [m] around each of the points ``asked`` (indices [m]) holds ``k`` people in its time bin."""
    order = np.lexsort([xy[:, 0], bins])
    position = np.empty(len(xy), dtype=np.int64)
    position[order] = np.arange(len(xy))
    return _discs(np.ascontiguousarray(xy[order]), bins[order], who[order], position[asked], radius, k)


@njit(cache=True)
def _discs(xy, bins, who, asked, radius, k):  # pragma: no cover - compiled
    """Points are sorted by (bin, x): a disc is looked for to the left and to the right until x is out of reach."""
    out = np.zeros(len(asked), np.bool_)
    seen = np.full(who.max() + 1 if len(who) else 0, -1, np.int64)
    for q in range(len(asked)):
        at, r = asked[q], radius[q]
        found = 0
        for way in (-1, 1):
            i = at if way == 1 else at - 1
            while found < k and 0 <= i < len(xy) and bins[i] == bins[at] and abs(xy[i, 0] - xy[at, 0]) <= r:
                if seen[who[i]] != q and (xy[i, 0] - xy[at, 0]) ** 2 + (xy[i, 1] - xy[at, 1]) ** 2 <= r * r:
                    seen[who[i]] = q
                    found += 1
                i += way
        out[q] = found >= k
    return out


@njit(cache=True)
def spread_times(low, high, offsets):  # pragma: no cover - compiled
    """int64 [N]: strictly rising times in [low, high) of each point, equally spaced where intervals are shared; nothing but these decides.

    low, high  int64 [N], ms; the trajectories [offsets] must admit rising times of whole ms (the true ones are such)
    """
    out = np.empty(len(low), np.int64)
    early, late = np.empty(len(low), np.int64), np.empty(len(low), np.int64)
    for i in range(len(offsets) - 1):
        a, b = offsets[i], offsets[i + 1]
        for p in range(a, b):
            early[p] = low[p] if p == a else max(low[p], early[p - 1] + 1)
        for p in range(b - 1, a - 1, -1):
            late[p] = high[p] - 1 if p == b - 1 else min(high[p] - 1, late[p + 1] - 1)
        p = a
        while p < b:
            q, end = p + 1, high[p]
            while q < b and low[q] < end:
                end = max(end, high[q])
                q += 1
            for j in range(p, q):
                out[j] = early[j] + (late[j] - early[j]) * (j - p + 1) // (q - p + 1)
            p = q
    return out
