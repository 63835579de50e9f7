"""From the noisy counts of a prefix tree to counts that could be true: no child above its parent, no negative number.

`consistent_counts` is the published inference (Chen et al. 2011, IV-B, after Hay et al. 2010), in two phases. It treats the paths
through a node as independent, which they are not; `least_squares_counts` is the exact answer to what it approximates: the
consistent counts that are nearest to the noisy ones. Both read noisy counts alone, so they cost no privacy.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numba import njit

from trajkit.classical.prefix_tree import PrefixTree
from trajkit.errors import ParameterError

MOST_PIECES = 200_000_000  # of the functions that the least-squares fit composes, 16 bytes each
Variant = Literal["basic", "full", "least-squares"]


def counts_of(tree: PrefixTree, variant: Variant) -> np.ndarray:
    """float64 [m]: "basic" the noisy counts as they are, "full" by the published inference, "least-squares" by the exact fit."""
    if variant == "basic":
        return tree.count
    if variant == "full":
        return consistent_counts(tree)
    if variant == "least-squares":
        return least_squares_counts(tree)
    raise ParameterError(f"variant = {variant!r}: use basic, full or least-squares")


def terminating_counts(tree: PrefixTree, counts: np.ndarray) -> np.ndarray:
    """float64 [m]: trajectories that end at each node, its count less those of its children; below 0 (basic alone) counts as 0."""
    return np.maximum(0.0, counts - tree.children_sum(counts))


def whole_counts(values: np.ndarray) -> np.ndarray:
    """int64 [m]: ``values`` rounded so that every running total is off by at most a half, where rounding each would lose the small."""
    return np.diff(np.floor(np.cumsum(values) + 0.5), prepend=0.0).astype(np.int64)


def path_means(tree: PrefixTree) -> np.ndarray:
    """float64 [m], phase one: for each path from a leaf to the root the nearest counts that do not fall, averaged over paths."""
    leaves = np.flatnonzero(tree.children[:-1, 0] == tree.children[:-1, 1])
    total, paths = _isotonic_paths(tree.parent, tree.count, leaves, tree.height)
    return total / paths


def consistent_counts(tree: PrefixTree) -> np.ndarray:
    """float64 [m]: path means, then from the top down the children of a node lowered equally until they fit under it.

    A child that would go below 0 stays there and the others are lowered more, so no count is negative.
    """
    return _fit_under(path_means(tree), tree.children)


def least_squares_counts(tree: PrefixTree) -> np.ndarray:
    """float64 [m]: the minimum of sum (x - count)^2 with x >= sum of the children of x, x >= 0, exact up to rounding.

    With x_v(p) what node v takes at a price p <= 0 for room under its parent, x_v is piecewise linear and rises in p; it is
    composed from the leaves up, and read off from the root down. O(m h log m) for height h.
    """
    if not len(tree):
        return np.empty(0)
    if len(tree) * tree.height > MOST_PIECES:
        raise ParameterError(
            f"{len(tree):,} nodes on up to {tree.height} levels: the least-squares fit could need more than "
            f"{16 * MOST_PIECES / 1e9:.0f} GB, use variant full or a smaller height"
        )
    return _fit_tree(tree.parent, tree.count, tree.children[:-1])


@njit(cache=True)
def _isotonic_paths(parent, count, leaves, height):  # pragma: no cover - compiled
    """Sum over the leaves below each node of its pooled estimate, and how many leaves there are."""
    total, paths = np.zeros(len(count)), np.zeros(len(count))
    mean, width = np.empty(height), np.empty(height, dtype=np.int64)
    for leaf in leaves:
        blocks, v = 0, leaf
        while v >= 0:
            mean[blocks], width[blocks] = count[v], 1
            blocks += 1
            while blocks > 1 and mean[blocks - 2] > mean[blocks - 1]:
                a, b = width[blocks - 2], width[blocks - 1]
                mean[blocks - 2] = (a * mean[blocks - 2] + b * mean[blocks - 1]) / (a + b)
                width[blocks - 2] = a + b
                blocks -= 1
            v = parent[v]
        v = leaf
        for k in range(blocks):
            for _ in range(width[k]):
                total[v] += mean[k]
                paths[v] += 1
                v = parent[v]
    return total, paths


@njit(cache=True)
def _fit_under(estimate, children):  # pragma: no cover - compiled
    """Top down: the nearest values of each node's children that are not negative and sum to at most the node's."""
    out = np.empty(len(estimate))
    m = len(estimate)
    for k in range(children[m, 0], children[m, 1]):
        out[k] = max(0.0, estimate[k])
    for v in range(m):
        a, b = children[v]
        if a == b:
            continue
        out[a:b] = np.maximum(0.0, estimate[a:b])
        excess = out[a:b].sum() - out[v]
        if excess <= 0:
            continue
        ordered = np.sort(out[a:b])
        room, n = out[v], b - a
        rest = ordered.sum()
        lower = excess / n
        for k in range(n):  # leave out the smallest that would go below 0
            lower = (rest - room) / (n - k)
            if ordered[k] >= lower:
                break
            rest -= ordered[k]
        for u in range(a, b):
            out[u] = max(0.0, out[u] - lower)
    return out


@njit(cache=True)
def _gathered(children, v, start, length, price, slope):  # pragma: no cover - compiled
    """What the children of ``v`` take together, as prices at which its slope changes, rising, and by how much."""
    a, b = children[v]
    n = 0
    for u in range(a, b):
        n += length[u]
    at, change = np.empty(n), np.empty(n)
    k = 0
    for u in range(a, b):
        before = 0.0
        for j in range(start[u], start[u] + length[u]):
            at[k], change[k] = price[j], slope[j] - before
            before = slope[j]
            k += 1
    order = np.argsort(at)
    return at[order], change[order]


@njit(cache=True)
def _taken(u, p, start, length, price, slope):  # pragma: no cover - compiled
    """x_u at price ``p``."""
    x = 0.0
    for j in range(start[u], start[u] + length[u]):
        if price[j] >= p:
            break
        end = price[j + 1] if j + 1 < start[u] + length[u] else p
        x += slope[j] * (min(end, p) - price[j])
    return x


@njit(cache=True)
def _fit_tree(parent, count, children):  # pragma: no cover - compiled
    m = len(count)
    size = np.ones(m, dtype=np.int64)
    for v in range(m - 1, -1, -1):
        if parent[v] >= 0:
            size[parent[v]] += size[v]
    start = np.zeros(m + 1, dtype=np.int64)
    start[1:] = np.cumsum(size)
    price, slope = np.empty(start[m]), np.empty(start[m])
    length = np.zeros(m, dtype=np.int64)
    for v in range(
        m - 1, -1, -1
    ):  # x_v = Y(q) where the children take Y at price q, which v sees as p = 2 (Y(q) - count) + q
        at, change = _gathered(children, v, start, length, price, slope)
        rate, total, q, k = 0.0, 0.0, 0.0, start[v]
        cut = False
        for j in range(len(at)):
            if j:
                total += rate * (at[j] - q)
            q = at[j]
            rate += change[j]
            p = 2 * (total - count[v]) + q
            if p >= 0:
                cut = True
                break
            price[k], slope[k] = p, rate / (2 * rate + 1)
            k += 1
        if not cut:
            total += rate * (0.0 - q)
            p = 2 * (total - count[v])
            if p < 0:
                price[k], slope[k] = p, 0.5
                k += 1
        length[v] = k - start[v]
    out = np.empty(m)
    for v in range(m):
        if parent[v] < 0:
            out[v] = _taken(v, 0.0, start, length, price, slope)
    for v in range(m):
        a, b = children[v]
        if a == b:
            continue
        at, change = _gathered(children, v, start, length, price, slope)
        rate, total, q = 0.0, 0.0, 0.0
        if len(at):
            q = at[0]
        for j in range(len(at) + 1):
            end = at[j] if j < len(at) else 0.0
            more = rate * (end - q)
            if total + more >= out[v]:
                q = q + (out[v] - total) / rate if rate > 0 else end
                break
            total += more
            q = end
            if j < len(at):
                rate += change[j]
        for u in range(a, b):
            out[u] = _taken(u, q, start, length, price, slope)
    return out
