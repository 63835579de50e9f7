"""Column conventions of other packages, and GeoParquet, in and out.

=================  =======================================================  =========================
name               columns                                                  time
=================  =======================================================  =========================
scikit-mobility    uid, tid, lat, lng, datetime                             UTC without zone
movingpandas       traj_id, user_id, x, y; index t                          UTC without zone
trackintel         user_id, traj_id, tracked_at, geom (points, EPSG:4326)   UTC with zone
=================  =======================================================  =========================
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from trajkit.errors import DataContractError, MissingDataError, ParameterError
from trajkit.trajectories import META_KEY, Meta, Trajectories

# name -> our column -> theirs
CONVENTIONS: dict[str, dict[str, str]] = {
    "scikit-mobility": {"user_id": "uid", "traj_id": "tid", "lat": "lat", "lon": "lng", "t": "datetime"},
    "movingpandas": {"user_id": "user_id", "traj_id": "traj_id", "lat": "y", "lon": "x", "t": "t"},
    "trackintel": {"user_id": "user_id", "traj_id": "traj_id", "t": "tracked_at"},
}


def to_convention(trajs: Trajectories, name: str) -> Any:
    """Return one row a point with the columns of `CONVENTIONS` (a GeoDataFrame for trackintel)."""
    columns = _columns(name)
    frame = trajs.to_frame().astype({"traj_id": str, "user_id": str})
    if name == "trackintel":
        return _with_points(frame).rename(columns=columns).rename_geometry("geom")
    if trajs.t is not None:
        frame["t"] = frame["t"].dt.tz_localize(None)
    frame = frame.rename(columns=columns)
    return frame.set_index("t") if name == "movingpandas" and trajs.t is not None else frame


def from_convention(frame: Any, name: str, *, meta: Meta) -> Trajectories:
    """Return the trajectories of a frame in another package's columns, sorted by trajectory and time; the frame is not changed.

    Without a trajectory column every user has one trajectory; without a user column every trajectory has its own user.
    Raises DataContractError naming the columns that are missing.
    """
    columns = _columns(name)
    table = frame.reset_index() if name == "movingpandas" and frame.index.name == columns["t"] else frame
    ours = {theirs: our for our, theirs in columns.items() if theirs in table.columns}
    out = pd.DataFrame({our: table[theirs].to_numpy() for theirs, our in ours.items()})
    if hasattr(table, "geom_type"):
        out["lon"], out["lat"] = table.geometry.x.to_numpy(), table.geometry.y.to_numpy()
    if not {"lat", "lon"} <= set(out) or not {"user_id", "traj_id"} & set(out):
        raise DataContractError(
            f"a {name} table needs {', '.join(columns.values())} (one of the two ids at least); this one has {list(frame.columns)}"
        )
    out["traj_id"] = out.get("traj_id", out.get("user_id"))
    out["user_id"] = out.get("user_id", out.get("traj_id"))
    if "t" in out:
        when = pd.to_datetime(out["t"])
        out["t"] = (when if when.dt.tz is not None else when.dt.tz_localize("UTC")).dt.tz_convert("UTC")
    keys = ["traj_id", "t"] if "t" in out else ["traj_id"]
    return Trajectories.from_frame(out.sort_values(keys, kind="stable", ignore_index=True), meta=meta).check()


def to_geoparquet(trajs: Trajectories, path: str | Path) -> None:
    """Write GeoParquet with one point a row (traj_id, user_id, t, geometry in EPSG:4326), renamed into place."""
    path = Path(path)
    part = path.with_name(path.name + ".part")
    points = _with_points(trajs.to_frame().astype({"traj_id": str, "user_id": str}))
    points.attrs[META_KEY.decode()] = trajs.meta.to_json()
    points.to_parquet(part)
    part.replace(path)


def from_geoparquet(path: str | Path, *, meta: Meta | None = None) -> Trajectories:
    """Read what `to_geoparquet` wrote (or any point GeoParquet with traj_id and user_id, given ``meta``)."""
    import geopandas

    path = Path(path)
    if not path.is_file():
        raise MissingDataError(f"{path} does not exist: check the path")
    points = geopandas.read_parquet(path).to_crs("EPSG:4326")
    if meta is None and META_KEY.decode() not in points.attrs:
        raise DataContractError(f"{path} was not written by trajkit: say what is known about it with meta=Meta(...)")
    frame = pd.DataFrame(points.drop(columns=points.geometry.name))
    frame = frame.assign(lon=points.geometry.x.to_numpy(), lat=points.geometry.y.to_numpy())
    return Trajectories.from_frame(frame, meta=meta or Meta.from_json(points.attrs[META_KEY.decode()])).check()


def _columns(name: str) -> dict[str, str]:
    if name not in CONVENTIONS:
        raise ParameterError(f"convention {name!r} is unknown: use one of {', '.join(CONVENTIONS)}")
    return CONVENTIONS[name]


def _with_points(frame: pd.DataFrame) -> Any:
    import geopandas

    geometry = geopandas.points_from_xy(frame["lon"], frame["lat"])
    return geopandas.GeoDataFrame(frame.drop(columns=["lon", "lat"]), geometry=geometry, crs="EPSG:4326")
