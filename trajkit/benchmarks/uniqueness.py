"""Figures of the risk measures: unicity with 1 to 4 points over 100,000 trajectories, location risk of 10,000 users.

The input: trips of 10 to 60 fixes, one each 15 s, that walk on streets 100 m apart in a square of 6 km, 5 m of noise, starting at any time
of a day; each trip is of its own user, but for location risk 10,000 users share them all.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

from trajkit.anonymize.signatures import signatures
from trajkit.anonymize.tessellation import SquareCells
from trajkit.anonymize.time_bins import TimeBins
from trajkit.attacks.location_risk import location_risk
from trajkit.attacks.uniqueness import uniqueness
from trajkit.benchmarks import BenchRow
from trajkit.geo import Box, unproject
from trajkit.trajectories import Meta, Trajectories, concatenate_offsets

TRIPS, USERS = 100_000, 10_000
CRS, LOW = "EPSG:32629", np.array([530_000.0, 4_555_000.0])
STREETS, BLOCK_M, NOISE_M = 60, 100.0, 5.0
CELL_M, BIN_MIN = 500.0, 30
REPEATS = 3


def rows() -> list[BenchRow]:
    """CPU seconds, best of three after a small call that compiles."""
    return measured(TRIPS, USERS)


def measured(n: int, users: int) -> list[BenchRow]:
    """The rows for ``n`` trajectories and ``users`` users."""
    _all(street_trips(200), 100)
    trips = street_trips(n)
    labels, grouping = _best(lambda: signatures(trips, SquareCells(CELL_M), TimeBins(BIN_MIN)))
    places = signatures(trips, SquareCells(CELL_M), TimeBins(None))
    found = [BenchRow(f"signatures of {n:,} trajectories, {trips.n_points:,} fixes", grouping, "CPU s")]
    for name, which in ((f"{CELL_M:.0f} m, {BIN_MIN} min", labels), (f"{CELL_M:.0f} m, no time", places)):
        result, seconds = _best(lambda which=which: uniqueness(which, trips.user, seed=0))  # type: ignore[misc]
        found += [
            BenchRow(f"uniqueness, p = 1 to 4, {n:,} trajectories, {name}", seconds, "CPU s"),
            *(BenchRow(f"  unique at p = {a.p}, {name}", 100 * a.unicity, "%") for a in result.by_p),
        ]
    risk, seconds = _best(lambda: location_risk(places, trips.user % users, p=2))
    found += [
        BenchRow(f"location risk, p = 2, {users:,} users, {n:,} trips", seconds, "CPU s"),
        BenchRow("  mean risk, p = 2", risk.mean, ""),
    ]
    return found


def street_trips(n: int, *, seed: int = 0) -> Trajectories:
    """``n`` trips as the module says, each of its own user."""
    rng = np.random.default_rng(seed)
    offsets = concatenate_offsets(rng.integers(10, 61, n))
    total = int(offsets[-1])
    steps = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)])[rng.integers(0, 4, total)]
    heading = np.repeat(np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)])[rng.integers(0, 4, n)], np.diff(offsets), axis=0)
    walked = np.cumsum(np.abs(steps) * heading, axis=0)
    start = np.repeat(rng.integers(0, STREETS, (n, 2)) - walked[offsets[:-1]], np.diff(offsets), axis=0)
    folded = np.abs((walked + start + STREETS) % (2 * STREETS) - STREETS)  # reflected at the border
    xy = LOW + folded * BLOCK_M + rng.normal(0, NOISE_M, (total, 2))
    first = np.repeat(rng.integers(0, 86_400_000, n), np.diff(offsets))
    t = first + 15_000 * (np.arange(total) - np.repeat(offsets[:-1], np.diff(offsets)))
    names = np.array([f"t{i}" for i in range(n)], dtype=str)
    meta = Meta("street trips", CRS, Box(-8.8, 41.0, -8.4, 41.3))
    return Trajectories(unproject(xy, CRS), offsets, t, np.arange(n), names, names, meta)


def _all(trips: Trajectories, users: int) -> None:
    labels = signatures(trips, SquareCells(CELL_M), TimeBins(BIN_MIN))
    uniqueness(labels, trips.user, seed=0)
    location_risk(labels, trips.user % users, p=2)


def _best(call: Callable[[], Any]) -> tuple[Any, float]:
    best, found = float("inf"), None
    for _ in range(REPEATS):
        start = process_time()
        found = call()
        best = min(best, process_time() - start)
    return found, best
