"""Figures of the classical synthesizers: CPU seconds of fitting and of releasing 3,000, at 10,000 and at 200,000 trips.

The large set is 20,000 simulated trips ten times over, each point of each copy moved by normal noise of 5 m: simulating as many takes
minutes, and to a grid of hundreds of metres these trips are as good as others. "Slope" is the ratio of the times to that of the sizes: 1
is linear, below 1 better than that.
"""

from __future__ import annotations

from dataclasses import replace
from time import process_time

import numpy as np

from trajkit import datasets
from trajkit.benchmarks import BenchRow
from trajkit.geo import unproject
from trajkit.methods import make_method
from trajkit.trajectories import Trajectories, concatenate_offsets

TRIPS, SMALL, COPIES = 20_000, 10_000, 10
JITTER_M = 5.0
RELEASED, EPSILON, LENGTH = 3_000, 1.0, 64
METHODS = {"PrivTrace": "privtrace", "AdaTrace": "adatrace", "Flat": "flat"}


def rows() -> list[BenchRow]:
    """Return the figures; projection of the points to metres counts, compilation does not."""
    city = datasets.load("city", settings={"trips": TRIPS, "seed": 0})
    small, large = city.take(np.arange(SMALL)), repeated(city, COPIES)
    found = []
    for title, name in METHODS.items():
        _seconds(name, city.take(np.arange(200)))
        times = {len(t): _seconds(name, t) for t in (small, large)}
        found += [BenchRow(f"{title}, {n:,} trips, {RELEASED:,} out", s, "s CPU") for n, s in times.items()]
        slope = times[len(large)] / times[len(small)] / (len(large) / len(small))
        found.append(BenchRow(f"{title}, growth of time over growth of trips", slope, "times"))
    return found


def repeated(trajs: Trajectories, copies: int) -> Trajectories:
    """``copies`` of each trajectory, every point moved by N(0, JITTER_M) east and north, inside the box."""
    rng = np.random.default_rng(0)
    n = len(trajs) * copies
    xy = np.tile(trajs.xy, (copies, 1)) + rng.normal(0, JITTER_M, (trajs.n_points * copies, 2))
    names = np.array([f"t{i}" for i in range(n)], dtype=str)
    return replace(
        trajs,
        lonlat=trajs.meta.box.clip(unproject(xy, trajs.meta.crs)),
        offsets=concatenate_offsets(np.tile(trajs.lengths, copies)),
        t=None,
        user=np.arange(n),
        user_ids=names,
        traj_ids=names,
    )


def _seconds(name: str, train: Trajectories) -> float:
    fresh = replace(train)  # without a cached projection
    start = process_time()
    make_method(name, epsilon=EPSILON, length=LENGTH).fit(fresh, seed=0).release(RELEASED, seed=0)
    return process_time() - start
