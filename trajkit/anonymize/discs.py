"""How far apart the members of a group are: largest distance of two, and the smallest disc around all, at every time.

The two are not the same. Points pairwise within delta fit a disc of radius delta / sqrt(3) (Jung 1901), not always one of delta / 2; a disc
of radius delta, on the other hand, admits pairs 2 delta apart. Co-localisation here is pairwise (Abul, Bonchi, Nanni 2008).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from trajkit.errors import ParameterError
from trajkit.trajectories import concatenate_offsets

ROUNDING = 1e-9  # a distance counts as within delta up to this share of delta: what floating point leaves


@dataclass(frozen=True)
class KDeltaAudit:
    """What one group meets. Distances and radii are the largest over all times, in metres (or whatever the points are in)."""

    members: int
    max_pairwise_distance: float
    max_enclosing_radius: float
    pairwise_colocalised_within_delta: bool
    inside_disc_radius_delta_over_2: bool
    inside_disc_radius_delta: bool


def layout(offsets: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(first points, times a member, offsets of groups) as `extents` takes them, of trajectories sorted by ``group`` (0, 1, 2 …)."""
    cuts = concatenate_offsets(np.bincount(group))
    return offsets[:-1], np.diff(offsets)[cuts[:-1]], cuts


def k_delta_audit(groups: Sequence[np.ndarray], delta: float) -> list[KDeltaAudit]:
    """Audit groups of trajectories on common times, each [m, T, 2]. Raises ParameterError for a negative delta or other shapes."""
    if not (delta >= 0 and math.isfinite(delta)):
        raise ParameterError(f"delta = {delta}: give a distance in metres, at least 0")
    for i, group in enumerate(groups):
        if np.ndim(group) != 3 or np.shape(group)[2] != 2 or not np.isfinite(group).all():
            raise ParameterError(f"group {i} has shape {np.shape(group)}: give finite points [members, times, 2]")
    sizes = np.array([len(g) for g in groups], dtype=np.int64)
    times = np.array([np.shape(g)[1] for g in groups], dtype=np.int64)
    xy = np.concatenate([np.reshape(g, (-1, 2)) for g in groups]) if groups else np.zeros((0, 2))
    apart, radius = extents(xy, concatenate_offsets(np.repeat(times, sizes))[:-1], times, concatenate_offsets(sizes))
    limit = delta * (1 + ROUNDING)
    return [
        KDeltaAudit(int(m), float(a), float(r), bool(a <= limit), bool(r <= limit / 2), bool(r <= limit))
        for m, a, r in zip(sizes, apart, radius, strict=True)
    ]


def extents(xy: np.ndarray, at: np.ndarray, times: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Largest pairwise distance and largest radius of the smallest enclosing disc over all times, float64 [g] each.

    xy      float64 [N, 2]
    at      int64 [n], index of the first point of each member, members of a group next to each other
    times   int64 [g], points of each member of a group
    groups  int64 [g + 1], offsets into the members
    """
    return _extents(np.ascontiguousarray(xy, dtype=np.float64), at, times, groups)


def disc_centres(xy: np.ndarray, at: np.ndarray, times: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """float64 [sum of times, 2]: centre of the smallest enclosing disc of each group at each time (arguments as for `extents`)."""
    return _centres(np.ascontiguousarray(xy, dtype=np.float64), at, times, groups)


@njit(cache=True)
def smallest_disc(p):  # pragma: no cover - compiled
    """(x, y, radius) of the smallest disc around p [m, 2], exact up to rounding: the disc of two or three of the points (Welzl 1991, iterative)."""
    x, y = p[0, 0], p[0, 1]
    p = p - p[0]  # near zero, where floating point is fine enough for points that almost coincide
    cx, cy, r2 = 0.0, 0.0, 0.0
    for i in range(1, len(p)):
        if _inside(p, i, cx, cy, r2):
            continue
        cx, cy, r2 = p[i, 0], p[i, 1], 0.0
        for j in range(i):
            if _inside(p, j, cx, cy, r2):
                continue
            cx, cy = (p[i, 0] + p[j, 0]) / 2, (p[i, 1] + p[j, 1]) / 2
            r2 = _square(p, i, cx, cy)
            for m in range(j):
                if not _inside(p, m, cx, cy, r2):
                    cx, cy, r2 = _through(p, i, j, m, cx, cy, r2)
    return x + cx, y + cy, math.sqrt(r2)


@njit(cache=True, inline="always")
def _square(p, i, cx, cy):  # pragma: no cover - compiled
    return (p[i, 0] - cx) ** 2 + (p[i, 1] - cy) ** 2


@njit(cache=True, inline="always")
def _inside(p, i, cx, cy, r2):  # pragma: no cover - compiled
    return _square(p, i, cx, cy) <= r2 * (1 + 1e-12)


@njit(cache=True)
def _through(p, i, j, m, cx, cy, r2):  # pragma: no cover - compiled
    """The circle through three points; where they lie on a line, the old disc grown around its centre."""
    bx, by = p[j, 0] - p[i, 0], p[j, 1] - p[i, 1]
    dx, dy = p[m, 0] - p[i, 0], p[m, 1] - p[i, 1]
    cross = 2 * (bx * dy - by * dx)
    b2, d2 = bx * bx + by * by, dx * dx + dy * dy
    if abs(cross) <= 1e-14 * (b2 + d2):
        return cx, cy, max(r2, _square(p, m, cx, cy))
    ux, uy = (dy * b2 - by * d2) / cross, (bx * d2 - dx * b2) / cross
    return p[i, 0] + ux, p[i, 1] + uy, ux * ux + uy * uy


@njit(cache=True)
def _slice(xy, at, lo, hi, s):  # pragma: no cover - compiled
    p = np.empty((hi - lo, 2))
    for j in range(lo, hi):
        p[j - lo] = xy[at[j] + s]
    return p


@njit(cache=True)
def _extents(xy, at, times, groups):  # pragma: no cover - compiled
    apart, radius = np.zeros(len(times)), np.zeros(len(times))
    for g in range(len(times)):
        for s in range(times[g] if groups[g + 1] > groups[g] else 0):
            p = _slice(xy, at, groups[g], groups[g + 1], s)
            for i in range(len(p)):
                for j in range(i):
                    apart[g] = max(apart[g], _square(p, i, p[j, 0], p[j, 1]))
            radius[g] = max(radius[g], smallest_disc(p)[2])
        apart[g] = math.sqrt(apart[g])
    return apart, radius


@njit(cache=True)
def _centres(xy, at, times, groups):  # pragma: no cover - compiled
    out = np.empty((times.sum(), 2))
    row = 0
    for g in range(len(times)):
        for s in range(times[g]):
            cx, cy, _ = smallest_disc(_slice(xy, at, groups[g], groups[g + 1], s))
            out[row, 0] = cx
            out[row, 1] = cy
            row += 1
    return out
