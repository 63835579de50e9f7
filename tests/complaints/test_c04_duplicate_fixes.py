"""Two fixes at one time break the contract; the policy is a parameter and conflicting places are counted apart."""

from __future__ import annotations

import pytest

from trajkit.errors import DataContractError
from trajkit.geo import Box
from trajkit.preprocess import duplicate_fixes
from trajkit.trajectories import Meta, make

META = Meta("toy", "EPSG:32629", Box(-9, 41, -8, 42))
SAME = make([(-8.5, 41.5, 0), (-8.5, 41.5, 0), (-8.4, 41.4, 5)], meta=META)
CONFLICT = make([(-8.5, 41.5, 0), (-8.3, 41.3, 0), (-8.4, 41.4, 5)], meta=META)


def test_it_is_a_violation():
    with pytest.raises(DataContractError, match=r"two fixes at the same time: 1 \(t0\); choose a duplicate policy"):
        CONFLICT.check()


def test_first_and_mean():
    first, report = duplicate_fixes(CONFLICT, policy="first")
    assert first.lonlat.tolist() == [[-8.5, 41.5], [-8.4, 41.4]]
    assert report.dropped == {"same time, other place": [0, 1]}
    mean, report = duplicate_fixes(CONFLICT, policy="mean")
    assert mean.lonlat[0] == pytest.approx([-8.4, 41.4])
    assert first.check().n_points == mean.check().n_points == 2
    _, report = duplicate_fixes(SAME, policy="first")
    assert report.dropped == {"same time, same place": [0, 1]}


def test_error_says_how_many_conflict():
    with pytest.raises(DataContractError, match=r"1 fixes repeat .* 1 of them at another place"):
        duplicate_fixes(CONFLICT, policy="error")
    with pytest.raises(DataContractError, match="0 of them at another place"):
        duplicate_fixes(SAME, policy="error")
