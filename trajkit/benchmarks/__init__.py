"""Benchmarks, one module per part; each module has a function ``rows() -> list[BenchRow]`` that measures and returns its figures.

`trajkit.bench` runs every part in a process of its own, so that one part's memory does not count for another.
"""

from __future__ import annotations

from dataclasses import dataclass

# "module:function", in the order of the printed page
PARTS: tuple[str, ...] = (
    "trajkit.benchmarks.dpsgd:rows",
    "trajkit.benchmarks.loaders:rows",
    "trajkit.benchmarks.metrics:rows",
    "trajkit.benchmarks.patterns:rows",
    "trajkit.benchmarks.prefix_tree:rows",
    "trajkit.benchmarks.city:rows",
    "trajkit.benchmarks.routing:rows",
    "trajkit.benchmarks.classical:rows",
    "trajkit.benchmarks.road_counts:rows",
    "trajkit.benchmarks.k_delta:rows",
    "trajkit.benchmarks.uniqueness:rows",
    "trajkit.benchmarks.anonymity:rows",
    "trajkit.benchmarks.explore:rows",
    "trajkit.benchmarks.maps:rows",
    "trajkit.benchmarks.engine:rows",
)


@dataclass(frozen=True)
class BenchRow:
    """One measured figure.

    name: what was measured, e.g. "DTW, 200 x 200 points".
    value: the figure, finite.
    unit: its unit, e.g. "s", "rows/s", "MB", "times".
    against: what a ratio is taken against, measured in the same run, e.g. "dtaidistance"; empty for plain figures.
    """

    name: str
    value: float
    unit: str
    against: str = ""
