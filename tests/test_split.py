"""Folds: scikit-learn's, over ids in string order; and by user."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import KFold

from trajkit.errors import DataContractError, ParameterError
from trajkit.geo import Box
from trajkit.split import fold
from trajkit.trajectories import Meta, make

META = Meta("toy", "EPSG:32629", Box(-9, 41, -8, 42))


def _set(n, users=None):
    return make(*[[(-8.5, 41.5), (-8.4, 41.4)]] * n, meta=META, ids=[str(i) for i in range(n)], users=users)


def test_folds_are_the_published_rule_over_string_order():
    trajs = _set(23).take(np.random.default_rng(0).permutation(23))
    names = np.array(sorted(str(i) for i in range(23)))
    for i, (train, test) in enumerate(KFold(5, shuffle=True, random_state=42).split(names)):
        f = fold(trajs, i)
        assert f.train.traj_ids.tolist() == names[train].tolist()
        assert f.test.traj_ids.tolist() == names[test].tolist()
        assert (f.index, f.unit) == (i, "trajectory")


def test_sizes_of_the_published_folds():
    sizes = [len(test) for _, test in KFold(5, shuffle=True, random_state=42).split(np.zeros(69_504))]
    assert sizes == [13_901, 13_901, 13_901, 13_901, 13_900]


def test_every_trajectory_is_tested_once():
    trajs = _set(31)
    tested = np.concatenate([fold(trajs, i).test.traj_ids for i in range(5)])
    assert sorted(tested) == sorted(trajs.traj_ids)


def test_by_user_nobody_is_on_both_sides():
    trajs = _set(40, users=[f"u{i % 8}" for i in range(40)])
    tested = []
    for i in range(5):
        f = fold(trajs, i, unit="user")
        here, there = (set(s.user_ids[s.user]) for s in (f.train, f.test))
        assert not here & there and here | there == set(trajs.user_ids)
        tested += list(there)
    assert sorted(tested) == sorted(trajs.user_ids)


def test_what_cannot_be_split():
    with pytest.raises(ParameterError, match="fold 5 does not exist"):
        fold(_set(10), 5)
    with pytest.raises(ParameterError, match="unit 'person' is unknown"):
        fold(_set(10), 0, unit="person")
    with pytest.raises(DataContractError, match=r"has 4 trajectory\(s\), too few"):
        fold(_set(4), 0)
    with pytest.raises(DataContractError, match=r"has 1 user\(s\), too few"):
        fold(_set(10, users=["one"] * 10), 0, unit="user")
