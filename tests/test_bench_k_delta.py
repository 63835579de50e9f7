"""The benchmark of (k, delta) groups and cloaks measures something, at a size of its own for tests."""

from __future__ import annotations

import math

from trajkit.benchmarks import k_delta


def test_rows_are_finite_and_named_by_their_size() -> None:
    rows = k_delta.measured((120,))
    assert [row.unit for row in rows] == ["s", "s", "s", "MB"]
    assert all(math.isfinite(row.value) and row.value > 0 for row in rows)
    assert all("120 trajectories" in row.name for row in rows[:-1])
