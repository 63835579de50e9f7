"""GeoLife 1.3: folders or zips of .plt files, processed as published; or the processed set as one Parquet table.

A .plt file has six header lines, then ``lat,lon,0,altitude,days,YYYY-MM-DD,HH:MM:SS`` (GMT). Each file is one raw
trajectory ``<user>_<file>``; the user is the three-digit folder name, kept as text.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from trajkit.datasets.registry import DatasetSettings, dataset
from trajkit.errors import DataContractError
from trajkit.preprocess import DropReport
from trajkit.trajectories import Trajectories, concatenate_offsets

LOADER_VERSION = 1
HEADER_LINES = 6
COLUMNS = ("lat", "lon", "zero", "altitude", "days", "date", "time")
TYPES = {"lat": pa.float64(), "lon": pa.float64(), "date": pa.date32(), "time": pa.time32("s")}
PLT = re.compile(r"(?:^|/)(\d{3})/Trajectory/([^/]+)\.plt$")
PROCESSED = ("traj_id", "user_id", "t", "lat_e6", "lon_e6")
CHUNK_BYTES = 1 << 27


class GeolifeSettings(DatasetSettings):
    """Defaults are the published processing (study.md, 1.3).

    position   place of a 5 s bin: the published files carry its first fix (and its mean time)
    processed  the source is the processed table already: nothing but the length is checked (set by `prepare`)
    """

    interval_s: float = 5.0
    position: str = "first"
    gap_s: float = 60.0
    max_points: int = 200
    min_points: int = 10
    drop_duplicates: bool = False
    processed: bool = False

    def steps(self) -> list[tuple[str, dict[str, Any]]]:
        """Search for files stored twice, box (points), bins, gaps, first points, minimum length."""
        twice = ("duplicate_trajectories", {"drop": self.drop_duplicates})
        length = ("filter_length", {"min_points": self.min_points})
        if self.processed:
            return [twice, length]
        return [
            twice,
            ("filter_box", {"drop": "points"}),
            ("resample", {"interval_s": self.interval_s, "position": self.position}),
            ("split_at_gaps", {"gap_s": self.gap_s}),
            ("truncate", {"max_points": self.max_points}),
            length,
        ]


@dataclass(frozen=True)
class _Plt:
    """One raw file: whose, its name, where it lies (for messages), and its lines without the header."""

    user: str
    name: str
    where: str
    body: bytes


def prepare(source: Path, values: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
    """A Parquet file holds the processed set, so its steps are not applied again."""
    return source, {**values, "processed": True} if source.suffix == ".parquet" else values


def read(source: Path, settings: GeolifeSettings) -> Trajectories:
    """Return every raw trajectory found under ``source``; the first step of ``meta.steps`` says what was read.

    source: a zip; a folder above the users (the root, ``Data``, or any parent); a folder holding both zips and user
    folders (their union is read, and a file that is in both counts once); or the processed table as .parquet.
    Raises DataContractError naming the file (and line) that cannot be read.
    """
    if settings.processed:
        return _read_processed(source)
    archives = [source] if source.is_file() else sorted(source.rglob("*.zip"))
    found: dict[str, int] = {}
    files: dict[tuple[str, str], _Plt] = {}
    places = [(a.name, _from_zip(a)) for a in archives] + (
        [("folders", _from_folder(source))] if source.is_dir() else []
    )
    for place, items in places:
        n = again = 0
        for plt in items:
            first = files.setdefault((plt.user, plt.name), plt)
            n, again = n + 1, again + (first is not plt)
            if first.body != plt.body:
                raise DataContractError(f"{first.where} and {plt.where} have one name but differ: keep one of them")
        found |= {f"files in {place}": n, f"files in {place} that were read before": again}
    if not files:
        raise DataContractError(
            f"{source} holds no NNN/Trajectory/*.plt, neither in folders nor in zips: give the folder or zip of GeoLife 1.3"
        )
    return _assemble([files[key] for key in sorted(files)], source, {k: n for k, n in found.items() if n})


def _from_zip(path: Path) -> Iterator[_Plt]:
    try:
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if match := PLT.search(name):
                    yield _Plt(match[1], match[2], f"{path}:{name}", _body(archive.read(name), f"{path}:{name}"))
    except (zipfile.BadZipFile, EOFError) as error:
        raise DataContractError(f"{path} is damaged or no zip ({error}): copy or download it again") from error


def _from_folder(folder: Path) -> Iterator[_Plt]:
    for path in sorted(folder.rglob("*.plt")):
        if match := PLT.search(path.as_posix()):
            yield _Plt(match[1], match[2], str(path), _body(path.read_bytes(), str(path)))


def _body(data: bytes, where: str) -> bytes:
    """Return the lines after the header, each ended; b"" for a file without points."""
    at = 0
    for _ in range(HEADER_LINES):
        at = data.find(b"\n", at) + 1
        if not at:
            raise DataContractError(
                f"{where} has fewer than {HEADER_LINES} header lines: it is no .plt file, or cut off"
            )
    body = data[at:].rstrip()
    return body + b"\n" if body else b""


def _assemble(files: list[_Plt], source: Path, found: dict[str, int]) -> Trajectories:
    parts, chunk, size = [], [], 0
    for plt in files:
        chunk.append(plt)
        size += len(plt.body)
        if size > CHUNK_BYTES:
            parts.append(_parse(chunk))
            chunk, size = [], 0
    parts.append(_parse(chunk))
    lonlat, t, lengths = (np.concatenate([part[k] for part in parts]) for k in range(3))
    user_ids, user = np.unique(np.array([f.user for f in files]), return_inverse=True)
    keep = lengths > 0
    trajs = Trajectories(
        lonlat=lonlat,
        offsets=concatenate_offsets(lengths[keep]),
        t=t,
        user=user[keep].astype(np.int64),
        user_ids=user_ids,
        traj_ids=np.array([f"{f.user}_{f.name}" for f in files])[keep],
        meta=dataset("geolife").meta,
    )
    dropped = {"file without points": [int((~keep).sum()), 0]} if not keep.all() else {}
    report = DropReport(
        "read",
        {"source": source.name},
        len(files),
        len(trajs),
        len(t),
        len(t),
        dropped,
        found={**found, "users": len(user_ids)},
    )
    return trajs.with_meta(steps=(asdict(report),))


def _parse(files: list[_Plt]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (lonlat [N, 2], t ms [N], points per file) of many files in one pass of the CSV reader."""
    lengths = np.array([f.body.count(b"\n") for f in files], dtype=np.int64)
    if not lengths.sum():
        return np.empty((0, 2)), np.empty(0, dtype=np.int64), lengths
    try:
        table = _csv(b"".join(f.body for f in files))
    except pa.ArrowInvalid as error:
        raise _damaged(files, error) from error
    if len(table) != lengths.sum() or any(column.null_count for column in table.columns):
        raise _damaged(files, None)
    days = table["date"].cast(pa.int32()).to_numpy().astype(np.int64)
    seconds = table["time"].cast(pa.int32()).to_numpy().astype(np.int64)
    lonlat = np.column_stack([table["lon"].to_numpy(), table["lat"].to_numpy()])
    return lonlat, (days * 86_400 + seconds) * 1000, lengths


def _csv(data: bytes) -> pa.Table:
    return pc.read_csv(
        pa.BufferReader(data),
        read_options=pc.ReadOptions(column_names=list(COLUMNS)),
        convert_options=pc.ConvertOptions(include_columns=list(TYPES), column_types=TYPES),
    )


def _damaged(files: list[_Plt], cause: Exception | None) -> DataContractError:
    """Find the first file and line that the CSV reader refuses."""
    for plt in files:
        for number, line in enumerate(plt.body.splitlines(), HEADER_LINES + 1):
            try:
                row = _csv(line + b"\n")
                good = len(row) == 1 and not any(column.null_count for column in row.columns)
            except pa.ArrowInvalid:
                good = False
            if not good:
                text = line[:80].decode(errors="replace")
                return DataContractError(
                    f"{plt.where}, line {number}: {text!r} is no PLT record: repair or remove the file"
                )
    return DataContractError(
        f"{files[0].where} and following files cannot be read ({cause}): check that they are GeoLife 1.3 files"
    )


def _read_processed(path: Path) -> Trajectories:
    """Read the processed set kept as one table: traj_id, user_id, t, lat_e6, lon_e6 (degrees times 1e6)."""
    try:
        names = pq.read_schema(path).names
        missing = sorted(set(PROCESSED) - set(names))
        if missing:
            raise DataContractError(f"{path} lacks the column(s) {', '.join(missing)}; it has {', '.join(names)}")
        frame = pq.read_table(path, columns=list(PROCESSED), read_dictionary=["traj_id"]).to_pandas()
    except (pa.ArrowInvalid, OSError) as error:
        raise DataContractError(f"{path} is damaged or no Parquet file ({error}): copy it again") from error
    frame["lat"], frame["lon"] = frame.pop("lat_e6") / 1e6, frame.pop("lon_e6") / 1e6
    frame["t"] = frame["t"].dt.tz_localize("UTC")
    trajs = Trajectories.from_frame(frame, meta=dataset("geolife").meta)
    trajs = replace(trajs, user_ids=np.char.zfill(trajs.user_ids, 3))
    n, points = len(trajs), trajs.n_points
    report = DropReport("read", {"source": path.name, "processed": True}, n, n, points, points)
    return trajs.with_meta(steps=(asdict(report),))
