"""Cloaking: radii against the reference, and regions of the released file recounted by loops of their own."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from anonymity_toys import apart
from k_delta_toys import DAY_MS, NOON, crowd, metres, without_times
from toys import META

from trajkit.anonymize.cloak_radius import chance_of_at_least, radius_expected, radius_sure
from trajkit.anonymize.cloak_regions import Rung, discs_hold, people_in, recount, spread_times
from trajkit.anonymize.cloaking import Cloaking
from trajkit.errors import DataContractError, ParameterError, PrivacyAccountingError
from trajkit.geo import unproject
from trajkit.methods import make_method
from trajkit.release import HIDDEN, Release
from trajkit.trajectories import Trajectories, make

SMALL: dict[str, Any] = {"k": 3, "finest_m": 100.0, "max_radius_m": 800.0, "window_m": 1000.0}
MINUTE = 60_000
DAY = 946_857_600_000  # 3 January 2000, the public date of clock times


def fitted(trajs: Trajectories, *, seed: int = 0, **parameters: Any) -> Cloaking:
    method = make_method("cloaking", **{**SMALL, **parameters}).fit(trajs, seed=seed)
    assert isinstance(method, Cloaking)
    return method


def released(trajs: Trajectories, *, seed: int = 0, **parameters: Any) -> Release:
    return fitted(trajs, seed=seed, **parameters).release(None, seed=seed)


@pytest.mark.shared
def test_radii_and_chances_of_the_reference(shared: Path) -> None:
    cases = json.loads((shared / "reference" / "cloaking_radius.json").read_text())["cases"]
    assert cases
    for case in cases:
        k, density, rel = case["inputs"]["k"], case["inputs"]["density_per_m2"], case["tolerance"]["rel"]
        expected = {name: float(value) for name, value in case["expected"].items()}
        radius = radius_expected(k, density)
        assert radius == pytest.approx(expected["radius_m"], rel=rel)
        assert chance_of_at_least(k, radius, density) == pytest.approx(
            expected["prob_at_least_k_persons_in_disc"], rel=rel
        )
        others = expected["prob_at_least_k_minus_1_others"]
        assert chance_of_at_least(k - 1, radius, density) == pytest.approx(others, rel=rel)
        sure = expected["radius_for_95pct_k_minus_1_others_m"]
        assert radius_sure(k, density) == pytest.approx(sure, rel=rel)


@pytest.mark.parametrize("k", [2, 5, 30])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_sure_radius_has_the_chance_that_a_sum_gives(k: int, confidence: float) -> None:
    mean = math.pi * radius_sure(k, 0.002, confidence) ** 2 * 0.002
    fewer = sum(math.exp(-mean + i * math.log(mean) - math.lgamma(i + 1)) for i in range(k - 1))
    assert 1 - fewer == pytest.approx(confidence, abs=1e-9)


def test_radii_take_arrays_and_refuse_nonsense() -> None:
    assert radius_sure(3, np.array([1e-3, 1e-4])).shape == (2,)
    assert chance_of_at_least(0, 10.0, 1e-3) == 1.0
    for bad in ((1, 1e-3), (3, 0.0), (3, math.nan)):
        with pytest.raises(ParameterError):
            radius_expected(*bad)
    with pytest.raises(ParameterError, match="confidence"):
        radius_sure(3, 1e-3, 1.0)
    with pytest.raises(ParameterError, match="people"):
        chance_of_at_least(-1, 1.0, 1.0)


def _shown(trajs: Trajectories, of: str) -> list[list[int]]:
    """Times that are compared: as they are, or since midnight (UTC, the zone of the toys) of the first one's day."""
    assert trajs.t is not None
    rows = [[int(x) for x in trajs.t[trajs.offsets[i] : trajs.offsets[i + 1]]] for i in range(len(trajs))]
    return [[x - (row[0] // DAY_MS * DAY_MS if of == "clock" else 0) for x in row] for row in rows]


def _inside(point: tuple[float, ...], centre: tuple[float, ...], side: float) -> bool:
    return all(-side / 2 <= a - b < side / 2 for a, b in zip(point, centre, strict=True))


def _fewest(trajs: Trajectories, out: Release, method: Cloaking) -> int:
    """Least number of people in a released region, counted by loops over raw points from nothing but the file and its sizes."""
    c, made = method.config, out.trajectories
    ladder, rungs = c.ladder(), method.rungs_
    sides, widths = [rung.side_m for rung in ladder], [(rung.minutes or 0) * MINUTE for rung in ladder]
    raw, raw_t = metres(trajs), _shown(trajs, c.of) if c.minutes else []
    who = [int(u) if c.count == "user" else i for i, u in enumerate(trajs.user)]
    places = [p for row in metres(made) for p in row]
    begin = DAY if c.of == "clock" else 0
    fewest, sharing = 10**9, 10**9
    labels: dict[tuple[Any, ...], set[int]] = {}
    for p, place in enumerate(places):
        side, width = sides[rungs[p]], widths[rungs[p]]
        assert all(abs(v / side - math.floor(v / side) - 0.5) < 1e-4 for v in place)  # centre of a public cell
        low = (int(made.t[p]) - begin) // width * width if made.t is not None else 0
        found = set()
        for i, row in enumerate(raw):
            for j, point in enumerate(row):
                if _inside(point, place, side) and (made.t is None or low <= raw_t[i][j] < low + width):
                    found.add(who[i])
        fewest = min(fewest, len(found))
        label = (rungs[p], *(math.floor(v / side) for v in place), low)
        labels.setdefault(label, set()).add(int(made.traj_of_point[p]))
    if c.reciprocal and c.count == "trajectory":
        sharing = min(len(lines) for lines in labels.values())
    return min(fewest, sharing)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "form",
    [
        {"minutes": None},
        {"minutes": 30},
        {"minutes": 30, "of": "absolute"},
        {"minutes": 15, "space": False, "finest_m": 400.0},
        {"minutes": 15, "space": False, "finest_m": 400.0, "of": "absolute"},
        {"minutes": 60, "start": "finest"},
    ],
    ids=str,
)
@pytest.mark.parametrize("reciprocal", [True, False])
@pytest.mark.parametrize("count", ["user", "trajectory"])
def test_every_released_region_holds_k_people(form: dict[str, Any], seed: int, reciprocal: bool, count: str) -> None:
    trajs = crowd(24, 10, seed, users=8)
    if form["minutes"] is None:
        trajs = without_times(trajs)
    method = fitted(trajs, **form, reciprocal=reciprocal, count=count)
    out = method.release(None, seed=seed)
    assert out.trajectories.n_points > 0 and out.trajectories.violations() == []
    assert _fewest(trajs, out, method) >= 3
    assert out.guarantee.holds and out.guarantee.kind == "k-anonymity" and out.guarantee.unit == "point"


def test_one_persons_repeats_hold_no_region() -> None:
    trajs = crowd(9, 10, 0, users=1, side_m=10.0, days=1)
    out = released(trajs)
    assert len(out.trajectories) == 0 and out.report[HIDDEN]["suppressed"]["users"] == 1.0
    assert len(released(trajs, count="trajectory").trajectories) == 9


def test_empty_single_and_suppressed_sets_give_an_empty_release() -> None:
    trajs = crowd(3, 10, 0, users=3)
    for few in (trajs.take(np.zeros(0, dtype=np.int64)), trajs.take(np.array([0]))):
        for form in ({}, {"space": False}, {"minutes": None}):
            assert len(released(few, **form).trajectories) == 0
    assert len(released(trajs, k=9).trajectories) == 0


def _at(*points: tuple[float, float]) -> Trajectories:
    """One person with one point at each place, metres within the cell of 800 m that begins at (530400, 4560000)."""
    lonlat = unproject(np.array(points) + np.array([530_400.0, 4_560_000.0]), META.crs)
    return Trajectories.generated(lonlat, np.arange(len(points) + 1, dtype=np.int64), meta=META)


def test_the_region_is_the_smallest_of_the_ladder_that_holds_k() -> None:
    trajs = _at((10, 10), (20, 20), (30, 30), (350, 350), (360, 360))
    sides = {"minutes": None, "start": "finest"}
    method = fitted(trajs, **sides, reciprocal=False)
    out = method.release(None, seed=0)
    found = dict(zip([float(x) for x in out.trajectories.xy[:, 0] - 530_400], method.rungs_.tolist(), strict=True))
    assert {round(x): level for x, level in found.items()} == {
        50: 0,
        200: 2,
    }  # 100 m for three, 400 m for the two others
    # if all must share their region, the two others have nobody left to share with
    shared = released(trajs, **sides)
    assert {round(x) for x in shared.trajectories.xy[:, 0] - 530_400} == {50}
    assert shared.report[HIDDEN]["suppressed"]["points"] == pytest.approx(0.4)


def test_density_starts_with_a_region_as_wide_as_the_sure_radius() -> None:
    trajs = _at(*[(10.0 + i, 10.0) for i in range(40)])
    radius = float(radius_sure(3, 40 / 1000.0**2))
    side = 100.0 * 2 ** math.ceil(math.log2(2 * radius / 100.0))
    assert side > 100.0
    table = released(trajs, minutes=None).report["regions"]
    assert list(table) == [f"{side:g} m"] and table[f"{side:g} m"]["area, m2"] == side**2


def test_the_released_place_is_not_a_true_place_and_repeats_merge() -> None:
    trajs = crowd(12, 10, 0, users=12, side_m=50.0, days=1)
    out = released(trajs, minutes=1440).trajectories
    assert out.n_points < trajs.n_points
    assert not {tuple(p) for p in out.lonlat} & {tuple(p) for p in trajs.lonlat}


def test_returns_stay_in_the_same_bin_at_equal_spacing() -> None:
    meta = META
    a, b = (-8.61, 41.17), (-8.605, 41.17)
    path = [(*place, NOON / 1000 + 60 * i) for i, place in enumerate((a, a, b, b, a))]
    trajs = apart(make(path, path, path, meta=meta))
    out = released(trajs, minutes=60, start="finest").trajectories
    assert out.lengths.tolist() == [3, 3, 3] and out.t is not None
    assert out.t[:3] - DAY == pytest.approx(np.array([12 * 60 * MINUTE + 15 * MINUTE * i for i in (1, 2, 3)]), abs=2)
    assert (out.lonlat[0] == out.lonlat[2]).all() and (out.lonlat[0] != out.lonlat[1]).any()


def test_times_come_from_intervals_alone_and_rise() -> None:
    low, high = np.array([0, 0, 0, 100, 100, 0]), np.array([100, 50, 100, 200, 150, 1000])
    out = spread_times(low, high, np.array([0, 5, 6]))
    assert (np.diff(out[:5]) > 0).all() and (out >= low).all() and (out < high).all()
    rng = np.random.default_rng(0)
    for _ in range(200):
        t = np.cumsum(rng.integers(1, 20, 12))
        width = 8 * 2 ** rng.integers(0, 5, 12)
        out = spread_times(t // width * width, (t // width + 1) * width, np.array([0, 12]))
        assert (np.diff(out) > 0).all() and (out // width == t // width).all()


def test_past_midnight_the_clock_runs_on() -> None:
    late = NOON / 1000 + 11.5 * 3600
    walk = [(-8.61, 41.17, late + 60 * i) for i in range(0, 90, 10)]
    out = released(apart(make(walk, walk, walk, meta=META)), minutes=60, start="finest").trajectories
    assert out.t is not None and ((out.t[:2] - DAY) // (60 * MINUTE)).tolist() == [23, 24]


def test_ladders_are_made_of_whole_regions() -> None:
    steps = make_method("cloaking", space=False, minutes=15).config.ladder()  # type: ignore[attr-defined]
    assert [rung.minutes for rung in steps] == [15, 30, 60, 120, 240, 480, 1440]
    steps = make_method("cloaking", finest_m=100.0, max_radius_m=450.0).config.ladder()  # type: ignore[attr-defined]
    assert [rung.side_m for rung in steps] == [100, 200, 400, 800]


def test_cells_cut_by_the_box_are_released_on_its_border() -> None:
    trajs = make(*[[(-8.72, 41.10)]] * 3, meta=META)
    out = released(trajs, minutes=None, finest_m=1600.0).trajectories
    assert len(out) == 3 and out.violations() == []


@pytest.mark.parametrize(
    "bad", [{"minutes": 7}, {"space": False, "minutes": None}, {"finest_m": 9000.0}, {"confidence": 1.0}, {"k": 1}]
)
def test_bad_parameters_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        make_method("cloaking", **bad)


def test_bad_calls_are_refused() -> None:
    with pytest.raises(ParameterError, match="set minutes to null"):
        fitted(without_times(crowd(5, 4, 0, users=5)))
    with pytest.raises(ParameterError, match="release\\(None\\)"):
        fitted(crowd(5, 4, 0, users=5)).release(3, seed=0)
    with pytest.raises(DataContractError):
        bad = crowd(5, 4, 0, users=5)
        fitted(replace(bad, lonlat=bad.lonlat + 90))


def test_same_seed_same_bytes_and_the_input_stays() -> None:
    trajs = crowd(40, 10, 0, users=20)
    before = trajs.fingerprint()
    one, two, other = (released(trajs, seed=s) for s in (1, 1, 2))
    assert one.trajectories.fingerprint() == two.trajectories.fingerprint() != other.trajectories.fingerprint()
    assert one.report == two.report and trajs.fingerprint() == before
    assert not set(one.trajectories.user_ids) & set(trajs.user_ids)


def test_a_file_that_breaks_the_promise_does_not_leave() -> None:
    method = fitted(crowd(40, 10, 0, users=20), start="finest")
    model = method.model_
    fine = replace(
        model.cloaks,
        rung=np.zeros_like(model.cloaks.rung),
        cell=Rung(100.0, 60).regions(model.train.xy, model.times)[0],
    )
    method.model_ = replace(model, cloaks=fine)
    with pytest.raises(PrivacyAccountingError, match="fewer than 3 people"):
        method.release(None, seed=0)


def test_counts_are_those_of_loops() -> None:
    rng = np.random.default_rng(0)
    cell, bins, who = rng.integers(0, 5, 200), rng.integers(0, 3, 200), rng.integers(0, 9, 200)
    people: dict[tuple[int, int], set[int]] = {}
    for c, b, w in zip(cell, bins, who, strict=True):
        people.setdefault((c, b), set()).add(w)
    expected = [len(people[c, b]) for c, b in zip(cell, bins, strict=True)]
    assert people_in(cell, bins, who).tolist() == expected
    assert recount((cell, bins), who, (cell, bins)).tolist() == expected
    assert recount((cell, bins), who, (np.array([99]), np.array([0]))).tolist() == [0]


def test_discs_are_those_of_loops() -> None:
    rng = np.random.default_rng(1)
    xy, bins, who = rng.uniform(0, 100, (150, 2)), rng.integers(0, 3, 150), rng.integers(0, 12, 150)
    asked, radius = rng.permutation(150)[:80], rng.uniform(0, 40, 80)
    found = discs_hold(xy, bins, who, asked, radius, 4)
    for a, r, answer in zip(asked, radius, found, strict=True):
        near = {w for p, b, w in zip(xy, bins, who, strict=True) if b == bins[a] and math.dist(p, xy[a]) <= r}
        assert answer == (len(near) >= 4)
    assert 0 < found.mean() < 1


def test_the_report_says_what_the_radii_held_and_the_words_what_is_not_covered() -> None:
    out = released(crowd(60, 10, 0, users=30), start="density")
    held = out.report[HIDDEN]["share of points with k people in the"]
    assert held["disc of the expected radius"] < held["disc of the sure radius"] < 1
    assert held["region released (of the points released)"] == 1
    assert sum(row["points"] for row in out.report["regions"].values()) == out.trajectories.n_points
    assert any("whole trajectories are not" in a for a in out.guarantee.assumptions)
