"""What the metrics cost: each kernel against the library that people would use, and the whole suite."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from trajkit.bench import peak_memory_mb
from trajkit.benchmarks import BenchRow
from trajkit.geo import Box
from trajkit.grid import Grid
from trajkit.methods import make_method
from trajkit.metrics import MetricSettings, evaluate, kernels
from trajkit.metrics.point import sliced_wasserstein
from trajkit.trajectories import Meta, Trajectories

META = Meta("bench", "EPSG:32629", Box(-8.72, 41.10, -8.50, 41.24))
REPEATS = 3


def rows() -> list[BenchRow]:
    """Suite time and memory (first, so that no library's memory counts), then ratios against dtaidistance, POT and
    `np.histogram2d`: CPU seconds of one thread, measured in this run.

    The libraries are part of the test extra; a ratio is left out where its library is not installed.
    """
    return [*_suite(1000, 64), *_suite(3000, 200), *_dtw(), *_sliced_wasserstein(), *_histogram()]


def _dtw() -> list[BenchRow]:
    try:
        from dtaidistance import dtw_ndim
    except ImportError:
        return []
    a, b = (walks(400, 200, s).xy.reshape(-1, 200, 2) for s in (0, 1))
    ours = _seconds(lambda: kernels.dtw(a, b))
    theirs = _seconds(lambda: [dtw_ndim.distance_fast(x, y, inner_dist="euclidean") for x, y in zip(a, b, strict=True)])
    cells = a.shape[0] * 200 * 200
    return [
        BenchRow("DTW, 400 pairs of 200 points: times faster", theirs / ours, "times", "dtaidistance"),
        BenchRow("DTW: per cell", ours / cells * 1e9, "ns"),
    ]


def _sliced_wasserstein() -> list[BenchRow]:
    try:
        import ot
    except ImportError:
        return []
    rng = np.random.default_rng(0)
    a, b = rng.random((100_000, 2)), rng.random((100_000, 2)) ** 1.1
    angle = np.pi * (np.arange(50) + 0.5) / 50
    directions = np.column_stack([np.cos(angle), np.sin(angle)])
    ours = _seconds(lambda: sliced_wasserstein(a, b, directions))
    theirs = _seconds(lambda: ot.sliced_wasserstein_distance(a, b, projections=directions.T, p=2), repeats=1)
    name = "sliced Wasserstein, 100,000 points, 50 projections"
    return [BenchRow(f"{name}: times faster", theirs / ours, "times", "POT"), BenchRow(name, ours, "s")]


def _histogram() -> list[BenchRow]:
    xy = np.random.default_rng(0).random((2_000_000, 2))
    grid = Grid((0.0, 0.0, 1.0, 1.0), 64, 64)
    ours = _seconds(lambda: grid.counts(xy))
    theirs = _seconds(lambda: np.histogram2d(xy[:, 0], xy[:, 1], bins=64, range=[[0, 1], [0, 1]]))
    return [
        BenchRow("cell histogram, 64 x 64, 2 M points: times faster", theirs / ours, "times", "np.histogram2d"),
        BenchRow("cell histogram: per point", ours / len(xy) * 1e9, "ns"),
    ]


def _suite(n: int, length: int) -> list[BenchRow]:
    """The suite has one thread whatever the machine has. Matching against points without any shape takes longest."""
    real, released = walks(n, length, 0), walks(n, length, 1)
    shapeless = make_method("uniform", length=length).fit(real, seed=0).release(n, seed=0).trajectories
    name = f"metric suite, {n:,} x {n:,} trajectories of {length} points"
    return [
        BenchRow(f"{name}, 1 thread", _suite_seconds(real, released), "s"),
        BenchRow(f"{name}, 1 thread, released uniform", _suite_seconds(real, shapeless), "s"),
        BenchRow(f"{name}: peak memory of the process", peak_memory_mb(), "MB"),
    ]


def _suite_seconds(real: Trajectories, released: Trajectories) -> float:
    return _seconds(lambda: evaluate(real, released, settings=MetricSettings(), seed=0), repeats=1)


def walks(n: int, length: int, seed: int) -> Trajectories:
    """Smooth random walks in the box, so that warping and matching meet realistic shapes."""
    rng = np.random.default_rng(seed)
    heading = np.cumsum(rng.normal(0, 0.3, (n, length)), axis=1) + rng.uniform(0, 2 * np.pi, (n, 1))
    steps = rng.lognormal(0, 0.5, (n, 1, 1)) / length * np.stack([np.cos(heading), np.sin(heading)], axis=-1)
    unit = rng.uniform(-0.6, 0.6, (n, 1, 2)) + np.cumsum(steps, axis=1)
    return Trajectories.from_fixed(META.box.clip(META.box.from_unit(unit)), meta=META)


def _seconds(call: Callable[[], object], *, repeats: int = REPEATS) -> float:
    """Best CPU time of ``repeats`` calls, after one that compiles."""
    call()
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best
