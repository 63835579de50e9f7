"""Figures of routing on the simulated city's map: routes between random junctions, choices that differ, and points along them."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from trajkit.benchmarks import BenchRow
from trajkit.datasets.city_map import build_map
from trajkit.route_points import spaced_points, timed_points
from trajkit.routing import Router
from trajkit.seeds import rng

FEW, MANY = 3_000, 100_000
LENGTH, INTERVAL_S, SPREAD = 64, 15.0, 0.5


def rows() -> list[BenchRow]:
    """Return the figures; map and compilation come first and are not measured."""
    router = Router(build_map().roads)
    _measure(router, 10, 0.0)
    few, few_points, _ = _measure(router, FEW, 0.0)
    differing, _, _ = _measure(router, FEW, SPREAD)
    many, many_points, fixes = _measure(router, MANY, 0.0)
    many_differing, _, _ = _measure(router, MANY, SPREAD)
    return [
        BenchRow(f"routes, {FEW:,} pairs", few, "s"),
        BenchRow(f"routes, {FEW:,} pairs, people differ", differing, "s"),
        BenchRow(f"{LENGTH} points on each of {FEW:,} routes", few_points, "s"),
        BenchRow(f"routes, {MANY:,} pairs", many, "s"),
        BenchRow(f"routes, {MANY:,} pairs, people differ", many_differing, "s"),
        BenchRow(f"{LENGTH} points on each of {MANY:,} routes", many_points, "s"),
        BenchRow(f"fixes every {INTERVAL_S:g} s on {MANY:,} routes", fixes, "s"),
    ]


def _measure(router: Router, n: int, spread: float) -> tuple[float, float, float]:
    """Seconds for ``n`` routes between random junctions, for points along them, and for fixes at a steady rate."""
    random = rng(0, "data", "bench", "routing")
    source, target = random.integers(0, len(router.network.node_xy), (2, n))
    times = [perf_counter()]
    routes = router.routes(source, target, spread=spread, random=random)
    times.append(perf_counter())
    spaced_points(router.network, routes, LENGTH)
    times.append(perf_counter())
    timed_points(router.network, routes, INTERVAL_S)
    times.append(perf_counter())
    first, second, third = np.diff(times).tolist()
    return first, second, third
