"""Any table of positions: CSV, Parquet, GeoParquet or GPX; one file, a folder of files, a .zip or .tar.gz.

DATA names either the table (then the fields of `TableSettings` are the settings) or a YAML file that holds those fields
and names the table under ``file`` (relative to the YAML file)::

    file: trips.csv
    columns: {lat: latitude, lon: longitude, t: time, user: person, traj: trip}   # positions from 0 with header: false
    time: {format: iso, tz: Europe/Lisbon}          # iso | unix | a strptime pattern; tz of times without offset
    cut: {gap_s: 600}                               # or {column: occupied, keep: ["1"]}
    box: [-8.72, 41.10, -8.50, 41.24]               # lon_min, lat_min, lon_max, lat_max: written down, never measured

``preset: cabspotting`` (see `PRESETS`) fills in the fields of a well-known form; what you write wins.
A table is private unless ``visibility: public`` is said.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pandas as pd
from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from trajkit.datasets.presets import PRESETS
from trajkit.datasets.registry import DatasetSettings
from trajkit.datasets.table_files import read_frames
from trajkit.datasets.table_rows import assemble
from trajkit.errors import MissingDataError, ParameterError
from trajkit.geo import Box
from trajkit.roads import RoadNetwork, read_roads
from trajkit.trajectories import Meta, Trajectories
from trajkit.yamlio import load_yaml

LOADER_VERSION = 1
MAX_UTM_WIDTH = 12.0  # degrees of longitude: twice a zone, beyond it UTM distances are off by more than 1 %


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Columns(_Strict):
    """Names (or positions) of the columns; user may be "@file": the file's name without ``file_prefix`` and ending."""

    lat: str | int = "lat"
    lon: str | int = "lon"
    t: str | int | None = None
    user: str | int | None = None
    traj: str | int | None = None


class Time(_Strict):
    """How times are written; ``missing`` says what happens to rows without one. ``tz`` null: the table's own ``tz``."""

    format: str = "iso"
    unit: Literal["s", "ms"] = "s"
    tz: str | None = None
    missing: Literal["error", "drop"] = "error"


class Cut(_Strict):
    """Where a long record is cut into trips: where ``column`` changes (keeping the values ``keep``), or at gaps."""

    column: str | int | None = None
    keep: list[str] | None = None
    gap_s: float | None = None


class TableSettings(DatasetSettings):
    """The column map and what is publicly known about the table."""

    name: str = "tables"
    columns: Columns = Columns()
    separator: str = ","
    header: bool = True
    pattern: str = "*"
    file_prefix: str = ""
    time: Time = Time()
    order: Literal["time", "as_is", "newest_first"] = "time"
    cut: Cut = Cut()
    duplicate_fixes: Literal["error", "first", "mean"] = "error"
    box: list[float] | None = None
    box_drop: Literal["points", "trajectories"] = "points"
    crs: str | None = None
    tz: str = "UTC"
    visibility: Literal["private", "public"] = "private"
    min_points: int = 1
    max_points: int | None = None
    drop_duplicates: bool = False
    roads: str | None = None

    @field_validator("box", mode="before")
    @classmethod
    def _named_box(cls, value: Any) -> Any:
        """A box may name its sides instead of listing them."""
        sides = ("lon_min", "lat_min", "lon_max", "lat_max")
        if isinstance(value, dict):
            if set(value) != set(sides):
                raise ValueError(f"a box names {', '.join(sides)}, this one {', '.join(map(str, value))}")
            return [float(value[side]) for side in sides]
        return value

    @model_validator(mode="after")
    def _known_zones(self) -> TableSettings:
        for tz in filter(None, (self.tz, self.time.tz)):
            try:
                ZoneInfo(tz)
            except (ZoneInfoNotFoundError, ValueError) as error:
                raise ValueError(f"time zone {tz!r} is unknown: write it as in Europe/Lisbon") from error
        return self

    def steps(self) -> list[tuple[str, dict[str, Any]]]:
        """Equal times, box, gaps, lengths, trajectories stored twice."""
        chain: list[tuple[str, dict[str, Any]]] = []
        if self.columns.t is not None:
            chain.append(("duplicate_fixes", {"policy": self.duplicate_fixes}))
        chain.append(("filter_box", {"drop": self.box_drop}))
        if self.cut.gap_s is not None:
            chain.append(("split_at_gaps", {"gap_s": self.cut.gap_s}))
        chain.append(("filter_length", {"min_points": self.min_points, "max_points": self.max_points}))
        return [*chain, ("duplicate_trajectories", {"drop": self.drop_duplicates})]


def prepare(source: Path, values: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
    """Resolve a YAML map to (table, settings) and fill in the preset. Raises ParameterError or MissingDataError."""
    if source.suffix in (".yaml", ".yml"):
        source, values = _from_yaml(source, values)
    values = dict(values)
    preset = values.pop("preset", None)
    if preset is not None:
        if preset not in PRESETS:
            raise ParameterError(f"preset {preset!r} is unknown: use one of {', '.join(PRESETS)}")
        values = _merged(PRESETS[preset], values)
    return source, values


def _from_yaml(path: Path, values: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
    try:
        written = load_yaml(path)
    except UnicodeDecodeError as error:
        raise ParameterError(f"{path} is no text file ({error}): write the map as UTF-8") from error
    if not isinstance(written.get("file"), str):
        raise ParameterError(f"{path} must be a mapping with an entry `file`: the table, relative to {path.parent}")
    table = path.parent / Path(written.pop("file")).expanduser()
    if not table.exists():
        raise MissingDataError(f"{path} names the table {table}, which does not exist: correct `file`")
    if isinstance(written.get("roads"), str):
        written["roads"] = str((path.parent / Path(written["roads"]).expanduser()).resolve())
    return table.resolve(), _merged(written, values)


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Return ``base`` with the entries of ``over``, mappings merged key by key."""
    out = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = {**out[key], **value} if both else value
    return out


def read(source: Path, settings: TableSettings) -> Trajectories:
    """Return the trajectories of the table, in order; the first step of ``meta.steps`` accounts for every row.

    Raises ParameterError without a box, DataContractError naming file and row for what cannot be read.
    """
    meta = _meta(settings)
    rows = pd.concat(list(read_frames(source, settings)), ignore_index=True)
    return assemble(rows, meta, settings, where=str(source))


def roads(source: Path, settings: TableSettings) -> RoadNetwork | None:
    """Return the public road network that the settings name (see `trajkit.roads.read_roads`), or None."""
    return None if settings.roads is None else read_roads(settings.roads, _meta(settings).crs)


def _meta(settings: TableSettings) -> Meta:
    if settings.box is None:
        raise ParameterError(
            f"data set {settings.name} declares no box: write `box: [lon_min, lat_min, lon_max, lat_max]` from public knowledge (say, of the city); "
            "a box measured on the data would give away its outermost points"
        )
    if len(settings.box) != 4:
        raise ParameterError(f"box {settings.box} needs four numbers: lon_min, lat_min, lon_max, lat_max in degrees")
    box = Box(*settings.box)
    return Meta(settings.name, settings.crs or utm_of(box), box, settings.tz, settings.visibility)


def utm_of(box: Box) -> str:
    """Return the UTM zone (EPSG code) of the centre of a public box. Raises ParameterError for boxes too wide for one zone."""
    if box.lon_max - box.lon_min > MAX_UTM_WIDTH or max(abs(box.lat_min), abs(box.lat_max)) > 84:
        raise ParameterError(
            f"box {tuple(asdict(box).values())} is too large for one UTM zone: declare a metric `crs` (a national grid, say)"
        )
    zone = min(int(((box.lon_min + box.lon_max) / 2 + 180) // 6) + 1, 60)
    return f"EPSG:{(32600 if box.lat_min + box.lat_max >= 0 else 32700) + zone}"
