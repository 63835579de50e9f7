"""Porto taxis: ``train.csv`` or ``test.csv`` of the ECML/PKDD 2015 challenge, plain, .gz or .zip.

One row a trip; POLYLINE holds one [lon, lat] for every 15 s from TIMESTAMP on. DAY_TYPE is wrong upstream and ignored.
"""

from __future__ import annotations

import csv
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pc
from pydantic import Field

from trajkit.datasets import polyline
from trajkit.datasets.registry import DatasetSettings, dataset
from trajkit.datasets.sources import opened
from trajkit.errors import DataContractError
from trajkit.geo import Box
from trajkit.preprocess import DropReport
from trajkit.roads import RoadNetwork, read_roads
from trajkit.trajectories import Trajectories, concatenate_offsets

LOADER_VERSION = 1
INTERVAL_S = 15
NEEDED = ("TRIP_ID", "TAXI_ID", "TIMESTAMP", "POLYLINE")
COLUMNS = (*NEEDED, "MISSING_DATA")
FILES = ("train.csv", "train.csv.gz", "train.csv.zip")


class PortoSettings(DatasetSettings):
    """Defaults are the published processing (study.md, 1.2): flagged trips and trips that leave the box go, 10 to 200 points stay.

    ``roads`` names a road network (see `trajkit.roads.read_roads`); without it, ``porto_roads`` beside the data is used.
    ``box``: (lon_min, lat_min, lon_max, lat_max) of a smaller public box, e.g. the one that a road network covers.
    """

    min_points: int = 10
    max_points: int | None = 200
    drop_missing_data: bool = True
    drop_duplicates: bool = False
    roads: str | None = None
    box: list[float] | None = Field(default=None, min_length=4, max_length=4)

    def steps(self) -> list[tuple[str, dict[str, Any]]]:
        """Box (whole trips), length, and the search for trips that are stored twice."""
        return [
            ("filter_box", {"drop": "trajectories"}),
            ("filter_length", {"min_points": self.min_points, "max_points": self.max_points}),
            ("duplicate_trajectories", {"drop": self.drop_duplicates}),
        ]


@dataclass
class _Chunks:
    """What has been read so far, block by block."""

    rows: int = 0
    lonlat: list[np.ndarray] = field(default_factory=list)
    lengths: list[np.ndarray] = field(default_factory=list)
    malformed: list[np.ndarray] = field(default_factory=list)
    flagged: list[np.ndarray] = field(default_factory=list)
    text: dict[str, list[pa.Array]] = field(default_factory=lambda: {"TRIP_ID": [], "TAXI_ID": []})
    timestamp: list[np.ndarray] = field(default_factory=list)


def read(source: Path, settings: PortoSettings) -> Trajectories:
    """Return every trip of the file that has points; the first step of ``meta.steps`` accounts for all rows.

    Raises DataContractError for missing columns, an unreadable TIMESTAMP (with its row), a damaged or empty file.
    """
    path = _file(source)
    broken: list[str] = []
    chunks = _Chunks()
    with opened(path, (*FILES[:1], ".csv")) as file:
        for batch in _batches(file, path, broken):
            _add(chunks, batch, path)
    if not chunks.rows:
        raise DataContractError(f"{path} has a header but no trips: get the file again")
    return _assemble(chunks, broken, path, settings)


def roads(source: Path, settings: PortoSettings) -> RoadNetwork | None:
    """Return the road network that the settings name or that lies beside the data, or None."""
    crs = dataset("porto").meta.crs
    if settings.roads is not None:
        return read_roads(settings.roads, crs)
    folder = source if source.is_dir() else source.parent
    beside = [place for place in (folder / "porto_roads", folder.parent / "porto_roads") if place.is_dir()]
    return read_roads(beside[0], crs) if beside else None


def _file(source: Path) -> Path:
    if source.is_file():
        return source
    for name in FILES:
        if (source / name).is_file():
            return source / name
    candidates = [p for p in sorted(source.iterdir()) if p.name.endswith((".csv", ".csv.gz", ".zip"))]
    if len(candidates) == 1:
        return candidates[0]
    raise DataContractError(
        f"{source} holds none of {', '.join(FILES)} (but {[p.name for p in candidates][:5]}): name the file itself"
    )


def _batches(file: IO[bytes], path: Path, broken: list[str]) -> Any:
    """Yield record batches with the needed columns as text; rows with a wrong number of fields are noted in ``broken``."""

    def skip(row: pc.InvalidRow) -> str:
        broken.append(f"row {row.number - 1 if row.number else '?'}")
        return "skip"

    header = next(csv.reader([file.readline().decode("utf-8-sig", errors="replace")]), [])
    missing = sorted(set(NEEDED) - set(header))
    if missing:
        raise DataContractError(
            f"{path} lacks the column(s) {', '.join(missing)}; it has {', '.join(header)[:300]}: give train.csv of the "
            "Porto taxi challenge, or use the `tables` data set for another form"
        )
    file.seek(0)
    used = [name for name in COLUMNS if name in header]
    try:
        yield from pc.open_csv(
            pa.PythonFile(file, mode="r"),
            read_options=pc.ReadOptions(block_size=1 << 24, use_threads=False),
            parse_options=pc.ParseOptions(invalid_row_handler=skip),
            convert_options=pc.ConvertOptions(
                include_columns=used, column_types=dict.fromkeys(used, pa.large_string())
            ),
        )
    except pa.ArrowInvalid as error:
        raise DataContractError(f"{path} is not a Porto CSV file ({error}): check that it is complete") from error


def _add(chunks: _Chunks, batch: pa.RecordBatch, path: Path) -> None:
    lonlat, lengths, malformed = polyline.parse(batch.column("POLYLINE"))
    seconds = pd.to_numeric(batch.column("TIMESTAMP").to_pandas(), errors="coerce").to_numpy(dtype=np.float64)
    if np.isnan(seconds).any():
        i = int(np.flatnonzero(np.isnan(seconds))[0])
        raise DataContractError(
            f"{path}, row {chunks.rows + i + 1}: TIMESTAMP {batch.column('TIMESTAMP')[i].as_py()!r} is not a number of seconds: correct the row"
        )
    chunks.lonlat.append(lonlat)
    chunks.lengths.append(lengths)
    chunks.malformed.append(np.flatnonzero(malformed) + chunks.rows)
    chunks.timestamp.append(seconds.astype(np.int64))
    if "MISSING_DATA" in batch.schema.names:
        chunks.flagged.append(batch.column("MISSING_DATA").to_pandas().str.lower().eq("true").to_numpy(dtype=bool))
    else:
        chunks.flagged.append(np.zeros(len(batch), dtype=bool))
    for name, parts in chunks.text.items():
        parts.append(batch.column(name))
    chunks.rows += len(batch)


def _assemble(chunks: _Chunks, broken: list[str], path: Path, settings: PortoSettings) -> Trajectories:
    """Join the blocks, take out what is no trip, and report it."""
    lengths, flagged = np.concatenate(chunks.lengths), np.concatenate(chunks.flagged)
    malformed = np.zeros(chunks.rows, dtype=bool)
    malformed[np.concatenate(chunks.malformed)] = True
    if malformed.mean() > 0.5:
        row = int(np.flatnonzero(malformed)[0])
        raise DataContractError(
            f"{path}: {malformed.mean():.0%} of the POLYLINE values are no lists of [lon,lat] pairs (first in row {row + 1}): check the file"
        )
    everything, found = _join(chunks, lengths)
    empty = (lengths == 0) & ~malformed
    drop_flagged = flagged & (lengths > 0) if settings.drop_missing_data else np.zeros_like(flagged)
    keep = (lengths > 0) & ~drop_flagged
    trajs = everything if keep.all() else everything.take(keep)
    rows = ", ".join(str(i + 1) for i in np.flatnonzero(malformed)[:5])
    dropped = {
        f"POLYLINE malformed (row {rows})": (malformed.sum(), 0),
        f"wrong number of fields ({', '.join(broken[:5])})": (len(broken), 0),
        "POLYLINE empty": (empty.sum(), 0),
        "MISSING_DATA is True": (drop_flagged.sum(), lengths[drop_flagged].sum()),
    }
    found |= {"one-point trips": (lengths == 1).sum(), "trips flagged MISSING_DATA": flagged.sum()}
    report = DropReport(
        "read",
        {"file": path.name, **settings.model_dump(exclude={"roads"})},
        chunks.rows + len(broken),
        len(trajs),
        everything.n_points,
        trajs.n_points,
        {reason: [int(a), int(b)] for reason, (a, b) in dropped.items() if a},
        found={what: int(n) for what, n in found.items() if n},
    )
    box = trajs.meta.box if settings.box is None else Box(*settings.box)
    return trajs.with_meta(steps=(asdict(report),), box=box)


def _join(chunks: _Chunks, lengths: np.ndarray) -> tuple[Trajectories, dict[str, int]]:
    """Return every row as a trajectory (those without points too), and what was found about their ids."""
    timestamp = np.concatenate(chunks.timestamp)
    trip = np.array(pa.chunked_array(chunks.text["TRIP_ID"]).to_pylist(), dtype=str)
    taxi, names = pd.factorize(pa.chunked_array(chunks.text["TAXI_ID"]).to_pandas(), sort=True)
    taxi_ids = np.asarray(names, dtype=object).astype(str)
    ids, found = _unique_ids(trip, timestamp, taxi_ids[taxi])
    offsets = concatenate_offsets(lengths)
    step = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    trajs = Trajectories(
        lonlat=np.concatenate(chunks.lonlat),
        offsets=offsets,
        t=(np.repeat(timestamp, lengths) + INTERVAL_S * step) * 1000,
        user=taxi.astype(np.int64),
        user_ids=taxi_ids,
        traj_ids=ids,
        meta=dataset("porto").meta,
    )
    return trajs, found


def _unique_ids(trip: np.ndarray, timestamp: np.ndarray, taxi: np.ndarray) -> tuple[np.ndarray, dict[str, int]]:
    """Return ids that occur once: ids a spreadsheet has cut (1.37E+018) are rebuilt, repeated ones get ``#2``, ``#3`` ...

    TRIP_ID is the TIMESTAMP, a 6 and the TAXI_ID, so the lost digits are known.
    """
    mangled = np.char.find(np.char.upper(trip), "E+") > 0
    ids = trip.copy()
    if mangled.any():
        rebuilt = np.char.add(np.char.add(timestamp.astype(str), "6"), taxi)
        ids = np.where(mangled, rebuilt, trip)
    again = pd.Series(ids).duplicated().to_numpy()
    if again.any():
        occurrence = pd.Series(ids).groupby(ids).cumcount().to_numpy()
        ids = np.where(again, np.char.add(np.char.add(ids, "#"), (occurrence + 1).astype(str)), ids)
    found = {"TRIP_ID used again (kept, renamed id#2)": int(again.sum())}
    found["TRIP_ID mangled by a spreadsheet (rebuilt from TIMESTAMP and TAXI_ID)"] = int(mangled.sum())
    return ids, found
