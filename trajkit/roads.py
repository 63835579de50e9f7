"""Road networks in metres: reading, checking, travel-time graphs, and exact distances from points to roads.

Edges are directed: a street open both ways is stored once for each direction. The geometry of edge ``e`` is
``edge_xy[edge_offsets[e]:edge_offsets[e + 1]]``, from its first node to its second.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyproj import CRS
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from trajkit import geo
from trajkit.errors import DataContractError, MissingDataError, ParameterError
from trajkit.segment_index import SegmentIndex, build_index, nearest, polyline_lengths

DEFAULT_SPEED_MPS = 50 / 3.6
LENGTH_TOLERANCE = 0.01


@dataclass(frozen=True)
class RoadNetwork:
    """k nodes and m directed edges.

    node_xy       float64 [k, 2], metres in ``crs``
    node_ids      [k], ids as in the source
    edge_nodes    int64 [m, 2], indices of the first and the second node
    length_m      float64 [m]
    speed_mps     float64 [m]
    road_class    str [m]
    oneway        bool [m]: the street is open in this direction only
    edge_xy       float64 [p, 2], metres; edge_offsets int64 [m + 1]
    """

    node_xy: np.ndarray
    node_ids: np.ndarray
    edge_nodes: np.ndarray
    length_m: np.ndarray
    speed_mps: np.ndarray
    road_class: np.ndarray
    oneway: np.ndarray
    edge_xy: np.ndarray
    edge_offsets: np.ndarray
    crs: str
    _indexes: dict[float, SegmentIndex] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.edge_nodes)

    @cached_property
    def travel_time_s(self) -> np.ndarray:
        """float64 [m]: seconds to drive each edge at its speed."""
        return self.length_m / self.speed_mps

    def fingerprint(self) -> str:
        """SHA-256 (hex) of everything that the network says."""
        digest = hashlib.sha256(self.crs.encode())
        for array in (
            self.node_xy,
            self.edge_nodes,
            self.length_m,
            self.speed_mps,
            self.oneway,
            self.edge_xy,
            self.edge_offsets,
        ):
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        digest.update("\n".join([*map(str, self.node_ids), *map(str, self.road_class)]).encode())
        return digest.hexdigest()

    def segments(self) -> np.ndarray:
        """Return float64 [s, 4] (x0, y0, x1, y1 in metres): the straight pieces of every edge, edge by edge."""
        inner = np.ones(len(self.edge_xy), dtype=bool)
        inner[self.edge_offsets[1:] - 1] = False
        first = np.flatnonzero(inner)
        return np.hstack([self.edge_xy[first], self.edge_xy[first + 1]])

    def streets(self) -> np.ndarray:
        """Return float64 [s, 4]: `segments` with the two directions of one street counted once."""
        s = self.segments()
        backward = (s[:, 0] > s[:, 2]) | ((s[:, 0] == s[:, 2]) & (s[:, 1] > s[:, 3]))
        return np.unique(np.where(backward[:, None], s[:, [2, 3, 0, 1]], s), axis=0)

    def near(self, xy: np.ndarray, distance_m: float) -> np.ndarray:
        """Return bool [N]: which points [N, 2] (metres) lie within ``distance_m`` of a road, exactly."""
        return np.isfinite(self.nearest_distance(xy, distance_m))

    def nearest_distance(self, xy: np.ndarray, max_m: float) -> np.ndarray:
        """Return float64 [N]: metres from each point [N, 2] to the nearest road; infinite beyond ``max_m``.

        Raises ParameterError unless ``max_m`` is positive, DataContractError for coordinates that are not finite.
        """
        if not (np.isfinite(max_m) and max_m > 0):
            raise ParameterError(f"the distance to a road must be a positive number of metres, got {max_m!r}")
        xy = np.ascontiguousarray(xy, dtype=np.float64)
        if not np.isfinite(xy).all():
            bad = int((~np.isfinite(xy).all(axis=1)).sum())
            raise DataContractError(f"{bad} of {len(xy)} points have a coordinate that is not finite: drop them first")
        key = float(max_m)
        if key not in self._indexes:
            self._indexes[key] = build_index(self.streets(), key)
        return np.asarray(nearest(xy, *self._indexes[key], key))

    def graph(self) -> csr_array:
        """Return the k x k travel-time matrix in seconds (row = from); of parallel edges the fastest, no self loops."""
        start, end = self.edge_nodes.T
        order = np.lexsort((self.travel_time_s, end, start))
        order = order[start[order] != end[order]]
        first = np.ones(len(order), dtype=bool)
        first[1:] = (np.diff(start[order]) != 0) | (np.diff(end[order]) != 0)
        kept = order[first]
        k = len(self.node_xy)
        return csr_array((self.travel_time_s[kept], (start[kept], end[kept])), shape=(k, k))

    def adjacency(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (int64 [k + 1] offsets, int64 [m] edges): the edges leaving node i are ``edges[offsets[i]:offsets[i + 1]]``."""
        edges = np.argsort(self.edge_nodes[:, 0], kind="stable")
        counts = np.bincount(self.edge_nodes[:, 0], minlength=len(self.node_xy))
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), edges.astype(np.int64)

    @cached_property
    def geometry_length_m(self) -> np.ndarray:
        """float64 [m]: length of each edge's polyline in the CRS."""
        return polyline_lengths(self.edge_xy, self.edge_offsets)

    def checks(self) -> list[str]:
        """Return the problems found, one sentence each: dangling ids, components, lengths against geometry, speeds."""
        k = len(self.node_xy)
        dangling = ((self.edge_nodes < 0) | (self.edge_nodes >= k)).any(axis=1)
        if dangling.any():
            return [f"{dangling.sum()} edge(s) name a node that does not exist, the first is {np.argmax(dangling)}"]
        problems = []
        pattern = csr_array((np.ones(len(self)), tuple(self.edge_nodes.T)), shape=(k, k))
        parts = connected_components(pattern, directed=True, connection="weak", return_labels=False)
        if parts > 1:
            problems.append(f"the network falls into {parts} parts that no road joins")
        wrong = np.abs(self.length_m - self.geometry_length_m) > LENGTH_TOLERANCE * self.geometry_length_m + 1.0
        if wrong.any():
            e = int(np.argmax(wrong))
            problems.append(
                f"{wrong.sum()} edge(s) have a length that is not their geometry's in metres, "
                f"the first is {e}: {self.length_m[e]:.1f} against {self.geometry_length_m[e]:.1f}"
            )
        gap = np.maximum(
            np.hypot(*(self.edge_xy[self.edge_offsets[:-1]] - self.node_xy[self.edge_nodes[:, 0]]).T),
            np.hypot(*(self.edge_xy[self.edge_offsets[1:] - 1] - self.node_xy[self.edge_nodes[:, 1]]).T),
        )
        if (gap > 1.0).any():
            problems.append(f"{(gap > 1.0).sum()} edge(s) end more than 1 m from their node, up to {gap.max():.1f} m")
        slow = ~(np.isfinite(self.speed_mps) & (self.speed_mps > 0))
        if slow.any():
            problems.append(f"{slow.sum()} edge(s) have a speed that is not a positive number")
        return problems

    def to_geodataframe(self) -> Any:
        """Return one row an edge as a GeoDataFrame of lines in ``crs``."""
        import geopandas
        import shapely

        lines = shapely.linestrings(self.edge_xy, indices=np.repeat(np.arange(len(self)), np.diff(self.edge_offsets)))
        columns = {
            "start_node": self.node_ids[self.edge_nodes[:, 0]],
            "end_node": self.node_ids[self.edge_nodes[:, 1]],
            "length_m": self.length_m,
            "speed_mps": self.speed_mps,
            "road_class": self.road_class,
            "oneway": self.oneway,
        }
        return geopandas.GeoDataFrame(columns, geometry=lines, crs=self.crs)

    @classmethod
    def from_geodataframe(cls, frame: Any) -> RoadNetwork:
        """Build from what `to_geodataframe` gave (node places are the ends of their edges; isolated nodes are not kept)."""
        import shapely

        edge_xy, owner = shapely.get_coordinates(frame.geometry.to_numpy(), return_index=True)
        offsets = np.searchsorted(owner, np.arange(len(frame) + 1)).astype(np.int64)
        ends = np.concatenate([frame["start_node"].to_numpy(), frame["end_node"].to_numpy()])
        node_ids, at, index = np.unique(ends, return_index=True, return_inverse=True)
        points = np.concatenate([edge_xy[offsets[:-1]], edge_xy[offsets[1:] - 1]])
        return cls(
            node_xy=points[at],
            node_ids=node_ids,
            edge_nodes=np.ascontiguousarray(index.reshape(2, -1).T, dtype=np.int64),
            length_m=frame["length_m"].to_numpy(dtype=np.float64),
            speed_mps=frame["speed_mps"].to_numpy(dtype=np.float64),
            road_class=frame["road_class"].to_numpy(dtype=object).astype(str),
            oneway=frame["oneway"].to_numpy(dtype=bool),
            edge_xy=edge_xy,
            edge_offsets=offsets,
            crs=frame.crs.to_string(),
        )


# ---- reading ----------------------------------------------------------------------------------------------------


def read_roads(path: str | Path, crs: str, *, speed_mps: float = DEFAULT_SPEED_MPS) -> RoadNetwork:
    """Read a road graph: ``nodes.csv`` (osmid, shape: WKT POINT) and ``edges.csv`` (shape: WKT LINESTRING, start_node,
    end_node, oneway, length in metres), longitude first, plain or gzipped.

    ``path`` is their folder or the edges file. The form has no speeds, so every edge gets ``speed_mps``.
    Raises MissingDataError for absent files and DataContractError naming file and line for rows that cannot be read.
    """
    path = Path(path)
    folder = path if path.is_dir() else path.parent
    edges_file = one_of(folder, "edges") if path.is_dir() else path
    nodes_file = one_of(folder, "nodes")
    nodes = read_table(nodes_file, ["osmid", "shape"])
    edges = read_table(edges_file, ["shape", "start_node", "end_node", "oneway", "length"])
    points, _ = _read_wkt(nodes_file, nodes["shape"], "POINT", crs)
    lines, offsets = _read_wkt(edges_file, edges["shape"], "LINESTRING", crs)
    ids = pd.Index(nodes["osmid"])
    if ids.has_duplicates:
        _refuse(nodes_file, ids.duplicated(), nodes["osmid"], "node id used twice", "keep one row a node")
    edge_nodes = np.column_stack([ids.get_indexer(edges["start_node"]), ids.get_indexer(edges["end_node"])])
    for column, name in enumerate(("start_node", "end_node")):
        absent = edge_nodes[:, column] < 0
        _refuse(edges_file, absent, edges[name], f"{name} is not in {nodes_file.name}", "add the node or drop the edge")
    length = pd.to_numeric(edges["length"], errors="coerce").to_numpy(dtype=np.float64)
    _refuse(edges_file, ~(length >= 0), edges["length"], "length is not a number of metres", "correct it")
    oneway = edges["oneway"].astype(str).str.lower()
    _refuse(edges_file, ~oneway.isin(["true", "false"]).to_numpy(), oneway, "oneway is not True or False", "correct it")
    return RoadNetwork(
        node_xy=geo.project(points, crs),
        node_ids=nodes["osmid"].to_numpy(),
        edge_nodes=edge_nodes.astype(np.int64),
        length_m=length,
        speed_mps=np.full(len(edges), float(speed_mps)),
        road_class=np.full(len(edges), "unclassified"),
        oneway=(oneway == "true").to_numpy(),
        edge_xy=geo.project(lines, crs),
        edge_offsets=offsets,
        crs=crs,
    )


def one_of(folder: Path, stem: str) -> Path:
    """The table *stem* of the folder, packed or not; `MissingDataError` where it has neither."""
    for name in (f"{stem}.csv", f"{stem}.csv.gz"):
        if (folder / name).is_file():
            return folder / name
    raise MissingDataError(
        f"{folder} holds neither {stem}.csv nor {stem}.csv.gz: put the road graph's two tables there"
    )


def read_table(file: Path, columns: list[str]) -> pd.DataFrame:
    if not file.is_file():
        raise MissingDataError(f"{file} does not exist: check the path of the road graph")
    try:
        table = pd.read_csv(file)
    except (ValueError, OSError, EOFError) as error:
        raise DataContractError(f"{file} cannot be read as CSV ({error}): fetch it again") from error
    missing = [c for c in columns if c not in table.columns]
    if missing:
        raise DataContractError(f"{file} has no column {', '.join(missing)} (it has {', '.join(table.columns)})")
    if table.empty:
        raise DataContractError(f"{file} has a header but no rows: fetch it again")
    return table


def _read_wkt(file: Path, shapes: pd.Series, kind: str, crs: str) -> tuple[np.ndarray, np.ndarray]:
    """Return degrees [p, 2] and int64 offsets [rows + 1] of a column of WKT."""
    import shapely

    geometry = shapely.from_wkt(
        shapes.where(shapes.notna(), "").astype(str).to_numpy(dtype=object), on_invalid="ignore"
    )
    wanted = shapely.get_type_id(geometry) == (0 if kind == "POINT" else 1)
    _refuse(file, ~wanted | shapely.is_empty(geometry), shapes, f"not a WKT {kind}", "correct the geometry")
    lonlat, owner = shapely.get_coordinates(geometry, return_index=True)
    finite = np.isfinite(lonlat).all(axis=1)
    bad = np.unique(owner[~finite | (np.abs(lonlat) > [180, 90]).any(axis=1)])
    _refuse(file, np.isin(np.arange(len(shapes)), bad), shapes, "not degrees, longitude first", "correct the geometry")
    valid = CRS.from_user_input(crs).area_of_use
    area = geo.Box(*valid.bounds) if valid else None
    if area and not area.contains(lonlat).any():
        swapped = area.contains(lonlat[:, ::-1]).mean() > 0.5
        hint = (
            "latitude and longitude look swapped: write longitude first" if swapped else "declare the CRS of this place"
        )
        raise DataContractError(f"{file}: no point lies where {crs} is valid (first {tuple(lonlat[0])}); {hint}")
    return lonlat, np.searchsorted(owner, np.arange(len(shapes) + 1)).astype(np.int64)


def _refuse(file: Path, bad: np.ndarray, values: pd.Series, what: str, repair: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        shown = str(values.iloc[row])[:60]
        raise DataContractError(f"{file} line {row + 2}: {what} ({shown!r}; {bad.sum()} such row(s)): {repair}")
