"""Membership inference: reference values, an overfit release that is found, a random one that is not, labels that must not be swapped."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from member_toys import QUICK, jittered, unrelated, walks_of_users
from toys import walks

from trajkit import seeds
from trajkit.attacks.intervals import auc
from trajkit.attacks.lira import gaussians, halves, log_offline, log_ratio
from trajkit.attacks.member_scores import density_ratio, nearest, of_losses, of_release
from trajkit.attacks.member_split import check_apart, people, set_aside
from trajkit.attacks.membership import Membership, infer_members, judged
from trajkit.attacks.roc import roc_of
from trajkit.errors import DataContractError, ParameterError
from trajkit.geo import project
from trajkit.methods import make_method
from trajkit.trajectories import Trajectories
from trajkit.viz.roc import roc_figure


def reference(shared: Path, kind: str) -> list[dict[str, Any]]:
    cases = json.loads((shared / "reference" / "lira.json").read_text())["cases"]
    return [c for c in cases if c["inputs"]["kind"] == kind]


# ---- formulas -------------------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_lira_meets_the_reference(shared: Path) -> None:
    found = reference(shared, "lira")
    assert len(found) == 6 and {c["inputs"]["pooled_variance"] for c in found} == {True, False}
    for case in found:
        given, expected = case["inputs"], {k: float(v) for k, v in case["expected"].items()}
        inside, outside = given["shadow_in"], given["shadow_out"]
        shadow = np.array([*inside, *outside])[:, None]
        known = np.arange(len(shadow))[:, None] < len(inside)
        how: Any = "pooled" if given["pooled_variance"] else "per target"
        t, close = np.array([given["t"]]), {"abs": case["tolerance"]["abs"]}
        names = ("mean_in", "std_in", "mean_out", "std_out")
        for name, value in zip(names, gaussians(shadow, known, variance=how), strict=True):
            assert value[0] == pytest.approx(expected[name], **close)
        assert log_ratio(t, shadow, known, variance=how)[0] == pytest.approx(expected["log_likelihood_ratio"], **close)
        offline = np.exp(log_offline(t, shadow, known, variance=how)[0])
        assert offline == pytest.approx(expected["offline_p_out_cdf"], **close)


@pytest.mark.shared
def test_the_curve_meets_the_reference(shared: Path) -> None:
    (case,) = reference(shared, "roc")
    given, expected = case["inputs"], case["expected"]
    rates = tuple(map(float, expected["tpr_at_fpr"]))
    found = roc_of(given["member_scores"], given["nonmember_scores"], fpr=rates)
    assert found.auc == pytest.approx(expected["auc"], abs=case["tolerance"]["abs"])
    assert [a.tpr for a in found.at] == pytest.approx(
        list(expected["tpr_at_fpr"].values()), abs=case["tolerance"]["abs"]
    )


def test_a_fixed_variance_is_one_for_all_targets_and_a_least_spread_keeps_scores_finite() -> None:
    shadow = np.array([[0.0, 5.0], [2.0, 5.0], [10.0, 5.0], [14.0, 5.0]])
    known = np.array([[True, True], [True, True], [False, False], [False, False]])
    mean_in, std_in, mean_out, std_out = gaussians(shadow, known, variance="fixed")
    assert mean_in.tolist() == [1.0, 5.0] and mean_out.tolist() == [12.0, 5.0]
    assert std_in == pytest.approx(np.sqrt([0.5, 0.5])) and std_out == pytest.approx(np.sqrt([2.0, 2.0]))
    score = log_ratio(np.array([1.0, 5.0]), shadow, known, variance="per target", least_std=0.1)
    assert np.isfinite(score).all() and score[0] > 10 and score[1] == 0.0


def test_statistics_that_say_nothing_are_refused() -> None:
    known = np.array([[True], [True], [False], [False]])
    with pytest.raises(ParameterError, match="no finite numbers"):
        gaussians(np.array([[0.0], [np.inf], [1.0], [2.0]]), known)
    with pytest.raises(ParameterError, match="target 0 has 1 models"):
        gaussians(np.zeros((3, 1)), known[1:])
    with pytest.raises(ParameterError, match="variance"):
        gaussians(np.zeros((4, 1)), known, variance="all")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="shadows"):
        halves(5, 10, 0)


def test_every_target_is_in_half_of_the_models_whoever_the_others_are() -> None:
    inside = halves(8, 50, 3)
    assert (inside.sum(axis=0) == 4).all() and 15 < inside[0].sum() < 35
    assert not np.array_equal(inside, halves(8, 50, 4))


def test_rates_and_intervals_of_a_curve_worked_out_by_hand() -> None:
    found = roc_of([5, 4, 3, 1], [4, 2, 1, 0], fpr=(0.0, 0.25, 1.0))
    assert found.auc == 12.0 / 16 and found.fpr[0] == 0 and found.tpr[-1] == 1  # 5: 4, 4: 3.5, 3: 3, 1: 1.5 of 4
    assert [a.found for a in found.at] == [1, 3, 4] and [a.false for a in found.at] == [0, 1, 4]
    assert found.at[0].fpr_upper == pytest.approx(1 - 0.025**0.25)  # none of 4: rates up to 60 % are possible
    assert found.at[0].tpr_interval == pytest.approx((0.0063, 0.806), abs=5e-4)  # Clopper and Pearson of 1 in 4
    assert (np.diff(found.fpr) >= 0).all() and (np.diff(found.tpr) >= 0).all()
    row = found.to_dict()
    assert row["TPR at 25 % FPR, guess"] == 0.25 and row["AUC, guess"] == 0.5 and row["members"] == 4


@pytest.mark.parametrize("bad", [[], [np.nan], [np.inf], [[1.0]]])
def test_scores_that_are_no_numbers_are_refused(bad: Any) -> None:
    with pytest.raises(ParameterError, match="finite scores"):
        roc_of(bad, [1.0])
    with pytest.raises(ParameterError, match="finite scores"):
        roc_of([1.0], bad)


def test_the_interval_of_the_area_holds_a_half_for_scores_that_are_alike() -> None:
    rng = np.random.default_rng(0)
    inside = sum(
        low <= 0.5 <= high for low, high in (roc_of(rng.random(40), rng.random(60)).auc_interval for _ in range(200))
    )
    assert inside >= 190  # 95 % and more


def test_hits_at_a_rate_are_not_overstated() -> None:
    """The threshold is set by the others alone, so the interval of the hits covers the true rate."""
    rng, level, covered = np.random.default_rng(1), 0.95, 0
    for _ in range(300):
        a, b = rng.normal(1, 1, 60), rng.normal(0, 1, 99)
        (at,) = roc_of(a, b, fpr=(0.05,), level=level).at
        bar = np.sort(b)[-5]
        true = 0.5 * (1 - _erf((bar - 1) / np.sqrt(2)))
        covered += at.tpr_interval[0] <= true <= at.tpr_interval[1]
        assert at.false <= 4
    assert covered >= 0.93 * 300


def _erf(x: float) -> float:
    from scipy.special import erf

    return float(erf(x))


# ---- who is who -----------------------------------------------------------------------------------------------------


def test_nobody_outside_has_trained_and_every_model_is_told_apart() -> None:
    trajs = walks_of_users(20, 3)
    trained: list[tuple[set[str], int]] = []

    def spy(train: Trajectories, seed: int) -> Trajectories:
        trained.append((set(train.user_ids[np.unique(train.user)]), seed))
        return jittered(train, seed)

    found = infer_members(trajs, of_release(spy), seed=0, **QUICK)
    assert len(trained) == 9 and len({s for _, s in trained}) == 9 and len({frozenset(u) for u, _ in trained}) == 9
    assert len(trained[-1][0]) == 10 and found["nearest"].members == found["nearest"].others == 10
    assert found.targets == 20 and found.unit == "user"
    by_trip = infer_members(trajs, of_release(jittered), seed=0, unit="trajectory", shadows=0)
    assert by_trip.targets == 60 and by_trip["nearest"].members == 30 and len(by_trip.attacks) == 1


def test_a_record_under_two_names_is_one_target() -> None:
    trajs = walks_of_users(6, 2)
    lonlat = trajs.lonlat.copy()
    lonlat[8 * 4 : 8 * 5] = lonlat[:8]  # user 2's first walk is user 0's first
    trajs = replace(trajs, lonlat=lonlat)
    label, n = people(trajs, "user")
    assert n == 5 and len({label[0], label[1], label[4], label[5]}) == 1
    one, two = trajs.take(trajs.user == 0), trajs.take(trajs.user == 2)
    with pytest.raises(DataContractError, match="copies of some inside"):
        check_apart(one, two, "user")
    assert people(trajs, "trajectory")[1] == 11


def test_a_split_that_is_not_disjoint_is_refused() -> None:
    trajs = walks_of_users(6, 2)
    check_apart(trajs.take(trajs.user < 3), trajs.take(trajs.user >= 3), "user")
    with pytest.raises(DataContractError, match="1 users are on both sides"):
        check_apart(trajs.take(np.arange(5)), trajs.take(np.arange(5, 12)), "user")
    check_apart(trajs.take(np.arange(5)), trajs.take(np.arange(5, 12)), "trajectory")
    with pytest.raises(DataContractError, match="2 trajectories are on both sides"):
        check_apart(trajs.take(np.arange(5)), trajs.take(np.arange(3, 12)), "trajectory")


def test_a_reference_that_holds_targets_is_refused() -> None:
    trajs = walks_of_users(20, 2)
    targets, apart = set_aside(trajs, 0.25, unit="user", seed=1)
    assert len(targets) == 30 and len(apart) == 10
    found = infer_members(targets, of_release(jittered, reference=apart), seed=0, **QUICK)
    assert [n for n, _ in found.attacks] == ["nearest", "LiRA, nearest", "density ratio", "LiRA, density ratio"]
    with pytest.raises(DataContractError, match="on both sides"):
        infer_members(trajs, of_release(jittered, reference=apart), seed=0, **QUICK)
    with pytest.raises(ParameterError, match="share"):
        set_aside(trajs, 0.01, unit="user", seed=1)


# ---- statistics -----------------------------------------------------------------------------------------------------


def test_statistics_of_a_release_worked_out() -> None:
    trajs = walks(10, 8, 2)
    assert nearest(trajs, trajs) == pytest.approx(np.zeros(10), abs=0.05)  # between fixes degrees bend by centimetres
    east = replace(trajs, lonlat=trajs.lonlat + np.array([1e-3, 0]))
    moved = -np.log1p(np.linalg.norm(project(east.lonlat, east.meta.crs) - trajs.xy, axis=1).mean())
    alone = [nearest(trajs.take(np.array([i])), east.take(np.array([i])))[0] for i in range(10)]
    assert (np.array(alone) <= 0).all() and min(alone) >= moved - 0.5  # a path is no further than its own points
    ratio = density_ratio(trajs, trajs, walks(10, 8, 3))
    assert (ratio > 0).all() and density_ratio(trajs, trajs, trajs) == pytest.approx(np.zeros(10))
    none = trajs.take(np.zeros(0, dtype=np.int64))
    with pytest.raises(DataContractError, match="empty"):
        nearest(trajs, none)
    with pytest.raises(DataContractError, match="fewer than neighbours"):
        density_ratio(trajs, trajs, trajs, neighbours=11)


# ---- attacks --------------------------------------------------------------------------------------------------------


def test_an_overfit_release_is_found() -> None:
    targets, apart = set_aside(walks_of_users(100, 2, 4), 0.2, unit="user", seed=0)
    found = infer_members(targets, of_release(jittered, reference=apart), seed=1, shadows=16)
    for name in ("nearest", "LiRA, nearest", "density ratio", "LiRA, density ratio"):
        assert found[name].auc_interval[0] > 0.5, name
    assert found["LiRA, density ratio"].at[0].tpr_interval[0] > 0.3


def test_lira_takes_off_how_easy_a_target_is() -> None:
    rng = np.random.default_rng(2)
    inside = np.concatenate([halves(16, 400, 0), (np.arange(400) < 200)[None]])
    easy = rng.normal(0, 5, 400)
    found = judged({"loss": easy + inside + rng.normal(0, 0.4, inside.shape)}, inside, shadows=16, offline=True)
    assert found["loss"].auc < 0.7
    # what is left is a shift of 1 against a spread of 0.4 (and of the shadows' means), an area of about Phi(1 / (0.4 sqrt 2)) = 0.96
    assert 0.9 < found["LiRA, loss"].auc < 0.98 and 0.85 < found["LiRA offline, loss"].auc < 0.98


def test_a_random_release_has_area_one_half_within_its_interval() -> None:
    found = infer_members(walks_of_users(60, 2, 5), of_release(unrelated), seed=2, offline=True, **QUICK)
    assert len(found.attacks) == 3
    for name, roc in found.attacks:
        low, high = roc.auc_interval
        assert low <= 0.5 <= high and abs(roc.auc - 0.5) < 0.2, name


def test_noisy_counts_are_not_contradicted() -> None:
    def release(train: Trajectories, seed: int) -> Trajectories:
        return make_method("flat", length=8, cells=4).fit(train, seed=seed).release(50, seed=seed).trajectories

    found = infer_members(walks_of_users(40, 1, 6), of_release(release), seed=2, **QUICK)
    assert all(low <= 0.5 <= high for low, high in (roc.auc_interval for _, roc in found.attacks))


def test_white_box_losses_are_attacked_the_same_way() -> None:
    def loss_of(train: Trajectories, seed: int) -> Any:
        return lambda targets: -nearest(targets, train) + seeds.rng(seed, "noise", "loss").normal(0, 1.0, len(targets))

    found = infer_members(walks(80, 8, 7), of_losses(loss_of), seed=0, unit="trajectory", **QUICK)
    assert found["LiRA, loss"].auc_interval[0] > 0.5 and found["loss"].auc > 0.7
    with pytest.raises(ParameterError, match="one each"):
        infer_members(
            walks(8, 8, 7),
            of_losses(lambda train, seed: lambda targets: np.zeros(3)),
            seed=0,
            unit="trajectory",
            **QUICK,
        )


def test_the_same_seed_gives_the_same_attack_and_another_one_another() -> None:
    trajs = walks_of_users(20, 1, 3)
    first, again, other = (infer_members(trajs, of_release(unrelated), seed=s, **QUICK) for s in (1, 1, 2))
    assert first.to_frame().equals(again.to_frame()) and not first.to_frame().equals(other.to_frame())


def test_several_attacked_models_count_their_targets_apart() -> None:
    found = infer_members(walks_of_users(20, 1, 3), of_release(jittered), seed=1, attacked=3, **QUICK)
    assert found["nearest"].members == 30 and found["nearest"].others == 30 and found.attacked == 3


def test_settings_and_sets_that_cannot_be_attacked_are_refused() -> None:
    for bad in ({"shadows": 3}, {"shadows": 5}, {"level": 1.0}, {"unit": "point"}, {"no_such": 1}):
        with pytest.raises(ParameterError, match="infer_members"):
            infer_members(walks_of_users(8, 1), of_release(jittered), seed=0, **bad)
    with pytest.raises(DataContractError, match="at least 4"):
        infer_members(walks_of_users(3, 4), of_release(jittered), seed=0, **QUICK)
    with pytest.raises(ParameterError, match="shadow"):
        judged({"t": np.zeros((3, 4))}, np.zeros((3, 4), dtype=bool), **QUICK)
    with pytest.raises(ParameterError, match="finite numbers only"):
        judged({"t": np.full((9, 4), np.nan)}, np.zeros((9, 4), dtype=bool), **QUICK)


def test_the_figure_has_logarithmic_axes_the_guess_and_every_curve() -> None:
    found: Membership = infer_members(walks_of_users(40, 1, 9), of_release(jittered), seed=0, **QUICK)
    fig = roc_figure(found)
    (ax,) = fig.axes
    assert ax.get_xscale() == ax.get_yscale() == "log"
    labels = [t.get_text() for t in ax.get_legend().get_texts()]
    assert labels[0] == "guess" and len(labels) == 1 + len(found.attacks)
    assert auc(np.array([1.0, 1.0]), np.array([1.0])) == 0.5
