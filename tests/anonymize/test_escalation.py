"""Escalation: when it stops and when it goes on, k by brute force in what is kept, made rows that are marked and of nobody, what is claimed."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from anonymity_toys import crowd
from toys import walks

from trajkit.anonymize import escalation as module
from trajkit.anonymize.anonymizer import MADE
from trajkit.anonymize.escalation import Escalation
from trajkit.anonymize.escalation_report import DECIDED, MARKED, NOT_DP, ON_ALL
from trajkit.attacks.nearest_neighbour import nearest_linkage
from trajkit.attacks.origin import Origin
from trajkit.errors import DataContractError, ParameterError, PrivacyAccountingError
from trajkit.methods import make_method
from trajkit.privacy.guarantee import RNG_OS, RNG_SEEDED, Guarantee, no_guarantee
from trajkit.release import HIDDEN, Release
from trajkit.seeds import child_seed
from trajkit.trajectories import Trajectories

K, MANY = 3, 40
LATTICE: dict[str, Any] = {"k": K, "cells_m": [500.0, 1000.0], "minutes": [120, None], "coarsest_useful_m": 2000.0}
TO_MADE: dict[str, Any] = {**LATTICE, "tolerance": 0.0, "synthesizer": "privtrace", "n_made": MANY, "length": 8}


def escalation(trajs: Trajectories, *, seed: int = 0, **parameters: Any) -> tuple[Escalation, Release]:
    method = make_method("escalation", **{**TO_MADE, **parameters}).fit(trajs, seed=seed)
    assert isinstance(method, Escalation)
    return method, method.release(None, seed=seed)


def made_rows(release: Release) -> np.ndarray:
    return np.char.startswith(release.trajectories.traj_ids.astype(str), MADE)


def behind(trajs: Trajectories, release: Release, origin: np.ndarray) -> dict[tuple[Any, ...], set[int]]:
    """Printed places and times of every unmarked row -> the users that it came from, by dictionaries."""
    out, found = release.trajectories, defaultdict(set)
    for i in np.flatnonzero(~made_rows(release)):
        part = slice(out.offsets[i], out.offsets[i + 1])
        times = () if out.t is None else tuple(out.t[part].tolist())
        found[tuple(map(tuple, out.lonlat[part].tolist())) + times].add(int(trajs.user[origin[i]]))
    return found


@pytest.mark.parametrize("tolerance", [1.0, 0.5, 0.25, 0.0])
@pytest.mark.parametrize("suppress", ["segments", "trajectory"])
def test_every_kept_row_is_shared_by_k_people_and_made_ones_count_for_nobody(tolerance: float, suppress: str) -> None:
    trajs = crowd(120, 1)
    method, release = escalation(trajs, tolerance=tolerance, suppress=suppress)
    users = behind(trajs, release, method.origin_)
    assert users and min(map(len, users.values())) >= K
    assert ((method.origin_ < 0) == made_rows(release)).all()
    assert made_rows(release).sum() == (MANY if release.report["escalated"] else 0)
    assert release.guarantee.k == K and release.guarantee.unit == "user" and release.guarantee.holds


def test_it_stops_at_the_finest_setting_that_meets_the_tolerance() -> None:
    trajs = crowd(200, 2)
    _, release = escalation(trajs, tolerance=1.0)
    rows = release.report[HIDDEN]["lattice"]
    lost = [row["suppressed"]["points"] for row in rows]
    assert release.report["setting"]["cells"] == rows[0]["cells"] and release.report["setting"]["minutes"] == 120
    for want in range(len(rows)):
        tolerance = lost[want]
        first = next(i for i, share in enumerate(lost) if share <= tolerance)
        taken = escalation(trajs, tolerance=tolerance)[1].report
        assert not taken["escalated"] and taken["within tolerance"] and len(taken["stages"]) == 1
        assert (taken["setting"]["cells"], taken["setting"]["minutes"]) == (
            rows[first]["cells"],
            rows[first]["minutes"],
        )
    assert min(lost) > 0
    beyond = escalation(trajs, tolerance=min(lost) * 0.999)[1].report
    assert beyond["escalated"] and not beyond["within tolerance"] and len(beyond["stages"]) == 3


def test_within_the_tolerance_it_is_k_anonymity_and_no_epsilon_is_spent() -> None:
    trajs = crowd(120, 3)
    method, release = escalation(trajs, tolerance=1.0)
    lattice = {"cells_m": [500.0, 1000.0, 2000.0], "minutes": [120, None]}
    same = make_method("k_anonymity", k=K, suppress="segments", suppression_budget=1.0, **lattice).fit(trajs, seed=0)
    alone = same.release(None, seed=0)
    assert release.trajectories.fingerprint() == alone.trajectories.fingerprint()
    assert method.origin_.tolist() == same.origin_.tolist()  # type: ignore[attr-defined]
    assert release.guarantee.parts == () and release.guarantee.epsilon is None
    assert release.guarantee.assumptions == (*alone.guarantee.assumptions, DECIDED)
    assert "made" not in release.report and release.report["suppressed"] == alone.report["suppressed"]


def test_beyond_it_the_coarsest_useful_setting_is_kept() -> None:
    trajs = crowd(120, 3)
    method, release = escalation(trajs)
    alone = make_method(
        "k_anonymity", k=K, suppress="segments", suppression_budget=1.0, cells_m=[2000.0], minutes=[None]
    )
    kept = alone.fit(trajs, seed=0).release(None, seed=0).trajectories
    mine = release.trajectories.take(~made_rows(release))
    assert np.array_equal(mine.lonlat, kept.lonlat) and mine.traj_ids.tolist() == kept.traj_ids.tolist()
    assert release.report["setting"]["cells"] == "square 2000 m" and release.report["of true trajectories"] == len(kept)
    assert release.report["released"] == len(kept) + MANY == len(method.origin_)


def test_made_trajectories_hang_on_nothing_but_all_of_the_data() -> None:
    """Whatever is kept or suppressed, they are those of the synthesizer alone, fitted on everything: that is what makes them DP."""
    trajs = crowd(120, 4)
    alone = make_method("privtrace", epsilon=2.0, length=8).fit(trajs, seed=child_seed(7, "noise", "escalation"))
    expected = alone.release(MANY, seed=child_seed(7, "sampling", "escalation"))
    kept = set()
    for k, cell, suppress in ((2, 500.0, "segments"), (K, 2000.0, "segments"), (8, 1000.0, "trajectory")):
        _, release = escalation(trajs, seed=7, k=k, coarsest_useful_m=cell, suppress=suppress, epsilon=2.0)
        out = release.trajectories.take(made_rows(release))
        assert np.array_equal(out.lonlat, expected.trajectories.lonlat)
        kept.add(release.report["of true trajectories"])
    assert len(kept) == 3


def test_silences_and_stays_do_not_change_what_one_trajectory_is_to_the_synthesizer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trajs = crowd(60, 5)
    seen: list[str] = []
    real = make_method("privtrace").__class__.fit

    def noted(self: Any, train: Trajectories, *, seed: int) -> Any:
        seen.append(train.fingerprint())
        return real(self, train, seed=seed)

    monkeypatch.setattr(type(make_method("privtrace")), "fit", noted)
    method, _ = escalation(trajs, gap_s=300.0)
    assert seen == [trajs.fingerprint()] and method.steps_[0]["settings"]["gap_s"] == 300.0
    assert method.origin_.max() < len(trajs)


# ---- what is claimed ------------------------------------------------------------------------------------------------


def test_the_guarantee_claims_k_for_kept_rows_and_epsilon_for_made_ones_alone() -> None:
    _, release = escalation(crowd(120, 6), epsilon=1.5)
    g = release.guarantee
    (part,) = g.parts
    assert (g.kind, g.k, g.unit, g.epsilon) == ("k-anonymity", K, "user", None)
    assert (part.epsilon, part.delta, part.unit, part.adjacency) == (
        pytest.approx(1.5),
        0.0,
        "trajectory",
        "add-remove",
    )
    assert g.threat_model == "none" and g.rng == RNG_SEEDED and Guarantee.from_json(g.to_json()) == g
    assert {NOT_DP, DECIDED, MARKED, ON_ALL} <= set(g.assumptions)
    assert "not DP as a whole" in g.in_words() and "(1.5, 0)-DP per trajectory" in g.in_words()
    assert f"{MANY} made trajectories" in str(g.mechanism)
    by_user = escalation(crowd(120, 6), trips_per_user=2)[1].guarantee
    assert by_user.parts[0].unit == "user" and any("at most 2 trajectories of a user" in a for a in by_user.assumptions)
    assert escalation(crowd(120, 6), noise="os")[1].guarantee.rng == RNG_OS


def test_noise_of_the_operating_system_cannot_be_repeated() -> None:
    one, two = (escalation(crowd(120, 6), noise="os", epsilon=0.5)[1] for _ in "ab")
    rows = made_rows(one)
    assert not np.array_equal(one.trajectories.take(rows).lonlat, two.trajectories.take(rows).lonlat)
    assert one.trajectories.take(~rows).fingerprint() == two.trajectories.take(~rows).fingerprint()


def test_a_synthesizer_that_promises_nothing_releases_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    method, _ = escalation(crowd(60, 6))
    maker = method.model_.maker
    assert maker is not None
    good = maker.release(3, seed=0)
    monkeypatch.setattr(maker, "release", lambda n, seed: replace(good, guarantee=no_guarantee("tried")))
    with pytest.raises(PrivacyAccountingError, match="tried"):
        method.release(None, seed=0)


def test_the_report_says_what_each_stage_left_in_rounded_shares_of_true_trajectories() -> None:
    trajs = crowd(400, 7)
    _, release = escalation(trajs)
    report = release.report
    first, second, third = report["stages"]
    assert third == {"stage": "add trajectories made by privtrace", "made": MANY}
    assert second["setting"] == {"cells": "square 2000 m", "minutes": None}
    assert second["suppressed"] == {k: report["suppressed"][k] for k in second["suppressed"]}
    assert set(first["suppressed"]) == {"trajectories", "users", "points"}
    for name, share in report["kept"].items():
        assert share == pytest.approx(1 - report["suppressed"][name]) and round(share * 20, 6) % 1 == 0
    assert {"by length", "points, by length", "points, by local hour of the start"} <= set(report["suppressed"])
    assert report["made"]["trajectories"] == MANY and report["made"]["unit"] == "trajectory"
    assert any("nobody's" in note for note in report["notes"])
    json.dumps(report)
    public = {
        k: v for k, v in report.items() if k not in (HIDDEN, "made", "of true trajectories", "released", "classes")
    }
    assert str(len(trajs)) not in json.dumps(public)


# ---- edges ----------------------------------------------------------------------------------------------------------


def test_where_nothing_can_be_kept_all_is_made_and_says_so() -> None:
    trajs = crowd(40, 8)
    method, release = escalation(trajs, k=39)
    assert len(release.trajectories) == MANY and made_rows(release).all() and (method.origin_ == -1).all()
    assert any("all of the release is made" in n for n in release.report["notes"])
    assert not any("nothing can be released" in n for n in release.report["notes"])
    with pytest.raises(ParameterError, match="release is empty"):
        nearest_linkage(trajs, release.trajectories, Origin.of_rows(method.origin_), seed=0, space_only=True)


def test_where_nothing_is_suppressed_nothing_is_made() -> None:
    one = walks(1, 8, 0)
    trajs = replace(
        one.take(np.zeros(6, dtype=np.int64)), user=np.arange(6), user_ids=np.array(list("abcdef")), traj_ids=np.array(list("abcdef"))
    )  # fmt: skip
    _, release = escalation(trajs)
    assert not release.report["escalated"] and len(release.trajectories) == 6
    assert release.report[HIDDEN]["suppressed"]["points"] == 0


def test_an_empty_set_and_one_that_cannot_be_fitted_are_no_surprise() -> None:
    empty = crowd(10, 0).take(np.zeros(0, dtype=np.int64))
    assert len(escalation(empty)[1].trajectories) == 0
    broken = replace(crowd(10, 0), offsets=np.array([0, 5]))
    with pytest.raises(DataContractError):
        escalation(broken)


def test_times_are_made_where_kept_rows_have_them() -> None:
    trajs = crowd(120, 9)
    timed = {"synthesizer": "road_counts", "coarsest_useful_minutes": 120, "minutes": [60], "epsilon": 20.0}
    tiny = {"synthesizer_parameters": {"lattice_m": 3000.0, "coarse": 2, "halvings": 1, "rounds": 1}}
    method, release = escalation(trajs, **timed, **tiny)
    out = release.trajectories
    assert out.t is not None and release.report["setting"]["minutes"] == 120 and made_rows(release).sum() == MANY
    assert min(map(len, behind(trajs, release, method.origin_).values())) >= K
    days = out.t[np.isin(out.traj_of_point, np.flatnonzero(made_rows(release)))] // 86_400_000
    assert set(days.tolist()) <= {10958, 10959, 10960}  # about the public day, 2000-01-03
    _, without = escalation(replace(trajs, t=None), **timed, **tiny)
    assert without.trajectories.t is None and without.report["setting"]["minutes"] is None


def test_settings_beyond_the_coarsest_useful_are_not_tried() -> None:
    _, release = escalation(crowd(120, 3), cells_m=[500.0, 4000.0], coarsest_useful_m=1000.0, minutes=[None])
    assert [row["cells"] for row in release.report["lattice"]] == ["square 500 m", "square 1000 m"]
    timed = make_method("escalation", coarsest_useful_minutes=60, minutes=[30, 120, None])
    assert timed._settings()["minutes"] == (30, 60)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"coarsest_useful_minutes": 60}, "coarsest_useful_minutes = 60: privtrace makes no times"),
        ({"synthesizer_parameters": {"epsilon": 3.0}}, "synthesizer_parameters: epsilon"),
        ({"synthesizer_parameters": {"variant": "published"}}, "synthesizer_parameters: variant"),
        ({"synthesizer_parameters": {"no_such": 3.0}}, "method privtrace: no_such is unknown"),
        ({"synthesizer": "flat"}, "synthesizer"),
        ({"minutes": [7]}, "minutes.*do not divide a day"),
        ({"tolerance": 1.5}, "tolerance = 1.5"),
        ({"n_made": 0}, "n_made = 0"),
        ({"coarsest_useful_m": 0.0}, "coarsest_useful_m = 0.0"),
    ],
)
def test_what_does_not_fit_is_refused_by_name_before_any_data(parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        make_method("escalation", **{**TO_MADE, **parameters})


def test_the_public_map_goes_to_a_synthesizer_that_takes_one(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    class Stand:
        config = None

        def fit(self, train: Trajectories, *, seed: int, roads: Any = None) -> Any:
            given.append(roads)

    monkeypatch.setattr(module, "make_method", lambda *a, **b: Stand())
    Escalation(Escalation.Config(tolerance=0.0)).fit(crowd(20, 0), seed=0, roads="the map")
    assert given == ["the map"]


def test_of_a_set_without_times_the_rule_names_no_bins() -> None:
    trajs = replace(crowd(120, 1), t=None)
    timed = {"synthesizer": "road_counts", "minutes": [60], "coarsest_useful_minutes": 120}
    report = escalation(crowd(120, 1), **timed)[1].report
    assert report["escalated"] and "bins of 120 min" in report["rule"] and report["setting"]["minutes"] == 120
    report = escalation(trajs, **timed)[1].report
    assert report["escalated"] and "no times" in report["rule"] and report["setting"]["minutes"] is None
