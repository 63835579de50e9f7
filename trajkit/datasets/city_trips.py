"""From moves to traces: shortest-time routes, driving along them, fixes at a steady rate with GPS noise."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numba import njit

from trajkit.datasets.city_map import CityMap
from trajkit.datasets.city_people import N_PROFILES, Moves, People
from trajkit.seeds import rng
from trajkit.trajectories import concatenate_offsets

INTERVAL_S = 15.0
GPS_NOISE_M = 5.0
DETOUR = 0.5
"""Log-standard deviation of the perceived travel time of a road between profiles."""
PACE_NOISE, TRIP_NOISE = 0.12, 0.08
STOP_CHANCE, STOP_S = 0.2, (4.0, 30.0)


@dataclass(frozen=True)
class Network:
    """What routing needs of the map: outgoing edges by node, ends, twins, perceived seconds [profiles, m]."""

    starts: np.ndarray
    leaving: np.ndarray
    tail: np.ndarray
    head: np.ndarray
    twin: np.ndarray
    cost: np.ndarray


@dataclass(frozen=True)
class Routes:
    """Trip i drives the edges ``hops[begin[i]:begin[i] + count[i]]``, each from ``enter_m`` to ``leave_m`` of its length."""

    hops: np.ndarray
    begin: np.ndarray
    count: np.ndarray
    enter_m: np.ndarray
    leave_m: np.ndarray


def network_of(city: CityMap, seed: int) -> Network:
    """Return the routing view of the map, with `N_PROFILES` perturbed travel times drawn from ``seed``."""
    starts, leaving = city.roads.adjacency()
    random = rng(seed, "data", "city", "profiles")
    factor = random.lognormal(0.0, DETOUR, (N_PROFILES, len(city.roads)))
    tail, head = (np.ascontiguousarray(c) for c in city.roads.edge_nodes.T)
    return Network(starts, leaving, tail, head, city.twin, factor * city.roads.travel_time_s)


def find_routes(city: CityMap, network: Network, people: People, moves: Moves) -> Routes:
    """Return the fastest route of every move under its person's profile.

    A place lies on a two-way edge and is entered and left by the edge's first node, or passed on the way.
    """
    from_edge = people.place_edge[moves.person, moves.origin]
    to_edge = people.place_edge[moves.person, moves.target]
    profile = people.profile[moves.person]
    order = np.lexsort((network.tail[from_edge], profile))
    hops, begin, count = _route(
        network.starts, network.leaving, network.tail, network.head, network.twin, network.cost,
        order, profile, from_edge, to_edge,
    )  # fmt: skip
    length = city.roads.length_m
    enter, leave = np.zeros(len(hops)), length[hops]
    first, last = hops[begin], hops[begin + count - 1]
    out, into = people.place_along[moves.person, moves.origin], people.place_along[moves.person, moves.target]
    enter[begin] = np.where(first == from_edge, out, 1 - out) * length[first]
    leave[begin + count - 1] = np.where(last == to_edge, into, 1 - into) * length[last]
    return Routes(hops, begin, count, enter, leave)


def congestion(hour: np.ndarray) -> np.ndarray:
    """Factor on speed by local hour of the day: slow at the two peaks, fast at night."""
    peaks = 0.30 * np.exp(-(((hour - 8.3) / 0.9) ** 2)) + 0.28 * np.exp(-(((hour - 17.7) / 1.2) ** 2))
    return 1.0 - peaks + 0.08 * ((hour < 6) | (hour > 22))


def drive(
    city: CityMap, routes: Routes, people: People, moves: Moves, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return metres [N, 2] (noise included) and int64 offsets [n + 1]: one fix every `INTERVAL_S` seconds of each trip."""
    n = len(moves.person)
    factor = people.pace[moves.person] * congestion(moves.depart_s / 3600 % 24) * random.lognormal(0, TRIP_NOISE, n)
    by_begin = np.argsort(routes.begin, kind="stable")
    trip_of_hop = np.repeat(by_begin, routes.count[by_begin])
    pace = random.lognormal(0, PACE_NOISE, len(routes.hops)) * factor[trip_of_hop]
    speed = city.roads.speed_mps[routes.hops] * pace
    stops = random.uniform(size=len(routes.hops)) < STOP_CHANCE
    wait = np.where(stops, random.uniform(*STOP_S, len(routes.hops)), 0.0)
    wait[routes.begin + routes.count - 1] = 0.0
    seconds = np.bincount(trip_of_hop, (routes.leave_m - routes.enter_m) / speed + wait, minlength=n)
    offsets = concatenate_offsets((seconds // INTERVAL_S).astype(np.int64) + 1)
    xy = _fixes(
        routes.hops, routes.begin, routes.count, routes.enter_m, routes.leave_m, speed, wait,
        city.roads.edge_xy, city.roads.edge_offsets, offsets, INTERVAL_S,
    )  # fmt: skip
    return xy + random.normal(0.0, GPS_NOISE_M, xy.shape), offsets


# ---- kernels ----------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _tree(source, starts, leaving, head, cost, wanted, n_wanted, best, via):  # pragma: no cover - compiled
    """Dijkstra from ``source`` until all ``wanted`` nodes (cleared on the way) are settled; ``via`` gets the edge into each node."""
    best[:] = np.inf
    via[:] = -1
    best[source] = 0.0
    heap = [(0.0, source)]
    while len(heap) > 0:
        distance, node = heapq.heappop(heap)
        if distance > best[node]:
            continue
        if wanted[node]:
            wanted[node] = False
            n_wanted -= 1
            if n_wanted == 0:
                return
        for j in range(starts[node], starts[node + 1]):
            edge = leaving[j]
            other = distance + cost[edge]
            if other < best[head[edge]]:
                best[head[edge]] = other
                via[head[edge]] = edge
                heapq.heappush(heap, (other, head[edge]))


@njit(cache=True, nogil=True)
def _path(source, target, from_edge, to_edge, tail, twin, via, out):  # pragma: no cover - compiled
    """Write the edges of one trip into ``out`` (last edge first) and return how many; see `find_routes` for the ends."""
    n = 0
    node = target
    if not (node != source and via[node] == twin[to_edge]):
        out[n] = to_edge
        n += 1
    first = -1
    while node != source:
        first = via[node]
        out[n] = first
        n += 1
        node = tail[first]
    if first != from_edge:
        out[n] = twin[from_edge]
        n += 1
    return n


@njit(cache=True, nogil=True)
def _route(starts, leaving, tail, head, twin, cost, order, profile, from_edge, to_edge):  # pragma: no cover - compiled
    """Routes of all trips; those of one origin and profile are neighbours in ``order`` and share one tree."""
    n, k = len(order), len(starts) - 1
    begin, count = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    hops = np.empty(64 * n + k + 2, dtype=np.int64)
    path = np.empty(k + 2, dtype=np.int64)
    best, via = np.empty(k), np.empty(k, dtype=np.int64)
    wanted = np.zeros(k, dtype=np.bool_)
    used, a = 0, 0
    while a < n:
        source, p = tail[from_edge[order[a]]], profile[order[a]]
        b, n_wanted = a, 0
        while b < n and tail[from_edge[order[b]]] == source and profile[order[b]] == p:
            target = tail[to_edge[order[b]]]
            n_wanted += not wanted[target]
            wanted[target] = True
            b += 1
        _tree(source, starts, leaving, head, cost[p], wanted, n_wanted, best, via)
        for i in order[a:b]:
            m = _path(source, tail[to_edge[i]], from_edge[i], to_edge[i], tail, twin, via, path)
            if used + m > len(hops):
                larger = np.empty(2 * len(hops), dtype=np.int64)
                larger[:used] = hops[:used]
                hops = larger
            begin[i], count[i] = used, m
            hops[used : used + m] = path[:m][::-1]
            used += m
        a = b
    return hops[:used].copy(), begin, count


@njit(cache=True, nogil=True)
def _along(xy, metres, out):  # pragma: no cover - compiled
    """Write the point ``metres`` along the polyline ``xy`` into ``out``."""
    for i in range(len(xy) - 1):
        dx, dy = xy[i + 1, 0] - xy[i, 0], xy[i + 1, 1] - xy[i, 1]
        piece = np.hypot(dx, dy)
        if metres <= piece or i == len(xy) - 2:
            s = min(metres / piece, 1.0)
            out[0], out[1] = xy[i, 0] + s * dx, xy[i, 1] + s * dy
            return
        metres -= piece


@njit(cache=True, nogil=True)
def _fixes(
    hops, begin, count, enter_m, leave_m, speed, wait, edge_xy, edge_offsets, offsets, interval
):  # pragma: no cover - compiled
    """Places at times 0, interval, 2 interval, ... of each trip, float64 [N, 2] metres."""
    out = np.empty((offsets[-1], 2))
    for i in range(len(begin)):
        at, clock = offsets[i], 0.0
        for h in range(begin[i], begin[i] + count[i]):
            line = edge_xy[edge_offsets[hops[h]] : edge_offsets[hops[h] + 1]]
            arrival = clock + (leave_m[h] - enter_m[h]) / speed[h]
            last = h == begin[i] + count[i] - 1
            while at < offsets[i + 1]:
                now = (at - offsets[i]) * interval
                if now > arrival + wait[h] and not last:
                    break
                _along(line, min(enter_m[h] + max(now - clock, 0.0) * speed[h], leave_m[h]), out[at])
                at += 1
            clock = arrival + wait[h]
    return out
