"""What it costs to group trajectories by generalized signature, and a sweep over generalizations, against the recipe with pandas."""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time

import numpy as np
import pandas as pd

from trajkit import seeds
from trajkit.anonymize import signature_kernels as kernels
from trajkit.anonymize.signatures import Classes, binning, classes, digests_of
from trajkit.anonymize.tessellation import SquareCells
from trajkit.anonymize.time_bins import TimeBins
from trajkit.bench import peak_memory_mb
from trajkit.benchmarks import BenchRow

N, POINTS, SMALL = 1_000_000, 35, 100_000
ZONE = "Europe/Lisbon"
SETTINGS = [(m, minutes) for m in (250.0, 500.0, 1000.0, 2000.0, 4000.0) for minutes in (60, None)]
CELL_M, MINUTES = 500.0, 60


def rows() -> list[BenchRow]:
    """Return the figures; what has to be compiled is compiled before."""
    return measured(N, SMALL)


def measured(n: int, small: int) -> list[BenchRow]:
    """The rows for ``n`` trajectories, and for ``small`` ones against pandas."""
    few = simulated(100)
    for minutes in (MINUTES, None):
        _compared(few, _grouped(few, CELL_M, minutes), CELL_M, minutes)
    before = peak_memory_mb()
    trips = simulated(n)
    start = process_time()
    found = _grouped(trips, CELL_M, MINUTES)
    group_s, start = process_time() - start, process_time()
    _compared(trips, found, CELL_M, MINUTES)
    compare_s, start = process_time() - start, process_time()
    for cell_m, minutes in SETTINGS:
        _grouped(trips, cell_m, minutes)
    sweep_s = process_time() - start
    memory = peak_memory_mb() - before  # read before pandas adds its own
    what = f"{n:,} trajectories, {len(trips.t):,} points"
    return [
        BenchRow(f"digests and classes, {what}", group_s, "CPU s"),
        BenchRow(f"members of classes compared label by label, {what}", compare_s, "CPU s"),
        BenchRow(f"sweep of {len(SETTINGS)} settings, {what}", sweep_s, "CPU s"),
        BenchRow("peak memory beyond the interpreter, the points included", memory, "MB"),
        *_against_pandas(small),
    ]


@dataclass(frozen=True)
class Trips:
    """``xy`` [N, 2] metres, ``t`` [N] ms UTC, ``offsets`` [n + 1], ``user`` [n]."""

    xy: np.ndarray
    t: np.ndarray
    offsets: np.ndarray
    user: np.ndarray


def simulated(n: int, *, chunk: int = 20_000) -> Trips:
    """``n`` trips of `POINTS` fixes 15 s apart in one year: straight between two of 300 hubs, 20,000 pairs, with 20 m of noise."""
    rng = seeds.rng(0, "data", "anonymity benchmark")
    hubs = np.array([520_000.0, 4_550_000.0]) + rng.uniform(0, 10_000, (300, 2))
    pairs = rng.integers(0, len(hubs), (20_000, 2))
    along = np.linspace(0, 1, POINTS)[:, None]
    xy, t = np.empty((n, POINTS, 2)), np.empty((n, POINTS), dtype=np.int64)
    for i in range(0, n, chunk):
        size = min(chunk, n - i)
        start, end = hubs[pairs[rng.integers(0, len(pairs), size)]].transpose(1, 0, 2)[:, :, None]
        xy[i : i + size] = start + (end - start) * along + rng.normal(0, 20, (size, POINTS, 2))
        begin = 1_372_636_800_000 + rng.integers(0, 365 * 86_400, size) * 1000
        t[i : i + size] = begin[:, None] + np.arange(POINTS) * 15_000
    return Trips(
        xy.reshape(-1, 2), t.reshape(-1), np.arange(n + 1) * POINTS, rng.integers(0, max(n // 10, 1), n, dtype=np.int64)
    )


def _grouped(trips: Trips, cell_m: float, minutes: int | None) -> Classes:
    return classes(
        digests_of(trips.xy, trips.t, trips.offsets, SquareCells(cell_m), TimeBins(minutes, "clock", ZONE)), trips.user
    )


def _compared(trips: Trips, found: Classes, cell_m: float, minutes: int | None) -> None:
    times = binning(trips.t, TimeBins(minutes, "clock", ZONE))
    same = kernels.square_same(trips.xy, trips.offsets, cell_m, *times, found.first[found.of])
    if not same.all():
        raise ValueError("digests of different signatures agreed")


def _against_pandas(n: int) -> list[BenchRow]:
    trips = simulated(n)
    start = process_time()
    found = _grouped(trips, CELL_M, MINUTES)
    _compared(trips, found, CELL_M, MINUTES)
    ours_s, start = process_time() - start, process_time()
    sizes = pandas_sizes(trips)
    theirs_s = process_time() - start
    what = f"{n:,} trajectories, {len(trips.t):,} points"
    return [
        BenchRow(f"digests, classes and comparison, {what}", ours_s, "CPU s"),
        BenchRow(f"tuples in a pandas groupby, {len(sizes):,} classes, {what}", theirs_s, "CPU s"),
        BenchRow("digests, classes and comparison", theirs_s / ours_s, "times", "tuples in a pandas groupby"),
    ]


def pandas_sizes(trips: Trips) -> pd.Series:
    """Trajectories by signature as practitioners' guides do it: a tuple of labels for each group of a table of fixes, then counted.

    Its bins keep the day and its signatures the repeats, so nearly every trip is alone; the time goes into building the tuples.
    """
    table = pd.DataFrame(
        {
            "trip": np.repeat(np.arange(len(trips.user)), POINTS),
            "column": (trips.xy[:, 0] // CELL_M).astype(int),
            "row": (trips.xy[:, 1] // CELL_M).astype(int),
            "bin": pd.to_datetime(trips.t, unit="ms").floor(f"{MINUTES}min"),
        }
    )
    labels = table.groupby("trip")[["column", "row", "bin"]]
    return labels.apply(
        lambda fixes: tuple(zip(fixes["column"], fixes["row"], fixes["bin"], strict=True))
    ).value_counts()
