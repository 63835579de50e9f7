"""Time bins: part of a generalization as much as cells are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from trajkit.errors import ParameterError

DAY_MS = 86_400_000


@dataclass(frozen=True)
class TimeBins:
    """Bins of ``minutes`` (a divisor of a day), of the local clock ("clock": the day is not released) or since 1970 ("absolute").

    ``minutes`` None: time is not part of the release, every bin is 0. ``tz`` matters for "clock" alone. Raises ParameterError.
    """

    minutes: int | None
    of: Literal["clock", "absolute"] = "clock"
    tz: str = "UTC"

    def __post_init__(self) -> None:
        if self.minutes is not None and (self.minutes < 1 or 1440 % self.minutes):
            raise ParameterError(
                f"time bins of {self.minutes} min do not divide a day: use 15, 30, 60, 120 …, 1440, or null for no time"
            )

    def bin_of(self, t: np.ndarray | None, n_points: int) -> np.ndarray:
        """int64 [n_points]: bin of each time (ms UTC). Raises ParameterError where the set has no times but bins ask for them."""
        if self.minutes is None:
            return np.zeros(n_points, dtype=np.int64)
        if t is None:
            raise ParameterError("time bins need times, and this data set has none: set minutes to null")
        return self._shown(t) // (self.minutes * 60_000)

    def _shown(self, t: np.ndarray) -> np.ndarray:
        """The time that is binned, ms: of the local day, or since 1970."""
        if self.of == "absolute":
            return t
        local = pd.DatetimeIndex(pd.to_datetime(t, unit="ms", utc=True)).tz_convert(self.tz).tz_localize(None)
        return local.astype("datetime64[ms]").astype("int64").to_numpy() % DAY_MS
