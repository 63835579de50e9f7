"""From signatures to trajectories that can be handed over, and the count of persons in what was handed over."""

from __future__ import annotations

import numpy as np

from trajkit.anonymize import signature_kernels as kernels
from trajkit.anonymize.signatures import Signatures
from trajkit.anonymize.tessellation import Tessellation
from trajkit.anonymize.time_bins import TimeBins, utc_offsets
from trajkit.errors import ParameterError, PrivacyAccountingError
from trajkit.geo import unproject
from trajkit.local_time import DAY_MS
from trajkit.trajectories import Trajectories

HOUR_MS = 3_600_000


def places(sig: Signatures, cells: Tessellation, crs: str) -> np.ndarray:
    """float64 [M, 2], degrees: the centre of each label's cell, the same bits wherever the cell is the same."""
    known, which = np.unique(sig.cells, return_inverse=True)
    return unproject(cells.centres(known).reshape(-1, 2), crs)[which]


def times(sig: Signatures, bins: TimeBins, midnight_ms: int) -> np.ndarray | None:
    """int64 [M], ms UTC, strictly rising within each signature, from the signature alone; None where time is not part of it.

    Consecutive labels of one bin are spaced equally in it, from its start on. Bins of the clock are those of the day that begins at
    ``midnight_ms``; where the clock steps back (past midnight, or from summer to winter time), the next day begins.
    """
    if not bins.width_ms:
        return None
    m = len(sig.bins)
    owner = np.repeat(np.arange(len(sig)), np.diff(sig.offsets))
    first = np.append(True, np.diff(owner) != 0)[:m]
    step = np.append(0, np.diff(sig.bins))[:m]
    run = np.flatnonzero(first | (step != 0))
    size = np.diff(np.append(run, m))
    place = np.arange(m) - np.repeat(run, size)
    t = sig.bins * bins.width_ms + place * bins.width_ms // np.repeat(size, size)
    if bins.of == "absolute":
        return t
    back = np.cumsum((step < 0) & ~first)
    day = back - np.repeat(back[sig.offsets[:-1]], np.diff(sig.offsets))
    return midnight_ms + day * DAY_MS + t


def midnight(day: str, tz: str) -> int:
    """ms UTC of the begin of a date (YYYY-MM-DD) in ``tz``. Raises ParameterError where the clocks change on that day."""
    local = int(np.datetime64(day, "D").astype(np.int64)) * DAY_MS
    since, shift = utc_offsets(tz, local // HOUR_MS - 24, local // HOUR_MS + 48)
    if len(since) > 1:
        raise ParameterError(
            f"day {day}: clocks in {tz} change within a day of it, so some bins have no time: choose another day"
        )
    return local - int(shift[0])


def smallest_class(released: Trajectories, persons: np.ndarray, k: int) -> int | None:
    """Fewest distinct ``persons`` (private map, int64 [n]) behind trajectories that are equal, bit by bit, as handed over; None for none.

    Raises PrivacyAccountingError where there are fewer than ``k``.
    """
    columns = [released.lonlat[:, 0], released.lonlat[:, 1], *([] if released.t is None else [released.t])]
    words = np.column_stack([np.ascontiguousarray(c).view(np.uint64) for c in columns]).reshape(-1, len(columns))
    of, n = kernels.group(kernels.row_digests(words, released.offsets))
    first = np.full(n, -1, dtype=np.int64)
    first[of[::-1]] = np.arange(len(of))[::-1]
    same = released.lengths == released.lengths[first[of]] if n else np.zeros(0, dtype=bool)
    rows = (
        np.arange(released.n_points) - np.repeat(released.starts - released.starts[first[of]], released.lengths)
        if n
        else of
    )
    if not same.all() or (words != words[rows]).any():
        raise PrivacyAccountingError("different released trajectories have the same digest: nothing may be released")
    users = kernels.distinct(of, persons, n)
    if n and users.min() < k:
        raise PrivacyAccountingError(
            f"{int((users < k).sum())} of {n} released classes hold fewer than k = {k} persons (the fewest: {users.min()}): "
            "nothing may be released; this is an error of the method, please report it"
        )
    return int(users.min()) if n else None
