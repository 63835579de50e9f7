"""(k, delta)-anonymity: what leaves is recounted by loops of its own, at both edits, by user and by trajectory, with and without times."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from k_delta_toys import NOON, classes, crowd, metres, without_times
from toys import META, from_metres

from trajkit.anonymize.alignment import along_path, on_grid
from trajkit.anonymize.k_delta import KDelta, verify
from trajkit.anonymize.k_delta_groups import _greedy
from trajkit.errors import DataContractError, ParameterError, PrivacyAccountingError
from trajkit.methods import make_method
from trajkit.release import HIDDEN, Release
from trajkit.trajectories import Trajectories, make

NO_TIMES: dict[str, Any] = {"interval_s": None, "length": 6}
TIMES: dict[str, Any] = {"interval_s": 60, "span_s": 300}


def fitted(trajs: Trajectories, *, seed: int = 0, **parameters: Any) -> KDelta:
    method = make_method("k_delta", **{"k": 3, **parameters}).fit(trajs, seed=seed)
    assert isinstance(method, KDelta)
    return method


def released(trajs: Trajectories, *, seed: int = 0, **parameters: Any) -> Release:
    return fitted(trajs, seed=seed, **parameters).release(None, seed=seed)


def _checked(trajs: Trajectories, method: KDelta, release: Release, *, count: str) -> int:
    """Loops over the released file: groups, distances at every time, people. Returns the number of groups."""
    out, c = release.trajectories, method.config
    places = metres(out)
    sizes = []
    for members in classes(out).values():
        lengths = {len(places[i]) for i in members}
        assert len(lengths) == 1
        if out.t is not None:
            times = {tuple(out.t[out.offsets[i] : out.offsets[i + 1]]) for i in members}
            assert len(times) == 1
        for s in range(lengths.pop()):
            for a in members:
                for b in members:
                    distance = math.dist(places[a][s], places[b][s])
                    assert distance <= (1e-9 if c.edit == "centre" else c.delta_m)
        sizes.append(len(members))
    people: dict[int, list[Any]] = {}
    for source, group in zip(method.model_.edited.kept, method.model_.group, strict=True):
        people.setdefault(int(group), []).append(trajs.user[source] if count == "user" else source)
    assert sorted(len(p) for p in people.values()) == sorted(sizes)
    assert all(len(set(p)) >= c.k for p in people.values())
    return len(sizes)


@pytest.mark.parametrize("edit", ["centre", "translate"])
@pytest.mark.parametrize("count", ["user", "trajectory"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("form", ["clock", "absolute", "path"])
def test_every_group_keeps_the_promise(form: str, seed: int, count: str, edit: str) -> None:
    trajs = crowd(60, 14, seed, users=17)
    parameters = dict(NO_TIMES) if form == "path" else {**TIMES, "of": form}
    if form == "path":
        trajs = without_times(trajs)
    method = fitted(
        trajs, seed=seed, count=count, edit=edit, delta_m=300.0, max_radius_m=400.0, trash=0.3, **parameters
    )
    release = method.release(None, seed=seed)
    assert _checked(trajs, method, release, count=count) > 1
    assert release.guarantee.holds and release.guarantee.unit == count and release.guarantee.k == 3
    assert release.trajectories.violations() == []


def test_one_persons_repeats_make_no_group() -> None:
    trajs = replace(
        crowd(9, 14, 0, users=9, side_m=10.0, days=1),
        user=np.array([0, 0, 0, 0, 0, 0, 0, 1, 1]),
        user_ids=np.array(["a", "b"]),
    )
    alone = released(trajs, **TIMES, trash=0.0)
    assert len(alone.trajectories) == 0 and alone.report[HIDDEN]["suppressed"]["users"] == 1.0
    assert len(released(trajs, **TIMES, trash=0.0, count="trajectory").trajectories) > 0


def test_repeats_join_a_group_that_holds_k_people_without_them() -> None:
    path = [(0.0, 0.0), (100.0, 0.0)]
    trajs = replace(from_metres([path] * 5), user=np.array([0, 0, 0, 1, 2]), user_ids=np.array(["a", "b", "c"]))
    method = fitted(trajs, **NO_TIMES)
    out = method.release(None, seed=0)
    assert len(out.trajectories) == 5 and _checked(trajs, method, out, count="user") == 1


def test_trash_stays_within_its_limit_and_the_radius_grows_for_it() -> None:
    trajs = without_times(crowd(80, 6, 1, users=80, side_m=8000.0))
    tight = released(trajs, **NO_TIMES, max_radius_m=100.0, trash=1.0).report[HIDDEN]
    wide = released(trajs, **NO_TIMES, max_radius_m=100.0, trash=0.1).report[HIDDEN]
    assert tight["radius limit reached, m"] == 100.0 and tight["trash, share of spans with k people"] > 0.5
    assert wide["trash, share of spans with k people"] <= 0.1 and wide["radius limit reached, m"] > 100.0
    none = released(trajs, **NO_TIMES, trash=0.0)
    assert len(none.trajectories) == 80


def test_members_are_no_farther_from_their_pivot_than_the_limit() -> None:
    trajs = without_times(crowd(80, 6, 1, users=80))
    report = released(trajs, **NO_TIMES, max_radius_m=250.0, trash=1.0).report
    assert report["groups"] > 3
    assert report[HIDDEN]["largest distance of two members at one time, before, m"] <= 500.0
    assert report[HIDDEN]["points moved, max m"] <= 250.0 * 2 / math.sqrt(3) + 1e-6


def test_translate_leaves_what_is_within_delta_and_moves_the_rest_as_far_as_needed() -> None:
    paths = [[(0.0, 0.0), (0.0, 0.0)], [(90.0, 0.0), (300.0, 0.0)], [(50.0, 40.0), (150.0, 10.0)]]
    report = released(
        from_metres(paths), interval_s=None, length=2, edit="translate", delta_m=100.0, trash=0.0
    ).report  # fmt: skip
    # first place: all within 100 m, nothing moves; second: the ends are 150 m from the middle and go to 50 m from it, the third stays
    assert report[HIDDEN]["points moved, max m"] == pytest.approx(100.0, rel=1e-3)
    assert report[HIDDEN]["points moved, mean m"] == pytest.approx(200.0 / 6, rel=1e-3)
    assert report["largest distance of two members at one time, released, m"] == pytest.approx(100.0, rel=1e-3)
    assert (
        report["largest radius of the smallest disc around a group, released, m"]
        <= report["radius of a disc that delta alone assures, m"]
    )


def test_centre_is_the_middle_of_the_smallest_disc() -> None:
    paths = [[(0.0, 0.0), (0.0, 0.0)], [(90.0, 0.0), (300.0, 0.0)], [(40.0, 10.0), (150.0, 10.0)]]
    trajs = from_metres(paths)
    out = released(trajs, interval_s=None, length=2, trash=0.0).trajectories
    assert np.allclose(metres(out)[1], np.array([[45.0, 0.0], [150.0, 0.0]]) + trajs.xy[0], atol=1e-3)


def test_delta_zero_releases_one_line() -> None:
    trajs = without_times(crowd(12, 6, 0, users=12))
    out = released(trajs, **NO_TIMES, delta_m=0.0, edit="translate", trash=0.0)
    assert out.report["largest distance of two members at one time, released, m"] == 0.0


def test_times_are_interpolated_on_the_public_grid_and_ends_rounded_inwards() -> None:
    minute = 60
    trajs = make(
        [(-8.60, 41.15, 90), (-8.60, 41.16, 90 + 4 * minute), (-8.58, 41.16, 90 + 20 * minute)], [(-8.6, 41.15, 10), (-8.6, 41.15, 200)], meta=META
    )  # fmt: skip
    found = on_grid(trajs, interval_s=60, span_s=300, of="absolute")
    assert found.kept.tolist() == [0]  # the other one ends before a step of five minutes is over
    assert found.t is not None and found.t.tolist() == list(range(300_000, 1_200_001, 60_000))
    where = (300 - 90) / 240  # share of the first piece
    assert found.xy[0] == pytest.approx(trajs.xy[0] * (1 - where) + trajs.xy[1] * where, abs=1e-6)
    where = (1200 - 330) / 960
    assert found.xy[-1] == pytest.approx(trajs.xy[1] * (1 - where) + trajs.xy[2] * where, abs=1e-6)


def test_a_trajectory_that_ends_on_the_grid_keeps_its_ends() -> None:
    trajs = make([(-8.60, 41.15, 300), (-8.60, 41.16, 400), (-8.58, 41.16, 600)], meta=META)
    found = on_grid(trajs, interval_s=100, span_s=300, of="absolute")
    assert found.xy == pytest.approx(np.array([trajs.xy[0], trajs.xy[1], (trajs.xy[1] + trajs.xy[2]) / 2, trajs.xy[2]]))


def test_places_along_the_path_are_equally_spaced() -> None:
    trajs = from_metres([[(0.0, 0.0), (30.0, 0.0), (30.0, 10.0)], [(5.0, 5.0), (5.0, 5.0), (5.0, 5.0)]])
    found = (along_path(trajs, 5).xy - trajs.xy[0]).reshape(2, 5, 2)
    assert found[0] == pytest.approx(np.array([[0, 0], [10, 0], [20, 0], [30, 0], [30, 10]]), abs=1e-3)
    assert found[1] == pytest.approx(np.full((5, 2), 5.0), abs=1e-3)


def test_the_clock_joins_days_and_takes_the_day_off() -> None:
    def walk(day: int) -> list[tuple[float, float, float]]:
        return [(-8.6, 41.15 + i / 1000, NOON / 1000 + day * 86_400 + i * 60) for i in range(11)]

    trajs = make(walk(0), walk(1), walk(200), meta=replace(META, tz="Europe/Lisbon"))
    assert len(released(trajs, **TIMES, k=2, of="absolute").trajectories) == 0
    by_clock = released(trajs, **TIMES, k=2)  # the third is one hour later by the clock: summer time
    assert len(by_clock.trajectories) == 2
    t = by_clock.trajectories.t
    assert t is not None and (by_clock.trajectories.to_frame()["t"].dt.date.astype(str) == "2000-01-03").all()
    local = by_clock.trajectories.to_frame()["t"].dt.tz_convert("Europe/Lisbon").dt.hour
    assert set(local) == {12}


def test_empty_single_and_short_sets_give_an_empty_release() -> None:
    trajs = crowd(6, 14, 0, users=6)
    for few in (
        trajs.take(np.zeros(0, dtype=np.int64)),
        trajs.take(np.array([0])),
        make([(-8.6, 41.15, 0)], meta=META),
    ):
        for parameters in (TIMES, NO_TIMES):
            for edit in ("centre", "translate"):
                out = released(few, **parameters, edit=edit)
                assert len(out.trajectories) == 0 and out.report["groups"] == 0


def test_times_asked_for_and_not_there_are_refused() -> None:
    with pytest.raises(ParameterError, match="set interval_s to null"):
        fitted(without_times(crowd(5, 4, 0, users=5)))
    with pytest.raises(ParameterError, match="multiple of interval_s"):
        make_method("k_delta", interval_s=70, span_s=300)
    for day in ("2001-02-30", "monday"):
        with pytest.raises(ParameterError, match="day"):
            make_method("k_delta", day=day)
    with pytest.raises(ParameterError, match="release\\(None\\)"):
        fitted(crowd(5, 4, 0, users=5)).release(3, seed=0)
    with pytest.raises(DataContractError):
        bad = crowd(5, 4, 0, users=5)
        fitted(replace(bad, lonlat=bad.lonlat + 90))


def test_same_seed_same_bytes_and_the_input_stays() -> None:
    trajs = crowd(60, 14, 0, users=30)
    before = trajs.fingerprint()
    one, two, other = (released(trajs, seed=s, **TIMES) for s in (1, 1, 2))
    assert one.trajectories.fingerprint() == two.trajectories.fingerprint() != other.trajectories.fingerprint()
    assert one.report == two.report and trajs.fingerprint() == before
    assert not set(one.trajectories.user_ids) & set(trajs.user_ids)


def test_names_do_not_decide_the_groups() -> None:
    trajs = without_times(crowd(40, 6, 0, users=40))
    renamed = replace(trajs, user_ids=trajs.user_ids[::-1].copy(), traj_ids=np.array([f"x{i}" for i in range(40)]))
    assert (
        released(trajs, **NO_TIMES).trajectories.fingerprint()
        == released(renamed, **NO_TIMES).trajectories.fingerprint()
    )


def test_a_file_that_breaks_the_promise_does_not_leave() -> None:
    method = fitted(without_times(crowd(40, 6, 0, users=40)), **NO_TIMES, edit="translate", delta_m=50.0)
    model = method.model_
    method.model_ = replace(
        model, edited=replace(model.edited, xy=model.edited.xy + np.linspace(0, 300, len(model.edited.xy))[:, None])
    )
    with pytest.raises(PrivacyAccountingError, match="farther apart than delta = 50"):
        method.release(None, seed=0)
    method.model_ = replace(model, who=np.where(model.group == 0, 7, model.who))
    with pytest.raises(PrivacyAccountingError, match="fewer than 3 distinct members"):
        method.release(None, seed=0)


def test_a_centre_line_that_is_not_the_same_for_all_does_not_leave() -> None:
    """Within delta is not enough where the guarantee says one and the same line."""
    method = fitted(without_times(crowd(40, 6, 0, users=40)), **NO_TIMES, edit="centre", delta_m=500.0)
    model = method.model_
    method.model_ = replace(
        model, edited=replace(model.edited, xy=model.edited.xy + np.linspace(0, 1, len(model.edited.xy))[:, None])
    )
    with pytest.raises(PrivacyAccountingError, match="farther apart"):
        method.release(None, seed=0)


def test_other_times_or_lengths_in_a_group_are_found() -> None:
    trajs = make(
        *[[(-8.6, 41.15, 0), (-8.6, 41.15, 60 + late)] for late in (0, 0, 1)], meta=META, ids=["c0-0", "c0-1", "c0-2"]
    )
    with pytest.raises(PrivacyAccountingError, match="different times"):
        verify(trajs, np.arange(3), k=3, delta=10.0)
    short = make([(-8.6, 41.15)], [(-8.6, 41.15)], [(-8.6, 41.15)] * 2, meta=META, ids=["c0-0", "c0-1", "c0-2"])
    with pytest.raises(PrivacyAccountingError, match="different numbers of points"):
        verify(short, np.arange(3), k=3, delta=10.0)


def test_the_words_say_what_is_not_promised() -> None:
    trajs = without_times(crowd(20, 6, 0, users=20))
    for edit, phrase in (("centre", "one and the same line"), ("translate", "does not imply trajectory k-anonymity")):
        g = released(trajs, **NO_TIMES, edit=edit).guarantee
        assert g.kind == "(k,delta)-anonymity" and any(phrase in a for a in g.assumptions)
        assert any("Trujillo-Rasua" in a for a in g.assumptions) and any(
            "every place along the path" in a for a in g.assumptions
        )
    report = released(trajs, **NO_TIMES, k=2).report
    assert {"points moved, mean m", "points moved, max m"} <= set(
        report[HIDDEN]
    ) and "points moved, max m" not in report


def test_what_is_lost_adds_up() -> None:
    trajs = crowd(60, 14, 3, users=17)
    out = released(trajs, **TIMES, max_radius_m=300.0, trash=0.5)
    hidden = out.report[HIDDEN]
    assert 0 < hidden["suppressed"]["trajectories"] < 1
    assert hidden["suppressed"]["trajectories"] == pytest.approx(1 - len(out.trajectories) / 60)
    assert sum(hidden["suppressed by reason, share of trajectories"].values()) == pytest.approx(
        hidden["suppressed"]["trajectories"]
    )
    assert "trajectories" not in out.report["suppressed"]  # of 17 people the public hears nothing


def test_nearest_is_by_the_farthest_time() -> None:
    xy = np.array([[[0, 0], [0, 0]], [[40, 0], [0, 0]], [[-20, 0], [-20, 0]], [[70, 0], [30, 0]]], dtype=np.float64)
    group, pivots = _greedy(xy, np.arange(4), np.array([0, 1, 2, 3]), 2, 50.0)
    assert group.tolist() == [0, 1, 0, 1] and pivots.tolist() == [0, 1]  # by the last time alone, 0 would take 1
    tight, _ = _greedy(xy, np.arange(4), np.array([0, 1, 2, 3]), 2, 25.0)
    assert tight.tolist() == [0, -1, 0, -1]
    rest, _ = _greedy(xy[:3], np.arange(3), np.array([0, 1, 2]), 2, 50.0)
    assert rest.tolist() == [0, 0, 0]  # left over, and within 50 m of the pivot
