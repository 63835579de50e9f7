"""Home and work: found in raw trips under pseudonyms, not in noise; hours by the local clock by hand; what the release lacks is said."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from toys import META, ORIGIN

from trajkit import geo
from trajkit.anonymize.pseudonyms import persistent
from trajkit.attacks import home_work as module
from trajkit.attacks.anchors import Anchors, Evidence, best_places, from_table
from trajkit.attacks.home_work import HomeWork, home_work, infer
from trajkit.attacks.not_possible import NotPossible
from trajkit.attacks.origin import Origin
from trajkit.attacks.street_countermeasures import as_cells
from trajkit.datasets.city import City, simulate
from trajkit.errors import ParameterError
from trajkit.local_time import DAY_MS
from trajkit.trajectories import Trajectories, make

HOUR = 3_600_000


@pytest.fixture(scope="module")
def city() -> City:
    return simulate(people=80, days=6, seed=4)


@pytest.fixture(scope="module")
def truth(city: City) -> Anchors:
    return from_table(city.truth["people"], city.trajectories.meta.crs)


def attacked(city: City, truth: Anchors, released: Trajectories, **settings: object) -> HomeWork:
    found = home_work(city.trajectories, truth, released, Origin.one_each(np.arange(len(released))), **settings)
    assert isinstance(found, HomeWork)
    return found


def test_people_without_data_are_no_targets(city: City, truth: Anchors) -> None:
    trajs = city.trajectories
    some = trajs.take(trajs.user < 20)  # of a fold the names of all are kept
    found = home_work(some, truth, some, Origin.one_each(np.arange(len(some))))
    assert isinstance(found, HomeWork) and len(some.user_ids) == 80
    home, work = found.by_place
    assert home.targets == 20 and home.suppressed == 0 and home.success > 0.85
    assert work.targets == int(city.truth["people"].set_index("user_id").loc[some.user_ids[:20], "worker"].sum())


def nameless(trajs: Trajectories) -> Trajectories:
    return replace(trajs, user=np.arange(len(trajs)), user_ids=trajs.traj_ids)


@pytest.mark.parametrize("evidence", ["stays", "ends"])
def test_found_in_trips_under_persistent_pseudonyms(city: City, truth: Anchors, evidence: str) -> None:
    trajs = city.trajectories
    released = replace(trajs, user_ids=persistent(trajs.user_ids, "salt"))
    found = attacked(city, truth, released, evidence=evidence)
    home, work = found.by_place
    assert (home.place, work.place, home.targets) == ("home", "work", 80)
    assert work.targets == int(city.truth["people"]["worker"].sum()) < 80
    for at in found.by_place:
        assert at.success > 0.85 and at.guess < 0.3 and at.suppressed == 0
        assert at.success_interval[0] < at.success <= at.success_interval[1]
        assert at.median_m is not None and at.median_m < 50
    assert found.groups == 80 and len(found.to_frame()) == 2


def test_noise_leaves_less_than_a_guess(city: City, truth: Anchors) -> None:
    trajs = city.trajectories
    rng = np.random.default_rng(0)
    xy = trajs.xy.mean(axis=0) + rng.uniform(-4000, 4000, trajs.xy.shape)
    noise = replace(trajs, lonlat=geo.unproject(xy, trajs.meta.crs))
    for evidence in ("stays", "ends"):
        for at in attacked(city, truth, noise, evidence=evidence).by_place:
            assert at.success <= at.guess + 0.05


def test_shuffled_names_leave_a_guess(city: City, truth: Anchors) -> None:
    trajs = city.trajectories
    mixed = replace(trajs, user=np.random.default_rng(1).permutation(trajs.user))
    assert all(at.success < at.guess + 0.15 for at in attacked(city, truth, mixed, evidence="ends").by_place)


def test_cells_hide_no_more_than_their_size(city: City, truth: Anchors) -> None:
    """Cells with times of their trips: 200 m cells still give homes away, those of 4 km do not."""
    trajs = city.trajectories
    share = []
    for size in (200.0, 4000.0):
        cells = as_cells(trajs, size)
        first = np.concatenate([[0], np.cumsum(trajs.lengths)])[:-1]
        t = np.concatenate(
            [
                np.linspace(trajs.t[a], trajs.t[b], n).astype(np.int64)
                for a, b, n in zip(first, trajs.ends, cells.lengths, strict=True)
            ]  # type: ignore[index]
        )
        released = replace(cells, t=t)
        share.append(attacked(city, truth, released, evidence="ends", join_m=size).by_place[0].success)
    assert share[0] > 0.7 > 0.2 > share[1]


def test_who_is_not_released_counts_as_a_failure(city: City, truth: Anchors) -> None:
    trajs = city.trajectories
    kept = np.flatnonzero(trajs.user >= 40)
    found = home_work(trajs, truth, trajs.take(kept), Origin.one_each(kept), evidence="ends")
    assert isinstance(found, HomeWork)
    home = found.by_place[0]
    assert home.suppressed == 40 and home.targets == 80 and home.success <= 0.5 and found.groups == 40


def test_linked_trajectories_do_for_names(city: City, truth: Anchors) -> None:
    trajs = city.trajectories
    released, each = nameless(trajs), Origin.one_each(np.arange(len(trajs)))
    without = home_work(trajs, truth, released, each)
    assert isinstance(without, NotPossible) and "no names" in without.reason
    joined = home_work(trajs, truth, released, each, group=trajs.user * 7)
    assert isinstance(joined, HomeWork)
    assert joined.by_place == attacked(city, truth, trajs).by_place


def test_the_same_rule_on_raw_data_stands_in_for_a_truth(city: City) -> None:
    trajs = city.trajectories
    found = infer(trajs, evidence="ends")
    assert (found.names == trajs.user_ids).all() and found.home[1].mean() > 0.9
    again = attacked(city, found, trajs, evidence="ends")
    assert all(at.success == 1.0 for at in again.by_place)


def test_hours_of_night_and_work_by_the_clock() -> None:
    """From Monday 00:00: nights from 20 to 6, working hours from 9 to 17 of five days; the sums run on over weeks."""
    monday = np.datetime64("2024-01-08", "ms").astype(np.int64)
    at = monday + HOUR * np.array([0, 6, 12, 20, 24, 30])
    assert (np.diff(module._night_until(at)) / HOUR).tolist() == [6, 0, 0, 4, 6]
    hours = HOUR * np.array([0, 9, 10, 17, 24, 4 * 24 + 17, 7 * 24, 7 * 24 + 12])
    assert (np.diff(module._working_until(monday + hours)) / HOUR).tolist() == [0, 1, 7, 0, 32, 0, 3]


def ms(text: str, tz: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(tz)).timestamp() * 1000)


def test_the_local_clock_decides() -> None:
    """One person sits at A from 21:00 to 5:00 and at B from 10:00 to 16:00 of Tokyo; read by UTC the two change places."""
    a, b = geo.unproject(ORIGIN + np.array([[0.0, 0.0], [3000.0, 0.0]]), META.crs)
    tz = "Asia/Tokyo"
    stays = [(a, "2024-01-08T21:00", "2024-01-09T05:00"), (b, "2024-01-09T10:00", "2024-01-09T16:00")]
    paths = [[(*p, ms(s, tz) / 1000), (*p, ms(e, tz) / 1000)] for p, s, e in stays]
    trajs = make(*paths, meta=replace(META, tz=tz), users=["x", "x"])
    found = infer(trajs)
    assert geo.project(np.array([a]), META.crs) == pytest.approx(found.home[0], abs=1e-3)
    assert geo.project(np.array([b]), META.crs) == pytest.approx(found.work[0], abs=1e-3)
    utc = infer(trajs.with_meta(tz="UTC"))
    assert geo.project(np.array([b]), META.crs) == pytest.approx(utc.home[0], abs=1e-3) or not utc.home[1][0]


def test_a_silence_longer_than_allowed_is_no_stay() -> None:
    a = geo.unproject(ORIGIN[None], META.crs)[0]
    t0 = ms("2024-01-08T20:00", "UTC") / 1000
    trajs = make([(*a, t0), (*a, t0 + 30 * 3600)], meta=META, users=["x"])
    assert not infer(trajs).home[1].any() and infer(trajs, longest_h=31.0).home[1].all()
    moving = make([(*a, t0), (a[0], a[1] + 0.002, t0 + 60)], meta=META, users=["x"])
    assert not infer(moving).home[1].any()


def test_best_places_by_hand() -> None:
    """Two neighbouring squares outweigh one that is heavier than each; what lies near home is no work; no weight, no place."""
    evidence = Evidence(
        np.array([0, 0, 0, 1]),
        np.array([[10.0, 10.0], [110.0, 10.0], [1010.0, 10.0], [5.0, 5.0]]),
        np.array([4, 4, 6, 0]),
    )
    places, found = best_places(evidence, 2, 100.0, None, 0.0)
    assert found.tolist() == [True, False] and places[0] == pytest.approx([60.0, 10.0])
    work, there = best_places(evidence, 2, 100.0, (places, found), 200.0)
    assert there.tolist() == [True, False] and work[0] == pytest.approx([1010.0, 10.0])


def test_says_what_the_release_lacks(city: City, truth: Anchors) -> None:
    trajs, nobody = city.trajectories, np.zeros(0, dtype=np.int64)
    each = Origin.one_each(np.arange(len(trajs)))
    for released, origin, reason in (
        (trajs, None, "generated"),
        (replace(trajs, t=None), each, "no times"),
        (trajs.take(nobody), Origin.one_each(nobody), "nothing was released"),
        (nameless(trajs), each, "no names"),
    ):
        found = home_work(trajs, truth, released, origin)
        assert isinstance(found, NotPossible) and reason in found.reason


def test_refuses_what_does_not_fit(city: City, truth: Anchors) -> None:
    trajs = city.trajectories
    each = Origin.one_each(np.arange(len(trajs)))
    with pytest.raises(ParameterError, match="radius_m = 0"):
        home_work(trajs, truth, trajs, each, radius_m=0)
    with pytest.raises(ParameterError, match="group has shape"):
        home_work(trajs, truth, trajs, each, group=np.zeros(3))
    with pytest.raises(ParameterError, match="truth lacks people"):
        home_work(trajs, replace(truth, names=np.char.add(truth.names, "x")), trajs, each)
    none = Anchors(truth.names, (truth.home[0], np.zeros(80, dtype=bool)), (truth.work[0], np.zeros(80, dtype=bool)))
    nobody = home_work(trajs, none, trajs, each)
    assert isinstance(nobody, NotPossible) and "nobody's home or work is known" in nobody.reason
    with pytest.raises(ParameterError, match="no column worker"):
        from_table(city.truth["people"].drop(columns="worker"), trajs.meta.crs)
    with pytest.raises(ParameterError, match="need times"):
        infer(replace(trajs, t=None))


def test_inputs_stay_and_figures_repeat(city: City, truth: Anchors) -> None:
    before = city.trajectories.fingerprint()
    frames = [attacked(city, truth, city.trajectories).to_frame() for _ in range(2)]
    pd.testing.assert_frame_equal(*frames)
    assert city.trajectories.fingerprint() == before and DAY_MS == 24 * HOUR
