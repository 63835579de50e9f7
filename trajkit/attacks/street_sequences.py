"""Street sequences of trips, and how well two of them agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from trajkit.errors import ParameterError
from trajkit.ragged import ragged_rows


@dataclass(frozen=True)
class Streets:
    """Trip i drives ``edges[offsets[i]:offsets[i + 1]]`` (int64, directed edges of a network), in driving order; it may be empty."""

    edges: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def take(self, index: np.ndarray) -> Streets:
        """The sequences at ``index`` (int64 [m]), in that order."""
        rows, offsets = ragged_rows(self.offsets, index)
        return Streets(self.edges[rows], offsets)

    def check(self, n: int, n_edges: int, name: str) -> Streets:
        """Return self, or raise ParameterError naming the argument where it is not one sequence for each of ``n`` trips on ``n_edges`` edges."""
        if len(self) != n:
            raise ParameterError(f"{name} has {len(self)} street sequences for {n} trajectories: give one for each")
        if len(self.edges) and not (self.edges.min() >= 0 and self.edges.max() < n_edges):
            raise ParameterError(f"{name} names edges outside 0 … {n_edges - 1}: it belongs to another network")
        return self


class Agreement(NamedTuple):
    """Of each pair of sequences, [p]: ``same`` edge by edge; ``but_ends``: or after at most one edge is taken off at each end of either, if
    two are left.

    precision, recall, f1, jaccard: of the sets of edges, weighted by length; 0 where one of them is empty.
    """

    same: np.ndarray
    but_ends: np.ndarray
    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray
    jaccard: np.ndarray


def agreement(
    rebuilt: Streets, rows: np.ndarray, true: Streets, true_rows: np.ndarray, length_m: np.ndarray
) -> Agreement:
    """Compare ``rebuilt`` at ``rows`` [p] with ``true`` at ``true_rows`` [p]; ``length_m`` [m] of the network's edges."""
    return Agreement(*_agreement(rebuilt.edges, rebuilt.offsets, rows, true.edges, true.offsets, true_rows, length_m))


@njit(cache=True)
def overlap(a, b, length, mark, stamp):  # pragma: no cover - compiled
    """(metres of a, of b, of both): distinct edges; ``mark`` [m] holds no number from ``stamp`` to ``stamp`` + 1."""
    in_a, in_b, both = 0.0, 0.0, 0.0
    for e in a:
        if mark[e] != stamp:
            mark[e] = stamp
            in_a += length[e]
    for e in b:
        if mark[e] == stamp:
            both += length[e]
            in_b += length[e]
            mark[e] = stamp + 1
        elif mark[e] != stamp + 1:
            in_b += length[e]
            mark[e] = stamp + 1
    return in_a, in_b, both


@njit(cache=True)
def same_but_ends(a, b):  # pragma: no cover - compiled
    """Equal once at most one edge is gone at each end of either; what is left must be two edges or more."""
    for cut in range(16):
        x = a[cut & 1 : max(len(a) - ((cut >> 1) & 1), 0)]
        y = b[(cut >> 2) & 1 : max(len(b) - ((cut >> 3) & 1), 0)]
        if len(x) == len(y) and len(x) > 1:
            equal = True
            for i in range(len(x)):
                if x[i] != y[i]:
                    equal = False
                    break
            if equal:
                return True
    return False


@njit(cache=True)
def _agreement(edges, offsets, rows, true_edges, true_offsets, true_rows, length):  # pragma: no cover - compiled
    n = len(rows)
    same, but_ends = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    figures = np.zeros((4, n))
    mark = np.full(len(length), -1, dtype=np.int64)
    for i in range(n):
        a = edges[offsets[rows[i]] : offsets[rows[i] + 1]]
        b = true_edges[true_offsets[true_rows[i]] : true_offsets[true_rows[i] + 1]]
        if len(a) == 0 or len(b) == 0:
            continue
        same[i] = len(a) == len(b) and (a == b).all()
        but_ends[i] = same[i] or same_but_ends(a, b)
        in_a, in_b, both = overlap(a, b, length, mark, 2 * i)
        if both > 0:
            figures[0, i], figures[1, i] = both / in_a, both / in_b
            figures[2, i], figures[3, i] = 2 * both / (in_a + in_b), both / (in_a + in_b - both)
    return same, but_ends, figures[0], figures[1], figures[2], figures[3]
