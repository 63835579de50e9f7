"""`PublicMap`: a road map that everybody may know and nobody's trips went into, on which private trips may be drawn.

A method that spends its privacy on counts needs a map to turn them into trips. Where the map is public, drawing on it is
post-processing and costs nothing; the guarantee must say so, in the words of `PublicMap.describe`. Where there is no map,
`lattice` lays one over the public box.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trajkit import geo
from trajkit.errors import DataContractError, ParameterError
from trajkit.map_files import read_network
from trajkit.ragged import ragged_rows
from trajkit.roads import DEFAULT_SPEED_MPS, RoadNetwork
from trajkit.routing import strong_part
from trajkit.trajectories import concatenate_offsets

MOST_NODES = 2_000_000
LEAST_INSIDE = 0.5
SPEEDS_OF_ANOTHER_YEAR = (0.8, 1.0, 1.25)


@dataclass(frozen=True)
class PublicMap:
    """A strongly connected road network and where it comes from.

    network        its junctions all reach each other
    source         in words: which map, from where, its sha256 or that it is fixed by the package
    dropped_nodes  junctions left out because they cannot be reached or left; dropped_edges: the edges there

    Raises ParameterError for an empty source and for a network in several parts (`from_network` keeps the largest).
    """

    network: RoadNetwork
    source: str
    dropped_nodes: int = 0
    dropped_edges: int = 0

    def __post_init__(self) -> None:
        if not self.source.strip():
            raise ParameterError("a public map needs its source in words: which map, from where, its sha256")
        if not (len(self.network) and strong_part(self.network.edge_nodes, len(self.network.node_xy)).all()):
            raise ParameterError("some junctions of the map do not reach the others: build it with from_network")

    @property
    def crs(self) -> str:
        """The metric CRS of the network."""
        return self.network.crs

    def describe(self) -> str:
        """Return the assumption that a guarantee must name when trips were drawn on this map."""
        size = f"{len(self.network.node_xy)} junctions, {len(self.network)} directed edges"
        return f"the road map ({self.source}; {size}) is public and was not computed from the data"

    def inside_share(self, box: geo.Box) -> float:
        """Return the share of the road length that lies in ``box`` (0 to 1), to the length of one straight piece."""
        pieces = self.network.segments().reshape(-1, 2, 2)
        metres = np.hypot(*(pieces[:, 1] - pieces[:, 0]).T)
        inside = box.contains(geo.unproject(pieces.mean(axis=1), self.crs))
        return float(metres[inside].sum() / metres.sum())

    def checks(self, box: geo.Box | None = None) -> list[str]:
        """Return the problems found, one sentence each: those of `RoadNetwork.checks`, missing directions, roads off the ``box``."""
        problems = self.network.checks()
        twoway = ~self.network.oneway & (self.network.edge_nodes[:, 0] != self.network.edge_nodes[:, 1])
        street = street_of(self.network)
        alone = twoway & (np.bincount(street)[street] == 1)
        if alone.any():
            problems.append(
                f"{alone.sum()} edge(s) are not one-way but their other direction is missing, the first is "
                f"{int(np.argmax(alone))}: give each direction an edge"
            )
        if box is not None and (share := self.inside_share(box)) < LEAST_INSIDE:
            problems.append(f"only {share:.0%} of the road length lies in the box: cut the map to the box")
        return problems


def from_network(network: RoadNetwork, source: str) -> PublicMap:
    """Return ``network`` as a public map: its largest strongly connected part, what it leaves out counted.

    ``source`` says in words which map it is and from where. Raises DataContractError for edges that name a node that does
    not exist, speeds that are not positive, and a network without two junctions that reach each other.
    """
    k = len(network.node_xy)
    wrong = ((network.edge_nodes < 0) | (network.edge_nodes >= k)).any(axis=1)
    wrong |= ~(np.isfinite(network.length_m) & np.isfinite(network.speed_mps) & (network.speed_mps > 0))
    if wrong.any():
        raise DataContractError(
            f"{wrong.sum()} edge(s) of the map have no valid nodes, length or speed, the first is {int(np.argmax(wrong))}: "
            "see RoadNetwork.checks, correct or drop them"
        )
    inside = strong_part(network.edge_nodes, k) if len(network) else np.zeros(k, dtype=bool)
    kept = inside[network.edge_nodes].all(axis=1)
    if inside.sum() < 2:
        raise DataContractError(
            "no two junctions of the map reach each other: check its directions, one-way streets first"
        )
    return PublicMap(_restricted(network, inside, kept), source, int(k - inside.sum()), int((~kept).sum()))


def read_map(path: str | Path, crs: str, *, origin: str = "", speed_mps: float = DEFAULT_SPEED_MPS) -> PublicMap:
    """Read a public map from ``path``, in any form that `trajkit.map_files.read_network` knows, into the metric ``crs``.

    ``origin`` says from where the map is, e.g. "OpenStreetMap by OSMnx, 2024-05"; the names and SHA-256 of the files are
    added to it. Edges without a speed of their own get ``speed_mps``.
    Raises MissingDataError for absent files or packages, DataContractError that names file and row, ParameterError for a
    form that is not known.
    """
    network, files = read_network(Path(path), crs, speed_mps)
    named = " and ".join(f"{name} (sha256 {digest})" for name, digest in files)
    return from_network(network, f"{origin}, {named}" if origin else named)


def lattice(box: geo.Box, crs: str, spacing_m: float, *, speed_mps: float = DEFAULT_SPEED_MPS) -> PublicMap:
    """Return a square grid of streets ``spacing_m`` metres apart over ``box``, open both ways at one speed.

    Junctions lie in the box; the grid is centred on it. It depends on the box, the CRS and the spacing only.
    Raises ParameterError for a spacing that leaves fewer than 2 x 2 junctions or more than `MOST_NODES`.
    """
    if not (np.isfinite([spacing_m, speed_mps]).all() and spacing_m > 0 and speed_mps > 0):
        raise ParameterError(f"spacing {spacing_m!r} m and speed {speed_mps!r} m/s must be positive numbers")
    x0, y0, x1, y1 = geo.box_xy(box, crs)
    nx, ny = int((x1 - x0) // spacing_m) + 1, int((y1 - y0) // spacing_m) + 1
    if min(nx, ny) < 2 or nx * ny > MOST_NODES:
        raise ParameterError(f"a spacing of {spacing_m} m makes {nx} x {ny} junctions: take one that fits the box")
    x = (x0 + x1) / 2 + (np.arange(nx) - (nx - 1) / 2) * spacing_m
    y = (y0 + y1) / 2 + (np.arange(ny) - (ny - 1) / 2) * spacing_m
    xy = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    number = np.arange(nx * ny).reshape(ny, nx)
    east = np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()])
    north = np.column_stack([number[:-1].ravel(), number[1:].ravel()])
    ends = np.concatenate([east, north, east[:, ::-1], north[:, ::-1]])
    ends = ends[box.contains(geo.unproject(xy, crs))[ends].all(axis=1)]
    network = RoadNetwork(
        node_xy=xy,
        node_ids=np.arange(len(xy)),
        edge_nodes=ends.astype(np.int64),
        length_m=np.full(len(ends), float(spacing_m)),
        speed_mps=np.full(len(ends), float(speed_mps)),
        road_class=np.full(len(ends), "lattice"),
        oneway=np.zeros(len(ends), dtype=bool),
        edge_xy=xy[ends].reshape(-1, 2),
        edge_offsets=np.arange(len(ends) + 1, dtype=np.int64) * 2,
        crs=crs,
    )
    where = f"{box.lon_min:g} to {box.lon_max:g} east, {box.lat_min:g} to {box.lat_max:g} north"
    return from_network(network, f"a lattice of {spacing_m:g} m over the public box {where}, fixed by the package")


def within(public_map: PublicMap, nodes: np.ndarray) -> PublicMap:
    """Return the map cut to the junctions ``nodes`` (bool [k]); what no longer reaches the rest goes too, and is counted as dropped.

    Raises DataContractError where nothing is left.
    """
    network = public_map.network
    edges = nodes[network.edge_nodes].all(axis=1)
    return from_network(_restricted(network, nodes, edges), f"{public_map.source}; cut to the box")


def without_streets(public_map: PublicMap, share: float, rng: np.random.Generator) -> PublicMap:
    """Return the map with ``share`` (0 to below 1) of its streets removed, drawn by ``rng``: to study a map that is wrong.

    Both directions of a street go together; what no longer reaches the rest goes too, and is counted as dropped.
    Raises ParameterError for a share out of range or one that leaves no map.
    """
    if not 0 <= share < 1:
        raise ParameterError(f"the share of streets to remove must be at least 0 and below 1, got {share!r}")
    network, street = public_map.network, street_of(public_map.network)
    removed = _some_streets(street, share, rng)
    source = f"{public_map.source}; {removed.sum()} of its {len(removed)} streets removed at random"
    return _left(network, ~removed[street], source, f"without {removed.sum()} of {len(removed)} streets")


def _some_streets(street: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """bool [streets]: ``share`` of the streets."""
    chosen = np.zeros(int(street.max()) + 1, dtype=bool)
    chosen[rng.permutation(len(chosen))[: round(share * len(chosen))]] = True
    return chosen


def _left(network: RoadNetwork, edges: np.ndarray, source: str, what: str) -> PublicMap:
    """The map of the ``edges`` (bool [m]) that are left. Raises ParameterError where that is none."""
    try:
        return from_network(_restricted(network, np.ones(len(network.node_xy), dtype=bool), edges), source)
    except DataContractError as error:
        raise ParameterError(f"{what} no map is left: take a smaller share") from error


def of_another_year(public_map: PublicMap, share: float, rng: np.random.Generator) -> PublicMap:
    """Return the map as it was in another year: to study a map that is out of date.

    ``share`` (0 to below 1) of its streets, drawn by ``rng``, are not there yet, the same share of the rest is open in one direction only
    where it was open in two, and every street has a speed of that year (0.8 to 1.25 times). What no longer reaches the rest goes, and is counted as dropped.
    Raises ParameterError as `without_streets` does.
    """
    older = without_streets(public_map, share, rng)
    network, street = older.network, street_of(older.network)
    two_way = np.bincount(street) == 2
    turned = _some_streets(street, share, rng) & two_way
    one_of_two = np.zeros(len(network), dtype=bool)
    one_of_two[np.unique(street, return_index=True)[1]] = True
    changed = replace(
        network,
        speed_mps=network.speed_mps * rng.choice(SPEEDS_OF_ANOTHER_YEAR, len(turned))[street],
        oneway=network.oneway | turned[street],
    )
    source = f"{older.source}; {turned.sum()} more made one-way and speeds changed, as in another year"
    return _left(changed, ~turned[street] | one_of_two, source, f"with {turned.sum()} streets made one-way")


def street_of(network: RoadNetwork) -> np.ndarray:
    """Return int64 [m]: the number of each edge's street, the same for its two directions.

    A one-way edge is a street of its own. Of several streets between two junctions the directions are matched by length.
    """
    ends, m = network.edge_nodes, len(network)
    backward = ends[:, 0] > ends[:, 1]
    alone = np.where(network.oneway, np.arange(m), -1)
    pairs = np.column_stack([ends.min(axis=1), ends.max(axis=1), alone])
    group = np.unique(pairs, axis=0, return_inverse=True)[1].ravel() * 2 + backward
    order = np.lexsort((network.geometry_length_m, group))
    first = np.searchsorted(group[order], group[order])
    rank = np.empty(m, dtype=np.int64)
    rank[order] = np.arange(m) - first
    return np.unique(np.column_stack([group // 2, rank]), axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def _restricted(network: RoadNetwork, nodes: np.ndarray, edges: np.ndarray) -> RoadNetwork:
    """The network of the nodes (bool [k]) and the edges (bool [m]) kept; edges must join nodes that are."""
    index = np.flatnonzero(edges)
    vertices, offsets = ragged_rows(network.edge_offsets, index)
    number = concatenate_offsets(nodes)[:-1]
    return RoadNetwork(
        node_xy=network.node_xy[nodes],
        node_ids=network.node_ids[nodes],
        edge_nodes=number[network.edge_nodes[index]],
        length_m=network.length_m[index],
        speed_mps=network.speed_mps[index],
        road_class=network.road_class[index],
        oneway=network.oneway[index],
        edge_xy=network.edge_xy[vertices],
        edge_offsets=offsets,
        crs=network.crs,
    )
