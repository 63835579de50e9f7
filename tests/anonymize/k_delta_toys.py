"""Small timed crowds in a few square kilometres, and plain loops that count people, written apart from the package."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from toys import META, ORIGIN

from trajkit.geo import project, unproject
from trajkit.trajectories import Trajectories

NOON = 1_700_049_600_000  # 15 November 2023, 12:00 UTC, in Porto as well
DAY_MS = 86_400_000


def crowd(n: int, points: int, seed: int, *, users: int, side_m: float = 3000.0, days: int = 3) -> Trajectories:
    """``n`` walks of ``points`` fixes, one about every minute from noon, of ``users`` people, on several days."""
    rng = np.random.default_rng(seed)
    start = rng.uniform(-side_m / 2, side_m / 2, (n, 1, 2))
    xy = start + np.cumsum(rng.normal(0, 60.0, (n, points, 2)), axis=1) + ORIGIN
    lonlat = unproject(xy.reshape(-1, 2), META.crs)
    gaps = rng.integers(30_000, 90_000, (n, points))
    t = NOON + rng.integers(0, days, (n, 1)) * DAY_MS + rng.integers(0, 300_000, (n, 1)) + np.cumsum(gaps, axis=1)
    names = np.array([f"person-{i}" for i in range(users)])
    made = Trajectories.generated(lonlat, np.arange(n + 1, dtype=np.int64) * points, meta=META, t=t.ravel())
    return replace(made, user=np.arange(n, dtype=np.int64) % users, user_ids=names)


def without_times(trajs: Trajectories) -> Trajectories:
    return replace(trajs, t=None)


def metres(trajs: Trajectories) -> list[list[tuple[float, float]]]:
    """Places of each trajectory."""
    xy = project(trajs.lonlat, trajs.meta.crs) if trajs.n_points else np.zeros((0, 2))
    return [[tuple(p) for p in xy[trajs.offsets[i] : trajs.offsets[i + 1]]] for i in range(len(trajs))]


def classes(trajs: Trajectories) -> dict[str, list[int]]:
    """Released trajectories by the group in their id."""
    found: dict[str, list[int]] = {}
    for i, name in enumerate(trajs.traj_ids):
        found.setdefault(str(name).split("-")[0], []).append(i)
    return found
