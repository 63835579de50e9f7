"""Trajectories of none, one and two fixes neither crash nor vanish without a word."""

from __future__ import annotations

import pytest

from trajkit.errors import DataContractError
from trajkit.geo import Box
from trajkit.preprocess import filter_length, split_at_gaps, to_fixed_length, truncate
from trajkit.trajectories import Meta, make

META = Meta("toy", "EPSG:32629", Box(-9, 41, -8, 42), visibility="public")
TRAJS = make([], [(-8.5, 41.5)], [(-8.4, 41.4), (-8.3, 41.3)], meta=META)


def test_the_limit_is_a_parameter_and_the_short_are_named():
    kept, report = filter_length(TRAJS, min_points=2)
    assert kept.traj_ids.tolist() == ["t2"]
    assert report.dropped == {"shorter than 2 points": [2, 1]}
    assert report.named == {"shorter than 2 points": ["t0", "t1"]}


def test_an_empty_result_is_an_error_that_says_why():
    with pytest.raises(DataContractError, match=r"none of the 3 trajectories has between 10 .*they have 0 to 2"):
        filter_length(TRAJS, min_points=10)


def test_no_fix_breaks_the_contract_and_is_named():
    with pytest.raises(DataContractError, match=r"fewer than 1 point\(s\): 1 \(t0\)"):
        TRAJS.check()
    with pytest.raises(DataContractError, match="t0"):
        to_fixed_length(TRAJS, length=4)


def test_one_fix_is_a_trajectory():
    one = TRAJS.take([1])
    assert to_fixed_length(one, length=3)[0].tolist() == [[-8.5, 41.5]] * 3
    assert one.to_geodataframe().geometry.iloc[0].length == 0
    assert truncate(one, max_points=1)[0].n_points == 1
    timed = make([(-8.5, 41.5, 0)], [(-8.4, 41.4, 0), (-8.3, 41.3, 500)], meta=META)
    assert split_at_gaps(timed, gap_s=60)[0].traj_ids.tolist() == ["t0_0", "t1_0", "t1_1"]
