"""From two tables, of nodes and of directed edges, to a road network in metres; errors name the file and the row."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import shapely
from pyproj import CRS, Transformer
from pyproj.exceptions import CRSError

from trajkit import geo
from trajkit.errors import DataContractError
from trajkit.roads import RoadNetwork
from trajkit.segment_index import polyline_lengths

DEGREES = "EPSG:4326"
SAME_LENGTH_M = 1.0


class Rows(NamedTuple):
    """How an error names a row of a table: "FILE WORD NUMBER", the table's first row being number ``first``."""

    file: Path
    word: str = "line"
    first: int = 2

    def refuse(self, bad: Any, values: Any, what: str, repair: str) -> None:
        """Raise DataContractError for the first of the ``bad`` rows (bool), if there is one."""
        bad = np.asarray(bad)
        if bad.any():
            row = int(np.argmax(bad))
            shown = str(np.asarray(values, dtype=object)[row])[:60]
            raise DataContractError(
                f"{self.file} {self.word} {row + self.first}: {what} ({shown!r}; {bad.sum()} such row(s)): {repair}"
            )


class MapTables(NamedTuple):
    """What a file says.

    nodes  columns id, x, y in ``crs`` (degrees: x is the longitude)
    edges  columns from, to (ids of nodes), and where known: geometry (shapely lines in ``crs``, None: straight), length
           (metres), oneway (True, False, None), speed_mps, road_class
    """

    nodes: pd.DataFrame
    edges: pd.DataFrame
    node_rows: Rows
    edge_rows: Rows
    crs: str


def build(tables: MapTables, crs: str, speed_mps: float) -> RoadNetwork:
    """Return the network in the metric ``crs``; edges without a length have their geometry's, without a speed ``speed_mps``.

    A street is one-way where its row says so, or where it says nothing and no edge leads back.
    Raises DataContractError naming file and row: ids used twice or missing, places and lengths that are not numbers, lines
    that are not lines, places where the CRS is not valid.
    """
    nodes, edges = tables.nodes, tables.edges
    ids = pd.Index(nodes["id"])
    tables.node_rows.refuse(ids.duplicated(), nodes["id"], "node id used twice", "keep one row a node")
    ends = np.column_stack([ids.get_indexer(edges["from"]), ids.get_indexer(edges["to"])]).astype(np.int64)
    for column, name in enumerate(("from", "to")):
        tables.edge_rows.refuse(
            ends[:, column] < 0, edges[name], f"no node has the id in {name!r}", "add the node or drop the edge"
        )
    places = numbers(nodes[["x", "y"]])
    tables.node_rows.refuse(~np.isfinite(places).all(axis=1), nodes["x"], "x or y is not a number", "correct it")
    node_xy = to_metres(places, tables.crs, crs, tables.node_rows, np.arange(len(nodes)))
    flat, offsets, row = _lines(tables, places[ends])
    edge_xy = to_metres(flat, tables.crs, crs, tables.edge_rows, row)
    geometry_m = polyline_lengths(edge_xy, offsets)
    return RoadNetwork(
        node_xy=node_xy,
        node_ids=nodes["id"].to_numpy(),
        edge_nodes=ends,
        length_m=_filled(tables, "length", geometry_m),
        speed_mps=_filled(tables, "speed_mps", np.full(len(edges), float(speed_mps))),
        road_class=_column(edges, "road_class").fillna("unclassified").astype(str).to_numpy(dtype=object).astype(str),
        oneway=_oneway(edges, ends, geometry_m),
        edge_xy=edge_xy,
        edge_offsets=offsets,
        crs=crs,
    )


def numbers(table: Any) -> np.ndarray:
    """Return float64 of the same shape, NaN for what is no number."""
    return np.asarray(pd.DataFrame(table).apply(pd.to_numeric, errors="coerce"), dtype=np.float64)


def to_metres(xy: np.ndarray, source: str, crs: str, rows: Rows, row: np.ndarray) -> np.ndarray:
    """Return places [N, 2] of the CRS ``source`` in the metric ``crs``; ``row`` [N] is the row each belongs to, for errors."""
    lonlat = xy if source == DEGREES else _degrees(xy, source)
    off = ~(np.abs(lonlat) <= [180, 90]).all(axis=1)
    if off.any():
        shown = str(tuple(xy[np.argmax(off)].tolist()))
        bad = np.bincount(row[off], minlength=int(row.max()) + 1) > 0
        rows.refuse(bad, [shown] * len(bad), f"not a place in {source}", "correct it, longitude first")
    valid = CRS.from_user_input(crs).area_of_use
    area = geo.Box(*valid.bounds) if valid and valid.west < valid.east else None
    if area and len(lonlat) and not area.contains(lonlat).any():
        swapped = "write longitude first" if area.contains(lonlat[:, ::-1]).all() else "declare the CRS of this place"
        raise DataContractError(
            f"{rows.file}: no place lies where {crs} is valid (first {tuple(xy[0].tolist())}): {swapped}"
        )
    projected = geo.project(lonlat, crs)  # also refuses a CRS unfit for distances
    return xy if CRS.from_user_input(source) == CRS.from_user_input(crs) else projected


def _degrees(xy: np.ndarray, source: str) -> np.ndarray:
    """Places [N, 2] of any CRS in degrees; infinite where it is not valid."""
    try:
        transformer = Transformer.from_crs(source, DEGREES, always_xy=True)
    except CRSError as error:
        raise DataContractError(f"the file names a CRS that is not known, {source!r}: correct it ({error})") from error
    return np.column_stack(transformer.transform(xy[:, 0], xy[:, 1]))


def _column(table: pd.DataFrame, name: str) -> pd.Series:
    return table[name] if name in table else pd.Series([None] * len(table), index=table.index, dtype=object)


def _lines(tables: MapTables, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices [p, 2], offsets [m + 1] and the row [p] of each edge's line: straight from ``ends`` [m, 2, 2] where none is given."""
    lines = _column(tables.edges, "geometry").to_numpy(dtype=object)
    none = shapely.is_missing(lines)
    lines = np.where(none, shapely.linestrings(ends), lines)
    broken = (shapely.get_type_id(lines) != 1) | shapely.is_empty(lines)
    tables.edge_rows.refuse(broken, lines, "the geometry is not one line", "correct the geometry")
    flat, row = shapely.get_coordinates(lines, return_index=True)
    return flat, np.searchsorted(row, np.arange(len(lines) + 1)).astype(np.int64), row


def _filled(tables: MapTables, name: str, default: np.ndarray) -> np.ndarray:
    """Column ``name`` of the edges as float64 [m], ``default`` where it says nothing."""
    given = _column(tables.edges, name)
    value = pd.to_numeric(given, errors="coerce").to_numpy(dtype=np.float64)
    value = np.where(given.isna(), default, value)
    broken = ~(np.isfinite(value) & ((value > 0) | (name == "length") & (value == 0)))
    tables.edge_rows.refuse(broken, given, f"{name} is not a positive number", "correct it or leave it out")
    return value


def _oneway(edges: pd.DataFrame, ends: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Bool [m]: what the column says; where it says nothing, whether no edge of this length leads back."""
    text = _column(edges, "oneway").astype(str).str.strip().str.lower()
    said = text.map({"true": 1.0, "yes": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "0": 0.0}).to_numpy(dtype=np.float64)
    return np.where(np.isnan(said), ~_led_back(ends, length), said == 1.0)


def _led_back(ends: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Bool [m]: an edge in the other direction between the same nodes has the same length but for `SAME_LENGTH_M`."""
    low, high = ends.min(axis=1), ends.max(axis=1)
    order = np.lexsort((length, high, low))
    mates = np.ones(max(len(ends) - 1, 0), dtype=bool)
    for values in (low, high):
        mates &= np.diff(values[order]) == 0
    mates &= (np.diff((ends[order, 0] == low[order]).astype(int)) != 0) & (np.diff(length[order]) <= SAME_LENGTH_M)
    out = np.zeros(len(ends), dtype=bool)
    out[order[:-1]] |= mates
    out[order[1:]] |= mates
    return out
