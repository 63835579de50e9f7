"""The benchmark of maps gives every row it promises."""

from __future__ import annotations

from trajkit.benchmarks.maps import measured


def test_rows_are_finite_and_the_page_is_small() -> None:
    rows = measured({"people": 20, "days": 1, "seed": 1}, shown=10)
    assert [row.unit for row in rows] == ["s", "s", "s", "MB"]
    assert all(row.value > 0 for row in rows) and 4 < rows[-1].value < 8
