"""The clock of a map's time player: one day onto which all days are laid, the true times, or a made clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trajkit.errors import ParameterError
from trajkit.local_time import DAY_MS, local_ms
from trajkit.viz.map_sets import MapSet

CLOCKS = ("day", "own", "made")
MADE_STEP_S = 15
DAY_ZERO_S = 1_704_067_200  # 2024-01-01 00:00, the date under which a day or a made clock is shown
BIN_S = 900
TRAIL_S = 600
MADE_TRAIL_S = 150


@dataclass(frozen=True)
class Clock:
    """Seconds since 1970 of every point of every set (as the clock shows them), the moment to start at, the length of a trail."""

    kind: str
    seconds: tuple[np.ndarray, ...]
    start_s: int
    trail_s: int
    notes: tuple[str, ...]


def clock_of(sets: Sequence[MapSet], kind: str | None) -> Clock:
    """Return the clock of the sets: by default "day" where all have times, else "made".

    day   the local time of day; every trajectory starts on the same date
    own   the local time as it is
    made  all trajectories start together and take 15 s a point
    Raises ParameterError for another clock, and where a set has no times but its own are asked for.
    """
    without = [s.name for s in sets if s.trajs.t is None]
    if kind not in (None, *CLOCKS):
        raise ParameterError(f"clock {kind!r} is unknown: use one of {', '.join(CLOCKS)}, or None")
    if without and kind in ("day", "own"):
        raise ParameterError(f"{', '.join(without)} has no times, so clock={kind!r} is not possible: use clock='made'")
    kind = kind or ("made" if without else "day")
    seconds = tuple(_seconds(s, kind) for s in sets)
    every = np.concatenate(seconds)
    if not len(every):
        return Clock(kind, seconds, DAY_ZERO_S, TRAIL_S, ())
    if kind == "made":
        return Clock(kind, seconds, int(np.median(every)), MADE_TRAIL_S, (_made_note(without),))
    notes = ("times are local times of day, all days laid over each other",) if kind == "day" else ()
    return Clock(kind, seconds, _busiest(every), TRAIL_S, notes)


def _made_note(without: Sequence[str]) -> str:
    why = f"{', '.join(without)} has no times: " if without else ""
    return f"{why}the clock is made, all trajectories start together and take {MADE_STEP_S} s a point"


def _seconds(s: MapSet, kind: str) -> np.ndarray:
    """int64 [N]: what the clock shows at each point."""
    trajs = s.trajs
    if kind == "made" or trajs.t is None:
        rank = np.arange(trajs.n_points) - np.repeat(trajs.starts, trajs.lengths)
        return DAY_ZERO_S + rank.astype(np.int64) * MADE_STEP_S
    local = local_ms(trajs.t, trajs.meta.tz)
    if kind == "own":
        return local // 1000
    first_day = np.repeat(local[trajs.starts] // DAY_MS, trajs.lengths)
    return DAY_ZERO_S + (local - first_day * DAY_MS) // 1000


def _busiest(seconds: np.ndarray) -> int:
    """Middle of the quarter of an hour with the most points."""
    bins, counts = np.unique(seconds // BIN_S, return_counts=True)
    return int(bins[np.argmax(counts)]) * BIN_S + BIN_S // 2
