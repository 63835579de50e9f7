"""Stays, home-like places and cutting them out, on walks whose answer is known by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from toys import META, ORIGIN, walks

from trajkit.anonymize.stay_points import home_like, night_ms, stay_points, suppress_stays
from trajkit.errors import ParameterError
from trajkit.geo import haversine_m, unproject
from trajkit.trajectories import Trajectories, make

MIN = 60.0


def timed(*paths: list[tuple[float, float, float]], users: list[str] | None = None, tz: str = "UTC") -> Trajectories:
    """Trajectories from (metres east, metres north, seconds since 1970)."""
    degrees = []
    for path in paths:
        lonlat = unproject(np.array([p[:2] for p in path]) + ORIGIN, META.crs)
        degrees.append([(lon, lat, p[2]) for (lon, lat), p in zip(lonlat.tolist(), path, strict=True)])
    return make(*degrees, meta=replace(META, tz=tz), users=users)


def there_and_on(start: float = 0.0) -> list[tuple[float, float, float]]:
    """Five minutes of walk (80 m each), 30 minutes within 10 m of (400, 0), five minutes of walk on."""
    walk = [(80.0 * i, 0.0, start + i * MIN) for i in range(5)]
    dwell = [(400.0 + (i % 2) * 6.0, 0.0, start + (5 + 5 * i) * MIN) for i in range(7)]
    on = [(480.0 + 80.0 * i, 0.0, start + (36 + i) * MIN) for i in range(5)]
    return walk + dwell + on


def by_hand(xy: np.ndarray, t: np.ndarray, radius: float, dwell_ms: int) -> list[tuple[int, int]]:
    found, i = [], 0
    while i < len(xy):
        j = i
        while j + 1 < len(xy) and np.hypot(*(xy[j + 1] - xy[i])) <= radius:
            j += 1
        if t[j] - t[i] >= dwell_ms:
            found.append((i, j))
            i = j
        i += 1
    return found


def test_a_walk_a_dwell_a_walk() -> None:
    trajs = timed(there_and_on())
    stays = stay_points(trajs, radius_m=50, dwell_s=20 * MIN)
    assert (stays.trajectory.tolist(), stays.first.tolist(), stays.last.tolist()) == ([0], [5], [11])
    assert (stays.arrival.tolist(), stays.departure.tolist()) == ([300_000], [2_100_000])
    np.testing.assert_allclose(stays.centre - ORIGIN, [[400 + 18 / 7, 0]], atol=1e-6)
    assert len(stay_points(trajs, radius_m=50, dwell_s=30 * MIN)) == 1  # the bound itself counts
    assert len(stay_points(trajs, radius_m=50, dwell_s=30 * MIN + 1)) == 0


def test_agrees_with_the_rule_written_plainly() -> None:
    rng = np.random.default_rng(0)
    paths = []
    for n in (1, 2, 40, 200):
        steps = np.where(rng.random((n, 1)) < 0.7, rng.normal(0, 5, (n, 2)), rng.normal(0, 100, (n, 2)))
        t = np.cumsum(rng.integers(1, 120, n))
        paths.append([(float(x), float(y), float(s)) for (x, y), s in zip(np.cumsum(steps, axis=0), t, strict=True)])
    trajs = timed(*paths)
    stays = stay_points(trajs, radius_m=40, dwell_s=200)
    want = []
    for r in range(len(trajs)):
        a, b = trajs.offsets[r], trajs.offsets[r + 1]
        want += [(r, a + i, a + j) for i, j in by_hand(trajs.xy[a:b], trajs.t[a:b], 40, 200_000)]
    assert len(want) > 5
    assert list(zip(stays.trajectory, stays.first, stays.last, strict=True)) == want
    means = [trajs.xy[i : j + 1].mean(axis=0) for _, i, j in want]
    np.testing.assert_allclose(stays.centre, means, atol=1e-6)


def test_stays_end_with_their_trajectory() -> None:
    half = [(0.0, 0.0, 0.0), (0.0, 0.0, 8 * MIN)]
    later = [(x, y, s + 10 * MIN) for x, y, s in half]
    assert len(stay_points(timed(half, later, users=["u", "u"]), radius_m=10, dwell_s=15 * MIN)) == 0


@pytest.mark.parametrize("setting", [{"radius_m": 0}, {"radius_m": -1}, {"dwell_s": 0}, {"dwell_s": float("nan")}])
def test_bad_settings_are_refused(setting: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match="must be positive"):
        stay_points(timed(there_and_on()), **{"radius_m": 50.0, "dwell_s": 60.0, **setting})


def test_without_times_there_are_no_stays() -> None:
    with pytest.raises(ParameterError, match="has no times"):
        stay_points(walks(2, 8, 0), radius_m=50, dwell_s=60)
    with pytest.raises(ParameterError, match="has no times"):
        suppress_stays(walks(2, 8, 0), radius_m=50, dwell_s=60)


def ms(text: str, tz: str) -> np.ndarray:
    return np.array([int(pd.Timestamp(text, tz=tz).timestamp() * 1000)])


@pytest.mark.parametrize(
    ("arrival", "departure", "hours"),
    [
        ("2020-01-01 19:00", "2020-01-02 07:00", 10),
        ("2020-01-01 07:00", "2020-01-01 19:30", 0),
        ("2020-01-01 03:00", "2020-01-01 21:00", 4),
        ("2020-01-01 21:00", "2020-01-01 23:30", 2.5),
        ("2020-01-01 12:00", "2020-01-04 12:00", 30),
    ],
)
@pytest.mark.parametrize("tz", ["UTC", "Asia/Shanghai", "America/New_York"])
def test_hours_of_night(arrival: str, departure: str, hours: float, tz: str) -> None:
    assert night_ms(ms(arrival, tz), ms(departure, tz), tz).tolist() == [hours * 3_600_000]


def test_no_night_is_longer_than_the_stay() -> None:
    tz = "Europe/Lisbon"  # 25 October 2020: the clock went back at two; in March it went forward at one
    for a, b in (("2020-10-25 00:30", "2020-10-25 05:30"), ("2020-03-29 00:30", "2020-03-29 05:30")):
        arrival, departure = ms(a, tz), ms(b, tz)
        assert 0 < night_ms(arrival, departure, tz)[0] <= (departure - arrival)[0]


def nights_and_days(tz: str) -> Trajectories:
    """One person who is at (0, 0) from 22 to 4 and at (3000, 0) from 9 to 18, by the clock of Shanghai, for three days."""
    rows = []
    for day in (4, 5, 6):
        for hour, x in ((0, 0.0), (4, 0.0), (9, 3000.0), (18, 3000.0), (22, 0.0), (23.9, 0.0)):
            when = pd.Timestamp(f"2008-02-0{day}", tz="Asia/Shanghai").timestamp() + hour * 3600
            rows.append((x, 0.0, when))
    return timed(rows, users=["u"], tz=tz)


def test_home_is_where_the_nights_are_by_the_local_clock() -> None:
    """Read in UTC, the working day of Beijing becomes a night, and the office a home (complaint C06)."""
    trajs = nights_and_days("Asia/Shanghai")
    stays = stay_points(trajs, radius_m=100, dwell_s=3600)
    local, utc = home_like(stays, trajs, "Asia/Shanghai"), home_like(stays, trajs, "UTC")
    assert local.user.tolist() == utc.user.tolist() == [0]
    np.testing.assert_allclose(local.centre - ORIGIN, [[0, 0]], atol=1e-6)
    # 0-4 on the first day, 22-4 twice, 22-23.9 on the last
    np.testing.assert_allclose(local.night_h, [4 + 6 + 6 + 1.9])
    # 9-18 in Shanghai is 1-10 in UTC: five hours before six, three times; 22-4 is 14-20, no night at all
    np.testing.assert_allclose(utc.centre - ORIGIN, [[3000, 0]], atol=1e-6)
    np.testing.assert_allclose(utc.night_h, [15])
    cut = [suppress_stays(t, radius_m=100, dwell_s=3600)[0] for t in (trajs, trajs.with_meta(tz="UTC"))]
    assert [sorted({round(x) for x in c.xy[:, 0] - ORIGIN[0]}) for c in cut] == [[3000], [0]]


def test_unknown_zone_and_unknown_choices_are_named() -> None:
    trajs = timed(there_and_on())
    stays = stay_points(trajs, radius_m=50, dwell_s=60)
    with pytest.raises(ParameterError, match=r"Mars/Olympus"):
        home_like(stays, trajs, "Mars/Olympus")
    with pytest.raises(ParameterError, match="use home or all"):
        suppress_stays(trajs, radius_m=50, dwell_s=60, which="office")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="around_m"):
        suppress_stays(trajs, radius_m=50, dwell_s=60, around_m=-1)


def test_homes_of_several_users_are_their_own() -> None:
    night = pd.Timestamp("2020-01-01 22:00", tz="UTC").timestamp()
    paths = [[(x, 0.0, night), (x, 0.0, night + 3600 * h)] for x, h in ((0.0, 1), (2000.0, 2), (5000.0, 1), (0.0, 2))]
    trajs = timed(*paths, users=["b", "a", "b", "c"])
    homes = home_like(stay_points(trajs, radius_m=50, dwell_s=600), trajs, "UTC")
    assert trajs.user_ids[homes.user].tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(homes.night_h, [2, 1, 2])
    assert homes.centre[0, 0] - ORIGIN[0] == pytest.approx(2000, abs=1e-6)
    assert homes.centre[2, 0] - ORIGIN[0] == pytest.approx(0, abs=1e-6)


def test_all_stays_are_cut_out_and_no_line_leads_through() -> None:
    trajs = timed(there_and_on())
    before = trajs.fingerprint()
    after, report = suppress_stays(trajs, radius_m=50, dwell_s=20 * MIN, which="all")
    assert after.lengths.tolist() == [5, 5] and after.traj_ids.tolist() == ["t0_0", "t0_1"]
    assert (report.points_in, report.points_out, report.created, report.dropped["stay"]) == (17, 10, 1, [0, 7])
    assert after.violations() == [] and after.user.tolist() == [0, 0]
    wider, report = suppress_stays(trajs, radius_m=50, dwell_s=20 * MIN, which="all", around_m=170)
    assert wider.lengths.tolist() == [3, 3]  # 240 and 320 m before, 480 and 560 m behind lie within 170 m of 403 m
    assert report.dropped == {"stay": [0, 7], "around a protected place, next to a cut or an end": [0, 4]}
    assert trajs.fingerprint() == before and trajs.meta.steps == ()


def test_home_goes_at_the_ends_and_stays_in_passing() -> None:
    night = pd.Timestamp("2020-01-01 22:00", tz="UTC").timestamp()
    home = [(0.0, 0.0, night), (0.0, 0.0, night + 7200)]
    leaves = [(100.0 * i, 0.0, night + 9000 + 60 * i) for i in range(1, 10)]
    passes = [(100.0 * i, 0.0, night + 20_000 + 60 * i) for i in range(-9, 10)]
    comes = [(-100.0 * i, 0.0, night + 30_000 - 60 * i) for i in range(9, -1, -1)]
    other = [(100.0 * i, 0.0, night + 60 * i) for i in range(10)]
    trajs = timed(home, leaves, passes, comes, other, users=["a", "a", "a", "a", "b"])
    after, report = suppress_stays(trajs, radius_m=50, dwell_s=3600, around_m=450)
    assert after.traj_ids.tolist() == ["t1_0", "t2_0", "t3_0", "t4_0"]
    assert after.lengths.tolist() == [5, 19, 5, 10]
    assert report.dropped["nothing left"] == [1, 0] and report.created == 0
    assert report.found == {"stays": 1, "stays cut out": 1, "users with a home-like place": 1}


@pytest.mark.parametrize("around", [0.0, 200.0])
def test_rows_are_accounted_for_and_home_is_part_of_all(around: float) -> None:
    rng = np.random.default_rng(3)
    paths, users = [], []
    for i in range(30):
        n = int(rng.integers(1, 60))
        steps = np.where(rng.random((n, 1)) < 0.6, 0.0, rng.normal(0, 150, (n, 2)))
        t = 1.2e9 + i * 90_000 + np.cumsum(rng.integers(60, 2400, n))
        paths.append([(float(x), float(y), float(s)) for (x, y), s in zip(np.cumsum(steps, axis=0), t, strict=True)])
        users.append(f"u{i % 7}")
    trajs = timed(*paths, users=users)
    left = {}
    for which in ("home", "all"):
        after, report = suppress_stays(trajs, radius_m=100, dwell_s=1800, which=which, around_m=around)  # type: ignore[arg-type]
        gone = np.array(list(report.dropped.values())).sum(axis=0)
        assert trajs.n_points == after.n_points + gone[1] and len(trajs) + report.created == len(after) + gone[0]
        assert after.violations() == [] and after.meta.steps[-1] == report.as_dict()
        left[which] = set(zip(after.user_ids[after.user[after.traj_of_point]], after.t, strict=True))
        again, _ = suppress_stays(trajs, radius_m=100, dwell_s=1800, which=which, around_m=around)  # type: ignore[arg-type]
        assert again.fingerprint() == after.fingerprint()
    assert left["all"] < left["home"]


def test_nothing_of_a_stay_is_left_near_the_ends() -> None:
    trajs = nights_and_days("Asia/Shanghai")
    after, _ = suppress_stays(trajs, radius_m=100, dwell_s=3600, around_m=300)
    assert len(after) and haversine_m(after.lonlat, np.broadcast_to(trajs.lonlat[0], after.lonlat.shape)).min() > 300


def test_empty_sets_single_points_and_sets_that_vanish() -> None:
    trajs = timed(there_and_on())
    nobody = trajs.take(np.zeros(0, dtype=np.int64))
    assert len(stay_points(nobody, radius_m=50, dwell_s=60)) == 0
    for which in ("home", "all"):
        after, report = suppress_stays(nobody, radius_m=50, dwell_s=60, which=which, around_m=100)  # type: ignore[arg-type]
        assert (len(after), report.dropped, report.created) == (0, {}, 0)
    one = timed([(0.0, 0.0, 5.0)])
    assert len(stay_points(one, radius_m=50, dwell_s=60)) == 0
    after, _ = suppress_stays(one, radius_m=50, dwell_s=60, which="all")
    assert after.lengths.tolist() == [1]
    still = timed([(0.0, 0.0, 0.0), (0.0, 0.0, 600.0)])
    after, report = suppress_stays(still, radius_m=50, dwell_s=60, which="all")
    assert len(after) == 0 and report.dropped == {"stay": [0, 2], "nothing left": [1, 0]}
