"""The container: slicing, the contract rule by rule, in and out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajkit.errors import DataContractError, MissingDataError, ParameterError
from trajkit.geo import Box
from trajkit.trajectories import Meta, Trajectories, make

META = Meta("toy", "EPSG:32629", Box(-9, 41, -8, 42), steps=({"step": "read"},))
TRAJS = make(
    [(-8.5, 41.5, 0), (-8.4, 41.4, 5)], [(-8.3, 41.3, 1)], [(-8.2, 41.2, 0), (-8.1, 41.1, 9)],
    meta=META, users=["b", "a", "b"],
)  # fmt: skip


def test_shapes_and_slices():
    assert (len(TRAJS), TRAJS.n_points) == (3, 5)
    assert TRAJS.lengths.tolist() == [2, 1, 2]
    assert TRAJS.traj_of_point.tolist() == [0, 0, 1, 2, 2]
    assert (TRAJS.starts.tolist(), TRAJS.ends.tolist()) == ([0, 2, 3], [1, 2, 4])
    assert TRAJS[1].tolist() == [[-8.3, 41.3]] and TRAJS[-1].tolist() == TRAJS[2].tolist()
    assert np.shares_memory(TRAJS[0], TRAJS.lonlat)
    for i in (3, -4):
        with pytest.raises(IndexError):
            TRAJS[i]


@given(st.lists(st.integers(0, 2), max_size=6))
@settings(max_examples=40, deadline=None)
def test_take_is_the_slice_of_every_array(index):
    taken = TRAJS.take(np.array(index, dtype=np.int64))
    assert taken.traj_ids.tolist() == [f"t{i}" for i in index]
    for k, i in enumerate(index):
        assert taken[k].tolist() == TRAJS[i].tolist()
        span = slice(TRAJS.offsets[i], TRAJS.offsets[i + 1])
        assert taken.t[taken.offsets[k] : taken.offsets[k + 1]].tolist() == TRAJS.t[span].tolist()


def test_take_by_mask_equals_take_by_index():
    assert TRAJS.take(np.array([True, False, True])).fingerprint() == TRAJS.take(np.array([0, 2])).fingerprint()


def test_fingerprint_sees_every_array():
    changed = [
        replace(TRAJS, lonlat=TRAJS.lonlat + 1e-12),
        replace(TRAJS, t=TRAJS.t + 1),
        replace(TRAJS, t=None),
        replace(TRAJS, user=TRAJS.user[::-1].copy()[[0, 0, 1]]),
        replace(TRAJS, traj_ids=np.array(["x", "t1", "t2"])),
        replace(TRAJS, user_ids=np.array(["a", "c"])),
        TRAJS.take([1, 0, 2]),
    ]
    prints = {t.fingerprint() for t in [TRAJS, *changed]}
    assert len(prints) == len(changed) + 1
    assert TRAJS.with_meta(tz="Europe/Lisbon").fingerprint() == TRAJS.fingerprint()


def test_string_order_of_ids():
    trajs = make(*[[(-8.5, 41.5)]] * 3, meta=META, ids=["10", "9", "100"])
    assert trajs.sorted_by_id().traj_ids.tolist() == ["10", "100", "9"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"offsets": np.array([0, 2, 3, 4])}, "shapes do not fit"),
        ({"offsets": np.array([0, 3, 2, 5])}, "shapes do not fit"),
        ({"user": np.array([0, 1])}, "shapes do not fit"),
        ({"offsets": np.array([0, 2, 2, 5])}, r"fewer than 1 point\(s\): 1 \(t1\)"),
        ({"traj_ids": np.array(["x", "x", "y"])}, "id used twice: 1"),
        ({"user": np.array([0, 1, 7])}, r"user index out of range: 1 \(t2\)"),
        ({"lonlat": np.where(TRAJS.lonlat == -8.3, np.nan, TRAJS.lonlat)}, r"not a finite number: 1 \(t1\)"),
        ({"lonlat": np.where(TRAJS.lonlat == -8.3, 400, TRAJS.lonlat)}, "not degrees"),
        ({"lonlat": np.where(TRAJS.lonlat == -8.3, -7, TRAJS.lonlat)}, "outside the public box"),
        ({"lonlat": TRAJS.lonlat[:, ::-1]}, "look swapped"),
        ({"t": TRAJS.t[::-1].copy()}, "time runs backwards: 2"),
        ({"t": np.zeros(5, dtype=np.int64)}, "two fixes at the same time: 2"),
    ],
)
def test_every_rule_of_the_contract(change, words):
    with pytest.raises(DataContractError, match=words):
        replace(TRAJS, **change).check()


def test_all_violations_are_reported_at_once():
    bad = replace(TRAJS, t=TRAJS.t[::-1].copy(), traj_ids=np.array(["x", "x", "y"]))
    assert [v.rule for v in bad.violations()] == ["trajectory id used twice", "time runs backwards"]
    assert TRAJS.violations() == [] and TRAJS.check() is TRAJS


def test_parquet_there_and_back(tmp_path):
    for trajs in (TRAJS, replace(TRAJS, t=None), TRAJS.take([1])):
        trajs.to_parquet(tmp_path / "x.parquet")
        back = Trajectories.from_parquet(tmp_path / "x.parquet")
        assert back.lonlat.tolist() == trajs.lonlat.tolist()
        assert (back.t is None) == (trajs.t is None) and (back.t is None or back.t.tolist() == trajs.t.tolist())
        assert back.traj_ids.tolist() == trajs.traj_ids.tolist()
        assert back.user_ids[back.user].tolist() == trajs.user_ids[trajs.user].tolist()
        assert back.meta == trajs.meta
    assert [p.name for p in tmp_path.iterdir()] == ["x.parquet"]


def test_an_empty_set_there_and_back(tmp_path):
    TRAJS.take([]).to_parquet(tmp_path / "x.parquet")
    assert len(Trajectories.from_parquet(tmp_path / "x.parquet")) == 0


def test_files_that_are_not_ours(tmp_path):
    with pytest.raises(MissingDataError, match="does not exist"):
        Trajectories.from_parquet(tmp_path / "x.parquet")
    (tmp_path / "x.parquet").write_bytes(b"hello")
    with pytest.raises(DataContractError, match="not a Parquet file written by trajkit"):
        Trajectories.from_parquet(tmp_path / "x.parquet")
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "y.parquet")
    with pytest.raises(DataContractError, match="not a Parquet file written by trajkit"):
        Trajectories.from_parquet(tmp_path / "y.parquet")


def test_frames_with_missing_columns_or_scattered_trajectories():
    frame = TRAJS.to_frame().astype({"traj_id": str, "user_id": str})
    with pytest.raises(DataContractError, match=r"\['lat'\] are missing"):
        Trajectories.from_frame(frame.drop(columns="lat"), meta=META)
    with pytest.raises(DataContractError, match="not consecutive"):
        Trajectories.from_frame(frame.iloc[[0, 2, 1, 3, 4]], meta=META)


def test_lines_of_a_geodataframe():
    lines = TRAJS.to_geodataframe()
    assert [list(g.coords) for g in lines.geometry] == [
        [(-8.5, 41.5), (-8.4, 41.4)],
        [(-8.3, 41.3), (-8.3, 41.3)],
        [(-8.2, 41.2), (-8.1, 41.1)],
    ]
    assert lines["user_id"].tolist() == ["b", "a", "b"] and lines["n_points"].tolist() == [2, 1, 2]


def test_generated_arrays():
    trajs = Trajectories.from_fixed(np.full((2, 3, 2), [-8.5, 41.5]), meta=META)
    assert (trajs.check().lengths.tolist(), trajs.traj_ids.tolist(), trajs.t) == ([3, 3], ["s0", "s1"], None)


def test_visibility_is_one_of_two_words():
    with pytest.raises(ParameterError, match="'secret' is unknown"):
        Meta("x", "EPSG:32629", META.box, visibility="secret")
    assert Meta("x", "EPSG:32629", META.box).visibility == "private"
