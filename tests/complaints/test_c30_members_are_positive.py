"""Membership figures: members are the positives, splits are disjoint, rates stand beside a guess, and nothing is called a risk."""

from __future__ import annotations

import numpy as np
import pytest
from member_toys import QUICK, jittered, unrelated, walks_of_users

from trajkit.attacks.lira import halves
from trajkit.attacks.member_scores import of_release
from trajkit.attacks.member_split import check_apart
from trajkit.attacks.membership import check_controls, controls, infer_members, judged
from trajkit.errors import DataContractError, RunFailedError


def test_c30_swapped_labels_must_fail() -> None:
    found, blank = controls(walks_of_users(60, 1, 8), seed=0, **QUICK)
    assert found["nearest"].auc == found["LiRA, nearest"].auc == 1.0 and found["nearest"].at[1].tpr == 1.0
    assert all(low <= 0.5 <= high for low, high in (roc.auc_interval for _, roc in blank.attacks))

    rng = np.random.default_rng(0)
    inside = np.concatenate([halves(8, 60, 0), (np.arange(60) < 30)[None]])
    statistic = {"t": inside + rng.normal(0, 0.1, inside.shape)}
    right, swapped = judged(statistic, inside, **QUICK), judged(statistic, np.r_[inside[:8], ~inside[8:]], **QUICK)
    assert right["t"].auc > 0.95 and swapped["t"].auc < 0.05  # members are positive: an inverted reading shows
    check_controls(right, blank)
    with pytest.raises(RunFailedError, match="look swapped"):
        check_controls(swapped, blank)
    with pytest.raises(RunFailedError, match="nothing to find"):
        check_controls(right, right)


def test_c30_the_table_has_rates_intervals_and_the_guess_and_no_verdict() -> None:
    found = infer_members(walks_of_users(40, 1, 9), of_release(jittered), seed=0, **QUICK)
    table = found.to_frame()
    for name in ("TPR at 1 % FPR", "TPR at 0.1 % FPR"):
        assert {name, f"{name} low", f"{name} high", f"{name}, guess", f"{name}, FPR at most"} <= set(table.columns)
    assert (table["TPR at 0.1 % FPR, FPR at most"] > 0.1).all()  # 20 others cannot show a rate of 0.1 %
    assert not [c for c in table.columns if "risk" in c.lower() or "severity" in c.lower()]
    assert (table["AUC low"] <= table["AUC"]).all() and (table["AUC"] <= table["AUC high"]).all()


def test_c30_a_random_model_has_area_one_half_within_its_interval() -> None:
    found = infer_members(walks_of_users(60, 1, 11), of_release(unrelated), seed=4, **QUICK)
    assert all(low <= 0.5 <= high for low, high in (roc.auc_interval for _, roc in found.attacks))


def test_c30_who_is_attacked_as_an_outsider_has_trained_nothing() -> None:
    trajs = walks_of_users(10, 3)
    with pytest.raises(DataContractError, match="on both sides"):
        check_apart(trajs.take(np.arange(16)), trajs.take(np.arange(16, 30)), "user")
