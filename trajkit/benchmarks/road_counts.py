"""Figures of the methods on the public road map: CPU seconds of fitting on 200,000 trips and of releasing few and many.

The large set is 20,000 simulated trips ten times over with 5 m of jitter, as in `trajkit.benchmarks.classical`; the city's map has about
3,200 junctions.
"""

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np

from trajkit import datasets
from trajkit.benchmarks import BenchRow
from trajkit.benchmarks.classical import COPIES, TRIPS, repeated
from trajkit.methods import make_method

FEW, MANY = 3_000, 100_000
METHODS: dict[str, dict[str, Any]] = {"road_counts": {}, "private_evolution": {"map": "dataset"}}


def rows() -> list[BenchRow]:
    """Return the figures; what has to be compiled is compiled before."""
    settings = {"trips": TRIPS, "seed": 0}
    city, roads = datasets.load("city", settings=settings), datasets.roads_of("city", settings=settings)
    large = repeated(city, COPIES)
    found = []
    for name, more in METHODS.items():
        small: Any = make_method(name, epsilon=1.0, **more)
        small.fit(city.take(np.arange(300)), seed=0, roads=roads).release(10, seed=0)
        method: Any = make_method(name, epsilon=1.0, **more)
        start = process_time()
        method.fit(large, seed=0, roads=roads)
        fitted = process_time()
        method.release(FEW, seed=0)
        few = process_time()
        method.release(MANY, seed=0)
        many = process_time()
        found += [
            BenchRow(f"{name}: fit on {len(large):,} trips and {FEW:,} released", few - start, "CPU s"),
            BenchRow(f"{name}: {FEW:,} released", few - fitted, "CPU s"),
            BenchRow(f"{name}: {MANY:,} released", many - few, "CPU s"),
        ]
    return found
