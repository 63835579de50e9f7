"""Road networks: distances against a brute-force answer and shapely, graph, checks, reading and its errors."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import shapely
from scipy.sparse.csgraph import dijkstra

from trajkit import geo
from trajkit.errors import DataContractError, MissingDataError, ParameterError
from trajkit.roads import RoadNetwork, read_roads

CRS = "EPSG:32629"
NODES = "osmid,shape\n11,POINT(-8.60 41.15)\n12,POINT(-8.59 41.15)\n13,POINT(-8.59 41.16)\n"


def network(nodes: list[tuple[float, float]], edges: list[tuple[int, int]], speed: float = 10.0) -> RoadNetwork:
    """Straight one-way edges between the given points."""
    xy, ends = np.array(nodes, dtype=float), np.array(edges, dtype=np.int64)
    lines = xy[ends]
    return RoadNetwork(
        node_xy=xy,
        node_ids=np.arange(len(xy)),
        edge_nodes=ends,
        length_m=np.hypot(*(lines[:, 1] - lines[:, 0]).T),
        speed_mps=np.full(len(ends), speed),
        road_class=np.full(len(ends), "residential"),
        oneway=np.ones(len(ends), dtype=bool),
        edge_xy=lines.reshape(-1, 2),
        edge_offsets=np.arange(len(ends) + 1) * 2,
        crs=CRS,
    )


def edges_csv() -> str:
    a, b, c = (geo.haversine_m(np.array(p), np.array(q)) for p, q in (
        ([-8.60, 41.15], [-8.59, 41.15]), ([-8.59, 41.15], [-8.59, 41.16]), ([-8.60, 41.15], [-8.59, 41.16])))  # fmt: skip
    return (
        "shape,start_node,end_node,osmid,oneway,length\n"
        f'"LINESTRING (-8.60 41.15, -8.595 41.15, -8.59 41.15)",11,12,1,True,{a}\n'
        f'"LINESTRING (-8.59 41.15, -8.59 41.16)",12,13,"[2, 3]",False,{b}\n'
        f'"LINESTRING (-8.60 41.15, -8.59 41.16)",11,13,4,False,{c}\n'
    )


def folder_with(tmp_path: Path, *, nodes: str = NODES, edges: str | None = None) -> Path:
    (tmp_path / "nodes.csv").write_text(nodes)
    (tmp_path / "edges.csv.gz").write_bytes(gzip.compress((edges_csv() if edges is None else edges).encode()))
    return tmp_path


# ---- distances --------------------------------------------------------------------------------------------------


def test_distance_by_hand() -> None:
    roads = network([(0, 0), (100, 0)], [(0, 1)])
    xy = np.array([[50.0, 25.0], [50.0, 25.001], [103.0, 4.0], [-30.0, 40.0], [5000.0, 0.0]])
    assert roads.near(xy, 25.0).tolist() == [True, False, True, False, False]
    assert roads.nearest_distance(xy, 60.0).tolist() == pytest.approx([25.0, 25.001, 5.0, 50.0, np.inf])


@pytest.mark.parametrize("reach", [0.5, 25.0, 700.0, 5000.0])
def test_distance_agrees_with_shapely(reach: float) -> None:
    random = np.random.default_rng(3)
    nodes = random.uniform(-2000, 2000, (60, 2)).tolist()
    roads = network(nodes, random.integers(0, 60, (120, 2)).tolist())  # self loops and zero-length segments included
    xy = random.uniform(-2600, 2600, (4000, 2))
    exact = shapely.distance(shapely.points(xy), shapely.multilinestrings(list(roads.segments().reshape(-1, 2, 2))))
    found = roads.nearest_distance(xy, reach)
    assert np.isinf(found[exact > reach]).all()
    assert found[exact <= reach] == pytest.approx(exact[exact <= reach], abs=1e-9)
    assert (roads.near(xy, reach) == (exact <= reach)).all()


def test_a_long_diagonal_road_is_found_everywhere() -> None:
    roads = network([(0, 0), (300_000, 200_000)], [(0, 1)])
    s = np.linspace(0, 1, 5001)[:, None]
    assert roads.near(s * [300_000.0, 200_000.0] + [10.0, -10.0], 25.0).all()


@pytest.mark.parametrize("distance", [0.0, -1.0, float("nan"), float("inf")])
def test_distance_must_be_positive(distance: float) -> None:
    with pytest.raises(ParameterError, match="positive number of metres"):
        network([(0, 0), (1, 0)], [(0, 1)]).near(np.zeros((1, 2)), distance)


def test_points_must_be_finite() -> None:
    with pytest.raises(DataContractError, match="1 of 2 points"):
        network([(0, 0), (1, 0)], [(0, 1)]).near(np.array([[0.0, 0.0], [np.nan, 0.0]]), 5.0)


# ---- graph and checks -------------------------------------------------------------------------------------------


def test_graph_keeps_the_fastest_parallel_edge_and_no_loop() -> None:
    roads = network([(0, 0), (100, 0), (100, 50)], [(0, 1), (0, 1), (1, 1), (1, 2), (2, 0)])
    roads = replace(roads, speed_mps=np.array([10.0, 20.0, 10.0, 10.0, 10.0]))
    graph = roads.graph()
    assert graph.nnz == 3
    assert graph[0, 1] == 5.0
    assert dijkstra(graph, indices=0)[2] == pytest.approx(10.0)


def test_streets_count_both_directions_once() -> None:
    roads = network([(0, 0), (100, 0), (100, 50)], [(0, 1), (1, 0), (1, 2)])
    assert roads.segments().shape == (3, 4)
    assert roads.streets().tolist() == [[0, 0, 100, 0], [100, 0, 100, 50]]


def test_a_changed_copy_forgets_the_old_distances() -> None:
    roads = network([(0, 0), (100, 0)], [(0, 1)])
    point = np.array([[50.0, 0.0]])
    assert roads.near(point, 25.0).all()
    assert not replace(roads, edge_xy=roads.edge_xy + 500.0).near(point, 25.0).any()


def test_checks_name_each_problem() -> None:
    roads = network([(0, 0), (100, 0), (0, 900), (100, 900)], [(0, 1), (2, 3)])
    assert roads.checks() == ["the network falls into 2 parts that no road joins"]
    degrees = replace(roads, length_m=np.array([100.0, 0.0012]), speed_mps=np.array([10.0, np.nan]))
    assert [p.split(",")[0] for p in degrees.checks()[1:]] == [
        "1 edge(s) have a length that is not their geometry's in metres",
        "1 edge(s) have a speed that is not a positive number",
    ]
    moved = replace(roads, node_xy=roads.node_xy + np.array([[5.0, 0.0], [0, 0], [0, 0], [0, 0]]))
    assert "1 edge(s) end more than 1 m from their node, up to 5.0 m" in moved.checks()
    dangling = replace(roads, edge_nodes=np.array([[0, 1], [2, 4]]))
    assert dangling.checks() == ["1 edge(s) name a node that does not exist, the first is 1"]


# ---- reading ----------------------------------------------------------------------------------------------------


def test_read_and_write_back(tmp_path: Path) -> None:
    roads = read_roads(folder_with(tmp_path), CRS)
    assert roads.checks() == []
    assert roads.edge_nodes.tolist() == [[0, 1], [1, 2], [0, 2]]
    assert roads.oneway.tolist() == [True, False, False]
    assert len(roads.segments()) == 4
    assert roads.geometry_length_m == pytest.approx(roads.length_m, rel=5e-3)
    again = RoadNetwork.from_geodataframe(roads.to_geodataframe())
    assert again.node_ids.tolist() == [11, 12, 13]
    assert (again.segments() == roads.segments()).all()
    assert again.crs == CRS
    assert again.checks() == []
    same = read_roads(tmp_path / "edges.csv.gz", CRS)
    assert (same.edge_xy == roads.edge_xy).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e: e.replace(",12,13,", ",12,99,"), r"edges\.csv\.gz line 3: end_node is not in nodes\.csv \('99'"),
        (lambda e: e.replace("LINESTRING (-8.59 41.15,", "LINE (-8.59 41.15,"), r"line 3: not a WKT LINESTRING"),
        (lambda e: e.replace(",False,", ",perhaps,", 1), r"line 3: oneway is not True or False \('perhaps'"),
        (lambda e: e.rsplit(",", 1)[0] + ",far\n", r"line 4: length is not a number of metres \('far'"),
        (lambda e: e.replace("length", "len"), r"edges\.csv\.gz has no column length"),
        (lambda e: e.splitlines()[0] + "\n", r"edges\.csv\.gz has a header but no rows"),
        (lambda e: "", r"edges\.csv\.gz cannot be read as CSV"),
        (lambda e: e.replace("-8.595 41.15", "-8595 41.15"), r"line 2: not degrees, longitude first"),
    ],
)
def test_bad_edges_name_file_and_line(tmp_path: Path, change, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DataContractError, match=message):
        read_roads(folder_with(tmp_path, edges=change(edges_csv())), CRS)


def test_swapped_coordinates_are_named(tmp_path: Path) -> None:
    nodes = NODES.replace("-8.60 41.15", "41.15 -8.60").replace("-8.59 41.15", "41.15 -8.59")
    with pytest.raises(DataContractError, match="look swapped: write longitude first"):
        read_roads(folder_with(tmp_path, nodes=nodes.replace("-8.59 41.16", "41.16 -8.59")), CRS)


def test_duplicate_node_id(tmp_path: Path) -> None:
    with pytest.raises(DataContractError, match=r"nodes\.csv line 5: node id used twice \('11'"):
        read_roads(folder_with(tmp_path, nodes=NODES + "11,POINT(-8.6 41.1)\n"), CRS)


def test_absent_and_truncated_files(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"neither edges\.csv nor edges\.csv\.gz"):
        read_roads(tmp_path, CRS)
    with pytest.raises(MissingDataError, match=r"neither nodes\.csv"):
        read_roads(tmp_path / "edges.csv", CRS)
    folder = folder_with(tmp_path)
    whole = (folder / "edges.csv.gz").read_bytes()
    (folder / "edges.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataContractError, match="cannot be read as CSV"):
        read_roads(folder, CRS)


def test_porto_graph(shared: Path) -> None:
    roads = read_roads(shared / "data" / "porto_roads", CRS)
    assert (len(roads.node_xy), len(roads)) == (5217, 11109)
    assert roads.checks() == []
    assert roads.length_m.sum() == pytest.approx(930_000, rel=1e-3)
    assert roads.near(roads.edge_xy, 0.01).all()
    assert roads.graph().nnz < len(roads)
