"""The map of the simulated city: public, fixed by `MAP_SEED`, and so independent of the people drawn on it.

`city_streets` says where the streets run; here they become a road network that nobody can get stuck in.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
import shapely
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from trajkit import geo
from trajkit.datasets.city_streets import (
    CLASSES,
    MAP_SEED,
    Land,
    Streets,
    draw_land,
    main_lines,
    number_nodes,
    pair_code,
    subdivide,
    with_side_streets,
)
from trajkit.geo import Box
from trajkit.roads import RoadNetwork
from trajkit.seeds import rng

CRS = "EPSG:32630"
TZ = "Europe/Paris"
BOX = Box(-5.08, 45.945, -4.92, 46.055)
CENTRE_LONLAT = (-5.0, 46.0)
SPEED_MPS = {"trunk": 11.0, "primary": 9.3, "secondary": 8.4, "residential": 7.4}


@dataclass(frozen=True)
class CityMap:
    """The road network and what lies between the roads; polygons and points in metres of `CRS`.

    twin     int64 [m]: the same street's other direction, -1 for one-way streets
    bridges  int64 [b]: edges that cross the river
    centre   float64 [2]
    """

    roads: RoadNetwork
    twin: np.ndarray
    bridges: np.ndarray
    river: shapely.Polygon
    parks: shapely.MultiPolygon
    outline: shapely.Polygon
    centre: np.ndarray


@lru_cache(maxsize=1)
def build_map() -> CityMap:
    """Return the city's map, the same on every call."""
    land = draw_land()
    main = subdivide(*main_lines(land))
    nodes, ends = number_nodes(main.geometry[:, [0, 2]].reshape(-1, 2))
    streets = with_side_streets(land, main, nodes, ends)
    return _assemble(land, *streets)


# ---- assembly ---------------------------------------------------------------------------------------------------


def _part_of(ends: np.ndarray, n: int, connection: str) -> np.ndarray:
    """Bool [n]: nodes of the largest component ("weak" or "strong") of the directed edges ``ends``."""
    graph = coo_array((np.ones(len(ends)), tuple(ends.T)), shape=(n, n)).tocsr()
    _, label = connected_components(graph, directed=True, connection=connection)
    return label == np.bincount(label).argmax()


def _without_stubs(ends: np.ndarray, length: np.ndarray, n: int) -> np.ndarray:
    """Bool over streets: the largest part, without loops, parallel streets and dead ends shorter than 90 m."""
    codes = pair_code(ends, n)
    keep = (ends[:, 0] != ends[:, 1]) & np.isin(np.arange(len(ends)), np.unique(codes, return_index=True)[1])
    while True:
        inside = _part_of(ends[keep], n, "weak")
        degree = np.bincount(ends[keep].ravel(), minlength=n)
        good = keep & inside[ends[:, 0]] & ~((degree[ends].min(axis=1) == 1) & (length < 90))
        if (good == keep).all():
            return keep
        keep = good


def _one_way(nodes: np.ndarray, ends: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Bool over streets: about a third of the centre's side streets, such that every junction still reaches every other."""
    random = rng(MAP_SEED, "data", "city", "one-way")
    central = np.hypot(*nodes[ends].mean(axis=1).T) < 2600
    oneway = central & (kind == CLASSES.index("residential")) & (random.uniform(size=len(ends)) < 0.35)
    while True:
        directed = np.concatenate([ends, ends[~oneway][:, ::-1]])
        strong = _part_of(directed, len(nodes), "strong")
        trapped = oneway & ~strong[ends].all(axis=1)
        if not trapped.any():
            return oneway
        oneway &= ~trapped


def _assemble(land: Land, nodes: np.ndarray, ends: np.ndarray, streets: Streets) -> CityMap:
    steps = np.diff(streets.geometry, axis=1)
    length = np.hypot(steps[..., 0], steps[..., 1]).sum(axis=1)
    keep = _without_stubs(ends, length, len(nodes))
    used, ends = np.unique(ends[keep], return_inverse=True)
    nodes, ends, kind = nodes[used], ends.reshape(-1, 2), streets.kind[keep]
    geometry, bridge = streets.geometry[keep].copy(), streets.bridge[keep]
    geometry[:, 0], geometry[:, 2] = nodes[ends[:, 0]], nodes[ends[:, 1]]
    oneway = _one_way(nodes, ends, kind)
    n, both = len(ends), np.flatnonzero(~oneway)
    twin = np.full(n + len(both), -1, dtype=np.int64)
    twin[both], twin[n:] = n + np.arange(len(both)), both
    centre = geo.project(np.array([CENTRE_LONLAT]), CRS)[0]
    geometry = np.concatenate([geometry, geometry[both][:, ::-1]]) + centre
    steps = np.diff(geometry, axis=1)
    names = np.array(CLASSES)[np.append(kind, kind[both])]
    roads = RoadNetwork(
        node_xy=nodes + centre,
        node_ids=np.arange(len(nodes)),
        edge_nodes=np.concatenate([ends, ends[both][:, ::-1]]).astype(np.int64),
        length_m=np.hypot(steps[..., 0], steps[..., 1]).sum(axis=1),
        speed_mps=pd.Series(names).map(SPEED_MPS).to_numpy(dtype=np.float64),
        road_class=names,
        oneway=np.append(oneway, np.zeros(len(both), dtype=bool)),
        edge_xy=np.ascontiguousarray(geometry.reshape(-1, 2)),
        edge_offsets=np.arange(len(geometry) + 1, dtype=np.int64) * 3,
        crs=CRS,
    )
    river, parks, outline = (
        shapely.transform(s, lambda xy: xy + centre) for s in (land.river, land.parks, land.outline)
    )
    bridges = np.flatnonzero(np.append(bridge, bridge[both]))
    return CityMap(roads, twin, bridges, river, parks, outline, centre)
