"""Compiled passes over points and labels behind `trajkit.anonymize.signatures`. Cells and bins are those of `SquareCells`, `TimeBins`."""

from __future__ import annotations

import numpy as np
from numba import njit

HALF = 1 << 31
LEAST = np.iinfo(np.int64).min


@njit(cache=True, inline="always")
def _mix(h):  # pragma: no cover - compiled
    """A bijection of 64 bits in which every input bit moves every output bit (the finaliser of MurmurHash3)."""
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return h ^ (h >> np.uint64(33))


@njit(cache=True, inline="always")
def _start(key):  # pragma: no cover - compiled
    """States of the two lanes before the first label."""
    return _mix(np.uint64(2 * key + 1) * np.uint64(0x9E3779B97F4A7C15)), _mix(
        np.uint64(2 * key + 2) * np.uint64(0xC2B2AE3D27D4EB4F)
    )


@njit(cache=True, inline="always")
def _square(x, y, size):  # pragma: no cover - compiled
    return (np.int64(np.floor(x / size)) << np.int64(32)) | (np.int64(np.floor(y / size)) + np.int64(HALF))


@njit(cache=True)
def _bin(t, width, cycle, since, shift):  # pragma: no cover - compiled
    """The bin of time ``t`` and the times [low, high) around it that share the bin."""
    i = np.searchsorted(since, t, side="right") - 1
    shown = t + shift[i]
    into = shown % width  # the width divides the cycle
    low, high = t - into, t - into + width
    low = max(low, since[i])
    if i + 1 < len(since):
        high = min(high, since[i + 1])
    if cycle:
        shown %= cycle
    return shown // width, low, high


@njit(cache=True)
def square_digests(xy, offsets, size, t, width, cycle, since, shift, key):  # pragma: no cover - compiled
    """uint64 [n, 2]: digests of the signatures in squares of ``size`` metres, from points [N, 2] and times [N]; width 0: no times."""
    out = np.empty((len(offsets) - 1, 2), dtype=np.uint64)
    a0, b0 = _start(key)
    bin_, low, high = np.int64(0), np.int64(LEAST), np.int64(LEAST)
    for i in range(len(offsets) - 1):
        a, b, labels, cell, was = a0, b0, 0, np.int64(0), np.int64(0)
        for p in range(offsets[i], offsets[i + 1]):
            here = _square(xy[p, 0], xy[p, 1], size)
            if width and not low <= t[p] < high:
                bin_, low, high = _bin(t[p], width, cycle, since, shift)
            if labels == 0 or here != cell or bin_ != was:
                a, b = (
                    _mix(_mix(a ^ np.uint64(here)) ^ np.uint64(bin_)),
                    _mix(_mix(b ^ np.uint64(here)) ^ np.uint64(bin_)),
                )
                cell, was = here, bin_
                labels += 1
        out[i, 0], out[i, 1] = _mix(a ^ np.uint64(labels)), _mix(b ^ np.uint64(labels))
    return out


@njit(cache=True)
def label_digests(cells, bins, offsets, key):  # pragma: no cover - compiled
    """The same from labels of points, int64 [N]; consecutive repeats are merged here."""
    out = np.empty((len(offsets) - 1, 2), dtype=np.uint64)
    a0, b0 = _start(key)
    for i in range(len(offsets) - 1):
        a, b, labels = a0, b0, 0
        for p in range(offsets[i], offsets[i + 1]):
            if p == offsets[i] or cells[p] != cells[p - 1] or bins[p] != bins[p - 1]:
                c, d = np.uint64(cells[p]), np.uint64(bins[p])
                a, b = _mix(_mix(a ^ c) ^ d), _mix(_mix(b ^ c) ^ d)
                labels += 1
        out[i, 0], out[i, 1] = _mix(a ^ np.uint64(labels)), _mix(b ^ np.uint64(labels))
    return out


@njit(cache=True)
def label_starts(cells, bins, offsets):  # pragma: no cover - compiled
    """int64 [M] first point of each label, int64 [n] labels of each trajectory."""
    per = np.zeros(len(offsets) - 1, dtype=np.int64)
    for i in range(len(offsets) - 1):
        for p in range(offsets[i], offsets[i + 1]):
            per[i] += p == offsets[i] or cells[p] != cells[p - 1] or bins[p] != bins[p - 1]
    first = np.empty(per.sum(), dtype=np.int64)
    n = 0
    for i in range(len(offsets) - 1):
        for p in range(offsets[i], offsets[i + 1]):
            if p == offsets[i] or cells[p] != cells[p - 1] or bins[p] != bins[p - 1]:
                first[n] = p
                n += 1
    return first, per


@njit(cache=True)
def square_same(xy, offsets, size, t, width, cycle, since, shift, other):  # pragma: no cover - compiled
    """bool [n]: is the signature of each trajectory that of trajectory ``other[i]``? Both are walked label by label."""
    out = np.ones(len(offsets) - 1, dtype=np.bool_)
    bin_, low, high = np.int64(0), np.int64(LEAST), np.int64(LEAST)
    bin2, low2, high2 = np.int64(0), np.int64(LEAST), np.int64(LEAST)
    for i in range(len(offsets) - 1):
        j = other[i]
        if i == j:
            continue
        q, end = offsets[j], offsets[j + 1]
        first, cell, was = True, np.int64(0), np.int64(0)
        for p in range(offsets[i], offsets[i + 1]):
            here = _square(xy[p, 0], xy[p, 1], size)
            if width and not low <= t[p] < high:
                bin_, low, high = _bin(t[p], width, cycle, since, shift)
            if not first and here == cell and bin_ == was:
                continue
            while q < end:  # to the next label of the other
                there = _square(xy[q, 0], xy[q, 1], size)
                if width and not low2 <= t[q] < high2:
                    bin2, low2, high2 = _bin(t[q], width, cycle, since, shift)
                if first or there != cell or bin2 != was:
                    break
                q += 1
            if q == end or there != here or bin2 != bin_:
                out[i] = False
                break
            first, cell, was = False, here, bin_
        while out[i] and q < end:  # nothing but repeats of the last label may be left
            there = _square(xy[q, 0], xy[q, 1], size)
            if width and not low2 <= t[q] < high2:
                bin2, low2, high2 = _bin(t[q], width, cycle, since, shift)
            out[i] = not first and there == cell and bin2 == was
            q += 1
    return out


@njit(cache=True)
def label_same(cells, bins, offsets, other):  # pragma: no cover - compiled
    """The same from labels of points, int64 [N]."""
    out = np.ones(len(offsets) - 1, dtype=np.bool_)
    for i in range(len(offsets) - 1):
        j = other[i]
        if i == j:
            continue
        p, q, p_end, q_end = offsets[i], offsets[j], offsets[i + 1], offsets[j + 1]
        while p < p_end and q < q_end:
            if cells[p] != cells[q] or bins[p] != bins[q]:
                break
            p, q = _next(cells, bins, p, p_end), _next(cells, bins, q, q_end)
        out[i] = p == p_end and q == q_end
    return out


@njit(cache=True, inline="always")
def _next(cells, bins, p, end):  # pragma: no cover - compiled
    """The first point after ``p`` with another label, or the end."""
    c, b = cells[p], bins[p]
    while p < end and cells[p] == c and bins[p] == b:
        p += 1
    return p


@njit(cache=True)
def group(keys):  # pragma: no cover - compiled
    """int64 [n] group of equal keys (uint64 [n, 2], well mixed), numbered by first appearance, and how many there are."""
    bits = 4
    while (1 << bits) < 2 * len(keys):
        bits += 1
    mask = (1 << bits) - 1
    slots = np.full(1 << bits, -1, dtype=np.int32)
    of = np.empty(len(keys), dtype=np.int64)
    first = np.empty(len(keys), dtype=np.int64)
    n = 0
    for i in range(len(keys)):
        at = np.int64(keys[i, 0] & np.uint64(mask))
        while slots[at] >= 0:
            j = first[slots[at]]
            if keys[j, 0] == keys[i, 0] and keys[j, 1] == keys[i, 1]:
                break
            at = (at + 1) & mask
        if slots[at] < 0:
            slots[at] = n
            first[n] = i
            n += 1
        of[i] = slots[at]
    return of, n


@njit(cache=True)
def distinct(of, persons, n):  # pragma: no cover - compiled
    """int64 [n]: distinct ``persons`` in each of n groups."""
    start = np.zeros(n + 1, dtype=np.int64)
    for i in range(len(of)):
        start[of[i] + 1] += 1
    start = np.cumsum(start)
    at = start[:-1].copy()
    sorted_ = np.empty(len(of), dtype=np.int64)
    for i in range(len(of)):
        sorted_[at[of[i]]] = persons[i]
        at[of[i]] += 1
    out = np.zeros(n, dtype=np.int64)
    for g in range(n):
        members = sorted_[start[g] : start[g + 1]]
        if len(members) == 1:
            out[g] = 1
        elif len(members):
            members.sort()
            out[g] = 1
            for k in range(1, len(members)):
                out[g] += members[k] != members[k - 1]
    return out


@njit(cache=True)
def group_exact(keys):  # pragma: no cover - compiled
    """As `group`, for int64 [n] keys that are the values themselves."""
    pairs = np.empty((len(keys), 2), dtype=np.uint64)
    for i in range(len(keys)):
        pairs[i, 0], pairs[i, 1] = _mix(np.uint64(keys[i])), np.uint64(keys[i])
    return group(pairs)


@njit(cache=True)
def row_digests(words, offsets):  # pragma: no cover - compiled
    """uint64 [n, 2]: digests of the rows [N, w] (uint64) of each trajectory, repeats and all."""
    out = np.empty((len(offsets) - 1, 2), dtype=np.uint64)
    a0, b0 = _start(0)
    for i in range(len(offsets) - 1):
        a, b = a0, b0
        for p in range(offsets[i], offsets[i + 1]):
            for w in range(words.shape[1]):
                a, b = _mix(a ^ words[p, w]), _mix(b ^ words[p, w])
        n = np.uint64(offsets[i + 1] - offsets[i])
        out[i, 0], out[i, 1] = _mix(a ^ n), _mix(b ^ n)
    return out
