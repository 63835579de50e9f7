"""Compiled distances between trajectories, one thread each, so that results never depend on how many there are.

Pairs of trajectories are worked on 16 at a time: the innermost loop runs over pairs and not over points, so that the
compiler turns it into vector instructions although every recurrence along a trajectory is serial. No kernel reorders
floating-point sums (no fastmath).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numba import njit

from trajkit.errors import DataContractError
from trajkit.geo import EARTH_RADIUS_M

LANES = 16
BLOCK = 256
# asin(s) = s (1 + u (1/6 + u (3/40 + ...))), u = s²: relative error below 2e-14 up to s = 0.1, a chord of 1,274 km
SERIES_LIMIT = 0.1


def dtw(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Dynamic time warping of n pairs: the smallest sum of ground distances along a warping path (Sakoe & Chiba 1978, no window).

    a [n, L, 2], b [n, M, 2] in metres; returns metres [n]. This is the sum of distances, neither the sum of their
    squares nor its root. Raises DataContractError for shapes that do not fit.
    """
    return _by_lanes(_dtw_lanes, a, b)


def hausdorff(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Symmetric Hausdorff distance between the points of n pairs; a [n, L, 2], b [n, M, 2] in metres; returns metres [n]."""
    return np.sqrt(_by_lanes(_hausdorff_lanes, a, b))


def haversine_matrix(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Mean great-circle distance between points of equal index, for all pairs (NHD).

    a [n, L, 2], b [m, L, 2] in degrees, longitude first; returns metres [n, m]. Exact up to rounding (1e-8 m): chords
    between unit vectors, turned into arcs by the series of the arcsine, or by asin itself where a chord may pass 1,274 km.
    """
    if a.ndim != 3 or a.shape[1:] != b.shape[1:] or a.shape[2] != 2 or not a.shape[1]:
        raise DataContractError(
            f"trajectories of shape {a.shape} and {b.shape} cannot be compared point by point: give both the same length"
        )
    va, vb = _half_vectors(a), _half_vectors(b)
    both = np.concatenate([va.reshape(3, -1), vb.reshape(3, -1)], axis=1)
    widest = np.linalg.norm(both.max(axis=1) - both.min(axis=1)) if both.size else 0.0
    cost = np.zeros((a.shape[0], b.shape[0]))
    _arc_sums(va, np.ascontiguousarray(vb.transpose(0, 2, 1)), widest <= SERIES_LIMIT, cost)
    cost *= 2 * EARTH_RADIUS_M / a.shape[1]
    return cost


def path_lengths(lonlat: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Great-circle length in metres [n] of each trajectory, degrees [N, 2] (haversine, R = 6371.0088 km)."""
    return _path_lengths(np.ascontiguousarray(lonlat, dtype=np.float64), offsets)


def diameters(xy: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Largest distance between two points of each trajectory, metres [n], from metres [N, 2]; all pairs are looked at."""
    return np.sqrt(_diameters(np.ascontiguousarray(xy[:, 0]), np.ascontiguousarray(xy[:, 1]), offsets))


def counts_in_rectangles(xy: np.ndarray, rectangles: np.ndarray) -> np.ndarray:
    """int64 [q]: points [N, 2] with x0 <= x < x1 and y0 <= y < y1 for each rectangle [q, 4] (x0, y0, x1, y1)."""
    return _counts_in_rectangles(np.ascontiguousarray(xy[:, 0]), np.ascontiguousarray(xy[:, 1]), rectangles)


def _by_lanes(kernel: Callable[..., np.ndarray], a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if (
        a.ndim != 3
        or b.ndim != 3
        or len(a) != len(b)
        or a.shape[2] != 2
        or b.shape[2] != 2
        or 0 in (a.shape[1], b.shape[1])
    ):
        raise DataContractError(
            f"pairs need shapes [n, L, 2] and [n, M, 2] without empty trajectories, got {a.shape} and {b.shape}"
        )
    if not len(a):
        return np.zeros(0)
    return kernel(*_to_lanes(a), *_to_lanes(b)).reshape(-1)[: len(a)]


def _to_lanes(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Turn [n, L, 2] into x and y of [blocks, L, LANES]; the last block is filled up with copies of the last trajectory."""
    n, length, _ = a.shape
    blocks = -(-n // LANES)
    full = np.concatenate([a, np.repeat(a[-1:], blocks * LANES - n, axis=0)]).astype(np.float64, copy=False)
    x, y = np.ascontiguousarray(full.reshape(blocks, LANES, length, 2).transpose(3, 0, 2, 1))
    return x, y


def _half_vectors(lonlat: np.ndarray) -> np.ndarray:
    """[3, ...]: half the unit vector of each point, so that a difference of two has the length sin(angle / 2)."""
    lon, lat = np.radians(lonlat[..., 0]), np.radians(lonlat[..., 1])
    return 0.5 * np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


@njit(cache=True)
def _dtw_lanes(ax, ay, bx, by):  # pragma: no cover - compiled
    blocks, n, _ = ax.shape
    m = bx.shape[1]
    out = np.empty((blocks, LANES))
    row = np.empty((m + 1, LANES))  # row[j + 1]: cheapest path to (i, j), for the pairs of one block
    diagonal = np.empty(LANES)
    for k in range(blocks):
        row[:] = np.inf
        row[0] = 0.0
        for i in range(n):
            px, py = ax[k, i], ay[k, i]
            diagonal[:] = row[0]
            row[0] = np.inf
            for j in range(m):
                qx, qy, left, here = bx[k, j], by[k, j], row[j], row[j + 1]
                for p in range(LANES):
                    dx, dy = px[p] - qx[p], py[p] - qy[p]
                    above = here[p]
                    best = above if above < diagonal[p] else diagonal[p]
                    best = left[p] if left[p] < best else best
                    diagonal[p] = above
                    here[p] = best + math.sqrt(dx * dx + dy * dy)
        out[k] = row[m]
    return out


@njit(cache=True)
def _hausdorff_lanes(ax, ay, bx, by):  # pragma: no cover - compiled
    blocks, n, _ = ax.shape
    m = bx.shape[1]
    out = np.empty((blocks, LANES))
    nearest_b = np.empty((m, LANES))  # squared distance from each point of b to the nearest of a
    nearest_a = np.empty(LANES)
    for k in range(blocks):
        worst = out[k]
        worst[:] = 0.0
        nearest_b[:] = np.inf
        for i in range(n):
            px, py = ax[k, i], ay[k, i]
            nearest_a[:] = np.inf
            for j in range(m):
                qx, qy, near = bx[k, j], by[k, j], nearest_b[j]
                for p in range(LANES):
                    dx, dy = px[p] - qx[p], py[p] - qy[p]
                    d = dx * dx + dy * dy
                    near[p] = d if d < near[p] else near[p]
                    nearest_a[p] = d if d < nearest_a[p] else nearest_a[p]
            for p in range(LANES):
                worst[p] = nearest_a[p] if nearest_a[p] > worst[p] else worst[p]
        for j in range(m):
            for p in range(LANES):
                worst[p] = nearest_b[j, p] if nearest_b[j, p] > worst[p] else worst[p]
    return out


@njit(cache=True)
def _arc_sums(a, b, short, cost):  # pragma: no cover - compiled
    _, n, length = a.shape
    m = b.shape[2]
    for start in range(0, m, BLOCK):
        stop = min(start + BLOCK, m)
        for i in range(n):
            total = cost[i, start:stop]
            for k in range(length):
                x, y, z = a[0, i, k], a[1, i, k], a[2, i, k]
                bx, by, bz = b[0, k, start:stop], b[1, k, start:stop], b[2, k, start:stop]
                if short:
                    for j in range(stop - start):
                        dx, dy, dz = x - bx[j], y - by[j], z - bz[j]
                        u = dx * dx + dy * dy + dz * dz
                        series = 15 / 336 + u * (105 / 3456 + u * (945 / 42240))
                        total[j] += math.sqrt(u) * (1 + u * (1 / 6 + u * (3 / 40 + u * series)))
                else:
                    for j in range(stop - start):
                        dx, dy, dz = x - bx[j], y - by[j], z - bz[j]
                        total[j] += math.asin(min(1.0, math.sqrt(dx * dx + dy * dy + dz * dz)))


@njit(cache=True)
def _path_lengths(lonlat, offsets):  # pragma: no cover - compiled
    out = np.zeros(len(offsets) - 1)
    for i in range(len(out)):
        for k in range(offsets[i] + 1, offsets[i + 1]):
            lat0, lat1 = math.radians(lonlat[k - 1, 1]), math.radians(lonlat[k, 1])
            dlon = math.radians(lonlat[k, 0] - lonlat[k - 1, 0])
            h = math.sin((lat1 - lat0) / 2) ** 2 + math.cos(lat0) * math.cos(lat1) * math.sin(dlon / 2) ** 2
            out[i] += 2 * EARTH_RADIUS_M * math.asin(math.sqrt(min(1.0, h)))
    return out


@njit(cache=True)
def _diameters(x, y, offsets):  # pragma: no cover - compiled
    out = np.zeros(len(offsets) - 1)
    for i in range(len(out)):
        widest = 0.0
        for j in range(offsets[i], offsets[i + 1]):
            for k in range(j + 1, offsets[i + 1]):
                dx, dy = x[j] - x[k], y[j] - y[k]
                d = dx * dx + dy * dy
                widest = d if d > widest else widest
        out[i] = widest
    return out


@njit(cache=True)
def _counts_in_rectangles(x, y, rectangles):  # pragma: no cover - compiled
    out = np.zeros(len(rectangles), dtype=np.int64)
    for q in range(len(rectangles)):
        x0, y0, x1, y1 = rectangles[q]
        for i in range(len(x)):
            out[q] += (x0 <= x[i]) & (x[i] < x1) & (y0 <= y[i]) & (y[i] < y1)
    return out
