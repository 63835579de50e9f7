"""How fast the loaders read: rows a second of generated files, and the time of a cache hit."""

from __future__ import annotations

import csv
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from trajkit.benchmarks import BenchRow
from trajkit.datasets import geolife, load, porto
from trajkit.datasets.samples import write_geolife_sample, write_porto_sample

PORTO_TRIPS = 20_000
GEOLIFE_USERS = 40
REPEATS = 3
T = TypeVar("T")


def rows() -> list[BenchRow]:
    """Measure Porto (against the csv and json modules), GeoLife, and a cache hit, in one process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_porto_sample(folder / "small.csv", n=50)
        train = write_porto_sample(folder / "train.csv", n=PORTO_TRIPS)
        walks = write_geolife_sample(folder / "geolife", n_users=GEOLIFE_USERS)
        porto.read(folder / "small.csv", porto.PortoSettings())  # compile first
        trips, seconds = _timed(lambda: porto.read(train, porto.PortoSettings()))
        _, plain = _timed(lambda: _plain(train))
        points, walk_seconds = _timed(lambda: geolife.read(walks, geolife.GeolifeSettings()))
        first, hit = _cache(train)
        return [
            BenchRow("Porto trips read", len(trips) / seconds, "rows/s"),
            BenchRow("Porto, one trip after the other", plain / seconds, "times", "csv and json modules"),
            BenchRow("GeoLife points read", points.n_points / walk_seconds, "rows/s"),
            BenchRow("Porto from the cache", first / hit, "times", "parsing and processing"),
        ]


def _timed(call: Callable[[], T]) -> tuple[T, float]:
    """Return the result and the best of three times: the other runs wait for memory and for the neighbours."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
    return result, min(seconds)


def _plain(path: Path) -> int:
    """The usual way: csv.DictReader and json.loads for every row."""
    n = 0
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            try:
                n += len(json.loads(row["POLYLINE"]))
            except ValueError:
                continue
    return n


def _cache(train: Path) -> tuple[float, float]:
    """Return the seconds of a first load and of the best of three cache hits."""
    before = os.environ.get("TRAJKIT_CACHE")
    os.environ["TRAJKIT_CACHE"] = str(train.parent / "cache")
    try:
        start = time.perf_counter()
        load("porto", data=train)
        first = time.perf_counter() - start
        return first, _timed(lambda: load("porto", data=train))[1]
    finally:
        os.environ.pop("TRAJKIT_CACHE")
        if before is not None:
            os.environ["TRAJKIT_CACHE"] = before
