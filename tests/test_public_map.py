"""Public maps: one small town read back from every form, errors that name file and row, lattices, maps with streets missing."""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from trajkit import geo
from trajkit.datasets.city_map import BOX, build_map
from trajkit.errors import DataContractError, MissingDataError, ParameterError
from trajkit.map_osm import both_ways, osm_columns
from trajkit.public_map import PublicMap, from_network, lattice, of_another_year, read_map, street_of, without_streets
from trajkit.roads import DEFAULT_SPEED_MPS, RoadNetwork
from trajkit.routing import Router, strong_part

CRS = "EPSG:32629"
PORTO = geo.Box(-8.72, 41.10, -8.50, 41.24)
PLACES = {11: (-8.60, 41.15), 12: (-8.59, 41.15), 13: (-8.59, 41.16), 14: (-8.60, 41.16), 15: (-8.58, 41.17)}
BEND = [PLACES[11], (-8.595, 41.151), PLACES[12]]
# from, to, one-way; the street 11-12 has a bend; 15 can be reached but not left, so it is dropped
STREETS = [(11, 12, False), (12, 13, True), (13, 14, False), (14, 11, True), (13, 15, True)]
EDGES = [(a, b, way) for a, b, way in STREETS] + [(b, a, way) for a, b, way in STREETS if not way]
KEPT = {(a, b) for a, b, _ in EDGES if b != 15}


def line(a: int, b: int) -> list[tuple[float, float]]:
    if {a, b} == {11, 12}:
        return BEND if a == 11 else BEND[::-1]
    return [PLACES[a], PLACES[b]]


def metres(a: int, b: int) -> float:
    points = np.array(line(a, b))
    return float(geo.haversine_m(points[:-1], points[1:]).sum())


# ---- writers, one a form ----------------------------------------------------------------------------------------


def write_road_tables(folder: Path) -> Path:
    nodes = [(i, shapely.Point(p).wkt) for i, p in PLACES.items()]
    pd.DataFrame(nodes, columns=["osmid", "shape"]).to_csv(folder / "nodes.csv", index=False)
    edges = [(shapely.LineString(line(a, b)).wkt, a, b, i, way, metres(a, b)) for i, (a, b, way) in enumerate(EDGES)]
    names = ["shape", "start_node", "end_node", "osmid", "oneway", "length"]
    pd.DataFrame(edges, columns=names).to_csv(folder / "edges.csv.gz", index=False)
    return folder


def write_edge_list(folder: Path) -> Path:
    nodes = pd.DataFrame([(i, *p) for i, p in PLACES.items()], columns=["id", "lon", "lat"])
    nodes.to_csv(folder / "nodes.csv", index=False)
    edges = [(a, b, metres(a, b), 36.0 if a == 11 else None, "primary") for a, b, _ in EDGES]
    pd.DataFrame(edges, columns=["from", "to", "length", "speed_kmh", "road_class"]).to_csv(
        folder / "edges.csv", index=False
    )
    return folder / "edges.csv"


def write_libcity(folder: Path) -> Path:
    rows = [(i, "LineString", json.dumps(line(a, b)), 6, metres(a, b)) for i, (a, b, _) in enumerate(EDGES)]
    names = ["geo_id", "type", "coordinates", "highway", "length"]
    pd.DataFrame(rows, columns=names).to_csv(folder / "town.geo", index=False)
    pairs = [(i, j) for i, (_, b, _) in enumerate(EDGES) for j, (c, _, _) in enumerate(EDGES) if b == c]
    links = [(n, "geo", i, j) for n, (i, j) in enumerate(pairs)]
    pd.DataFrame(links, columns=["rel_id", "type", "origin_id", "destination_id"]).to_csv(
        folder / "town.rel", index=False
    )
    return folder


def graph(crs: str = "epsg:4326"):  # type: ignore[no-untyped-def]
    networkx = pytest.importorskip("networkx")
    graph = networkx.MultiDiGraph(crs=crs, simplified="True")
    for i, (lon, lat) in PLACES.items():
        graph.add_node(i, x=str(lon), y=str(lat), street_count="3")
    for n, (a, b, way) in enumerate(EDGES):
        tags = {"osmid": str(n), "oneway": str(way), "length": str(metres(a, b)), "highway": "residential"}
        if len(line(a, b)) > 2:
            tags.update(
                geometry=shapely.LineString(line(a, b)).wkt, maxspeed="['30', '50']", highway="['primary', 'x']"
            )
        graph.add_edge(a, b, **tags)
    return networkx, graph


def write_graphml(folder: Path) -> Path:
    networkx, made = graph()
    networkx.write_graphml(made, folder / "town.graphml")
    return folder / "town.graphml"


def write_geopackage(folder: Path) -> Path:
    path = folder / "town.gpkg"
    nodes = geopandas.GeoDataFrame({"osmid": list(PLACES)}, geometry=shapely.points(list(PLACES.values())), crs=4326)
    frame = {
        "u": [a for a, _, _ in EDGES],
        "v": [b for _, b, _ in EDGES],
        "key": 0,
        "oneway": [way for _, _, way in EDGES],
        "length": [metres(a, b) for a, b, _ in EDGES],
        "maxspeed": ["30 mph" if a == 11 else None for a, _, _ in EDGES],
        "highway": "residential",
    }
    edges = geopandas.GeoDataFrame(frame, geometry=[shapely.LineString(line(a, b)) for a, b, _ in EDGES], crs=4326)
    nodes.to_crs(CRS).to_file(path, layer="nodes")
    edges.to_crs(CRS).to_file(path, layer="edges")
    return path


def stand_in_for_pyrosm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that answers as pyrosm does for an extract of the town: each way once, with OSM's tags."""
    nodes = geopandas.GeoDataFrame({"id": list(PLACES)}, geometry=shapely.points(list(PLACES.values())), crs=4326)
    ways = [(b, a, "-1") if (a, b) == (14, 11) else (a, b, "yes" if way else None) for a, b, way in STREETS]
    frame = {
        "u": [a for a, _, _ in ways],
        "v": [b for _, b, _ in ways],
        "oneway": [tag for _, _, tag in ways],
        "length": [metres(a, b) for a, b, _ in ways],
        "highway": "residential",
    }
    edges = geopandas.GeoDataFrame(frame, geometry=[shapely.LineString(line(a, b)) for a, b, _ in ways], crs=4326)
    reader = SimpleNamespace(get_network=lambda network_type, nodes: (made_nodes, edges))
    made_nodes = nodes
    monkeypatch.setitem(sys.modules, "pyrosm", SimpleNamespace(OSM=lambda path: reader))


WRITERS: list[Callable[[Path], Path]] = [
    write_road_tables,
    write_edge_list,
    write_libcity,
    write_graphml,
    write_geopackage,
]


def check_town(found: PublicMap, *, bend: bool = True) -> dict[tuple[int, int], int]:
    """Assert that the map is the town, whatever its ids are; return the edges by the ids of their places."""
    roads = found.network
    assert (found.dropped_nodes, found.dropped_edges) == (1, 1)
    longer = ["2 edge(s) have a length that is not their geometry's in metres"]  # the bent street, read as straight
    assert [problem.split(",")[0] for problem in found.checks(PORTO)] == ([] if bend else longer)
    places = geo.project(np.array(list(PLACES.values())), CRS)
    at = np.hypot(*(roads.node_xy[:, None] - places).transpose(2, 0, 1))
    assert (at.min(axis=1) < 0.01).all()
    ids = np.array(list(PLACES))[at.argmin(axis=1)][roads.edge_nodes]
    edges = {(int(a), int(b)): e for e, (a, b) in enumerate(ids)}
    assert set(edges) == KEPT
    for (a, b), e in edges.items():
        assert roads.length_m[e] == pytest.approx(metres(a, b), rel=1e-6)
        assert roads.oneway[e] == ((b, a) not in edges)
        assert np.diff(roads.edge_offsets)[e] == (3 if bend and {a, b} == {11, 12} else 2)
    return edges


# ---- reading ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", WRITERS)
def test_the_same_town_from_every_form(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    found = read_map(write(tmp_path), CRS, origin="drawn for a test")
    straight = write is write_edge_list
    edges = check_town(found, bend=not straight)
    assert found.source.startswith("drawn for a test, ")
    assert found.source.count("sha256") == (1 if write in (write_graphml, write_geopackage) else 2)
    assert "is public and was not computed from the data" in found.describe()
    assert str(tmp_path) not in found.source
    speed = found.network.speed_mps[edges[11, 12]]
    expected = {write_edge_list: 10.0, write_graphml: 30 / 3.6, write_geopackage: 30 * 1.609344 / 3.6}
    assert speed == pytest.approx(expected.get(write, DEFAULT_SPEED_MPS))
    assert found.network.speed_mps[edges[13, 14]] == pytest.approx(DEFAULT_SPEED_MPS)


def test_an_extract_by_pyrosm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "town.osm.pbf").write_bytes(b"x")
    monkeypatch.setitem(sys.modules, "pyrosm", None)
    with pytest.raises(MissingDataError, match=r"pip install 'trajkit\[osm\]'"):
        read_map(tmp_path / "town.osm.pbf", CRS)
    stand_in_for_pyrosm(monkeypatch)
    check_town(read_map(tmp_path / "town.osm.pbf", CRS))


def test_roundabouts_and_motorways_are_one_way_unless_they_say_no() -> None:
    edges = pd.DataFrame({"from": range(4), "to": range(1, 5), "geometry": [shapely.LineString([(i, 0), (i + 1, 0)]) for i in range(4)]})  # fmt: skip
    edges["oneway"] = [None, None, "no", "reverse"]
    edges["junction"] = ["roundabout", None, None, None]
    edges["highway"] = ["tertiary", "motorway", "motorway", "tertiary"]
    found = both_ways(edges)
    assert found[["from", "to"]].to_numpy().tolist() == [[0, 1], [1, 2], [2, 3], [3, 2], [4, 3]]
    assert found["oneway"].tolist() == [True, True, False, False, True]
    assert shapely.get_coordinates(found["geometry"].iloc[-1]).tolist() == [[4, 0], [3, 0]]


def test_speeds_of_tags() -> None:
    tags = pd.DataFrame({"maxspeed": ["50", "20 mph", "['30', '50']", "signals", None, "0"], "speed_kph": [None, None, 41.5, None, None, None]})  # fmt: skip
    found = osm_columns(tags)
    assert found["speed_mps"].to_numpy() * 3.6 == pytest.approx(
        [50, 32.18688, 41.5, np.nan, np.nan, np.nan], nan_ok=True
    )
    assert found["road_class"].isna().all()


def test_graphml_gzipped_and_in_metres(tmp_path: Path) -> None:
    networkx, made = graph("EPSG:32629")
    for i, (x, y) in zip(PLACES, geo.project(np.array(list(PLACES.values())), CRS), strict=True):
        made.nodes[i].update(x=float(x), y=float(y))
    for _, _, tags in made.edges(data=True):
        tags.pop("geometry", None)
    networkx.write_graphml(made, tmp_path / "town.graphml")
    packed = tmp_path / "town.graphml.gz"
    packed.write_bytes(gzip.compress((tmp_path / "town.graphml").read_bytes()))
    check_town(read_map(packed, CRS), bend=False)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(3, 30))
def test_an_edge_list_in_metres_is_read_back_as_it_was(seed: int, n: int) -> None:
    random = np.random.default_rng(seed)
    xy = geo.project(np.array([[-8.6, 41.15]]), CRS) + random.uniform(0, 3000, (n, 2))
    ends = np.concatenate([np.column_stack([np.arange(n), np.roll(np.arange(n), -1)]), random.integers(0, n, (n, 2))])
    ends = np.unique(ends, axis=0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pd.DataFrame({"id": np.arange(n) + 100, "x": xy[:, 0], "y": xy[:, 1]}).to_csv(folder / "nodes.csv", index=False)
        pd.DataFrame({"from": ends[:, 0] + 100, "to": ends[:, 1] + 100}).to_csv(folder / "edges.csv", index=False)
        found = read_map(folder, CRS).network
    assert found.node_xy == pytest.approx(xy)
    assert (found.edge_nodes == ends).all()
    assert found.length_m == pytest.approx(np.hypot(*(xy[ends[:, 1]] - xy[ends[:, 0]]).T))
    back = {(int(a), int(b)) for a, b in ends}
    assert found.oneway.tolist() == [a == b or (int(b), int(a)) not in back for a, b in ends]


@pytest.mark.parametrize(
    ("write", "file", "old", "new", "message"),
    [
        (write_edge_list, "edges.csv", "12,13,", "12,99,", r"edges\.csv line 3: no node has the id in 'to' \('99'"),
        (write_edge_list, "edges.csv", "11,12,", "11,12,-", r"edges\.csv line 2: length is not a positive number"),
        (
            write_edge_list,
            "edges.csv",
            ",36.0,",
            ",fast,",
            r"edges\.csv line 2: speed_kmh is not a positive number \('fast'",
        ),
        (write_edge_list, "edges.csv", "from,to", "start,end", r"edges\.csv has the columns start, end"),
        (write_edge_list, "nodes.csv", "12,-8.59", "11,-8.59", r"nodes\.csv line 3: node id used twice \('11'"),
        (write_edge_list, "nodes.csv", "12,-8.59", "12,-859", r"nodes\.csv line 3: not a place in EPSG:4326"),
        (write_edge_list, "nodes.csv", "12,-8.59", "12,here", r"nodes\.csv line 3: x or y is not a number"),
        (write_edge_list, "nodes.csv", "lon,lat", "lat,lon", r"no place lies where .* write longitude first"),
        (write_edge_list, "nodes.csv", "lon,lat", "a,b", r"nodes\.csv has the columns id, a, b: places are"),
        (write_libcity, "town.geo", "0,LineString", "0,Point", r"town\.geo line 2: not a LineString \('Point'"),
        (write_libcity, "town.geo", "[[-8.6, 41.15]", "[[-8.6]", r"town\.geo line 2: coordinates are not a JSON list"),
        (write_libcity, "town.rel", ",geo,0,1", ",geo,0,3", r"town\.rel line 2: joins segments that do not meet"),
        (write_libcity, "town.rel", ",geo,0,1", ",geo,0,77", r"town\.rel line 2: no segment has this destination_id"),
        (
            write_graphml,
            "town.graphml",
            'target="13"',
            'target="99"',
            r"town\.graphml edge \d: no node has the id in 'to'",
        ),
        (write_graphml, "town.graphml", "LINESTRING", "LINE", r"town\.graphml edge \d: the geometry is not WKT"),
        (write_graphml, "town.graphml", 'edgedefault="directed"', 'edgedefault="undirected"', "is not directed"),
        (write_graphml, "town.graphml", "</graphml>", "", "cannot be read as GraphML"),
        (write_graphml, "town.graphml", "epsg:4326", "epsg:1", "CRS that is not known"),
        (write_graphml, "town.graphml", 'attr.name="x"', 'attr.name="z"', "its nodes have no x"),
    ],
)
def test_errors_name_file_and_row(tmp_path: Path, write, file: str, old: str, new: str, message: str) -> None:  # type: ignore[no-untyped-def]
    path = write(tmp_path)
    text = (tmp_path / file).read_text()
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new, 1))
    with pytest.raises(DataContractError, match=message):
        read_map(path, CRS)


def test_absent_files_and_unknown_forms(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"neither edges\.csv nor one NAME\.geo"):
        read_map(tmp_path, CRS)
    with pytest.raises(MissingDataError, match="does not exist"):
        read_map(tmp_path / "town.graphml", CRS)
    (tmp_path / "town.shp").write_text("x")
    with pytest.raises(ParameterError, match="not a form of road map"):
        read_map(tmp_path / "town.shp", CRS)
    write_libcity(tmp_path)
    (tmp_path / "town.rel").unlink()
    with pytest.raises(MissingDataError, match=r"holds no town\.rel"):
        read_map(tmp_path, CRS)
    (tmp_path / "town.gpkg").write_text("x")
    with pytest.raises(DataContractError, match="no readable layer 'nodes'"):
        read_map(tmp_path / "town.gpkg", CRS)
    with pytest.raises(ParameterError, match="not a metric projection"):
        read_map(write_edge_list(tmp_path), "EPSG:3857")


@pytest.mark.shared
def test_porto_in_both_its_forms(shared: Path) -> None:
    folder = shared / "data" / "porto_roads"
    tables = read_map(folder, CRS, origin="OpenStreetMap")
    libcity = read_map(folder / "libcity_porto.geo.csv.gz", CRS)
    assert (len(tables.network.node_xy), len(tables.network), tables.dropped_nodes) == (5158, 11021, 59)
    for found in (tables, libcity):
        assert found.checks(PORTO) == []
        assert found.inside_share(PORTO) == 1.0
    assert len(libcity.network) == pytest.approx(len(tables.network), rel=0.001)
    assert libcity.network.length_m.sum() == pytest.approx(tables.network.length_m.sum(), rel=0.003)
    source, target = np.random.default_rng(0).integers(0, len(tables.network.node_xy), (2, 100))
    assert Router(tables.network).routes(source, target).reached.all()


# ---- the record -------------------------------------------------------------------------------------------------


def test_a_map_needs_its_source_and_one_part(tmp_path: Path) -> None:
    town = read_map(write_road_tables(tmp_path), CRS).network
    with pytest.raises(ParameterError, match="needs its source"):
        from_network(town, " ")
    broken = replace(town, edge_nodes=np.zeros_like(town.edge_nodes))
    with pytest.raises(ParameterError, match="build it with from_network"):
        PublicMap(broken, "a test")
    with pytest.raises(DataContractError, match="no two junctions"):
        from_network(broken, "a test")
    with pytest.raises(
        DataContractError, match=r"1 edge\(s\) of the map have no valid nodes, length or speed, the first is 2"
    ):
        from_network(replace(town, speed_mps=np.where(np.arange(len(town)) == 2, 0.0, town.speed_mps)), "a test")


def test_checks_find_missing_directions_and_roads_off_the_box(tmp_path: Path) -> None:
    found = read_map(write_road_tables(tmp_path), CRS)
    claimed = replace(found, network=replace(found.network, oneway=np.zeros(len(found.network), dtype=bool)))
    assert claimed.checks()[0].startswith("2 edge(s) are not one-way but their other direction is missing")
    assert found.inside_share(geo.Box(-8.61, 41.14, -8.595, 41.158)) == pytest.approx(0.352, abs=0.003)
    assert "of the road length lies in the box" in found.checks(geo.Box(0, 0, 1, 1))[0]


# ---- lattices and wrong maps ------------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(spacing=st.floats(300, 4000))
def test_a_lattice_joins_everything_and_stays_in_the_box(spacing: float) -> None:
    found = lattice(PORTO, CRS, spacing)
    assert strong_part(found.network.edge_nodes, len(found.network.node_xy)).all()
    assert PORTO.contains(geo.unproject(found.network.node_xy, CRS)).all()
    assert found.checks(PORTO) == []
    degree = np.bincount(found.network.edge_nodes[:, 0])
    assert 1 <= degree.min() <= degree.max() <= 4
    assert len(found.network) == 2 * (street_of(found.network).max() + 1)
    assert "fixed by the package" in found.describe()


@pytest.mark.parametrize("spacing", [0.0, -5.0, float("nan"), 1.0, 60_000.0])
def test_a_lattice_that_does_not_fit(spacing: float) -> None:
    with pytest.raises(ParameterError, match="spacing"):
        lattice(PORTO, CRS, spacing)


def test_the_streets_of_the_simulated_city_are_its_twins() -> None:
    city = build_map()
    found = from_network(city.roads, "the simulated city, fixed by the package")
    assert (found.dropped_nodes, found.dropped_edges) == (0, 0)
    assert found.checks(BOX) == []
    street, both = street_of(city.roads), city.twin >= 0
    assert (street[both] == street[city.twin[both]]).all()
    assert street.max() + 1 == (~both).sum() + both.sum() // 2


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), share=st.floats(0, 0.4))
def test_missing_streets_leave_a_map_and_repeat_by_seed(seed: int, share: float) -> None:
    whole = lattice(PORTO, CRS, 1000.0)
    found, again = (without_streets(whole, share, np.random.default_rng(seed)) for _ in range(2))
    assert strong_part(found.network.edge_nodes, len(found.network.node_xy)).all()
    assert (found.network.edge_xy == again.network.edge_xy).all()
    assert found.checks(PORTO) == []  # in particular: no street lost one of its directions
    streets = len(whole.network) // 2
    assert len(found.network) + found.dropped_edges == 2 * (streets - round(share * streets))
    assert f"{round(share * streets)} of its {streets} streets removed" in found.source


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), share=st.floats(0.01, 0.2))
def test_the_map_of_another_year_is_a_map_with_fewer_and_more_one_way_streets(seed: int, share: float) -> None:
    whole = lattice(PORTO, CRS, 1000.0)
    found, again = (of_another_year(whole, share, np.random.default_rng(seed)) for _ in range(2))
    assert strong_part(found.network.edge_nodes, len(found.network.node_xy)).all() and found.checks(PORTO) == []
    assert (found.network.edge_xy == again.network.edge_xy).all() and (
        found.network.speed_mps == again.network.speed_mps
    ).all()
    assert len(found.network) < len(whole.network) and found.network.oneway.any() and not whole.network.oneway.any()
    assert len(np.unique(np.round(found.network.speed_mps / whole.network.speed_mps[0], 6))) == 3
    assert "streets removed" in found.source and "as in another year" in found.source


def test_too_many_streets_removed() -> None:
    whole = lattice(PORTO, CRS, 9000.0)
    with pytest.raises(ParameterError, match="no map is left"):
        without_streets(whole, 0.95, np.random.default_rng(0))
    for share in (-0.1, 1.0, float("nan")):
        with pytest.raises(ParameterError, match="must be at least 0 and below 1"):
            without_streets(whole, share, np.random.default_rng(0))


def test_streets_between_the_same_junctions_are_matched_by_length() -> None:
    xy = np.array([[0.0, 0], [100, 0]])
    lines = [[xy[0], [50, 80], xy[1]], [xy[1], xy[0]], [xy[1], [50, 80], xy[0]], [xy[0], xy[1]], [xy[0], xy[1]]]
    roads = RoadNetwork(
        node_xy=xy,
        node_ids=np.arange(2),
        edge_nodes=np.array([[0, 1], [1, 0], [1, 0], [0, 1], [0, 1]]),
        length_m=np.array([188.7, 100, 188.7, 100, 100]),
        speed_mps=np.full(5, 10.0),
        road_class=np.full(5, "x"),
        oneway=np.array([False, False, False, False, True]),
        edge_xy=np.array([p for each in lines for p in each], dtype=float),
        edge_offsets=np.array([0, 3, 5, 8, 10, 12]),
        crs=CRS,
    )
    street = street_of(roads)
    assert street[0] == street[2] != street[1] == street[3]
    assert street[4] not in street[:4]
