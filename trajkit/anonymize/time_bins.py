"""Time bins: part of a generalization as much as cells are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from trajkit.errors import ParameterError
from trajkit.local_time import DAY_MS, local_ms

HOUR_MS = 3_600_000
MOST_HOURS = 500 * 8766


@dataclass(frozen=True)
class TimeBins:
    """Bins of ``minutes`` (a divisor of a day), of the local clock ("clock": the day is not released) or since 1970 ("absolute").

    ``minutes`` None: time is not part of the release, every bin is 0. ``tz`` matters for "clock" alone. Raises ParameterError.
    """

    minutes: int | None
    of: Literal["clock", "absolute"] = "clock"
    tz: str = "UTC"

    def __post_init__(self) -> None:
        if self.minutes is not None and not divides_a_day(self.minutes):
            raise ParameterError(
                f"time bins of {self.minutes} min do not divide a day: use 15, 30, 60, 120 …, 1440, or null for no time"
            )

    @property
    def width_ms(self) -> int:
        """Width of a bin, ms; 0 where time is not part of the release."""
        return 0 if self.minutes is None else self.minutes * 60_000

    def bin_of(self, t: np.ndarray | None, n_points: int) -> np.ndarray:
        """int64 [n_points]: bin of each time (ms UTC). Raises ParameterError where the set has no times but bins ask for them."""
        if not self.width_ms:
            return np.zeros(n_points, dtype=np.int64)
        t = self.needed(t)
        since, shift = self.shifts(t)
        shown = t + shift[np.searchsorted(since, t, side="right") - 1] if len(t) else t
        return (shown % DAY_MS if self.of == "clock" else shown) // self.width_ms

    def needed(self, t: np.ndarray | None) -> np.ndarray:
        """``t``. Raises ParameterError where the set has no times."""
        if t is None:
            raise ParameterError("time bins need times, and this data set has none: set minutes to null")
        return t

    def shifts(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What is added to a time before it is binned, ms: int64 [m] ``shift``, each from int64 [m] ``since`` (ms UTC) on."""
        if self.of == "absolute" or not len(t):
            return np.array([np.iinfo(np.int64).min]), np.zeros(1, dtype=np.int64)
        first, last = int(t.min()) // HOUR_MS, int(t.max()) // HOUR_MS
        if last - first > MOST_HOURS:
            raise ParameterError("times lie more than 500 years apart: they must be ms since 1970 UTC")
        return utc_offsets(self.tz, first, last + 1)


@lru_cache(maxsize=16)
def utc_offsets(tz: str, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Offsets of ``tz`` from UTC between two whole hours since 1970: int64 [m] ``since`` (ms UTC) and int64 [m] ``shift`` (ms).

    Looked up at every hour; where two neighbours differ, the millisecond of the change is found by halving. Raises ParameterError for
    an unknown zone.
    """
    hours = np.arange(first, last + 1, dtype=np.int64) * HOUR_MS
    offset = _offset(hours, tz)
    low, high = (hours[np.flatnonzero(np.diff(offset)) + side] for side in (0, 1))
    before = _offset(low, tz)
    while len(low) and (high - low > 1).any():
        middle = (low + high) // 2
        same = _offset(middle, tz) == before
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return np.append(hours[:1], high), np.append(offset[:1], _offset(high, tz))


def _offset(t: np.ndarray, tz: str) -> np.ndarray:
    """int64 [m]: local time less UTC at the times ``t`` (ms UTC)."""
    return local_ms(t, tz) - t


def divides_a_day(minutes: int) -> bool:
    """Whether bins of so many minutes, from midnight on, end at midnight."""
    return minutes >= 1 and 1440 % minutes == 0
