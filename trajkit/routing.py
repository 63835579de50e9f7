"""Shortest routes over a road network, for many pairs of junctions at once, and the traffic they put on each edge.

Everything here reads the network and the request only, so on a public map (`trajkit.public_map`) it is post-processing.
Where the routes lie, point by point, is in `trajkit.route_points`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numba import njit
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial import cKDTree

from trajkit.errors import DataContractError, ParameterError
from trajkit.ragged import ragged_rows
from trajkit.roads import RoadNetwork
from trajkit.trajectories import concatenate_offsets

PROFILES = 8
TREE_CELLS = 2_000_000
"""Most (source, node) pairs whose shortest-path trees are held at a time: 24 MB of distances and predecessors."""


@dataclass(frozen=True)
class Routes:
    """n routes; route i drives ``edges[offsets[i]:offsets[i + 1]]``, in driving order.

    edges    int64 [h], indices of the network's edges; offsets int64 [n + 1]
    source   int64 [n], target int64 [n]: the junctions asked for
    cost     float64 [n]: under the costs the route was chosen by (its profile's); infinite where no road leads there
    profile  int64 [n]: which perturbed costs chose the route, 0 where there is one only

    A route from a junction to itself and one that does not exist are both empty: ``reached`` tells them apart.
    """

    edges: np.ndarray
    offsets: np.ndarray
    source: np.ndarray
    target: np.ndarray
    cost: np.ndarray
    profile: np.ndarray

    def __len__(self) -> int:
        return len(self.source)

    @property
    def reached(self) -> np.ndarray:
        """Bool [n]: a road leads from the source to the target."""
        return np.isfinite(self.cost)

    @property
    def counts(self) -> np.ndarray:
        """int64 [n]: edges of each route."""
        return np.diff(self.offsets)

    @cached_property
    def trip_of_edge(self) -> np.ndarray:
        """int64 [h]: the route that each entry of ``edges`` belongs to."""
        return np.repeat(np.arange(len(self)), self.counts)

    def total(self, values: np.ndarray) -> np.ndarray:
        """Return float64 [n]: the sum of ``values`` [m] (length_m, travel_time_s …) over each route's edges."""
        return np.bincount(self.trip_of_edge, values[self.edges], minlength=len(self))

    def take(self, index: np.ndarray) -> Routes:
        """Return the routes at ``index`` (integers or a bool mask [n]), in that order."""
        index = np.arange(len(self))[index]
        hops, offsets = ragged_rows(self.offsets, index)
        kept = {name: getattr(self, name)[index] for name in ("source", "target", "cost", "profile")}
        return replace(self, edges=self.edges[hops], offsets=offsets, **kept)


class Router:
    """Shortest paths on ``network``; keeps the tree of its junctions, so make one and ask it often."""

    def __init__(self, network: RoadNetwork) -> None:
        self.network = network
        self.strong_nodes = np.flatnonzero(strong_part(network.edge_nodes, len(network.node_xy)))
        self._tree = cKDTree(network.node_xy[self.strong_nodes])

    def nodes_near(self, xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (int64 [N], metres float64 [N]): the junction nearest to each point [N, 2] (metres), and how far it is.

        Only junctions of the largest strongly connected part count, so a route leads from each to each.
        Raises DataContractError for coordinates that are not finite.
        """
        xy = np.asarray(xy, dtype=np.float64).reshape(-1, 2)
        bad = ~np.isfinite(xy).all(axis=1)
        if bad.any():
            raise DataContractError(
                f"{bad.sum()} of {len(xy)} points have a coordinate that is not finite: drop them first"
            )
        metres, at = self._tree.query(xy)
        return self.strong_nodes[at], metres

    def routes(
        self,
        sources: np.ndarray,
        targets: np.ndarray,
        cost: np.ndarray | None = None,
        *,
        spread: float = 0.0,
        profiles: int = PROFILES,
        random: np.random.Generator | None = None,
    ) -> Routes:
        """Return the cheapest route of each pair of junctions ``sources`` [n], ``targets`` [n] (indices of nodes).

        ``cost`` float64 [m] is what each edge costs, by default its travel time; an infinite cost closes it. Of parallel
        edges the cheapest counts. With ``spread`` > 0 people differ, as in the simulated city: ``random`` draws ``profiles``
        sets of costs, each edge times lognormal(0, spread), and gives each trip one of them.
        Raises ParameterError for nodes that do not exist, costs below 0, and a spread without ``random``.
        """
        source, target = self._nodes("sources", sources), self._nodes("targets", targets)
        if len(source) != len(target):
            raise ParameterError(f"{len(source)} sources but {len(target)} targets: give one of each per route")
        base = self._costs(cost)
        if spread == 0.0:
            return self._choose(source, target, base[None], np.zeros(len(source), dtype=np.int64))
        if not (np.isfinite(spread) and spread > 0 and profiles >= 1):
            raise ParameterError(f"spread {spread!r} must be at least 0 and profiles {profiles!r} at least 1")
        if random is None:
            raise ParameterError("a spread of costs needs random=…, a seeded generator: see trajkit.seeds.rng")
        costs = base * random.lognormal(0.0, spread, (profiles, len(base)))
        return self._choose(source, target, costs, random.integers(0, profiles, len(source)))

    def routes_under(self, sources: np.ndarray, targets: np.ndarray, costs: np.ndarray, profile: np.ndarray) -> Routes:
        """Return the cheapest route of each pair under ``costs[profile[i]]``; costs float64 [k, m], profile int64 [n] below k.

        Raises ParameterError as `routes` does, and for a profile that is not there.
        """
        source, target, which = self._nodes("sources", sources), self._nodes("targets", targets), np.asarray(profile)
        if not len(source) == len(target) == len(which):
            raise ParameterError(
                f"{len(source)} sources, {len(target)} targets, {len(which)} profiles: give one of each"
            )
        if len(which) and not (which.min() >= 0 and which.max() < len(costs)):
            raise ParameterError(
                f"profiles reach from {which.min()} to {which.max()}, but there are {len(costs)} costs"
            )
        return self._choose(source, target, np.stack([self._costs(c) for c in costs]), which.astype(np.int64))

    def edge_flows(self, routes: Routes, weights: np.ndarray | None = None) -> np.ndarray:
        """Return float64 [m]: how many routes drive each edge, each counted ``weights`` [n] times (1 by default)."""
        each = np.ones(len(routes)) if weights is None else np.asarray(weights, dtype=np.float64)
        if each.shape != (len(routes),):
            raise ParameterError(
                f"weights have shape {each.shape}, but there are {len(routes)} routes: give one for each"
            )
        return np.bincount(routes.edges, np.repeat(each, routes.counts), minlength=len(self.network))

    def _nodes(self, name: str, nodes: np.ndarray) -> np.ndarray:
        found, k = np.asarray(nodes), len(self.network.node_xy)
        if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
            raise ParameterError(
                f"{name} must be a list of node indices, not {found.dtype} {found.shape}: see nodes_near"
            )
        if found.size and not (found.min() >= 0 and found.max() < k):
            raise ParameterError(f"{name} reach from {found.min()} to {found.max()}, but nodes are 0 to {k - 1}")
        return found.astype(np.int64)

    def _costs(self, cost: np.ndarray | None) -> np.ndarray:
        found = np.asarray(self.network.travel_time_s if cost is None else cost, dtype=np.float64)
        if found.shape != (len(self.network),):
            raise ParameterError(
                f"cost has shape {found.shape}, but there are {len(self.network)} edges: give one for each"
            )
        if not (found >= 0).all():
            e = int(np.argmin(found >= 0))
            raise ParameterError(f"edge {e} costs {found[e]}: costs must be at least 0, infinite for a closed edge")
        return found

    def _choose(self, source: np.ndarray, target: np.ndarray, costs: np.ndarray, profile: np.ndarray) -> Routes:
        """Routes under ``costs[profile[i]]``: sorted by profile and source so that those of one source share its tree."""
        order = np.lexsort((source, profile))
        ends = np.searchsorted(profile[order], np.arange(len(costs) + 1))
        pieces = [(np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))]
        for p, cost in enumerate(costs):
            trips = order[ends[p] : ends[p + 1]]
            pieces += self._under(cost, source[trips], target[trips])
        found, counts, edges = (np.concatenate(part) for part in zip(*pieces, strict=True))
        sorted_routes = Routes(edges, concatenate_offsets(counts), source[order], target[order], found, profile[order])
        return sorted_routes.take(np.argsort(order))

    def _under(
        self, cost: np.ndarray, source: np.ndarray, target: np.ndarray
    ) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Costs, edge counts and edges of the routes under one set of costs, in pieces; ``source`` is sorted."""
        graph, edge_of = cheapest_edges(self.network, cost)
        starts, row = np.unique(source, return_inverse=True)
        at_once = max(1, TREE_CELLS // len(self.network.node_xy))
        pieces = []
        for first in range(0, len(starts), at_once):
            a, b = np.searchsorted(row, [first, first + at_once])
            distance, before = dijkstra(
                graph, indices=starts[first : first + at_once], return_predecessors=True
            )  # rows: sources
            local = row[a:b] - first
            counts = _count_hops(before, local, source[a:b], target[a:b])
            edges = _hops(before, local, target[a:b], concatenate_offsets(counts), graph.indptr, graph.indices, edge_of)
            pieces.append((distance[local, target[a:b]], counts, edges))
        return pieces


def strong_part(edge_nodes: np.ndarray, nodes: int) -> np.ndarray:
    """Return bool [nodes]: the largest set of nodes such that the directed edges [m, 2] lead from each to each."""
    pattern = csr_array((np.ones(len(edge_nodes)), tuple(edge_nodes.T)), shape=(nodes, nodes))
    _, label = connected_components(pattern, directed=True, connection="strong")
    return label == np.bincount(label).argmax()


def cheapest_edges(network: RoadNetwork, cost: np.ndarray) -> tuple[csr_array, np.ndarray]:
    """Return the k x k matrix of ``cost`` [m] and, for each of its entries, the edge: the cheapest of parallel ones, no loops."""
    start, end = network.edge_nodes.T
    order = np.lexsort((cost, end, start))
    order = order[(start[order] != end[order]) & np.isfinite(cost[order])]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(start[order]) != 0) | (np.diff(end[order]) != 0)
    kept, k = order[first], len(network.node_xy)
    indptr = concatenate_offsets(np.bincount(start[kept], minlength=k)).astype(np.int32)
    return csr_array((cost[kept], end[kept].astype(np.int32), indptr), shape=(k, k)), kept


# ---- kernels ----------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _count_hops(before, row, source, target):  # pragma: no cover - compiled
    """Edges [n] of each route in the trees ``before`` (a node's predecessor, negative where it has none); 0 if unreachable."""
    out = np.zeros(len(target), dtype=np.int64)
    for i in range(len(target)):
        node = target[i]
        while node != source[i]:
            node = before[row[i], node]
            if node < 0:
                out[i] = 0
                break
            out[i] += 1
    return out


@njit(cache=True, nogil=True)
def _hops(before, row, target, offsets, indptr, indices, edge_of):  # pragma: no cover - compiled
    """Edges of each route, written from its last to its first; the matrix entry (predecessor, node) names the edge."""
    out = np.empty(offsets[-1], dtype=np.int64)
    for i in range(len(target)):
        node = target[i]
        for h in range(offsets[i + 1] - 1, offsets[i] - 1, -1):
            previous = before[row[i], node]
            j = indptr[previous]
            while indices[j] != node:
                j += 1
            out[h] = edge_of[j]
            node = previous
    return out
