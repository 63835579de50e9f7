"""Where the streets of the simulated city run, in metres around its centre.

Main roads (four rings, nine radials, quays) are laid out first and noded where they cross; side streets join the
points of jittered lattices, one lattice a district, along the shorter edges of their Delaunay triangulation (its
Urquhart graph: Urquhart 1980), which leaves blocks rather than triangles. Only a few main roads cross the river.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import Delaunay, cKDTree

from trajkit.seeds import rng

MAP_SEED = 46
CLASSES = ("trunk", "primary", "secondary", "residential")

RIVER_HALF_WIDTH_M = 75.0
QUAY_M = 45.0
MAX_BRIDGES = 7
BRIDGE_GAP_M = 700.0
RINGS = ((430.0, "secondary"), (1080.0, "primary"), (2700.0, "secondary"), (4350.0, "trunk"))
N_RADIALS = 9
N_DISTRICTS = 60
PARKS = ((-1900.0, 700.0, 420.0), (2050.0, -1750.0, 480.0), (-700.0, -3300.0, 520.0), (900.0, 3300.0, 430.0))


@dataclass(frozen=True)
class Land:
    """What the streets must respect, in metres around the centre."""

    river: shapely.Polygon
    parks: shapely.MultiPolygon
    outline: shapely.Polygon


@dataclass(frozen=True)
class Streets:
    """Undirected streets: three-point geometry [n, 3, 2], class index [n] and bridge flag [n]."""

    geometry: np.ndarray
    kind: np.ndarray
    bridge: np.ndarray


# ---- land -------------------------------------------------------------------------------------------------------


def _wave(angle: np.ndarray, random: np.random.Generator, size: float, orders: tuple[int, ...]) -> np.ndarray:
    """A smooth random function of the angle, of relative ``size``."""
    phase = random.uniform(0, 2 * np.pi, len(orders))
    return sum(size / k**0.5 * np.sin(k * angle + p) for k, p in zip(orders, phase, strict=True))


def _ring(radius: float, random: np.random.Generator, size: float) -> np.ndarray:
    angle = np.linspace(0, 2 * np.pi, 241)
    r = radius * (1 + _wave(angle, random, size, (2, 3, 5)))
    r[-1] = r[0]
    return np.column_stack([r * np.cos(angle), r * np.sin(angle)])


def _blob(x: float, y: float, radius: float, random: np.random.Generator) -> shapely.Polygon:
    return shapely.Polygon(_ring(radius, random, 0.16) + np.array([x, y]))


def draw_land() -> Land:
    """Return river, parks and outline: the same on every call."""
    random = rng(MAP_SEED, "data", "city", "land")
    x = np.linspace(-7500, 7500, 400)
    y = 930 + 0.13 * x + 620 * np.sin(x / 1450 + 2.6) + 260 * np.sin(x / 620 + 0.4) * np.exp(-((x / 5000) ** 2))
    river = shapely.LineString(np.column_stack([x, y])).buffer(RIVER_HALF_WIDTH_M)
    parks = shapely.union_all([_blob(*park, random) for park in PARKS])
    outline = shapely.Polygon(_ring(5000, random, 0.055))
    return Land(river, shapely.MultiPolygon(shapely.get_parts(parks).tolist()), outline)


# ---- main roads -------------------------------------------------------------------------------------------------


def main_lines(land: Land) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return noded main roads (lines, class index, bridge flag): on land everywhere, across the river at few places."""
    random = rng(MAP_SEED, "data", "city", "main roads")
    lines = [shapely.LineString(_ring(r, random, 0.06)) for r, _ in RINGS]
    kinds = [CLASSES.index(name) for _, name in RINGS]
    angles = (np.arange(N_RADIALS) + random.uniform(-0.28, 0.28, N_RADIALS)) * 2 * np.pi / N_RADIALS
    for i, angle in enumerate(angles):
        r = np.linspace(380, 5600, 90)
        bend = angle + random.normal(0, 0.22) * r / 5000 + 0.05 * np.sin(r / 700 + random.uniform(0, 6))
        lines.append(shapely.LineString(np.column_stack([r * np.cos(bend), r * np.sin(bend)])))
        kinds.append(CLASSES.index("primary" if i % 2 == 0 else "secondary"))
    quays = land.river.buffer(QUAY_M).boundary.intersection(shapely.Point(0, 0).buffer(3600)).simplify(2.0)
    lines.append(quays)
    kinds.append(CLASSES.index("secondary"))
    lines = shapely.intersection(np.array(lines, dtype=object), land.outline)
    network = shapely.union_all(lines)
    dry = shapely.get_parts(shapely.line_merge(network.difference(land.river)))
    wet = shapely.get_parts(shapely.line_merge(network.intersection(land.river)))
    dry = shapely.get_parts(shapely.node(shapely.multilinestrings(dry)))
    wet = wet[_chosen_bridges(wet, lines, kinds)]
    pieces = np.concatenate([dry, wet])
    pieces = pieces[shapely.length(pieces) > 2.0]
    return pieces, _class_of(pieces, lines, kinds), shapely.covers(land.river.buffer(1.0), pieces)


def _class_of(pieces: np.ndarray, lines: np.ndarray, kinds: list[int]) -> np.ndarray:
    """Class of the most important main road through the middle of each piece."""
    middle = shapely.line_interpolate_point(pieces, 0.5, normalized=True)
    on = shapely.distance(middle[:, None], lines[None, :]) < 1.0
    return np.where(on, np.array(kinds), len(CLASSES)).min(axis=1)


def _chosen_bridges(wet: np.ndarray, lines: np.ndarray, kinds: list[int]) -> list[int]:
    """Short crossings, most important road first, at least `BRIDGE_GAP_M` apart."""
    kind = _class_of(wet, lines, kinds)
    middle = shapely.get_coordinates(shapely.line_interpolate_point(wet, 0.5, normalized=True))
    length = shapely.length(wet)
    crosses = (length > 1.9 * RIVER_HALF_WIDTH_M) & (length < 4.5 * RIVER_HALF_WIDTH_M)
    kept: list[int] = []
    for i in np.lexsort((np.hypot(*middle.T), kind)):
        gaps = np.hypot(*(middle[kept] - middle[i]).T)
        if crosses[i] and len(kept) < MAX_BRIDGES and (gaps > BRIDGE_GAP_M).all():
            kept.append(int(i))
    return kept


def _spacing(xy: np.ndarray) -> np.ndarray:
    """Metres between junctions: short blocks in the centre, long ones in the suburbs."""
    r = np.hypot(xy[:, 0], xy[:, 1])
    return 72 + 138 * np.clip((r - 500) / 4500, 0, 1) ** 0.9


def subdivide(pieces: np.ndarray, kind: np.ndarray, bridge: np.ndarray) -> Streets:
    """Cut each piece into streets of about the local spacing (a bridge stays whole)."""
    length = shapely.length(pieces)
    middle = shapely.get_coordinates(shapely.line_interpolate_point(pieces, 0.5, normalized=True))
    n = np.where(bridge, 1, np.maximum(1, np.round(length / _spacing(middle)))).astype(np.int64)
    owner = np.repeat(np.arange(len(pieces)), n)
    k = np.arange(len(owner)) - np.repeat(np.cumsum(n) - n, n)
    at = [(k + part) / n[owner] for part in (0.0, 0.5, 1.0)]
    points = [shapely.line_interpolate_point(pieces[owner], s, normalized=True) for s in at]
    geometry = np.stack([shapely.get_coordinates(p) for p in points], axis=1)
    return Streets(np.round(geometry, 2), kind[owner], bridge[owner])


def number_nodes(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give points nearer than 2 m one number; return nodes [k, 2] and the number of each point."""
    pairs = cKDTree(points).query_pairs(2.0, output_type="ndarray")
    link = coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(len(points), len(points)))
    _, label = connected_components(link, directed=False)
    _, first, node = np.unique(label, return_index=True, return_inverse=True)
    return points[first], node


# ---- side streets -----------------------------------------------------------------------------------------------


def _lattices(land: Land, random: np.random.Generator) -> np.ndarray:
    """Junctions of side streets [n, 2]: each district has its own lattice, turned, stretched and jittered."""
    radius = 5000 * random.uniform(0, 1, N_DISTRICTS) ** 0.7
    angle = random.uniform(0, 2 * np.pi, N_DISTRICTS)
    seeds = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    tree = cKDTree(seeds)
    found = []
    for i, step in enumerate(_spacing(seeds)):
        turn, stretch, jitter = random.uniform(0, np.pi / 2), random.uniform(0.85, 1.5), random.uniform(0.03, 0.13)
        n = int(2600 / step)
        grid = np.stack(np.meshgrid(np.arange(-n, n + 1), np.arange(-n, n + 1)), axis=-1).reshape(-1, 2)
        local = (grid + random.normal(0, jitter, grid.shape)) * step * [stretch, 1.0]
        rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
        points = local @ rotation + seeds[i]
        found.append(points[tree.query(points)[1] == i])
    points = np.concatenate(found)
    free = land.outline.difference(land.parks.buffer(25)).difference(land.river.buffer(QUAY_M + 30))
    shapely.prepare(free)
    return points[shapely.contains_xy(free, points[:, 0], points[:, 1])]


def _thinned(points: np.ndarray, main_nodes: np.ndarray) -> np.ndarray:
    """Drop junctions too close to a main road's junction or to an earlier one."""
    gap = 0.62 * _spacing(points)
    points = points[cKDTree(main_nodes).query(points)[0] > gap]
    pairs = cKDTree(points).query_pairs(170.0, output_type="ndarray")
    close = np.hypot(*(points[pairs[:, 0]] - points[pairs[:, 1]]).T) < 0.5 * _spacing(points[pairs[:, 0]])
    keep = np.ones(len(points), dtype=bool)
    keep[pairs[close].max(axis=1)] = False
    return points[keep]


def _urquhart(nodes: np.ndarray) -> np.ndarray:
    """Edges [e, 2] of the Delaunay triangulation that are not the longest of a triangle."""
    triangles = Delaunay(nodes).simplices
    sides = np.sort(np.stack([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]], axis=1), axis=2)
    length = np.hypot(*np.moveaxis(nodes[sides[..., 0]] - nodes[sides[..., 1]], -1, 0))
    longest = length.argmax(axis=1)
    code = sides[..., 0] * len(nodes) + sides[..., 1]
    kept = np.setdiff1d(code.ravel(), code[np.arange(len(code)), longest])
    return np.column_stack([kept // len(nodes), kept % len(nodes)])


def with_side_streets(
    land: Land, main: Streets, main_nodes: np.ndarray, main_ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray, Streets]:
    """Return nodes [k, 2], street ends [n, 2] and streets: the main roads first, then the side streets."""
    random = rng(MAP_SEED, "data", "city", "side streets")
    nodes = np.vstack([main_nodes, _thinned(_lattices(land, random), main_nodes)])
    main_ends = main_ends.reshape(-1, 2)
    edges = _urquhart(nodes)
    vector = nodes[edges[:, 1]] - nodes[edges[:, 0]]
    length = np.hypot(*vector.T)
    bow = random.normal(0, 0.035, len(edges))[:, None] * np.column_stack([-vector[:, 1], vector[:, 0]])
    geometry = np.stack([nodes[edges[:, 0]], nodes[edges].mean(axis=1) + bow, nodes[edges[:, 1]]], axis=1)
    lines = shapely.linestrings(geometry)
    middle = nodes[edges].mean(axis=1)
    keep = (length < 2.1 * _spacing(middle)) & (random.uniform(size=len(edges)) > 0.05)
    keep &= ~shapely.intersects(lines, land.river.buffer(10)) & ~shapely.intersects(lines, land.parks.buffer(-20))
    keep &= shapely.covers(land.outline.buffer(60), lines)
    both_main = (edges < len(main_nodes)).all(axis=1)
    tree = shapely.STRtree(shapely.linestrings(main.geometry))
    crossing = np.zeros(len(edges), dtype=bool)
    crossing[tree.query(lines, predicate="crosses")[0]] = True
    known = np.isin(pair_code(edges, len(nodes)), pair_code(main_ends, len(nodes)))
    keep &= ~crossing & ~known & ~(both_main & (length > 1.3 * _spacing(middle)))
    streets = Streets(
        np.concatenate([main.geometry, geometry[keep]]),
        np.concatenate([main.kind, np.full(keep.sum(), CLASSES.index("residential"))]),
        np.concatenate([main.bridge, np.zeros(keep.sum(), dtype=bool)]),
    )
    return nodes, np.concatenate([main_ends, edges[keep]]), streets


def pair_code(edges: np.ndarray, n: int) -> np.ndarray:
    """One integer for each undirected pair of nodes [e, 2] out of ``n``."""
    return edges.min(axis=1) * n + edges.max(axis=1)
