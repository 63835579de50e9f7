"""The time line on which trajectories are compared: time since 1970, or the local clock, from which the day is taken off."""

from __future__ import annotations

import numpy as np
import pandas as pd

from trajkit.anonymize.time_bins import DAY_MS
from trajkit.trajectories import Trajectories


def compared_times(trajs: Trajectories, of: str) -> np.ndarray:
    """int64 [N]: ms on the time line that is compared (the set must have times).

    "absolute": as they are. "clock": ms since local midnight of the day of the trajectory's first point; they run on past midnight, so
    that durations stay what they are (a change to summer time on the way included).
    """
    assert trajs.t is not None
    if of == "absolute" or not trajs.n_points:
        return trajs.t
    first = trajs.t[trajs.starts]
    local = pd.DatetimeIndex(pd.to_datetime(first, unit="ms", utc=True)).tz_convert(trajs.meta.tz).tz_localize(None)
    since_midnight = local.astype("datetime64[ms]").astype("int64").to_numpy() % DAY_MS
    return trajs.t - np.repeat(first - since_midnight, trajs.lengths)


def released_times(times: np.ndarray, of: str, tz: str) -> np.ndarray:
    """int64: ms UTC to release for ``times`` of `compared_times`. Clock times stand on 1 January 1970, a day that says nothing, in ``tz``."""
    if of == "absolute":
        return times
    midnight = pd.Timestamp("1970-01-01").tz_localize(tz)
    return times + np.int64(midnight.tz_convert("UTC").timestamp() * 1000)
