"""Toy sets of the anonymization tests: words of squares and hours, and a crowd on a few routes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from toys import META, ORIGIN, walks

from trajkit.anonymize.k_anonymity import KAnonymity
from trajkit.geo import unproject
from trajkit.methods import make_method
from trajkit.release import Release
from trajkit.trajectories import Trajectories, make

HOUR = 3600.0


def fitted(trajs: Trajectories, **parameters: Any) -> KAnonymity:
    method = make_method("k_anonymity", **parameters).fit(trajs, seed=0)
    assert isinstance(method, KAnonymity)
    return method


def released(trajs: Trajectories, **parameters: Any) -> Release:
    return fitted(trajs, **parameters).release(None, seed=0)


def at(column: int, row: int = 0) -> tuple[float, float]:
    """Degrees of the middle of a square of 500 m."""
    corner = np.floor(ORIGIN / 500.0) * 500.0 + 250.0
    lon, lat = unproject(corner[None] + 500.0 * np.array([[column, row]]), META.crs)[0]
    return float(lon), float(lat)


def trips(*paths: str, users: list[str] | None = None) -> Trajectories:
    """Each path is labels such as "a0 b1": square a, b … and hour 0, 1 …"""
    fixes = [
        [(*at(ord(w[0]) - ord("a")), int(w[1:]) * HOUR + 60 + 60 * i) for i, w in enumerate(p.split())] for p in paths
    ]
    return apart(make(*fixes, meta=META, users=users))


def apart(trajs: Trajectories) -> Trajectories:
    """The same a few milliseconds apart, so that no record is a copy of another."""
    assert trajs.t is not None
    return replace(trajs, t=trajs.t + trajs.traj_of_point)


SETTING: dict[str, Any] = {"cells_m": [500.0], "minutes": [60], "of": "absolute"}


def crowd(n: int, seed: int, tz: str = "Europe/Lisbon") -> Trajectories:
    """``n`` trips near 15 walks, by ``n`` / 2 users, across midnight and the end of summer time; fixes 1 to 9 minutes apart."""
    rng = np.random.default_rng(seed)
    few = walks(15, 8, seed)
    many = few.take(rng.integers(0, 15, n))
    inner = np.clip(META.box.to_unit(many.lonlat), -0.8, 0.8)
    lonlat = META.box.from_unit(inner + rng.normal(0, 0.004, inner.shape))
    gaps = rng.integers(60, 540, (n, 8))
    begin = pd.Timestamp("2013-10-26T22:30", tz="UTC").value // 10**9 + 7200 * rng.integers(0, 3, (n, 1))
    t = ((begin + np.cumsum(gaps, axis=1)) * 1000).reshape(-1)
    made = Trajectories.generated(lonlat, many.offsets, meta=META, t=t)
    users = np.array([f"u{i}" for i in range(n // 2)])
    return replace(made, user=rng.integers(0, n // 2, n), user_ids=users).with_meta(tz=tz)
