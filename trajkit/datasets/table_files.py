"""Rows of CSV, Parquet, GeoParquet and GPX files as one frame: lat, lon, t, user, traj, cut, file.

lat, lon are float64 (NaN where absent); t is int64 ms UTC or `NO_TIME`; user, traj, cut are text or missing columns.
"""

from __future__ import annotations

import fnmatch
import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from trajkit.datasets.sources import opened
from trajkit.errors import DataContractError

NO_TIME = np.iinfo(np.int64).min
FROM_FILE = "@file"


def read_frames(source: Path, settings: Any) -> Iterator[pd.DataFrame]:
    """Yield one frame a file of ``source`` (a file, a folder, a .zip or .tar.gz), in the order of their names.

    Raises DataContractError that names the file and, where one value is at fault, its row.
    """
    some = False
    for name, data in _files(source, settings.pattern):
        some = True
        frame = _frame(name, data, settings)
        stem = PurePosixPath(name).name.split(".")[0].removeprefix(settings.file_prefix)
        frame["file"] = stem
        if settings.columns.user == FROM_FILE:
            frame["user"] = stem
        yield frame
    if not some:
        raise DataContractError(
            f"{source} holds no file named {settings.pattern!r}: set `pattern`, or give the file itself"
        )


def _files(source: Path, pattern: str) -> Iterator[tuple[str, bytes]]:
    def wanted(name: str) -> bool:
        return fnmatch.fnmatch(PurePosixPath(name).name, pattern)

    try:
        if source.is_dir():
            for path in sorted(p for p in source.rglob("*") if p.is_file() and wanted(p.name)):
                with opened(path) as file:
                    yield str(path), file.read()
        elif source.name.endswith((".tar.gz", ".tgz", ".tar")):
            with tarfile.open(source) as archive:
                for member in sorted(archive.getmembers(), key=lambda m: m.name):
                    if member.isfile() and wanted(member.name):
                        yield f"{source}:{member.name}", archive.extractfile(member).read()  # type: ignore[union-attr]
        elif source.suffix == ".zip":
            with zipfile.ZipFile(source) as packed:
                for name in sorted(packed.namelist()):
                    if not name.endswith("/") and wanted(name):
                        yield f"{source}:{name}", packed.read(name)
        else:
            with opened(source) as file:
                yield str(source), file.read()
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise DataContractError(f"{source} is damaged or cut off ({error}): copy or download it again") from error


def _frame(name: str, data: bytes, settings: Any) -> pd.DataFrame:
    lower = name.lower()
    if lower.endswith((".gpx", ".gpx.gz")):
        return _gpx(name, data, settings)
    if lower.endswith((".parquet", ".geoparquet", ".pq")):
        return _parquet(name, data, settings)
    return _csv(name, data, settings)


# ---- CSV ---------------------------------------------------------------------------------------------------------


def _csv(name: str, data: bytes, settings: Any) -> pd.DataFrame:
    if not data.strip():
        raise DataContractError(f"{name} is empty: get the file again")
    names = _names(data, settings)
    wanted = {role: _column(name, value, names, settings) for role, value in _roles(settings).items()}
    numeric = ["lat", "lon", *(["t"] if settings.time.format == "unix" else [])]
    types = {c: pa.float64() if role in numeric else pa.string() for role, c in wanted.items()}
    try:
        table = _read_csv(data, settings, names, types)
    except pa.ArrowInvalid as error:
        _raise_bad_number(name, data, settings, names, {r: c for r, c in wanted.items() if r in numeric})
        raise DataContractError(f"{name} is not a table separated by {settings.separator!r} ({error})") from error
    if not len(table):
        raise DataContractError(f"{name} has a header but no rows: get the file again")
    frame = pd.DataFrame({role: table[column].to_pandas() for role, column in wanted.items()})
    return _with_times(name, frame, settings)


def _names(data: bytes, settings: Any) -> list[str]:
    first = data[: data.find(b"\n") if b"\n" in data else len(data)].decode("utf-8-sig", errors="replace").strip("\r")
    parts = pd.read_csv(io.StringIO(first), sep=settings.separator, header=None, dtype=str, keep_default_na=False)
    row = parts.iloc[0].tolist()
    return row if settings.header else [f"column {i}" for i in range(len(row))]


def _roles(settings: Any) -> dict[str, str | int]:
    roles = {**settings.columns.model_dump(), "cut": settings.cut.column}
    return {role: value for role, value in roles.items() if value is not None and value != FROM_FILE}


def _column(name: str, value: str | int, names: list[str], settings: Any) -> str:
    if isinstance(value, int) and 0 <= value < len(names):
        return names[value]
    if value in names:
        return str(value)
    hint = "" if settings.header else " (no header: write positions, counted from 0)"
    raise DataContractError(
        f"{name} has no column {value!r}; it has {', '.join(map(repr, names))[:300]}{hint}: correct `columns` or `separator`"
    )


def _read_csv(data: bytes, settings: Any, names: list[str], types: dict[str, pa.DataType]) -> pa.Table:
    return pc.read_csv(
        pa.BufferReader(data),
        read_options=pc.ReadOptions(column_names=names, skip_rows=1 if settings.header else 0),
        parse_options=pc.ParseOptions(delimiter=settings.separator),
        convert_options=pc.ConvertOptions(
            include_columns=list(dict.fromkeys(types)),
            column_types=types,
            strings_can_be_null=True,
            null_values=["", "NA", "NaN", "nan", "null"],
        ),
    )


def _raise_bad_number(name: str, data: bytes, settings: Any, names: list[str], columns: dict[str, str]) -> None:
    """Raise with the row of the first value that is no number, or return where the table is broken otherwise."""
    try:
        table = _read_csv(data, settings, names, dict.fromkeys(columns.values(), pa.string()))
    except pa.ArrowInvalid:
        return
    for role, column in columns.items():
        text = table[column].to_pandas()
        bad = np.flatnonzero(text.notna() & pd.to_numeric(text, errors="coerce").isna())
        if len(bad):
            raise DataContractError(
                f"{name}, row {bad[0] + 1}: {role} (column {column!r}) is {text.iloc[bad[0]]!r}, not a number; {len(bad)} such row(s): correct them, or the column map"
            )


# ---- Parquet and GPX ---------------------------------------------------------------------------------------------


def _parquet(name: str, data: bytes, settings: Any) -> pd.DataFrame:
    file = io.BytesIO(data)
    try:
        schema = pq.read_schema(file)
        file.seek(0)
        if b"geo" in (schema.metadata or {}):
            return _geoparquet(name, file, settings)
        names = list(schema.names)
        wanted = {role: _column(name, value, names, settings) for role, value in _roles(settings).items()}
        table = pq.read_table(file, columns=list(dict.fromkeys(wanted.values())))
    except (pa.ArrowInvalid, OSError) as error:
        raise DataContractError(f"{name} is damaged or no Parquet file ({error}): copy it again") from error
    return _with_times(
        name, pd.DataFrame({role: table[column].to_pandas() for role, column in wanted.items()}), settings
    )


def _geoparquet(name: str, file: io.BytesIO, settings: Any) -> pd.DataFrame:
    """Points: one row a point. Lines: one row a trajectory, without time."""
    import geopandas
    import shapely

    table = geopandas.read_parquet(file)
    if table.crs is not None and table.crs.to_epsg() != 4326:
        table = table.to_crs("EPSG:4326")
    kinds = set(table.geometry.geom_type.unique())
    if not kinds or not (kinds <= {"Point"} or kinds <= {"LineString"}):
        raise DataContractError(f"{name} holds {sorted(map(str, kinds))}: give points, or one line a trajectory")
    roles = {role: value for role, value in _roles(settings).items() if role not in ("lat", "lon")}
    if "LineString" in kinds:
        roles.pop("t", None)
    names = [c for c in table.columns if c != table.geometry.name]
    wanted = {role: _column(name, value, names, settings) for role, value in roles.items()}
    lonlat, row = shapely.get_coordinates(table.geometry.to_numpy(), return_index=True)
    frame = pd.DataFrame({"lat": lonlat[:, 1], "lon": lonlat[:, 0]})
    for role, column in wanted.items():
        frame[role] = table[column].to_numpy()[row]
    if "LineString" in kinds and "traj" not in frame:
        frame["traj"] = row.astype(str)
    return _with_times(name, frame, settings)


def _gpx(name: str, data: bytes, settings: Any) -> pd.DataFrame:
    """One trajectory a track segment; the user is the file."""
    import gpxpy

    try:
        document = gpxpy.parse(data.decode("utf-8-sig", errors="replace"))
    except gpxpy.gpx.GPXException as error:
        raise DataContractError(f"{name} is no GPX file ({error}): export it again") from error
    stem = PurePosixPath(name).name.split(".")[0]
    rows = [
        (p.latitude, p.longitude, p.time, f"{stem}_{i}_{k}")
        for i, track in enumerate(document.tracks)
        for k, segment in enumerate(track.segments)
        for p in segment.points
    ]
    if not rows:
        raise DataContractError(f"{name} holds no track points: record or export a track, not waypoints or routes")
    frame = pd.DataFrame(rows, columns=["lat", "lon", "t", "traj"]).assign(user=stem)
    if settings.columns.t is None:
        return frame.drop(columns="t")
    frame["t"] = pd.to_datetime(frame["t"], utc=True)
    return _with_times(name, frame, settings)


# ---- times -------------------------------------------------------------------------------------------------------


def _with_times(name: str, frame: pd.DataFrame, settings: Any) -> pd.DataFrame:
    for role in ("lat", "lon"):
        frame[role] = _numbers(name, role, frame[role])
    if "t" not in frame:
        return frame
    raw = frame["t"]
    if settings.time.format == "unix" and not pd.api.types.is_datetime64_any_dtype(raw):
        frame["t"] = _unix(_numbers(name, "t", raw), settings.time.unit)
        return frame
    when = _local(_parse(name, raw, settings.time.format), settings.time.tz or settings.tz)
    bad = np.flatnonzero(when.isna() & raw.notna())
    if len(bad):
        raise DataContractError(
            f"{name}, row {bad[0] + 1}: time {str(raw.iloc[bad[0]])!r} does not read as {settings.time.format!r}; {len(bad)} such row(s): set `time.format` (iso, unix, or a pattern such as %d/%m/%Y %H:%M)"
        )
    missing = when.isna().to_numpy()
    ms = when.dt.tz_convert("UTC").dt.tz_localize(None).astype("datetime64[ms]").to_numpy().astype(np.int64)
    frame["t"] = np.where(missing, NO_TIME, ms)
    return frame


def _numbers(name: str, role: str, column: pd.Series) -> np.ndarray:
    numbers = pd.to_numeric(column, errors="coerce")
    bad = np.flatnonzero(numbers.isna() & column.notna())
    if len(bad):
        raise DataContractError(
            f"{name}, row {bad[0] + 1}: {role} is {str(column.iloc[bad[0]])!r}, not a number; {len(bad)} such row(s): correct them, or the column map"
        )
    return numbers.to_numpy(dtype=np.float64, na_value=np.nan)


def _unix(seconds: np.ndarray, unit: str) -> np.ndarray:
    missing = np.isnan(seconds)
    scaled = np.where(missing, 0.0, seconds) * (1000.0 if unit == "s" else 1.0)
    return np.where(missing, NO_TIME, np.rint(scaled).astype(np.int64))


def _parse(name: str, raw: pd.Series, pattern: str) -> pd.Series:
    if pd.api.types.is_datetime64_any_dtype(raw):
        return raw
    form = "ISO8601" if pattern == "iso" else pattern
    try:
        return pd.to_datetime(raw, format=form, errors="coerce")
    except ValueError:  # offsets differ between rows, e.g. over a change to summer time
        return pd.to_datetime(raw, format=form, errors="coerce", utc=True)


def _local(when: pd.Series, tz: str) -> pd.Series:
    """Give naive times their zone; of an hour that occurs twice the second (standard time) is taken, skipped hours move on."""
    if when.dt.tz is not None:
        return when
    return when.dt.tz_localize(tz, ambiguous=np.zeros(len(when), dtype=bool), nonexistent="shift_forward")
