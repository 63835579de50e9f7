"""Floor and ceiling methods: what they release and what they may claim."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest
from toys import META, walks

from trajkit.baselines import Cloud, LengthConfig, RealData, StraightConfig, StraightLines, Uniform
from trajkit.errors import DataContractError, ParameterError
from trajkit.geo import haversine_m
from trajkit.methods import make_method
from trajkit.preprocess import to_fixed_length


def test_real_data_are_training_trajectories_each_at_most_once() -> None:
    train = walks(30, 9, 0)
    release = RealData(LengthConfig(length=9)).fit(train, seed=0).release(20, seed=3)
    out = {x.tobytes() for x in release.trajectories.lonlat.reshape(20, 9, 2)}
    known = {x.tobytes() for x in to_fixed_length(train, length=9)}
    assert len(out) == 20 and out <= known
    assert not release.guarantee.holds and release.guarantee.reason == "publishes real trajectories"


def test_real_data_is_resampled_to_the_asked_length() -> None:
    release = RealData(LengthConfig(length=17)).fit(walks(5, 9, 0), seed=0).release(5, seed=0)
    assert (release.trajectories.lengths == 17).all()


def test_more_real_trajectories_than_there_are_is_refused() -> None:
    with pytest.raises(DataContractError, match="6 real trajectories were asked for, but toy has 5"):
        RealData(LengthConfig()).fit(walks(5, 9, 0), seed=0).release(6, seed=0)


def test_uniform_points_are_uniform_and_independent_in_the_box() -> None:
    release = Uniform(LengthConfig(length=50)).fit(walks(2, 3, 0), seed=0).release(100, seed=1)
    unit = META.box.to_unit(release.trajectories.lonlat)
    for axis in (0, 1):
        assert kstest(unit[:, axis], "uniform", args=(-1, 2)).pvalue > 1e-3
    assert abs(np.corrcoef(unit[:-1, 0], unit[1:, 0])[0, 1]) < 0.05


def test_the_cloud_is_normal_about_the_middle_and_inside_the_box() -> None:
    release = Cloud(LengthConfig(length=50)).fit(walks(2, 3, 0), seed=0).release(200, seed=1)
    unit = META.box.to_unit(release.trajectories.lonlat)
    assert bool(META.box.contains(release.trajectories.lonlat).all())
    for axis in (0, 1):
        assert kstest(3 * unit[np.abs(unit[:, axis]) < 1, axis], "norm").pvalue > 1e-4
    assert abs(np.corrcoef(unit[:-1, 0], unit[1:, 0])[0, 1]) < 0.05


def test_straight_lines_are_straight_evenly_spaced_and_capped() -> None:
    cap = 3_000.0
    release = StraightLines(StraightConfig(length=11, cap_m=cap)).fit(walks(2, 3, 0), seed=0).release(500, seed=1)
    lines = release.trajectories.lonlat.reshape(500, 11, 2)
    steps = np.diff(lines, axis=1)
    np.testing.assert_allclose(steps, np.broadcast_to(steps[:, :1], steps.shape), atol=1e-12)
    length = haversine_m(lines[:, 0], lines[:, -1])
    assert length.max() <= cap * 1.001
    assert (length > cap * 0.999).mean() > 0.5 and (length < cap * 0.9).any()


def test_a_cap_beyond_the_box_leaves_the_ends_uniform() -> None:
    release = StraightLines(StraightConfig(length=2, cap_m=1e6)).fit(walks(2, 3, 0), seed=0).release(2000, seed=1)
    ends = META.box.to_unit(release.trajectories.lonlat[1::2])
    assert kstest(ends[:, 0], "uniform", args=(-1, 2)).pvalue > 1e-3


@pytest.mark.parametrize("name", ["uniform", "straight", "cloud"])
def test_what_never_sees_data_claims_epsilon_zero_and_means_it(name: str) -> None:
    one, other = (make_method(name, length=5).fit(walks(4, 3, s), seed=0).release(3, seed=2) for s in (0, 1))
    assert one.trajectories.fingerprint() == other.trajectories.fingerprint()
    g = one.guarantee
    assert g.holds and (g.kind, g.epsilon, g.delta, g.unit, g.adjacency) == ("dp", 0.0, 0.0, "trajectory", "add-remove")
    assert g.mechanism == "does not look at the data" and any("box" in a for a in g.assumptions)


@pytest.mark.parametrize("name", ["uniform", "straight", "cloud", "real"])
def test_counts_of_private_preprocessing_do_not_leave_with_the_release(name: str) -> None:
    train = walks(4, 3, 0)
    train = replace(train, meta=replace(META, steps=({"step": "filter_box", "trajectories_in": 1234},)))
    release = make_method(name, length=5).fit(train, seed=0).release(2, seed=0)
    assert release.trajectories.meta.steps == ()


@pytest.mark.parametrize("bad", [{"length": 1}, {"length": "64"}, {"length": 8, "cap_m": 1.0}, {"len": 8}])
def test_bad_parameters_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match="method uniform"):
        make_method("uniform", **bad)


@pytest.mark.parametrize("n", [0, -1, 2.5, True, None])
def test_a_bad_number_of_trajectories_is_refused(n: Any) -> None:
    with pytest.raises(ParameterError, match="how many trajectories to release"):
        make_method("uniform").fit(walks(2, 3, 0), seed=0).release(n, seed=0)


def test_release_before_fit_says_so() -> None:
    with pytest.raises(ParameterError, match="StraightLines has not been fitted"):
        make_method("straight").release(1, seed=0)
