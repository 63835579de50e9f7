"""The local clock of a place."""

from __future__ import annotations

import numpy as np
import pandas as pd

from trajkit.errors import ParameterError

DAY_MS = 86_400_000


def local_ms(t: np.ndarray, tz: str) -> np.ndarray:
    """Return int64 [n]: what the clock of ``tz`` shows at the times ``t`` [n] (ms UTC), as ms since 1970. Raises ParameterError for an unknown zone."""
    try:
        local = pd.DatetimeIndex(t.astype("datetime64[ms]")).tz_localize("UTC").tz_convert(tz).tz_localize(None)
    except (KeyError, ValueError) as error:
        raise ParameterError(f"time zone {tz!r} is unknown ({error}): write one of the IANA list, e.g. UTC") from error
    return np.asarray(local.astype("datetime64[ms]").astype("int64"))
