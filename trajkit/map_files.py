"""Public road maps as files: which form a file has, and the two forms made of tables (edge lists, LibCity).

| form | files | places |
|---|---|---|
| road tables | a folder with nodes.csv and edges.csv, or the edges file; see `trajkit.roads.read_roads` | WKT, degrees |
| edge list | edges.csv: from, to and where known length (metres), speed_kmh, road_class, oneway; beside it nodes.csv: id and either lon, lat (degrees) or x, y (metres in the CRS asked for) | straight edges |
| LibCity | NAME.geo and NAME.rel | JSON, degrees |
| GraphML, GeoPackage | NAME.graphml, NAME.gpkg as OSMnx writes them; see `trajkit.map_osm` | WKT, the file's CRS |
| OpenStreetMap | NAME.osm.pbf, with the optional package pyrosm; see `trajkit.map_osm` | degrees |

CSV files may be gzipped. Every row is one direction of a street: a street open both ways has two.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import shapely
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from trajkit.datasets.cache import content_hash
from trajkit.errors import DataContractError, MissingDataError, ParameterError
from trajkit.map_osm import geopackage_tables, graphml_tables, pbf_tables
from trajkit.map_tables import DEGREES, MapTables, Rows, build, numbers
from trajkit.roads import RoadNetwork, one_of, read_roads, read_table

Sources = list[tuple[str, str]]
OSM_FORMS = {
    ".graphml": graphml_tables,
    ".graphml.gz": graphml_tables,
    ".gpkg": geopackage_tables,
    ".osm.pbf": pbf_tables,
    ".pbf": pbf_tables,
}
LIBCITY = re.compile(r"\.geo(\.csv)?(\.gz)?$", re.IGNORECASE)
ROAD_TABLE, EDGE_LIST = {"shape", "start_node", "end_node"}, {"from", "to"}
LINK_GAP_DEGREES = 1e-4
"""About 10 m: two segments that a row of NAME.rel joins must meet within this."""


def read_network(path: Path, crs: str, speed_mps: float) -> tuple[RoadNetwork, Sources]:
    """Return the road network at ``path`` in the metric ``crs``, and the name and SHA-256 of each file it was read from.

    A folder is looked through for edges.csv first, then for one NAME.geo. Raises MissingDataError, DataContractError (file
    and row named) and ParameterError (form not known).
    """
    if path.is_dir():
        path = _in_folder(path)
    if not path.is_file():
        raise MissingDataError(f"{path} does not exist: check the path of the road map")
    name = path.name.lower()
    form = next((read for suffix, read in OSM_FORMS.items() if name.endswith(suffix)), None)
    if form is not None:
        return build(form(path), crs, speed_mps), _hashed(path)
    if LIBCITY.search(name):
        links = _links_file(path)
        return build(libcity_tables(path, links), crs, speed_mps), _hashed(path, links)
    if not name.endswith((".csv", ".csv.gz")):
        raise ParameterError(f"{path}: not a form of road map that is known; see the table in trajkit/map_files.py")
    edges, nodes_file = read_table(path, []), one_of(path.parent, "nodes")
    if set(edges) >= ROAD_TABLE:
        return read_roads(path, crs, speed_mps=speed_mps), _hashed(path, nodes_file)
    if set(edges) >= EDGE_LIST:
        return build(edge_list_tables(path, edges, nodes_file, crs), crs, speed_mps), _hashed(path, nodes_file)
    raise DataContractError(
        f"{path} has the columns {', '.join(edges)}: a road table needs {', '.join(sorted(ROAD_TABLE))}, an edge list from, to"
    )


def edge_list_tables(path: Path, edges: pd.DataFrame, nodes_file: Path, crs: str) -> MapTables:
    """Return the tables of an edge list; see the module for its columns."""
    nodes = read_table(nodes_file, ["id"])
    if {"lon", "lat"} <= set(nodes):
        nodes, given = nodes.assign(x=nodes["lon"], y=nodes["lat"]), DEGREES
    elif {"x", "y"} <= set(nodes):
        given = crs
    else:
        raise DataContractError(
            f"{nodes_file} has the columns {', '.join(nodes)}: places are lon, lat or x, y (metres)"
        )
    if "speed_kmh" in edges:
        kmh = edges["speed_kmh"]
        speed = numbers(kmh.to_frame())[:, 0] / 3.6
        Rows(path).refuse(kmh.notna() & ~(speed > 0), kmh, "speed_kmh is not a positive number", "correct it")
        edges = edges.assign(speed_mps=speed)
    return MapTables(nodes, edges, Rows(nodes_file), Rows(path), given)


def libcity_tables(path: Path, links_file: Path) -> MapTables:
    """Return the tables of a road network in LibCity's form: NAME.geo has a row per directed segment (geo_id, type LineString,
    coordinates as JSON in degrees, length in metres), NAME.rel a row per pair of segments that follow each other.

    The form has no nodes: ends of segments are one junction where they are one place or a row of NAME.rel joins them. It
    cannot forbid a turn at a junction, so turns that NAME.rel leaves out are possible here. ``maxspeed`` and ``highway`` are
    codes that differ between files: the first is ignored, the second kept as the road class.
    """
    table = read_table(path, ["geo_id", "type", "coordinates"])
    rows = Rows(path)
    ids = pd.Index(table["geo_id"])
    rows.refuse(ids.duplicated(), ids, "geo_id used twice", "keep one row a segment")
    rows.refuse(table["type"] != "LineString", table["type"], "not a LineString", "keep the road segments only")
    json = '{"type":"LineString","coordinates":' + table["coordinates"].astype(str) + "}"
    lines = shapely.from_geojson(json.to_numpy(dtype=object), on_invalid="ignore")
    broken = shapely.is_missing(lines) | shapely.is_empty(lines)
    rows.refuse(broken, table["coordinates"], "coordinates are not a JSON list of places", "correct them")
    ends = np.concatenate([shapely.get_coordinates(shapely.get_point(lines, at)) for at in (0, -1)])
    node = _junctions(ends, ids, links_file)
    used, first, node = np.unique(node, return_index=True, return_inverse=True)
    nodes = pd.DataFrame({"id": np.arange(len(used)), "x": ends[first, 0], "y": ends[first, 1]})
    edges = pd.DataFrame({"from": node[: len(lines)], "to": node[len(lines) :], "geometry": lines})
    if "length" in table:
        edges["length"] = table["length"]
    if "highway" in table:
        edges["road_class"] = table["highway"]
    return MapTables(nodes, edges, rows, rows, DEGREES)


def _junctions(ends: np.ndarray, ids: pd.Index, links_file: Path) -> np.ndarray:
    """Int64 [2 s]: the junction of each segment's start, then of each segment's end; ``ends`` [2 s, 2] are their places."""
    links = read_table(links_file, ["origin_id", "destination_id"])
    rows, segments = Rows(links_file), len(ids)
    follow = [ids.get_indexer(links[name]) for name in ("origin_id", "destination_id")]
    for found, name in zip(follow, ("origin_id", "destination_id"), strict=True):
        rows.refuse(found < 0, links[name], f"no segment has this {name}", "add the segment or drop the row")
    end, start = follow[0] + segments, follow[1]
    gap = np.hypot(*(ends[end] - ends[start]).T)
    rows.refuse(gap > LINK_GAP_DEGREES, links["origin_id"], "joins segments that do not meet", "drop the row")
    place = np.unique(ends, axis=0, return_inverse=True)[1].ravel()
    k = int(place.max()) + 1
    joined = csr_array((np.ones(len(end)), (place[end], place[start])), shape=(k, k))
    return connected_components(joined, directed=False)[1][place]


def _in_folder(folder: Path) -> Path:
    if any((folder / name).is_file() for name in ("edges.csv", "edges.csv.gz")):
        return one_of(folder, "edges")
    found = sorted(p for p in folder.iterdir() if LIBCITY.search(p.name.lower()))
    if len(found) != 1:
        raise MissingDataError(
            f"{folder} holds neither edges.csv nor one NAME.geo ({len(found)} found): give the file itself"
        )
    return found[0]


def _links_file(path: Path) -> Path:
    stem = LIBCITY.sub("", path.name)
    for suffix in (".rel", ".rel.csv", ".rel.gz", ".rel.csv.gz"):
        if (path.parent / f"{stem}{suffix}").is_file():
            return path.parent / f"{stem}{suffix}"
    raise MissingDataError(f"{path.parent} holds no {stem}.rel: put LibCity's second table beside {path.name}")


def _hashed(*files: Path) -> Sources:
    return [(file.name, content_hash(file)) for file in files]
