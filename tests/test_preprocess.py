"""Every step accounts for every row, leaves its input alone, and does what its docstring says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajkit import preprocess as pp
from trajkit.errors import DataContractError, ParameterError
from trajkit.geo import Box
from trajkit.trajectories import Meta, make

META = Meta("toy", "EPSG:32629", Box(-9, 41, -8, 42), visibility="public")

point = st.tuples(st.floats(-9.2, -7.8), st.floats(40.8, 42.2), st.integers(0, 400))
sets = st.lists(st.lists(point, min_size=1, max_size=12), min_size=1, max_size=6)
STEPS = {
    "box points": lambda s: pp.filter_box(s),
    "box trajectories": lambda s: pp.filter_box(s, drop="trajectories"),
    "resample mean": lambda s: pp.resample(s, interval_s=30),
    "resample first": lambda s: pp.resample(s, interval_s=30, position="first"),
    "gaps": lambda s: pp.split_at_gaps(s, gap_s=60),
    "truncate": lambda s: pp.truncate(s, max_points=4),
    "length": lambda s: pp.filter_length(s, min_points=2, max_points=9),
    "same time first": lambda s: pp.duplicate_fixes(s, policy="first"),
    "same time mean": lambda s: pp.duplicate_fixes(s, policy="mean"),
    "twice": lambda s: pp.duplicate_trajectories(s, drop=True),
}


@pytest.mark.parametrize("name", STEPS)
@given(paths=sets)
@settings(max_examples=30, deadline=None)
def test_rows_in_are_rows_out_plus_rows_reported(name, paths):
    before = make(*[sorted(p, key=lambda q: q[2]) for p in paths], meta=META)
    copy = before.fingerprint()
    try:
        after, report = STEPS[name](before)
    except DataContractError as error:
        assert any(w in str(error) for w in ("none of the", "outside the box", "look swapped"))
        return
    assert before.fingerprint() == copy
    gone = np.array([[0, 0], *report.dropped.values()]).sum(axis=0)
    assert report.trajectories_in + report.created == len(after) + gone[0]
    assert report.points_in == after.n_points + gone[1]
    assert after.meta.steps[-1] == report.as_dict()
    assert after.violations(inside_box=False) == [] or "same time" in str(after.violations(inside_box=False)[0])


def test_a_report_that_loses_rows_is_refused():
    trajs = make([(-8.5, 41.5, 0)], [(-8.4, 41.4, 0)], meta=META)
    with pytest.raises(DataContractError, match="lost rows without reporting"):
        pp.finish(trajs, trajs.take([0]), "careless", {}, {})


def test_box_points_and_trajectories():
    trajs = make([(-8.5, 41.5, 0), (-7.0, 41.5, 1)], [(-8.4, 41.4, 0)], [(-7, 40, 0)], meta=META)
    points, report = pp.filter_box(trajs)
    assert points.traj_ids.tolist() == ["t0", "t1"] and points.n_points == 2
    assert report.dropped == {"point outside the box": [1, 2]}
    whole, report = pp.filter_box(trajs, drop="trajectories")
    assert whole.traj_ids.tolist() == ["t1"]
    assert report.dropped == {"trajectory with a point outside the box": [2, 3]}
    with pytest.raises(ParameterError, match="drop='all'"):
        pp.filter_box(trajs, drop="all")
    with pytest.raises(DataContractError, match="every point lies outside the box"):
        pp.filter_box(trajs.take([2]))


def test_the_border_of_the_box_is_inside():
    trajs = make([(-9, 41, 0), (-8, 42, 1)], meta=META)
    assert pp.filter_box(trajs)[0].n_points == 2


def test_resample_by_hand():
    trajs = make([(-8.5, 41.5, 0), (-8.3, 41.7, 3), (-8.1, 41.1, 5), (-8.2, 41.2, 11)], meta=META)
    mean, report = pp.resample(trajs, interval_s=5)
    assert np.allclose(mean.lonlat, [[-8.4, 41.6], [-8.1, 41.1], [-8.2, 41.2]])
    assert mean.t.tolist() == [1500, 5000, 11000]
    assert report.dropped == {"merged into a time bin": [0, 1]}
    first, _ = pp.resample(trajs, interval_s=5, position="first")
    assert first.lonlat.tolist() == [[-8.5, 41.5], [-8.1, 41.1], [-8.2, 41.2]]
    assert first.t.tolist() == mean.t.tolist()
    for bad in ({"interval_s": 0}, {"interval_s": 5, "position": "last"}):
        with pytest.raises(ParameterError):
            pp.resample(trajs, **bad)


def test_bins_do_not_reach_over_trajectories_and_repeat_nothing():
    trajs = make([(-8.5, 41.5, 1)], [(-8.3, 41.7, 2)], meta=META)
    once, _ = pp.resample(trajs, interval_s=5)
    assert once.n_points == 2
    assert pp.resample(once, interval_s=5)[0].fingerprint() == once.fingerprint()


def test_gaps_by_hand():
    trajs = make([(-8.5, 41.5, 0), (-8.4, 41.5, 60), (-8.3, 41.5, 121)], [(-8.2, 41.2, 0)], meta=META, users=["a", "b"])
    parts, report = pp.split_at_gaps(trajs, gap_s=60)
    assert parts.traj_ids.tolist() == ["t0_0", "t0_1", "t1_0"]  # 60 s is no gap, 61 s is
    assert parts.user_ids[parts.user].tolist() == ["a", "a", "b"]
    assert (report.created, report.dropped) == (1, {})


def test_truncate_and_length_by_hand():
    trajs = make(*[[(-8.5, 41.5, i) for i in range(n)] for n in (1, 3, 5)], meta=META)
    cut, report = pp.truncate(trajs, max_points=3)
    assert cut.lengths.tolist() == [1, 3, 3]
    assert report.dropped == {"point past the limit": [0, 2]}
    kept, report = pp.filter_length(trajs, min_points=2, max_points=4)
    assert kept.traj_ids.tolist() == ["t1"]
    assert report.dropped == {"shorter than 2 points": [1, 1], "longer than 4 points": [1, 5]}
    assert report.named == {"shorter than 2 points": ["t0"]}


def test_private_reports_name_nobody():
    trajs = make([(-8.5, 41.5, 0)], [(-8.5, 41.5, 0), (-8.4, 41.5, 1)], meta=META).with_meta(visibility="private")
    assert pp.filter_length(trajs, min_points=2)[1].named == {}


def test_the_same_trajectory_under_two_users():
    way = [(-8.5, 41.5, 0), (-8.4, 41.4, 5)]
    later = [(-8.5, 41.5, 0), (-8.4, 41.4, 6)]
    trajs = make(way, later, way, way, way[:1], meta=META, users=["a", "a", "b", "a", "a"])
    same, report = pp.duplicate_trajectories(trajs)
    assert same.traj_ids.tolist() == trajs.traj_ids.tolist()
    assert report.found == {"copies of an earlier trajectory": 2, "of them under another user": 1}
    kept, report = pp.duplicate_trajectories(trajs, drop=True)
    assert kept.traj_ids.tolist() == ["t0", "t1", "t4"]
    assert report.dropped == {"copy of an earlier trajectory": [2, 4]}


def test_sets_without_time_have_duplicates_too():
    trajs = make([(-8.5, 41.5), (-8.4, 41.4)], [(-8.5, 41.5), (-8.4, 41.4)], [(-8.4, 41.4), (-8.5, 41.5)], meta=META)
    assert pp.duplicate_trajectories(trajs)[1].found["copies of an earlier trajectory"] == 1


def test_steps_that_need_time_say_so():
    trajs = make([(-8.5, 41.5), (-8.4, 41.4)], meta=META)
    for step in (
        lambda: pp.resample(trajs, interval_s=5),
        lambda: pp.split_at_gaps(trajs, gap_s=5),
        lambda: pp.duplicate_fixes(trajs),
    ):
        with pytest.raises(DataContractError, match="has no times"):
            step()


def test_an_empty_set_passes_through_every_step():
    empty = make([(-8.5, 41.5, 0)], meta=META).take(np.zeros(1, dtype=bool))
    for name, step in STEPS.items():
        after, report = step(empty)
        assert (len(after), report.points_out, report.created) == (0, 0, 0), name


def test_fixed_length_is_linear_over_the_index():
    trajs = make([(-8.5, 41.0, 0), (-8.3, 41.2, 1), (-8.3, 41.6, 50)], [(-8.1, 41.1, 0)], meta=META)
    out = pp.to_fixed_length(trajs, length=5)
    assert out.shape == (2, 5, 2)
    assert np.allclose(out[0], [[-8.5, 41.0], [-8.4, 41.1], [-8.3, 41.2], [-8.3, 41.4], [-8.3, 41.6]])
    assert np.array_equal(out[1], np.full((5, 2), [-8.1, 41.1]))
    assert np.array_equal(pp.to_fixed_length(trajs.take([0]), length=3)[0], trajs[0])
    with pytest.raises(ParameterError, match="at least 2"):
        pp.to_fixed_length(trajs, length=1)


@given(n=st.integers(2, 30), length=st.integers(2, 50))
@settings(max_examples=30, deadline=None)
def test_fixed_length_agrees_with_numpy(n, length):
    random = np.random.default_rng(n * 100 + length)
    path = np.column_stack([random.uniform(-9, -8, n), random.uniform(41, 42, n)])
    out = pp.to_fixed_length(make([tuple(p) for p in path], meta=META), length=length)[0]
    where = np.linspace(0, n - 1, length)
    expected = np.column_stack([np.interp(where, np.arange(n), path[:, k]) for k in range(2)])
    assert np.allclose(out, expected, atol=1e-12)
