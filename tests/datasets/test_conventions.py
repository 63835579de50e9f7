"""Other packages' columns and GeoParquet, in and out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from trajkit.datasets.conventions import CONVENTIONS, from_convention, from_geoparquet, to_convention, to_geoparquet
from trajkit.errors import DataContractError, MissingDataError, ParameterError
from trajkit.geo import Box
from trajkit.trajectories import Meta, make

META = Meta("toy", "EPSG:32629", Box(-9, 41, -8, 42))
TIMED = make(
    [(-8.5, 41.5, 10), (-8.4, 41.4, 15)], [(-8.3, 41.3, 1)], [(-8.2, 41.2, 0), (-8.1, 41.1, 9)],
    meta=META, users=["001", "002", "001"],
)  # fmt: skip


@pytest.mark.parametrize("name", CONVENTIONS)
def test_there_and_back(name):
    frame = to_convention(TIMED, name)
    before = frame.copy()
    back = from_convention(frame, name, meta=META)
    assert back.fingerprint() == TIMED.fingerprint()
    pd.testing.assert_frame_equal(pd.DataFrame(frame), pd.DataFrame(before))


def test_the_columns_are_those_of_each_package():
    assert list(to_convention(TIMED, "scikit-mobility")) == ["tid", "uid", "datetime", "lat", "lng"]
    moving = to_convention(TIMED, "movingpandas")
    assert isinstance(moving.index, pd.DatetimeIndex) and moving.index.tz is None
    positions = to_convention(TIMED, "trackintel")
    assert positions.geometry.name == "geom" and positions.crs.to_epsg() == 4326
    assert str(positions["tracked_at"].dt.tz) == "UTC"


def test_rows_in_any_order_and_without_user_or_trajectory():
    frame = to_convention(TIMED, "scikit-mobility").sample(frac=1, random_state=0)
    assert from_convention(frame, "scikit-mobility", meta=META).fingerprint() == TIMED.fingerprint()
    whole = from_convention(frame.drop(columns="tid"), "scikit-mobility", meta=META)
    assert whole.traj_ids.tolist() == ["001", "002"]
    single = from_convention(frame.drop(columns="uid"), "scikit-mobility", meta=META)
    assert single.user_ids.tolist() == single.traj_ids.tolist() == ["t0", "t1", "t2"]


def test_sets_without_time():
    plain = make([(-8.5, 41.5), (-8.4, 41.4)], meta=META)
    for name in CONVENTIONS:
        assert from_convention(to_convention(plain, name), name, meta=META).fingerprint() == plain.fingerprint()


def test_missing_columns_and_unknown_names():
    with pytest.raises(DataContractError, match=r"needs uid, tid, lat, lng.*this one has \['lat'\]"):
        from_convention(pd.DataFrame({"lat": [1.0]}), "scikit-mobility", meta=META)
    with pytest.raises(ParameterError, match="'skmob' is unknown"):
        to_convention(TIMED, "skmob")


def test_geoparquet_there_and_back(tmp_path):
    to_geoparquet(TIMED, tmp_path / "x.parquet")
    back = from_geoparquet(tmp_path / "x.parquet")
    assert np.array_equal(back.lonlat, TIMED.lonlat)
    assert back.t.tolist() == TIMED.t.tolist()
    assert back.meta == TIMED.meta
    assert back.user_ids[back.user].tolist() == ["001", "002", "001"]
    with pytest.raises(MissingDataError, match="does not exist"):
        from_geoparquet(tmp_path / "y.parquet")
