"""Parsed data sets, kept as Parquet under a key of file content, settings and loader version.

An entry holds one row a trajectory (its coordinates and times as lists), so that what comes back has the same arrays,
ids, order and steps as what went in. Pages carry checksums: a damaged entry is noticed, said, and built again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import trajkit
from trajkit.errors import MissingDataError
from trajkit.trajectories import META_KEY, Meta, Trajectories
from trajkit.yamlio import private_mark

FORMAT_VERSION = 1
USERS_KEY = b"trajkit_users"
log = logging.getLogger(__name__)


def project_root() -> Path:
    """Return the folder that holds the package: relative paths are looked up there after the working directory."""
    return Path(trajkit.__file__).resolve().parents[1]


def cache_root() -> Path:
    """Return $TRAJKIT_CACHE, or ``.cache`` beside the package."""
    return Path(os.environ.get("TRAJKIT_CACHE") or project_root() / ".cache")


def content_hash(source: Path) -> str:
    """Return the SHA-256 (hex) of a file's bytes, or of the names and bytes of every file in a folder (hidden ones left out)."""
    if source.is_file():
        return _file_hash(source)
    files = sorted(p for p in source.rglob("*") if p.is_file() and not p.name.startswith("."))
    with ThreadPoolExecutor(2) as pool:
        sums = list(pool.map(_file_hash, files))
    whole = "\n".join(f"{f.relative_to(source).as_posix()} {s}" for f, s in zip(files, sums, strict=True))
    return hashlib.sha256(whole.encode()).hexdigest()


def _file_hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise MissingDataError(f"{path} cannot be read ({error.strerror}): check its permissions") from error


def cached(name: str, key: dict[str, Any], build: Callable[[], Trajectories]) -> Trajectories:
    """Return the entry of ``key`` (any JSON), or build, store and return it. Storing is atomic; a full disk is no error."""
    text = json.dumps({"format": FORMAT_VERSION, "name": name, **key}, sort_keys=True)
    path = cache_root() / "datasets" / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:20]}.parquet"
    if path.is_file():
        try:
            return read_entry(path)
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            log.warning("the cached data set %s is damaged (%s): building it again", path, str(error).splitlines()[0])
    trajs = build()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        private_mark(path.parent, "parsed copies of data sets, private ones among them: nothing here may leave")
        write_entry(trajs, path)
    except OSError as error:
        log.warning("the parsed data set could not be cached in %s (%s): the next run parses again", path.parent, error)
    return trajs


def write_entry(trajs: Trajectories, path: Path) -> None:
    """Write ``trajs`` to ``path``, renamed into place."""
    offsets = pa.array(trajs.offsets)
    columns = {
        "traj_id": pa.array(trajs.traj_ids.astype(object), pa.large_string()),
        "user": pa.array(trajs.user),
        "lon": pa.LargeListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(trajs.lonlat[:, 0]))),
        "lat": pa.LargeListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(trajs.lonlat[:, 1]))),
    }
    if trajs.t is not None:
        columns["t"] = pa.LargeListArray.from_arrays(offsets, pa.array(trajs.t))
    users = json.dumps(trajs.user_ids.astype(str).tolist()).encode()
    table = pa.table(columns).replace_schema_metadata({META_KEY: trajs.meta.to_json().encode(), USERS_KEY: users})
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        pq.write_table(
            table, part, compression="zstd", compression_level=1, use_dictionary=["traj_id"], write_page_checksum=True
        )
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def read_entry(path: Path) -> Trajectories:
    """Read what `write_entry` wrote. Raises pyarrow's or OS errors where the file is damaged."""
    table = pq.read_table(path, page_checksum_verification=True).combine_chunks()
    metadata = table.schema.metadata
    lists = {name: _one(table[name]) for name in ("lon", "lat", "t") if name in table.column_names}
    offsets = lists["lon"].offsets.to_numpy() if len(table) else np.zeros(1, dtype=np.int64)
    values = {name: column.flatten().to_numpy() for name, column in lists.items()}
    return Trajectories(
        lonlat=np.column_stack([values["lon"], values["lat"]]),
        offsets=np.array(offsets, dtype=np.int64),
        t=np.array(values["t"]) if "t" in values else None,
        user=np.array(table["user"].to_numpy(), dtype=np.int64),
        user_ids=np.array(json.loads(metadata[USERS_KEY]), dtype=str),
        traj_ids=np.array(table["traj_id"].to_pylist(), dtype=str),
        meta=Meta.from_json(metadata[META_KEY]),
    )


def _one(column: pa.ChunkedArray) -> pa.LargeListArray:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
