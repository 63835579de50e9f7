"""A release that says nothing does not win: trips by hour without times, places that are never visited."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from toys import walks

from trajkit.metrics.silence import BANDS, od_by_hour, trips_by_hour, uncovered
from trajkit.trajectories import Trajectories

HOUR = 3_600_000


def at_hour(trajs: Trajectories, hour: float) -> Trajectories:
    within = np.arange(trajs.n_points) - np.repeat(trajs.starts, trajs.lengths)
    return replace(trajs, t=(int(hour * HOUR) + within * 15_000).astype(np.int64))


def test_shares_add_up_and_silence_is_spread_over_the_day() -> None:
    trips = walks(50, 8, 0)
    silent, morning = trips_by_hour(trips), trips_by_hour(at_hour(trips, 8.5))
    assert silent.sum() == pytest.approx(1) and morning.sum() == pytest.approx(1)
    assert np.allclose(silent, silent[:, :1]) and (morning > 0).any(axis=0).sum() == 1
    assert np.allclose(silent.sum(axis=1), morning.sum(axis=1))


def test_hours_are_those_of_the_place() -> None:
    trips = at_hour(walks(5, 8, 0), 23.5)
    there = trips.with_meta(tz="Asia/Shanghai")  # half past seven
    assert trips_by_hour(trips).sum(axis=0).argmax() == BANDS - 1 and trips_by_hour(there).sum(axis=0).argmax() == 2


def test_a_release_without_times_is_worse_than_one_with_the_right_times_and_better_than_wrong_ones() -> None:
    trips = walks(200, 8, 0)
    real = at_hour(trips, 8.5)
    right, silent, wrong = (od_by_hour(real, x) for x in (at_hour(trips, 8.6), trips, at_hour(trips, 18.5)))
    assert right == pytest.approx(0, abs=1e-9) and wrong == pytest.approx(1) and right < silent < wrong


def test_uncovered_is_the_share_of_points_in_cells_without_a_released_point() -> None:
    trips = walks(40, 8, 0)
    assert uncovered(trips, trips) == 0.0
    first, rest = trips.take(np.arange(1)), trips.take(np.arange(1, 40))
    assert 0.5 < uncovered(rest, first) < 1.0
