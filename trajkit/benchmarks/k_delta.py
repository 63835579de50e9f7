"""What anonymizing by groups near at every time, and by cloaks, costs on random walks of growing number, 64 places a trajectory."""

from __future__ import annotations

import time

import numpy as np

from trajkit.bench import peak_memory_mb
from trajkit.benchmarks import BenchRow
from trajkit.geo import Box
from trajkit.methods import make_method
from trajkit.trajectories import Meta, Trajectories

SIZES = (1_000, 4_000, 16_000)
LENGTH, K = 64, 5
META = Meta("benchmark", "EPSG:32629", Box(-8.72, 41.10, -8.50, 41.24))


def rows() -> list[BenchRow]:
    """CPU seconds of one thread, fit and release with the recount, after a small call that compiles; peak memory of the process last."""
    return measured(SIZES)


def measured(sizes: tuple[int, ...]) -> list[BenchRow]:
    """The rows for sets of ``sizes`` trajectories."""
    forms: dict[str, tuple[str, dict[str, object]]] = {
        "(k, delta), centre lines": ("k_delta", {"interval_s": None, "length": LENGTH}),
        "(k, delta), translated": ("k_delta", {"interval_s": None, "length": LENGTH, "edit": "translate"}),
        "cloaking": ("cloaking", {"minutes": None}),
    }
    found = []
    for title, (method, parameters) in forms.items():
        _seconds(method, parameters, walks(50))
        found += [
            BenchRow(f"{title}, k = {K}, {n:,} trajectories", _seconds(method, parameters, walks(n)), "s")
            for n in sizes
        ]
    return [*found, BenchRow("peak memory of the process", peak_memory_mb(), "MB")]


def walks(n: int) -> Trajectories:
    """``n`` random walks of `LENGTH` points in the box of a city, each of its own user; all of one time span, the worst case for groups."""
    rng = np.random.default_rng(0)
    start = rng.uniform(-0.5, 0.5, (n, 1, 2))
    heading = np.cumsum(rng.normal(0, 0.3, (n, LENGTH)), axis=1) + rng.uniform(0, 2 * np.pi, (n, 1))
    steps = rng.lognormal(0, 0.5, (n, 1, 1)) * 0.8 / LENGTH * np.stack([np.cos(heading), np.sin(heading)], axis=-1)
    lonlat = META.box.clip(META.box.from_unit(start + np.cumsum(steps, axis=1)).reshape(-1, 2))
    return Trajectories.from_fixed(lonlat.reshape(n, LENGTH, 2), meta=META)


def _seconds(method: str, parameters: dict[str, object], trajs: Trajectories) -> float:
    start = time.process_time()
    make_method(method, k=K, **parameters).fit(trajs, seed=0).release(None, seed=0)
    return time.process_time() - start
