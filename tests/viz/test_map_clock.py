"""The clock of the time player, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from toys import META

from trajkit.errors import ParameterError
from trajkit.trajectories import Trajectories, make
from trajkit.viz.map_clock import DAY_ZERO_S, clock_of
from trajkit.viz.map_sets import MapSet

LISBON = replace(META, tz="Europe/Lisbon", visibility="public")


def _at(*paths: list[str]) -> MapSet:
    """A set whose points are at these local times in Lisbon."""
    seconds = [[pd.Timestamp(t, tz="Europe/Lisbon").timestamp() for t in path] for path in paths]
    trajs = make(*[[(-8.6 + i / 1000, 41.2, s) for i, s in enumerate(path)] for path in seconds], meta=LISBON)
    return MapSet("timed", trajs, "#000000")


def _without(s: MapSet) -> MapSet:
    return MapSet("untimed", replace(s.trajs, t=None), "#000000")


def _day_s(text: str) -> int:
    return DAY_ZERO_S + int(pd.Timedelta(text).total_seconds())


def test_all_days_lie_over_one_in_local_time_and_a_trip_runs_on_past_midnight() -> None:
    s = _at(["2013-07-01 08:00", "2013-07-01 08:10"], ["2014-01-05 23:55", "2014-01-06 00:05"])
    clock = clock_of([s], None)
    assert clock.kind == "day" and clock.notes == ("times are local times of day, all days laid over each other",)
    assert list(clock.seconds[0]) == [_day_s(t) for t in ("08:00:00", "08:10:00", "23:55:00", "24:05:00")]


def test_the_player_starts_where_most_happens() -> None:
    clock = clock_of(
        [_at(["2013-07-01 08:00", "2013-07-01 08:10", "2013-07-01 08:14"], ["2013-07-01 12:00", "2013-07-01 12:20"])],
        "day",
    )
    assert clock.start_s == _day_s("08:07:30")


def test_own_times_stay_local_times() -> None:
    clock = clock_of([_at(["2013-07-01 08:00", "2013-07-01 08:10"])], "own")
    assert clock.seconds[0][0] == pd.Timestamp("2013-07-01 08:00", tz="UTC").timestamp()


def test_one_set_without_times_puts_all_on_a_made_clock_and_says_so() -> None:
    s = _at(["2013-07-01 08:00", "2013-07-01 08:10"], ["2014-01-05 23:55", "2014-01-06 00:05", "2014-01-06 00:06"])
    clock = clock_of([s, _without(s)], None)
    assert clock.kind == "made"
    assert clock.notes == (
        "untimed has no times: the clock is made, all trajectories start together and take 15 s a point",
    )
    assert all(list(part - DAY_ZERO_S) == [0, 15, 0, 15, 30] for part in clock.seconds)


@pytest.mark.parametrize(
    ("kind", "words"),
    [("own", "untimed has no times"), ("day", "untimed has no times"), ("night", "clock 'night' is unknown")],
)
def test_impossible_clocks_are_refused(kind: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        clock_of([_without(_at(["2013-07-01 08:00", "2013-07-01 08:10"]))], kind)


def test_an_empty_set_has_a_clock() -> None:
    empty: Trajectories = _at(["2013-07-01 08:00", "2013-07-01 08:10"]).trajs.take(np.zeros(0, dtype=int))
    assert clock_of([MapSet("empty", empty, "#000000")], None).start_s == DAY_ZERO_S
