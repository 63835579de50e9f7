"""No function changes what it was given, and a single user or a missing user column is an ordinary case."""

from __future__ import annotations

import pandas as pd
import pytest

from trajkit import preprocess as pp
from trajkit.datasets import load
from trajkit.datasets.conventions import CONVENTIONS, from_convention, to_convention, to_geoparquet
from trajkit.geo import Box
from trajkit.split import fold
from trajkit.trajectories import Meta, Trajectories, make

META = Meta("toy", "EPSG:32629", Box(-9, 41, -8, 42))
PATHS = [[(-8.5, 41.5, i), (-8.4, 41.4, i + 5), (-8.4, 41.4, i + 90)] for i in range(6)]

CALLS = {
    "filter_box": pp.filter_box,
    "resample": lambda s: pp.resample(s, interval_s=10),
    "split_at_gaps": lambda s: pp.split_at_gaps(s, gap_s=60),
    "truncate": lambda s: pp.truncate(s, max_points=2),
    "filter_length": lambda s: pp.filter_length(s, min_points=2),
    "duplicate_fixes": lambda s: pp.duplicate_fixes(s, policy="mean"),
    "duplicate_trajectories": lambda s: pp.duplicate_trajectories(s, drop=True),
    "to_fixed_length": lambda s: pp.to_fixed_length(s, length=7),
    "fold": lambda s: fold(s, 0),
    "xy": lambda s: s.xy,
    "to_frame": lambda s: s.to_frame(),
    "to_geodataframe": lambda s: s.to_geodataframe(),
    "sorted_by_id": lambda s: s.sorted_by_id(),
    "check": lambda s: s.check(),
}


@pytest.mark.parametrize("users", [None, ["one"] * 6], ids=["own users", "single user"])
@pytest.mark.parametrize("name", CALLS)
def test_twice_gives_the_same_and_the_input_stays(name, users):
    trajs = make(*PATHS, meta=META, users=users)
    before, meta = trajs.fingerprint(), trajs.meta
    for array in (trajs.lonlat, trajs.offsets, trajs.t, trajs.user):
        array.flags.writeable = False
    first, second = CALLS[name](trajs), CALLS[name](trajs)
    assert (trajs.fingerprint(), trajs.meta) == (before, meta)
    assert repr(first) == repr(second)


@pytest.mark.parametrize("name", CONVENTIONS)
def test_the_callers_frame_stays_as_it_is(name, tmp_path):
    frame = to_convention(make(*PATHS, meta=META), name)
    before = pd.DataFrame(frame).copy(deep=True)
    from_convention(frame, name, meta=META)
    pd.testing.assert_frame_equal(pd.DataFrame(frame), before)
    to_geoparquet(make(*PATHS, meta=META), tmp_path / "x.parquet")


def test_from_frame_leaves_the_frame_alone():
    frame = make(*PATHS, meta=META).to_frame()
    before = frame.copy(deep=True)
    Trajectories.from_frame(frame, meta=META)
    pd.testing.assert_frame_equal(frame, before)


def test_a_table_without_a_user_column(tmp_path, monkeypatch):
    monkeypatch.setenv("TRAJKIT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "walk.csv").write_text("lat,lon\n41.5,-8.5\n41.4,-8.4\n")
    trajs = load("tables", data=tmp_path / "walk.csv", settings={"box": [-9, 41, -8, 42]})
    assert (trajs.traj_ids.tolist(), trajs.user_ids.tolist(), trajs.n_points) == (["walk"], ["walk"], 2)
