"""Road maps from OpenStreetMap: GraphML and GeoPackage as OSMnx writes them, and .osm.pbf extracts by pyrosm.

OSMnx stores a street open both ways as two directed edges and says in ``oneway`` what kind it is. Speeds are taken from
``speed_kph`` where OSMnx added it, else from the tag ``maxspeed`` (km/h, or mph where it says so).
"""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import shapely

from trajkit.errors import DataContractError, MissingDataError
from trajkit.map_tables import DEGREES, MapTables, Rows

MPH = 1.609344
PYROSM_NEEDED = (
    "{path} is an OpenStreetMap extract, which the optional package pyrosm reads: run pip install 'trajkit[osm]', or convert "
    "it to GraphML with OSMnx"
)


def graphml_tables(path: Path) -> MapTables:
    """Return the tables of a GraphML file: nodes with x and y in the graph's ``crs`` (degrees where it names none), directed
    edges with what there is of geometry (WKT), length (metres), oneway, highway, maxspeed and speed_kph.
    """
    opened = gzip.open if path.name.endswith(".gz") else open
    try:
        with opened(path, "rb") as file:
            graph, nodes, edges = _elements(file)
    except (ElementTree.ParseError, OSError, EOFError) as error:
        raise DataContractError(f"{path} cannot be read as GraphML ({error}): save it again") from error
    if graph.get("edgedefault") != "directed":
        raise DataContractError(f"{path}: the graph is not directed: save the directed graph, before to_undirected")
    node_rows, edge_rows = Rows(path, "node", 1), Rows(path, "edge", 1)
    table = _needed(path, pd.DataFrame(nodes), ["id", "x", "y"], "nodes")
    edge_table = _needed(path, pd.DataFrame(edges), ["from", "to"], "edges")
    if "geometry" in edge_table:
        text = edge_table["geometry"]
        wkt = text.astype(object).where(text.notna(), None).to_numpy(dtype=object)
        lines = shapely.from_wkt(wkt, on_invalid="ignore")
        edge_rows.refuse(
            shapely.is_missing(lines) & text.notna(), text, "the geometry is not WKT", "correct the geometry"
        )
        edge_table = edge_table.assign(geometry=lines)
    return MapTables(table, osm_columns(edge_table), node_rows, edge_rows, graph.get("crs", DEGREES))


def _elements(file: Any) -> tuple[dict[str, str], list[dict[str, Any]], list[dict[str, Any]]]:
    """The graph's own attributes, and one record per node and per edge, with the names that the <key> elements give."""
    names: dict[str, str] = {}
    graph: dict[str, str] = {}
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    for event, element in ElementTree.iterparse(file, events=("start", "end")):
        tag = element.tag.rpartition("}")[2]
        if event == "start":
            if tag == "graph":
                graph.update(element.attrib)
        elif tag == "key":
            names[element.attrib["id"]] = element.attrib.get("attr.name", element.attrib["id"])
        elif tag in ("node", "edge"):
            record: dict[str, Any] = {names.get(d.get("key", ""), ""): d.text for d in element}
            if tag == "node":
                nodes.append({**record, "id": element.get("id")})
            else:
                edges.append({**record, "from": element.get("source"), "to": element.get("target")})
            element.clear()
        elif tag == "graph":
            own = (d for d in element if d.tag.rpartition("}")[2] == "data")
            graph.update({names.get(d.get("key", ""), ""): d.text or "" for d in own})
    return graph, nodes, edges


def geopackage_tables(path: Path) -> MapTables:
    """Return the tables of a GeoPackage with the layers ``nodes`` (osmid, points) and ``edges`` (u, v, lines)."""
    import geopandas
    import pyogrio

    layers = {}
    for layer in ("nodes", "edges"):
        try:
            layers[layer] = geopandas.read_file(path, layer=layer)
        except (pyogrio.errors.DataSourceError, pyogrio.errors.DataLayerError) as error:
            raise DataContractError(f"{path} has no readable layer {layer!r} ({error}): save it with OSMnx") from error
    nodes = _needed(path, layers["nodes"], ["osmid", "geometry"], "nodes")
    edges = _needed(path, layers["edges"], ["u", "v", "geometry"], "edges")
    if nodes.crs is None or edges.crs is None:
        raise DataContractError(f"{path}: its layers name no CRS: save it with OSMnx")
    edges = edges.to_crs(nodes.crs)
    table = pd.DataFrame({"id": nodes["osmid"], "x": nodes.geometry.x, "y": nodes.geometry.y})
    edge_table = pd.DataFrame(edges).rename(columns={"u": "from", "v": "to"})
    rows = Rows(path, "row of nodes", 1), Rows(path, "row of edges", 1)
    return MapTables(table, osm_columns(edge_table), *rows, nodes.crs.to_string())


def pbf_tables(path: Path) -> MapTables:
    """Return the tables of the roads for cars in an OpenStreetMap extract; every node of a way is a junction there.

    Raises MissingDataError where pyrosm is not installed.
    """
    try:
        import pyrosm
    except ImportError as error:
        raise MissingDataError(PYROSM_NEEDED.format(path=path)) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pyrosm.OSM(str(path)).get_network(network_type="driving", nodes=True)
    if found is None:
        raise DataContractError(f"{path} holds no road for cars: take another extract")
    nodes, edges = found
    table = pd.DataFrame({"id": nodes["id"], "x": shapely.get_x(nodes.geometry), "y": shapely.get_y(nodes.geometry)})
    edge_table = pd.DataFrame(edges).rename(columns={"u": "from", "v": "to"})
    rows = Rows(path, "node", 1), Rows(path, "edge", 1)
    return MapTables(table, osm_columns(both_ways(edge_table)), *rows, DEGREES)


def both_ways(edges: pd.DataFrame) -> pd.DataFrame:
    """Return directed edges (from, to, geometry, oneway as bool) of ways with OSM's tags oneway, junction and highway.

    The rules of https://wiki.openstreetmap.org/wiki/Key:oneway: yes, true, 1 follow the way, -1 and reverse run against it;
    roundabouts and motorways are one-way unless they say no.
    """
    tag = _text(edges, "oneway")
    against = tag.isin(["-1", "reverse"])
    implied = _text(edges, "junction").isin(["roundabout", "circular"]) | _text(edges, "highway").eq("motorway")
    oneway = against | tag.isin(["yes", "true", "1"]) | (implied & ~tag.isin(["no", "false", "0"]))
    edges = edges.assign(oneway=oneway)
    flipped = edges.assign(**{"from": edges["to"], "to": edges["from"], "geometry": shapely.reverse(edges["geometry"])})
    return pd.concat([edges[~against], flipped[against | ~oneway]], ignore_index=True)


def osm_columns(edges: pd.DataFrame) -> pd.DataFrame:
    """Return the edges with ``speed_mps`` and ``road_class`` from OSM's tags; of lists in a tag the first entry counts."""
    stated = _text(edges, "speed_kph").str.extract(r"(\d+(?:\.\d+)?)")[0].astype(np.float64)
    limit = _text(edges, "maxspeed").str.extract(r"(\d+(?:\.\d+)?)\s*(mph)?")
    tagged = limit[0].astype(np.float64) * np.where(limit[1].notna(), MPH, 1.0)
    kmh = stated.fillna(tagged)
    kind = _text(edges, "highway").str.extract(r"([a-z_]+)")[0]
    return edges.assign(speed_mps=(kmh / 3.6).where(kmh > 0), road_class=kind.where(kind.notna() & (kind != "nan")))


def _text(table: pd.DataFrame, name: str) -> pd.Series:
    """Column ``name`` in lower case, empty where it is missing."""
    if name not in table:
        return pd.Series("", index=table.index, dtype=object)
    column = table[name].astype(object)
    return column.where(column.notna(), "").astype(str).str.lower()


def _needed(path: Path, table: Any, columns: list[str], what: str) -> Any:
    missing = [c for c in columns if c not in table]
    if missing:
        raise DataContractError(
            f"{path}: its {what} have no {', '.join(missing)} (they have {', '.join(table) or 'nothing'})"
        )
    return table
