"""Figures of the simulated city: trips per second with the map built and everything compiled, and exact road distances."""

from __future__ import annotations

from time import perf_counter

from trajkit.benchmarks import BenchRow
from trajkit.datasets.city import simulate

PEOPLE, DAYS = 700, 14
NEAR_M = 25.0


def rows() -> list[BenchRow]:
    """Return the figures; the first simulation (map, compilation) is measured apart."""
    start = perf_counter()
    simulate(people=1, days=1, seed=0)
    first = perf_counter() - start
    start = perf_counter()
    city = simulate(people=PEOPLE, days=DAYS, seed=0)
    seconds = perf_counter() - start
    xy = city.trajectories.xy
    city.roads.near(xy[:1], NEAR_M)
    start = perf_counter()
    city.roads.near(xy, NEAR_M)
    near = perf_counter() - start
    return [
        BenchRow("city, first call: map and compilation", first, "s"),
        BenchRow("city, simulated trips", len(city.trajectories) / seconds, "trips/s"),
        BenchRow("points tested against roads within 25 m", len(xy) / near, "points/s"),
    ]
