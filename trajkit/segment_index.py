"""Exact distances from points to line segments, by uniform buckets over the segments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

MIN_CELL_M = 50.0
MAX_CELLS = 2_000_000


class SegmentIndex(NamedTuple):
    """Segments [s, 4]; cell ``row * nx + column`` lists ``items[starts[cell]:starts[cell + 1]]``; lower left corner, cell size in metres."""

    segments: np.ndarray
    starts: np.ndarray
    items: np.ndarray
    low_x: float
    low_y: float
    cell: float
    nx: int
    ny: int


def build_index(segments: np.ndarray, reach: float) -> SegmentIndex:
    """Uniform buckets: each cell lists the segments within ``reach`` of any point of it."""
    low = segments.reshape(-1, 2).min(axis=0) - reach
    span = segments.reshape(-1, 2).max(axis=0) + reach - low
    cell = max(2 * reach, MIN_CELL_M, float(np.sqrt(span.prod() / MAX_CELLS)), float(span.max() / MAX_CELLS))
    nx, ny = (int(n) for n in span // cell + 1)
    starts, items = _bucket(segments, low[0], low[1], cell, nx, ny, reach)
    return SegmentIndex(segments, starts, items, float(low[0]), float(low[1]), cell, nx, ny)


@njit(cache=True, inline="always")
def _squared_distance(px, py, x0, y0, x1, y1):  # pragma: no cover - compiled
    dx, dy = x1 - x0, y1 - y0
    norm = dx * dx + dy * dy
    s = 0.0
    if norm > 0.0:
        s = min(1.0, max(0.0, ((px - x0) * dx + (py - y0) * dy) / norm))
    ex, ey = px - x0 - s * dx, py - y0 - s * dy
    return ex * ex + ey * ey


@njit(cache=True)
def _bucket(segments, low_x, low_y, cell, nx, ny, reach):  # pragma: no cover - compiled
    """A segment enters a cell when the cell's circumcircle, widened by ``reach``, meets it: first count, then fill."""
    limit = (reach + cell * 0.70711) ** 2
    starts = np.zeros(nx * ny + 1, dtype=np.int64)
    items = np.empty(0, dtype=np.int64)
    for fill in range(2):
        if fill:
            starts = np.cumsum(starts)
            items = np.empty(starts[-1], dtype=np.int64)
            at = starts[:-1].copy()
        for s in range(len(segments)):
            x0, y0, x1, y1 = segments[s]
            c0, c1 = int((min(x0, x1) - reach - low_x) / cell), int((max(x0, x1) + reach - low_x) / cell)
            r0, r1 = int((min(y0, y1) - reach - low_y) / cell), int((max(y0, y1) + reach - low_y) / cell)
            for row in range(max(r0, 0), min(r1, ny - 1) + 1):
                for column in range(max(c0, 0), min(c1, nx - 1) + 1):
                    cx, cy = low_x + (column + 0.5) * cell, low_y + (row + 0.5) * cell
                    if _squared_distance(cx, cy, x0, y0, x1, y1) <= limit:
                        k = row * nx + column
                        if fill:
                            items[at[k]] = s
                            at[k] += 1
                        else:
                            starts[k + 1] += 1
    return starts, items


@njit(cache=True)
def nearest(xy, segments, starts, items, low_x, low_y, cell, nx, ny, reach):  # pragma: no cover - compiled
    """Distance [N] of each point to its nearest segment, infinite beyond ``reach`` (the index's own)."""
    out = np.full(len(xy), np.inf)
    for i in range(len(xy)):
        px, py = xy[i, 0], xy[i, 1]
        u, v = (px - low_x) / cell, (py - low_y) / cell
        if not (0 <= u < nx and 0 <= v < ny):
            continue
        k = int(v) * nx + int(u)
        best = np.inf
        for j in range(starts[k], starts[k + 1]):
            s = items[j]
            d = _squared_distance(px, py, segments[s, 0], segments[s, 1], segments[s, 2], segments[s, 3])
            best = min(best, d)
        if best <= reach * reach:
            out[i] = np.sqrt(best)
    return out


@njit(cache=True)
def polyline_lengths(xy, offsets):  # pragma: no cover - compiled
    """Length [m] of each polyline ``xy[offsets[e]:offsets[e + 1]]``."""
    out = np.zeros(len(offsets) - 1)
    for e in range(len(out)):
        for i in range(offsets[e], offsets[e + 1] - 1):
            out[e] += np.hypot(xy[i + 1, 0] - xy[i, 0], xy[i + 1, 1] - xy[i, 1])
    return out
