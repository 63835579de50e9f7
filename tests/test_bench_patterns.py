"""The pattern benchmark measures something, at a size of its own for tests."""

from __future__ import annotations

import math

from trajkit.benchmarks import patterns


def test_rows_are_finite_and_named_by_their_size() -> None:
    rows = patterns.measured(2_000, queries=100, top=10)
    assert [row.unit for row in rows] == ["s", "s", "queries/s", "queries/s", "s", "MB"]
    assert all(math.isfinite(row.value) and row.value > 0 for row in rows)
    assert all("2,000 sequences" in row.name for row in rows[:-1])
