"""Shortest ways between junctions that are not far apart, in a table, so that a map matcher may ask millions of times.

The table of Yang and Gidofalvi 2018 (fast map matching, doi 10.1080/13658816.2017.1400548): from each junction all others within a
reach, by metres, with the edge that leads into each, so that the way itself can be walked backwards.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numba import njit

from trajkit.errors import ParameterError
from trajkit.roads import RoadNetwork

MOST_PAIRS = 60_000_000


class RouteTable(NamedTuple):
    """Row of node s: ``nodes[offsets[s]:offsets[s + 1]]`` int32, rising; ``metres`` float32 to each, ``via`` int32 the edge into it (-1: s)."""

    offsets: np.ndarray
    nodes: np.ndarray
    metres: np.ndarray
    via: np.ndarray


def route_table(network: RoadNetwork, reach_m: float, *, most: int = MOST_PAIRS) -> RouteTable:
    """Ways of at most ``reach_m`` metres between all junctions. Raises ParameterError for more than ``most`` pairs."""
    starts, leaving = network.adjacency()
    head = np.ascontiguousarray(network.edge_nodes[:, 1])
    table = RouteTable(*_table(starts, leaving, head, network.length_m, float(reach_m), most))
    if len(table.offsets) == 0:
        raise ParameterError(
            f"reach_m = {reach_m}: more than {most:,} pairs of junctions are so near each other; take a shorter reach"
        )
    return table


@njit(cache=True)
def find(table, source, node):  # pragma: no cover - compiled
    """Index of the entry of ``node`` in the row of ``source``, -1 where it is out of reach."""
    low, high = table.offsets[source], table.offsets[source + 1]
    last = high
    while low < high:
        middle = (low + high) >> 1
        if table.nodes[middle] < node:
            low = middle + 1
        else:
            high = middle
    return low if low < last and table.nodes[low] == node else -1


@njit(cache=True)
def _table(starts, leaving, head, length, reach, most):  # pragma: no cover - compiled
    """Dijkstra from every node up to ``reach``; no offsets at all where there are more than ``most`` entries."""
    k = len(starts) - 1
    offsets = np.zeros(k + 1, dtype=np.int64)
    best, into = np.full(k, np.inf), np.full(k, -1, dtype=np.int64)
    nodes, metres = np.empty(1 << 16, dtype=np.int32), np.empty(1 << 16, dtype=np.float32)
    via = np.empty(1 << 16, dtype=np.int32)
    touched = np.empty(k, dtype=np.int64)
    used = 0
    for source in range(k):
        n = 1
        touched[0] = source
        best[source] = 0.0
        heap = [(0.0, source)]
        while len(heap) > 0:
            distance, node = heapq.heappop(heap)
            if distance > best[node]:
                continue
            for j in range(starts[node], starts[node + 1]):
                edge = leaving[j]
                other, to = distance + length[edge], head[edge]
                if other <= reach and other < best[to]:
                    if best[to] == np.inf:
                        touched[n] = to
                        n += 1
                    best[to] = other
                    into[to] = edge
                    heapq.heappush(heap, (other, to))
        if used + n > most:
            return offsets[:0], nodes, metres, via
        while used + n > len(nodes):
            nodes = np.append(nodes, np.empty_like(nodes))
            metres = np.append(metres, np.empty_like(metres))
            via = np.append(via, np.empty_like(via))
        for to in np.sort(touched[:n]):
            nodes[used], metres[used], via[used] = to, best[to], into[to]
            used += 1
            best[to] = np.inf
            into[to] = -1
        offsets[source + 1] = used
    return offsets, nodes[:used].copy(), metres[:used].copy(), via[:used].copy()
