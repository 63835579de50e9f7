"""The benchmark of the risk measures measures something, at a size of its own for tests."""

from __future__ import annotations

import math

from trajkit.benchmarks import uniqueness


def test_rows_are_finite_and_named_by_their_size() -> None:
    rows = uniqueness.measured(1_500, 500)
    assert all(math.isfinite(row.value) and row.value >= 0 for row in rows)
    assert sum("1,500 trajectories" in row.name for row in rows) == 3
    assert sum("500 users" in row.name for row in rows) == 1


def test_trips_walk_on_streets_inside_the_square() -> None:
    trips = uniqueness.street_trips(300).check(min_points=10)
    inside = trips.xy - uniqueness.LOW
    assert inside.min() > -40 and inside.max() < uniqueness.STREETS * uniqueness.BLOCK_M + 40
    assert trips.lengths.max() <= 60 and len(trips) == 300
