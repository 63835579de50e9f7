"""Compiled loops of `hmm_matching`: places on roads about points, Viterbi's algorithm, and the ways between what it chose."""

from __future__ import annotations

import numpy as np
from numba import njit

from trajkit.attacks.route_table import find

FIRST, STAY, NEAR, FAR = 0, 1, 2, 3  # how a chosen candidate is reached from the one before


@njit(cache=True)
def _on_edge(px, py, index, owner, before, j, last):  # pragma: no cover - compiled
    """Of the edge whose pieces begin at entry ``j``: (entry after them, distance, x, y, metres drawn to the nearest place)."""
    e, nearest = owner[index.items[j]], np.inf
    x, y, metres = 0.0, 0.0, 0.0
    while j < last and owner[index.items[j]] == e:
        s = index.items[j]
        x0, y0, x1, y1 = index.segments[s]
        dx, dy = x1 - x0, y1 - y0
        norm = dx * dx + dy * dy
        w = 0.0
        if norm > 0:
            w = min(1.0, max(0.0, ((px - x0) * dx + (py - y0) * dy) / norm))
        qx, qy = x0 + w * dx, y0 + w * dy
        d = np.hypot(qx - px, qy - py)
        if d < nearest:
            nearest, x, y, metres = d, qx, qy, before[s] + w * np.sqrt(norm)
        j += 1
    return j, nearest, x, y, metres


@njit(cache=True)
def _insert(keys, names, kept, name, key):  # pragma: no cover - compiled
    """Put a candidate where its cost, then its distance, belongs; what falls off the end is forgotten. Returns how many are kept."""
    at = kept
    while at > 0 and (keys[at - 1, 0] > key[0] or (keys[at - 1, 0] == key[0] and keys[at - 1, 1] > key[1])):
        keys[at], names[at] = keys[at - 1], names[at - 1]
        at -= 1
    keys[at, 0], keys[at, 1], keys[at, 2], keys[at, 3], keys[at, 4] = key
    names[at] = name
    return min(kept + 1, len(names) - 1)


@njit(cache=True)
def near(xy, half, index, owner, before, scale, radius, sigma, most):  # pragma: no cover - compiled
    """See `Matcher._candidates`; of each edge the place nearest to the point, or to the centre of its square."""
    n = len(xy)
    begin = np.zeros(n + 1, dtype=np.int64)
    size = 4 * n + 16
    edge, along, cost = np.empty(size, dtype=np.int64), np.empty(size), np.empty(size)
    place = np.empty((size, 2))
    keys = np.empty((most + 1, 5))  # cost, distance, along, x, y of those kept
    names = np.empty(most + 1, dtype=np.int64)
    for i in range(n):
        px, py, h = xy[i, 0], xy[i, 1], half[i]
        u, v = (px - index.low_x) / index.cell, (py - index.low_y) / index.cell
        kept = 0
        if 0 <= u < index.nx and 0 <= v < index.ny:
            k = int(v) * index.nx + int(u)
            j, last = index.starts[k], index.starts[k + 1]
            while j < last:
                e = owner[index.items[j]]
                j, off, x, y, metres = _on_edge(px, py, index, owner, before, j, last)
                distance = off
                if h > 0:
                    off = max(0.0, max(abs(x - px), abs(y - py)) - h)
                if off <= radius:
                    key = (0.5 * (off / sigma) ** 2, distance, metres * scale[e], x, y)
                    kept = _insert(keys, names, kept, e, key)
        first = begin[i]
        begin[i + 1] = first + kept
        while first + kept > len(edge):
            edge, along = np.append(edge, np.empty_like(edge)), np.append(along, np.empty_like(along))
            cost, place = np.append(cost, np.empty_like(cost)), np.concatenate((place, np.empty_like(place)))
        for at in range(kept):
            edge[first + at], cost[first + at], along[first + at] = names[at], keys[at, 0], keys[at, 2]
            place[first + at, 0], place[first + at, 1] = keys[at, 3], keys[at, 4]
    m = begin[n]
    return edge[:m].copy(), along[:m].copy(), place[:m].copy(), cost[:m].copy(), begin


@njit(cache=True)
def _step(a0, a1, b0, b1, straight, back, edge, along, cost, roads, score, parent):  # pragma: no cover - compiled
    """Scores of the candidates b0..b1 - 1 from those of a0..a1 - 1; False where none is reached. ``straight`` negative: no line to compare with."""
    tail, head, length, street, table, scale, u_turn = roads
    some = False
    for a in range(a0, a1):
        rest = length[edge[a]] - along[a]
        for b in range(b0, b1):
            if edge[a] == edge[b] and along[b] >= along[a] - back:
                way = max(along[b] - along[a], 0.0)
            else:
                k = find(table, head[edge[a]], tail[edge[b]])
                if k < 0:
                    continue
                way = rest + table.metres[k] + along[b]
                if street[edge[a]] == street[edge[b]]:
                    way += u_turn
            s = score[a] + cost[b] + (way if straight < 0 else abs(way - straight)) / scale
            if s < score[b]:
                score[b], parent[b] = s, a
                some = True
    return some


@njit(cache=True)
def viterbi(
    xy, offsets, half, edge, along, cost, begin, tail, head, length, street, table, beta, u_turn, back_m
):  # pragma: no cover - compiled
    """Chosen candidate of each point (-1: it has none), and breaks of each trajectory."""
    chosen = np.full(len(xy), -1, dtype=np.int64)
    breaks = np.zeros(len(offsets) - 1, dtype=np.int64)
    score, parent = np.empty(len(edge)), np.full(len(edge), -1, dtype=np.int64)
    for r in range(len(offsets) - 1):
        before = -1
        for i in range(offsets[r], offsets[r + 1]):
            b0, b1 = begin[i], begin[i + 1]
            if b0 == b1:
                continue
            if before < 0:
                score[b0:b1] = cost[b0:b1]
            else:
                wide = half[i] + half[before]
                straight = -1.0 if half[i] > 0 else np.hypot(xy[i, 0] - xy[before, 0], xy[i, 1] - xy[before, 1])
                roads = (tail, head, length, street, table, beta + wide, u_turn)
                score[b0:b1] = np.inf
                a0, a1 = begin[before], begin[before + 1]
                if not _step(a0, a1, b0, b1, straight, back_m + wide, edge, along, cost, roads, score, parent):
                    breaks[r] += 1
                    best = a0 + np.argmin(score[a0:a1])
                    for b in range(b0, b1):
                        score[b], parent[b] = score[best] + cost[b], best
            before = i
        if before < 0:
            continue
        c = begin[before] + np.argmin(score[begin[before] : begin[before + 1]])
        i = before
        while c >= 0:
            while not (begin[i] <= c < begin[i + 1]):
                i -= 1
            chosen[i] = c
            c = parent[c]
    return chosen, breaks


@njit(cache=True)
def hops(chosen, offsets, edge, along, half, back_m, tail, head, table):  # pragma: no cover - compiled
    """Of each point with a candidate: how it is reached, the candidate before (itself where it is the first), and its own."""
    n = 0
    for c in chosen:
        n += c >= 0
    kind, a, b = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    n = 0
    for r in range(len(offsets) - 1):
        before, back = -1, 0.0
        for i in range(offsets[r], offsets[r + 1]):
            c = chosen[i]
            if c < 0:
                continue
            if before < 0:
                kind[n], a[n] = FIRST, c
            else:
                a[n] = before
                if edge[before] == edge[c] and along[c] >= along[before] - (back_m + half[i] + back):
                    kind[n] = STAY
                elif find(table, head[edge[before]], tail[edge[c]]) >= 0:
                    kind[n] = NEAR
                else:
                    kind[n] = FAR
            b[n] = c
            before, back = c, half[i]
            n += 1
    return kind, a, b


@njit(cache=True)
def expand(
    kind, a, b, number, hop_offsets, edge, along, tail, head, length, table, far_edges, far_offsets
):  # pragma: no cover - compiled
    """Edges and offsets of the trajectories: ways are walked backwards and turned round; ends of no length are left out."""
    out = np.empty(4 * len(kind) + 64, dtype=np.int64)
    offsets = np.zeros(len(hop_offsets), dtype=np.int64)
    way = np.empty(len(length) + 2, dtype=np.int64)
    used = 0
    for r in range(len(hop_offsets) - 1):
        first = used
        for h in range(hop_offsets[r], hop_offsets[r + 1]):
            n = 0
            if kind[h] == NEAR:
                source, node = head[edge[a[h]]], tail[edge[b[h]]]
                while node != source:
                    e = table.via[find(table, source, node)]
                    way[n] = e
                    n += 1
                    node = tail[e]
            elif kind[h] == FAR:
                for j in range(far_offsets[number[h] + 1] - 1, far_offsets[number[h]] - 1, -1):
                    way[n] = far_edges[j]
                    n += 1
            while used + n + 1 > len(out):
                out = np.append(out, np.empty_like(out))
            for j in range(n - 1, -1, -1):
                out[used] = way[j]
                used += 1
            if kind[h] != STAY:
                out[used] = edge[b[h]]
                used += 1
        if used - first > 1:
            last = b[hop_offsets[r + 1] - 1]
            if along[last] <= 0.5 and out[used - 1] == edge[last]:
                used -= 1
        if used - first > 1:
            start = b[hop_offsets[r]]
            if length[edge[start]] - along[start] <= 0.5:
                out[first : used - 1] = out[first + 1 : used].copy()
                used -= 1
        offsets[r + 1] = used
    return out[:used].copy(), offsets
