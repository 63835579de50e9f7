"""What a map costs: to show other sets when a slider moves, to draw its static twin, to write its page."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from trajkit import datasets
from trajkit.benchmarks import BenchRow
from trajkit.viz.maps import trip_map

ROWS = 2000
REPEATS = 5


def rows() -> list[BenchRow]:
    """Wall seconds of the simulated city, real beside released, worst of five; the page in MB."""
    return measured({"people": 200, "days": 14, "seed": 1}, shown=ROWS)


def measured(settings: dict[str, Any], *, shown: int) -> list[BenchRow]:
    """The rows for one city and ``shown`` trajectories a set."""
    city = datasets.load("city", settings=settings)
    other = [city.take(np.arange(len(city)) % (i + 2) > 0) for i in range(REPEATS)]
    drawn = trip_map({"real": city, "released": city}, split=True, rows=shown)
    widget = drawn.widget()
    what = f"two sets of {shown:,} trajectories"
    return [
        BenchRow(
            f"map shows other sets, {what}", _worst(lambda i: widget.update({"real": city, "released": other[i]})), "s"
        ),
        BenchRow(f"static twin, {what}", _worst(lambda i: drawn.figure()), "s"),
        BenchRow(f"page, {what}", _worst(lambda i: drawn.html()), "s"),
        BenchRow(f"size of the page, {what}", len(drawn.html()) / 1e6, "MB"),
    ]


def _worst(call: Callable[[int], Any]) -> float:
    """The longest wall time of `REPEATS` calls in seconds."""
    seconds = []
    for i in range(REPEATS):
        start = time.perf_counter()
        call(i)
        seconds.append(time.perf_counter() - start)
    return max(seconds)
