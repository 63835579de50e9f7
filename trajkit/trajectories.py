"""`Trajectories`: the one container, ragged and columnar, and the contract that every set of trajectories meets.

Point arrays are contiguous; trajectory ``i`` is the slice ``offsets[i]:offsets[i + 1]`` of each of them.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from trajkit import geo
from trajkit.errors import DataContractError, MissingDataError, ParameterError
from trajkit.geo import Box
from trajkit.ragged import concatenate_offsets, ragged_rows

META_KEY = b"trajkit"


@dataclass(frozen=True)
class Meta:
    """What is publicly known about a set: nothing here may be computed from private records."""

    dataset: str
    crs: str
    box: Box
    tz: str = "UTC"
    visibility: str = "private"
    steps: tuple[dict[str, Any], ...] = ()

    def __post_init__(self) -> None:
        if self.visibility not in ("public", "private"):
            raise ParameterError(f"visibility {self.visibility!r} is unknown: write public or private")

    def to_json(self) -> str:
        """Serialise as JSON (the inverse of `from_json`)."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> Meta:
        """Read what `to_json` wrote."""
        d = json.loads(text)
        return cls(**{**d, "box": Box(**d["box"]), "steps": tuple(d["steps"])})


@dataclass(frozen=True)
class Violation:
    """One broken rule of the contract: how many points or trajectories break it, and the first of them."""

    rule: str
    count: int
    first: tuple[str, ...]
    repair: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.count} ({', '.join(self.first)}); {self.repair}"


@dataclass(frozen=True)
class Trajectories:
    """n trajectories with N points in all.

    lonlat   float64 [N, 2], degrees, longitude first
    offsets  int64 [n + 1], offsets[0] = 0, offsets[n] = N
    t        int64 [N], ms since 1970 UTC, or None for sets without time
    user     int64 [n], index into ``user_ids``
    """

    lonlat: np.ndarray
    offsets: np.ndarray
    t: np.ndarray | None
    user: np.ndarray
    user_ids: np.ndarray
    traj_ids: np.ndarray
    meta: Meta = field(repr=False)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_points(self) -> int:
        return len(self.lonlat)

    @cached_property
    def lengths(self) -> np.ndarray:
        """int64 [n]: points per trajectory."""
        return np.diff(self.offsets)

    @cached_property
    def traj_of_point(self) -> np.ndarray:
        """int64 [N]: the trajectory that each point belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @cached_property
    def xy(self) -> np.ndarray:
        """float64 [N, 2]: metres in the declared CRS (projected once, then kept)."""
        return geo.project(self.lonlat, self.meta.crs)

    @property
    def starts(self) -> np.ndarray:
        """int64 [n]: index of each first point (trajectories must not be empty)."""
        return self.offsets[:-1]

    @property
    def ends(self) -> np.ndarray:
        """int64 [n]: index of each last point (trajectories must not be empty)."""
        return self.offsets[1:] - 1

    def __getitem__(self, i: int) -> np.ndarray:
        """Degrees [m, 2] of trajectory ``i`` (a view)."""
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        i %= len(self)
        return self.lonlat[self.offsets[i] : self.offsets[i + 1]]

    def take(self, index: np.ndarray) -> Trajectories:
        """Return the trajectories at ``index`` (int or bool array over trajectories), in that order."""
        index = np.asarray(index)
        index = np.flatnonzero(index) if index.dtype == bool else index.astype(np.int64)
        points, offsets = ragged_rows(self.offsets, index)
        return replace(
            self,
            lonlat=self.lonlat[points],
            offsets=offsets,
            t=None if self.t is None else self.t[points],
            user=self.user[index],
            traj_ids=self.traj_ids[index],
        )

    def with_meta(self, **changes: Any) -> Trajectories:
        """Return the same arrays with some fields of ``meta`` replaced."""
        return replace(self, meta=replace(self.meta, **changes))

    def sorted_by_id(self) -> Trajectories:
        """Return the trajectories in string order of their ids, the order in which folds are drawn."""
        return self.take(np.argsort(self.traj_ids.astype(str), kind="stable"))

    def fingerprint(self) -> str:
        """SHA-256 (hex) of every array and id: two sets with the same fingerprint hold the same records in the same order."""
        digest = hashlib.sha256()
        for array in (self.lonlat, self.offsets, np.zeros(0) if self.t is None else self.t, self.user):
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        digest.update("\n".join([*map(str, self.user_ids), "", *map(str, self.traj_ids)]).encode())
        return digest.hexdigest()

    # ---- the contract -------------------------------------------------------------------------------------------

    def violations(self, *, min_points: int = 1, inside_box: bool = True) -> list[Violation]:
        """Return every broken rule of the contract, with its count and first offenders (empty: the set is sound)."""
        found: list[Violation] = []

        def rule(text: str, bad: np.ndarray, repair: str, names: np.ndarray | None = None) -> None:
            if bad.any():
                where = np.flatnonzero(bad)
                labels = self.traj_ids[self.traj_of_point[where[:3]]] if names is None else names[where[:3]]
                found.append(Violation(text, int(bad.sum()), tuple(map(str, labels)), repair))

        if not self._shapes_fit():
            repair = "offsets must start at 0, rise, and end at the number of points"
            return [Violation("array shapes do not fit together", 1, (self.meta.dataset,), repair)]
        rule(f"fewer than {min_points} point(s)", self.lengths < min_points, "filter by length first", self.traj_ids)
        duplicated = pd.Series(self.traj_ids).duplicated().to_numpy()
        rule("trajectory id used twice", duplicated, "make ids unique or map the right column", self.traj_ids)
        rule(
            "user index out of range",
            (self.user < 0) | (self.user >= len(self.user_ids)),
            "user indexes user_ids",
            self.traj_ids,
        )
        lon, lat = self.lonlat[:, 0], self.lonlat[:, 1]
        finite = np.isfinite(self.lonlat).all(axis=1)
        rule("coordinate is not a finite number", ~finite, "drop those points and say so")
        rule(
            "not degrees (|lon| > 180 or |lat| > 90)",
            finite & ((np.abs(lon) > 180) | (np.abs(lat) > 90)),
            "check units and column order",
        )
        if inside_box:
            rule("outside the public box", finite & ~self.meta.box.contains(self.lonlat), self._box_hint())
        if self.t is not None and self.n_points:
            same = np.diff(self.traj_of_point) == 0
            step = np.diff(self.t)
            rule("time runs backwards", np.append(same & (step < 0), False), "sort by time")
            rule(
                "two fixes at the same time",
                np.append(same & (step == 0), False),
                "choose a duplicate policy: first, mean or error",
            )
        return found

    def _shapes_fit(self) -> bool:
        return (
            self.lonlat.ndim == 2
            and self.lonlat.shape[1:] == (2,)
            and self.offsets[0] == 0
            and self.offsets[-1] == len(self.lonlat)
            and bool((np.diff(self.offsets) >= 0).all())
            and len(self.user) == len(self.traj_ids) == len(self)
            and (self.t is None or len(self.t) == len(self.lonlat))
        )

    def _box_hint(self) -> str:
        swapped = self.meta.box.contains(self.lonlat[:, ::-1])
        if len(swapped) and swapped.mean() > 0.5:
            return "latitude and longitude look swapped: with the columns exchanged the points lie in the box"
        return "filter by the box, or declare the right one"

    def check(self, *, min_points: int = 1, inside_box: bool = True) -> Trajectories:
        """Return self, or raise DataContractError with every violation, one a line."""
        found = self.violations(min_points=min_points, inside_box=inside_box)
        if found:
            raise DataContractError(
                f"data set {self.meta.dataset!r} breaks the contract:\n  " + "\n  ".join(map(str, found))
            )
        return self

    # ---- in and out ---------------------------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """Return one row a point: traj_id, user_id, t (UTC, only where the set has time), lat, lon."""
        who = pd.Categorical.from_codes(self.user[self.traj_of_point], categories=pd.Index(self.user_ids.astype(str)))
        which = pd.Categorical.from_codes(self.traj_of_point, categories=pd.Index(self.traj_ids.astype(str)))
        columns: dict[str, Any] = {"traj_id": which, "user_id": who}
        if self.t is not None:
            columns["t"] = pd.to_datetime(self.t, unit="ms", utc=True).astype("datetime64[ms, UTC]")
        return pd.DataFrame({**columns, "lat": self.lonlat[:, 1], "lon": self.lonlat[:, 0]})

    def to_geodataframe(self) -> Any:
        """Return one row a trajectory as a GeoDataFrame (EPSG:4326 lines; a single point becomes a zero-length line)."""
        import geopandas
        import shapely

        lengths = np.maximum(self.lengths, 2)
        offsets = concatenate_offsets(lengths)
        local = np.minimum(
            np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths), np.repeat(self.lengths - 1, lengths)
        )
        points = np.repeat(self.starts, lengths) + local
        lines = shapely.linestrings(self.lonlat[points], indices=np.repeat(np.arange(len(self)), lengths))
        columns = {"traj_id": self.traj_ids, "user_id": self.user_ids[self.user], "n_points": self.lengths}
        return geopandas.GeoDataFrame(columns, geometry=lines, crs="EPSG:4326")

    def to_parquet(self, path: str | Path) -> None:
        """Write one row a point as Parquet; ``meta`` travels in the file's schema. The file is renamed into place."""
        path = Path(path)
        table = pa.Table.from_pandas(self.to_frame(), preserve_index=False)
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), META_KEY: self.meta.to_json().encode()})
        temporary = path.with_name(path.name + ".part")
        pq.write_table(table, temporary, compression="zstd")
        temporary.replace(path)

    @classmethod
    def from_parquet(cls, path: str | Path) -> Trajectories:
        """Read what `to_parquet` wrote. Raises MissingDataError or DataContractError naming the file."""
        path = Path(path)
        if not path.is_file():
            raise MissingDataError(f"{path} does not exist: check the path")
        try:
            table = pq.read_table(path)
            meta = Meta.from_json((table.schema.metadata or {})[META_KEY])
        except (pa.ArrowInvalid, OSError, KeyError) as error:
            raise DataContractError(
                f"{path} is not a Parquet file written by trajkit ({error}): use the `tables` data set for other tables"
            ) from error
        return cls.from_frame(table.to_pandas(), meta=meta)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, meta: Meta) -> Trajectories:
        """Build from one row a point (columns as in `to_frame`); points of a trajectory must be consecutive and in order.

        Raises DataContractError when a column is missing or a trajectory is scattered over the table.
        """
        missing = {"traj_id", "user_id", "lat", "lon"} - set(frame.columns)
        if missing:
            raise DataContractError(
                f"column(s) {sorted(missing)} are missing; the table has {list(frame.columns)}: map your columns to traj_id, user_id, lat, lon, t"
            )
        codes, traj_ids = pd.factorize(frame["traj_id"])
        change = np.flatnonzero(np.diff(codes)) + 1
        if len(change) + 1 != len(traj_ids) and len(frame):
            raise DataContractError(
                "points of one trajectory are not consecutive rows: sort the table by traj_id and time first"
            )
        offsets = (
            np.concatenate([[0], change, [len(frame)]]).astype(np.int64) if len(frame) else np.zeros(1, dtype=np.int64)
        )
        user_codes, user_ids = pd.factorize(frame["user_id"])
        t = None
        if "t" in frame:
            t = frame["t"].astype("datetime64[ms, UTC]").astype("int64").to_numpy()
        return cls(
            lonlat=np.ascontiguousarray(frame[["lon", "lat"]].to_numpy(dtype=np.float64)),
            offsets=offsets,
            t=t,
            user=user_codes[offsets[:-1]].astype(np.int64) if len(frame) else np.zeros(0, dtype=np.int64),
            user_ids=np.asarray(user_ids, dtype=object).astype(str),
            traj_ids=np.asarray(traj_ids, dtype=object).astype(str),
            meta=meta,
        )

    @classmethod
    def from_fixed(cls, lonlat: np.ndarray, *, meta: Meta, prefix: str = "s") -> Trajectories:
        """Build from [n, L, 2] degrees (generated trajectories: no time, every trajectory its own user)."""
        n, length, _ = lonlat.shape
        offsets = np.arange(n + 1, dtype=np.int64) * length
        return cls.generated(lonlat.reshape(-1, 2), offsets, meta=meta, prefix=prefix)

    @classmethod
    def generated(
        cls, lonlat: np.ndarray, offsets: np.ndarray, *, meta: Meta, t: np.ndarray | None = None, prefix: str = "s"
    ) -> Trajectories:
        """Build from points [N, 2] (degrees) of generated trajectories, each its own user."""
        n = len(offsets) - 1
        ids = np.array([f"{prefix}{i}" for i in range(n)], dtype=str)
        return cls(
            lonlat=np.ascontiguousarray(lonlat, dtype=np.float64),
            offsets=offsets,
            t=t,
            user=np.arange(n, dtype=np.int64),
            user_ids=ids,
            traj_ids=ids,
            meta=meta,
        )


def make(
    *paths: list[tuple[float, ...]], meta: Meta, users: list[str] | None = None, ids: list[str] | None = None
) -> Trajectories:
    """Toy builder for tests and lessons: each path is a list of (lon, lat) or (lon, lat, seconds)."""
    timed = bool(paths) and bool(paths[0]) and len(paths[0][0]) == 3
    points = [p for path in paths for p in path]
    names = users or [f"u{i}" for i in range(len(paths))]
    user_ids, user = np.unique(np.array(names, dtype=str), return_inverse=True)
    return Trajectories(
        lonlat=np.array([p[:2] for p in points], dtype=np.float64).reshape(-1, 2),
        offsets=concatenate_offsets(np.array([len(p) for p in paths], dtype=np.int64)),
        t=np.array([int(p[2] * 1000) for p in points], dtype=np.int64) if timed else None,
        user=user.astype(np.int64),
        user_ids=user_ids,
        traj_ids=np.array(ids or [f"t{i}" for i in range(len(paths))], dtype=str),
        meta=meta,
    )
