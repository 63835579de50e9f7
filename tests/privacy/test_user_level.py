"""From trajectories to users: the reference values of the three ways, and the table of a data set."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from toys import walks

from trajkit.errors import DataContractError, ParameterError, PrivacyAccountingError
from trajkit.privacy.accounting import epsilon_of
from trajkit.privacy.ledger import DpSgd
from trajkit.privacy.user_level import els_noise, epsilon_table, group_level_epsilon, group_privacy, user_level_epsilon
from trajkit.trajectories import Trajectories


def cases(shared: Path, kind: str) -> list[tuple[dict[str, float], dict[str, float], float]]:
    every = json.loads((shared / "reference" / "user_level.json").read_text())["cases"]
    return [(c["inputs"], c["expected"], c["tolerance"]["rel"]) for c in every if c["inputs"]["kind"] == kind]


@pytest.mark.shared
def test_group_privacy_meets_the_reference(shared: Path) -> None:
    found = cases(shared, "group_privacy")
    assert len(found) == 3
    for given, expected, rel in found:
        epsilon, delta = group_privacy(given["epsilon"], given["delta"], int(given["k"]))
        assert epsilon == pytest.approx(float(expected["epsilon"]), rel=rel)
        assert delta == pytest.approx(float(expected["delta"]), rel=rel)


@pytest.mark.shared
def test_dp_sgd_meets_the_reference_in_all_three_ways(shared: Path) -> None:
    found = cases(shared, "els_mixture_of_gaussians")
    assert len(found) == 3
    for given, expected, rel in found:
        q, sigma, steps = given["record_sampling_probability"], given["noise_multiplier"], int(given["steps"])
        delta, m, record = given["delta"], int(given["max_records_per_user"]), DpSgd(q, sigma, steps)
        els = user_level_epsilon(record, delta=delta, max_records_per_user=m).epsilon
        assert els == pytest.approx(expected["user_level_epsilon_els"], rel=rel)
        # the reference has a grid of 1e-3 nats for a step; on the finer one of the package both figures may only be smaller
        coarse = group_level_epsilon(record, delta=delta, max_records_per_user=m, interval=1e-3).epsilon
        stated = expected["user_level_epsilon_black_box_group_privacy"]
        assert coarse == (math.inf if stated is None else pytest.approx(stated, rel=rel))
        fine = group_level_epsilon(record, delta=delta, max_records_per_user=m).epsilon
        assert els <= fine <= coarse and fine < math.inf
        uls = epsilon_of(DpSgd(q, sigma, steps, record="user"), delta=delta, unit="user")
        same = expected["user_level_epsilon_uls_same_q_and_sigma_per_user_clip"]
        assert uls.unit == "user" and uls.pld is not None and uls.pld <= same * (1 + rel)
        if given["noise_multiplier"] <= 2:  # where that grid is fine enough for one step
            assert uls.epsilon == pytest.approx(same, rel=rel)


def test_group_privacy_of_one_changes_nothing_and_of_many_promises_nothing() -> None:
    assert group_privacy(2.0, 1e-6, 1) == (2.0, pytest.approx(1e-6))
    epsilon, delta = group_privacy(10.0, 1e-7, 380)
    assert epsilon == 3800.0 and delta == math.inf
    assert group_privacy(3.0, 0.0, 4) == (12.0, 0.0)
    record = DpSgd(0.02, 1.5, 200)
    alone = group_level_epsilon(record, delta=1e-5, max_records_per_user=1)
    assert alone.epsilon == pytest.approx(epsilon_of(record, delta=1e-5, unit="trajectory").pld, rel=0.01)
    assert (alone.unit, alone.max_records_per_user) == ("user", 1)


@pytest.mark.parametrize("bad", [{"epsilon": 0.0}, {"delta": 1.0}, {"delta": -0.1}, {"k": 0}])
def test_what_is_no_group_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        group_privacy(**{"epsilon": 1.0, "delta": 1e-5, "k": 2, **bad})  # type: ignore[arg-type]


def test_without_noise_or_steps_the_curve_is_not_asked() -> None:
    assert group_level_epsilon(DpSgd(0.1, 0.0, 5), delta=1e-5, max_records_per_user=3).epsilon == math.inf
    assert group_level_epsilon(DpSgd(0.1, 1.0, 0), delta=1e-5, max_records_per_user=3).epsilon == 0.0
    with pytest.raises(ParameterError, match="clips per user already"):
        group_level_epsilon(DpSgd(0.1, 1.0, 5, record="user"), delta=1e-5, max_records_per_user=3)
    with pytest.raises(PrivacyAccountingError, match="shuffle"):
        group_level_epsilon(DpSgd(0.1, 1.0, 5, sampling="shuffle"), delta=1e-5, max_records_per_user=3)


def test_noise_for_a_user_meets_its_target_from_below() -> None:
    asked = {"delta": 1e-5, "sample_rate": 0.05, "steps": 100, "max_records_per_user": 3}
    noise = els_noise(target_epsilon=1.5, **asked)  # type: ignore[arg-type]
    spent = user_level_epsilon(DpSgd(0.05, noise, 100), delta=1e-5, max_records_per_user=3).epsilon
    assert 0.985 * 1.5 <= spent <= 1.5
    with pytest.raises(PrivacyAccountingError, match="out of reach"):
        els_noise(target_epsilon=1e-5, **asked)  # type: ignore[arg-type]


def mixed() -> Trajectories:
    """40 trajectories: one user with ten of them, thirty with one each."""
    user = np.maximum(np.arange(40) - 9, 0)
    return replace(walks(40, 5, 1), user=user, user_ids=np.array([f"p{i}" for i in range(31)]))


def test_c28_a_table_says_what_one_user_with_ten_trips_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAJKIT_CACHE", str(tmp_path))
    table = epsilon_table(mixed(), caps=[1, 10], epsilon=2.0, delta=1e-3, batch_size=8, steps=10).set_index(
        "trajectories of a user, at most"
    )
    assert table["trajectories kept"].tolist() == [31, 40] and table["users"].tolist() == [31] * 2
    assert table["users above it"].tolist() == [1, 0] and table["share kept"].tolist() == [31 / 40, 1.0]
    assert ((table["epsilon per trajectory"] > 1.9) & (table["epsilon per trajectory"] <= 2.0)).all()
    per_user = table["epsilon per user, ELS"]
    # one trip a user: the user's promise is the trip's; ten: it is far weaker, and group privacy weaker still
    assert per_user[1] == pytest.approx(table["epsilon per trajectory"][1], abs=0.03)
    assert per_user[10] > 3 * table["epsilon per trajectory"][10]
    assert (table["epsilon per user, group privacy"] >= per_user - 0.02).all()
    assert table["ELS is a loose bound"].tolist() == [False, False]
    assert table["counts: epsilon per user"].tolist() == [2.0, 20.0]
    assert table["counts: x the noise"].tolist() == [1, 10]
    cost = table["x the noise, ELS"]
    assert cost[1] == pytest.approx(1.0, abs=0.02) and cost[10] > 2
    assert table["x the noise, ULS"][10] < cost[10]  # users drawn whole: m does not enter


def test_a_table_of_nothing_or_of_too_small_a_set_is_refused() -> None:
    asked = {"caps": [1], "epsilon": 2.0, "delta": 1e-4, "steps": 30}
    with pytest.raises(DataContractError, match="no trajectories"):
        epsilon_table(mixed().take(np.zeros(0, dtype=np.int64)), batch_size=8, **asked)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="leaves 31 trajectories"):
        epsilon_table(mixed(), batch_size=40, **asked)  # type: ignore[arg-type]
