"""The time line on which trajectories are compared: time since 1970, or the local clock, from which the day is taken off."""

from __future__ import annotations

import re
from typing import Annotated

import numpy as np
from pydantic import AfterValidator

from trajkit.anonymize.emission import midnight
from trajkit.local_time import DAY_MS, local_ms
from trajkit.trajectories import Trajectories


def _date(day: str) -> str:
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", day):
        raise ValueError(f"{day!r} is no date: write YYYY-MM-DD")
    np.datetime64(day, "D")  # a ValueError for the 30th of February
    return day


PublicDay = Annotated[str, AfterValidator(_date)]


def compared_times(trajs: Trajectories, of: str) -> np.ndarray:
    """int64 [N]: ms on the time line that is compared (the set must have times).

    "absolute": as they are. "clock": ms since local midnight of the day of the trajectory's first point; they run on past midnight, so
    that durations stay what they are (a change to summer time on the way included).
    """
    assert trajs.t is not None
    if of == "absolute" or not trajs.n_points:
        return trajs.t
    first = trajs.t[trajs.starts]
    return trajs.t - np.repeat(first - local_ms(first, trajs.meta.tz) % DAY_MS, trajs.lengths)


def released_times(times: np.ndarray, of: str, day: str, tz: str) -> np.ndarray:
    """int64: ms UTC to release for ``times`` of `compared_times`. Those of the clock stand on the public date ``day``. Raises ParameterError."""
    return times if of == "absolute" else times + np.int64(midnight(day, tz))
