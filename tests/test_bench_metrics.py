"""The metric benchmark measures something, at a size of its own for tests."""

from __future__ import annotations

import math

from trajkit.benchmarks import metrics


def test_suite_rows_are_finite_and_named_by_their_size() -> None:
    rows = metrics._suite(30, 8)
    assert [row.unit for row in rows] == ["s", "s", "MB"]
    assert all(math.isfinite(row.value) and row.value > 0 for row in rows)
    assert all("30 x 30 trajectories of 8 points" in row.name for row in rows)


def test_walks_keep_the_contract_and_differ_by_seed() -> None:
    one, other = metrics.walks(5, 8, 0).check(), metrics.walks(5, 8, 1).check()
    assert one.fingerprint() == metrics.walks(5, 8, 0).fingerprint() != other.fingerprint()
