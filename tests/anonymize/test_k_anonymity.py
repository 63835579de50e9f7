"""k-anonymity: the worked table, a second count by dictionaries, and each defect of the published recipe as a test."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import checker
import numpy as np
import pandas as pd
import pytest
from anonymity_toys import SETTING, crowd, fitted, released, trips
from toys import META, walks

from trajkit.anonymize.signatures import grouped, signatures
from trajkit.anonymize.tessellation import SquareCells
from trajkit.anonymize.time_bins import TimeBins
from trajkit.errors import ParameterError, PrivacyAccountingError
from trajkit.geo import project
from trajkit.release import HIDDEN
from trajkit.trajectories import Trajectories

# ---- the worked table ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def case(shared: Path) -> dict[str, Any]:
    path = shared / "reference" / "trajectory_anonymity.json"
    if not path.is_file():
        pytest.skip(f"the reference values are not here ({path})")
    cases = json.loads(path.read_text())["cases"]
    (found,) = [c for c in cases if c["inputs"]["kind"] == "k_anonymity"]
    return found


def table(case: dict[str, Any]) -> tuple[Trajectories, list[str]]:
    rows = case["inputs"]["rows"]
    return (
        trips(*(" ".join(r["signature"]) for r in rows), users=[r["user"] for r in rows]),
        ["|".join(r["signature"]) for r in rows],
    )


@pytest.mark.shared
def test_classes_of_the_worked_table(case: dict[str, Any]) -> None:
    trajs, names = table(case)
    found = grouped(trajs, SquareCells(500.0), TimeBins(60, "absolute"), trajs.user)
    expected = case["expected"]
    named = [names[i] for i in found.first]
    assert dict(zip(named, found.trajectories.tolist(), strict=True)) == expected["class_sizes_trajectories"]
    assert dict(zip(named, found.users.tolist(), strict=True)) == expected["class_sizes_users"]
    assert found.unique_share == pytest.approx(expected["unique_trajectory_fraction"], abs=case["tolerance"]["abs"])
    # defect 9: the recipe divides by the number of classes
    assert (found.trajectories == 1).mean() == pytest.approx(expected["seed_code_unique_before"])


@pytest.mark.shared
@pytest.mark.parametrize("count", ["user", "trajectory"])
def test_release_of_the_worked_table(case: dict[str, Any], count: str) -> None:
    trajs, names = table(case)
    expected = case["expected"]
    release = released(trajs, k=case["inputs"]["k"], count=count, suppression_budget=0.5, **SETTING)
    how: dict[str, Any] = {"cell_m": 500.0, "minutes": 60, "of": "absolute", "tz": "UTC", "crs": META.crs}
    raw = checker.paths(trajs, **how)
    name_of = dict(zip(raw, names, strict=True))
    out = checker.tally(checker.paths(release.trajectories, **how))
    assert sorted(name_of[sig] for sig in out) == expected[f"released_by_{count}_count"]
    assert {name_of[s]: n for s, n in out.items()}.items() <= expected["class_sizes_trajectories"].items()
    hidden = release.report[HIDDEN]
    assert hidden["share of trajectories alone in their class"] == pytest.approx(expected["unique_trajectory_fraction"])
    if count == "user":
        suppressed = expected["suppressed_fraction_by_user_count"]
        assert hidden["suppressed"]["trajectories"] == pytest.approx(suppressed, abs=case["tolerance"]["abs"])
    assert release.guarantee.unit == count
    assert any("no person is protected" in a for a in release.guarantee.assumptions) == (count == "trajectory")


# ---- a second count ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("of", ["clock", "absolute"])
@pytest.mark.parametrize("minutes", [60, 120, None])
def test_every_released_class_holds_k_distinct_users_and_none_is_forgotten(
    seed: int, of: str, minutes: int | None
) -> None:
    trajs, k = crowd(200, seed), 2 + seed
    how: dict[str, Any] = {"cell_m": 2000.0, "minutes": minutes, "of": of, "tz": trajs.meta.tz, "crs": META.crs}
    release = released(trajs, k=k, cells_m=[2000.0], minutes=[minutes], of=of, suppression_budget=1.0)
    expected = checker.whole_classes(checker.paths(trajs, **how), trajs.user.tolist(), k, 2)
    assert checker.tally(checker.paths(release.trajectories, **how)) == expected
    assert expected and len(release.trajectories) < len(trajs)
    assert (release.trajectories.t is None) == (minutes is None)
    assert release.report[HIDDEN]["fewest persons in a released class, recounted"] >= k


@pytest.mark.parametrize("parameters", [{"cells": "adaptive", "depth": 2, "cells_m": [500.0, 1000.0]}, {"cells": "h3"}])
@pytest.mark.parametrize("suppress", ["trajectory", "segments"])
def test_other_cells_keep_k_users_behind_equal_trajectories(parameters: dict[str, Any], suppress: str) -> None:
    if parameters["cells"] == "h3":
        pytest.importorskip("h3", reason="the optional package h3 is not installed")
    method = fitted(crowd(300, 1), k=3, suppress=suppress, **parameters)
    out = method.release(None, seed=1).trajectories
    t = np.zeros(out.n_points, dtype=np.int64) if out.t is None else out.t
    rows = [
        tuple(map(tuple, np.column_stack([out.lonlat[a:b], t[a:b]]).tolist()))
        for a, b in zip(out.offsets, out.offsets[1:], strict=False)
    ]
    sizes = checker.tally(rows)  # type: ignore[arg-type]
    assert sizes and min(sizes.values()) >= 3
    adaptive = any("quadtree" in a for a in method.model_.guarantee.assumptions)
    assert adaptive == (parameters["cells"] == "adaptive")


# ---- defects of the recipe -----------------------------------------------------------------------------------------


def test_1_the_recount_looks_at_what_was_emitted() -> None:
    method = fitted(trips(*["a0 b0 c1"] * 3, *["d0 e0 f1"] * 3), k=3, **SETTING)
    assert len(method.release(None, seed=0).trajectories) == 6
    broken = method.model_.lonlat.copy()
    model = method.model_
    for change in (
        {"person": np.where(model.of == 0, 0, model.person)},  # the same person thrice
        {"lonlat": broken, "of": np.array([0, 0, 1, 1, 1, 1])},  # a trajectory of one class emitted as one of the other
    ):
        method.model_ = replace(model, **change)
        with pytest.raises(PrivacyAccountingError, match="fewer than k = 3"):
            method.release(None, seed=0)


def test_2_a_release_of_nothing_is_legal() -> None:
    release = released(walks(6, 8, 0), k=5)
    assert len(release.trajectories) == 0 and release.trajectories.violations() == []
    assert release.report[HIDDEN]["suppressed"]["trajectories"] == 1.0
    assert release.report["within budget"] is False and "suppresses least" in release.report["notes"][0]
    assert release.report[HIDDEN]["fewest persons in a released class, recounted"] is None
    empty = released(walks(6, 8, 0).take(np.zeros(0, dtype=np.int64)))
    assert len(empty.trajectories) == 0 and empty.report[HIDDEN]["suppressed"]["trajectories"] == 0.0
    numbers = json.loads(json.dumps(empty.report))["suppressed"]
    assert not any(isinstance(v, float) and math.isnan(v) for v in numbers.values())


def test_3_and_4_classes_count_people_not_rows_and_not_trips() -> None:
    commuter = trips(*["a0 b0 c1 d1"] * 5, *["e0 f0"] * 3, users=["one"] * 5 + ["x", "y", "z"])
    assert len(released(commuter, k=3, suppression_budget=1.0, **SETTING).trajectories) == 3
    by_trip = released(commuter, k=3, count="trajectory", **SETTING)
    assert len(by_trip.trajectories) == 8 and by_trip.guarantee.unit == "trajectory"


def test_5_and_6_sampling_rate_leaves_no_mark_and_returns_stay() -> None:
    trajs = trips("a0 b0 a0", "a0 a0 b0 b0 a0", "a0 b0", "a0 b0 b0", "a0 a0 b0 a0 a0")
    out = released(trajs, k=2, **SETTING).trajectories
    assert sorted(out.lengths.tolist()) == [2, 2, 3, 3, 3]
    for i in np.flatnonzero(out.lengths == 3):
        assert (out[int(i)][0] == out[int(i)][2]).all() and (out[int(i)][0] != out[int(i)][1]).any()


def test_7_nothing_depends_on_salted_hashes_and_neighbouring_negative_columns_differ() -> None:
    code = (
        "import sys; sys.path[:0] = ['tests', 'tests/anonymize']\n"
        "from anonymity_toys import crowd, released\n"
        "print(released(crowd(60, 0), k=2, suppress='segments').trajectories.fingerprint())"
    )
    root = Path(__file__).resolve().parents[2]
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": salt},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for salt in ("1", "2")
    }
    assert len(runs) == 1
    xy = np.array([[-250.0, 100.0], [-750.0, 100.0]])
    assert hash(-1) == hash(-2) and len(set(SquareCells(500.0).cell_of(xy).tolist())) == 2


def test_7_names_say_nothing_and_are_drawn_afresh() -> None:
    method = fitted(trips(*["a0 b0"] * 3, *["c0 d0"] * 3, *["e0 f0"] * 3, *["g0 h0"] * 3), k=3, **SETTING)
    named = []
    for seed in range(6):
        out = method.release(None, seed=seed).trajectories
        names = [name.split("-")[0] for name in out.traj_ids]
        assert sorted(set(names)) == ["c0", "c1", "c2", "c3"]
        named.append(tuple(sorted((name, float(out[i][0][0])) for i, name in enumerate(names))))
    assert len(set(named)) > 1


def test_9_uniqueness_is_of_trajectories() -> None:
    trajs = trips("a0 b0", "c0 d0", *["e0 f0"] * 6)
    release = released(trajs, k=2, **SETTING)
    assert release.report[HIDDEN]["share of trajectories alone in their class"] == 2 / 8


@pytest.mark.parametrize("of", ["clock", "absolute"])
def test_14_released_places_and_times_fall_into_the_cells_and_bins_that_were_audited(of: Any) -> None:
    trajs, cells = crowd(200, 3), SquareCells(2000.0)
    bins = TimeBins(30, of, trajs.meta.tz)
    out = released(trajs, k=2, cells_m=[2000.0], minutes=[30], of=of, suppression_budget=1.0).trajectories
    assert out.t is not None and len(out) > 10
    sig = signatures(out, cells, bins)
    assert (np.diff(sig.offsets) == out.lengths).all()  # one fix a label
    assert (
        cells.centres(sig.cells) == pytest.approx(project(out.lonlat, META.crs), abs=1e-3)
    ) and sig.cells.dtype == np.int64
    audited = {tuple(zip(c, b, strict=True)) for c, b in _labels(trajs, cells, bins)}
    assert all(tuple(zip(c, b, strict=True)) in audited for c, b in _labels(out, cells, bins))


def _labels(trajs: Trajectories, cells: SquareCells, bins: TimeBins) -> list[tuple[list[int], list[int]]]:
    sig = signatures(trajs, cells, bins)
    return [
        (sig.cells[a:b].tolist(), sig.bins[a:b].tolist()) for a, b in zip(sig.offsets, sig.offsets[1:], strict=False)
    ]


def test_17_the_clock_joins_days_and_absolute_time_does_not() -> None:
    trajs = trips("a8 b9", "a32 b33", "a56 b57")  # the same hours of three days
    clock = released(trajs, k=3, cells_m=[500.0], minutes=[60], of="clock", day="2020-02-02").trajectories
    assert clock.t is not None
    assert (
        pd.to_datetime(clock.t, unit="ms").strftime("%Y-%m-%d %H:%M").tolist()
        == ["2020-02-02 08:00", "2020-02-02 09:00"] * 3
    )
    assert len(released(trajs, k=3, **SETTING).trajectories) == 0


def test_17_times_rise_across_midnight_and_where_many_labels_share_a_bin() -> None:
    trajs = trips(*["a23 b23 c23 d23 e24 f24"] * 2)
    out = released(trajs, k=2, cells_m=[500.0], minutes=[60], of="clock", day="2020-02-02").trajectories
    assert out.t is not None
    shown = pd.to_datetime(out.t[:6], unit="ms").strftime("%d %H:%M").tolist()
    assert shown == ["02 23:00", "02 23:15", "02 23:30", "02 23:45", "03 00:00", "03 00:30"]


@pytest.mark.parametrize(
    ("tz", "day", "first"),
    [("Asia/Tokyo", "2020-02-02", "2020-02-01 15:00"), ("UTC", "2000-01-03", "2000-01-03 00:00")],
)
def test_the_day_begins_at_local_midnight(tz: str, day: str, first: str) -> None:
    trajs = trips(*["a0 b0"] * 2).with_meta(tz=tz)
    out = released(trajs, k=2, cells_m=[500.0], minutes=[1440], day=day).trajectories
    assert out.t is not None and pd.Timestamp(int(out.t[0]), unit="ms").strftime("%Y-%m-%d %H:%M") == first


def test_a_day_on_which_clocks_change_is_refused() -> None:
    with pytest.raises(ParameterError, match="choose another day"):
        fitted(trips("a0 b0").with_meta(tz="Europe/Lisbon"), day="2013-10-27")


def test_18_suppression_is_told_by_users_and_points_too() -> None:
    trajs = trips(*["a0 b0"] * 3, "c0 d0 e0 f0 g0 h0", users=["x", "y", "z", "x"])
    exact = released(trajs, k=3, **SETTING).report[HIDDEN]["suppressed"]
    assert (exact["trajectories"], exact["users"], exact["points"]) == (0.25, 0.0, 0.5)


def test_20_signatures_of_one_label_do_not_pass_for_movements() -> None:
    trajs = trips(*["a0"] * 5, *["b0 b0 b0"] * 5, *["c0 d0"] * 5)
    assert len(released(trajs, suppression_budget=1.0, **SETTING).trajectories) == 5
    assert len(released(trajs, suppression_budget=1.0, min_labels=1, **SETTING).trajectories) == 15
