"""Realism of single trips: distances that can be worked out by hand, and what has no times has none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from toys import from_metres

from trajkit.classical.trip_habits import speeds_mps
from trajkit.study.realism import detours, distances, standing_shares
from trajkit.trajectories import Trajectories

STRAIGHT = [(0.0, 0.0), (500.0, 0.0), (1000.0, 0.0)]
BENT = [(0.0, 0.0), (0.0, 1000.0), (1000.0, 1000.0)]


def timed(trajs: Trajectories, *, hour: float, seconds: float) -> Trajectories:
    step = np.arange(trajs.n_points) - np.repeat(trajs.offsets[:-1], trajs.lengths)
    return replace(trajs, t=(hour * 3_600_000 + step * seconds * 1000).astype(np.int64))


def test_detours_and_speeds_by_hand() -> None:
    straight, bent = from_metres([STRAIGHT, STRAIGHT]), from_metres([BENT])
    assert detours(straight) == pytest.approx([1.0, 1.0], rel=1e-6)
    assert detours(bent) == pytest.approx([2 / np.sqrt(2)], rel=1e-6)
    assert len(detours(from_metres([[(0.0, 0.0), (100.0, 0.0), (200.0, 0.0)]]))) == 0
    assert speeds_mps(timed(straight, hour=8, seconds=50)) == pytest.approx([10.0, 10.0], rel=1e-3)
    found = distances(straight, bent)
    assert found["detour"] == pytest.approx(2 / np.sqrt(2) - 1, rel=1e-6) and found["hours"] is None


def test_hours_and_speeds_need_times_on_both_sides() -> None:
    trips = from_metres([STRAIGHT] * 4)
    morning, evening = timed(trips, hour=8.5, seconds=50), timed(trips, hour=18.5, seconds=100)
    found = distances(morning, evening)
    assert found["hours"] == pytest.approx(1.0) and found["speed, m/s"] == pytest.approx(5.0, rel=1e-3)
    assert distances(morning, morning) == {"detour": 0.0, "speed, m/s": 0.0, "stops": 0.0, "hours": 0.0}
    assert distances(morning, trips)["speed, m/s"] is None


def test_stops_are_the_share_of_time_between_fixes_that_hardly_differ() -> None:
    waits = from_metres([[(0.0, 0.0), (500.0, 0.0), (505.0, 0.0), (1000.0, 0.0)], [(0.0, 0.0)] * 4])
    assert standing_shares(timed(waits, hour=8, seconds=50)) == pytest.approx([1 / 3, 1.0])
    goes = from_metres([[(0.0, 0.0), (400.0, 0.0), (800.0, 0.0), (1200.0, 0.0)]] * 2)
    goes = timed(goes, hour=8, seconds=50)
    assert standing_shares(goes) == pytest.approx([0.0, 0.0])
    assert distances(goes, timed(waits, hour=8, seconds=50))["stops"] == pytest.approx((1 / 3 + 1) / 2)
    assert standing_shares(timed(from_metres([[(0.0, 0.0)]]), hour=8, seconds=50)) == pytest.approx([0.0])
