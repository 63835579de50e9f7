"""The benchmark measures what it names, on data that has classes to find, and its opponent groups as ours does."""

from __future__ import annotations

import numpy as np

from trajkit.anonymize.signatures import classes, digests_of
from trajkit.anonymize.tessellation import SquareCells
from trajkit.anonymize.time_bins import TimeBins
from trajkit.benchmarks import anonymity


def test_every_row_is_a_finite_figure() -> None:
    rows = anonymity.measured(2000, 200)
    assert [row.unit for row in rows] == ["CPU s", "CPU s", "CPU s", "MB", "CPU s", "CPU s", "times"]
    assert all(np.isfinite(row.value) and row.value >= 0 for row in rows)
    assert "2,000 trajectories, 70,000 points" in rows[0].name and rows[-1].against


def test_the_opponent_counts_the_same_trips() -> None:
    trips = anonymity.simulated(500)
    sizes = anonymity.pandas_sizes(trips)
    assert sizes.sum() == 500
    found = classes(digests_of(trips.xy, None, trips.offsets, SquareCells(4000.0), TimeBins(None)), trips.user)
    assert 1 < len(found) < 500 and found.trajectories.sum() == 500
    assert len(found) <= len(sizes)
