"""Homes and works of people: the truth to compare with, and the best places that evidence speaks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numba import njit

from trajkit import geo
from trajkit.errors import ParameterError

Places = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Anchors:
    """``names`` [p] of people; ``home`` and ``work``: places float64 [p, 2] (metres) and whether they are known, bool [p]."""

    names: np.ndarray
    home: Places
    work: Places

    def of(self, names: np.ndarray) -> Anchors:
        """The anchors of those people who are among ``names``."""
        some = np.isin(self.names, names)
        home, work = ((xy[some], known[some]) for xy, known in (self.home, self.work))
        return Anchors(self.names[some], home, work)


class Evidence(NamedTuple):
    """``weight`` int64 [e] speaks for the place ``xy`` [e, 2] (metres) of ``group`` [e]."""

    group: np.ndarray
    xy: np.ndarray
    weight: np.ndarray


def from_table(people: pd.DataFrame, crs: str) -> Anchors:
    """The truth of the simulated city (``truth["people"]``): user_id, home_lon, home_lat, work_lon, work_lat, worker.

    Raises ParameterError where a column is missing.
    """
    needed = ["user_id", "home_lon", "home_lat", "work_lon", "work_lat", "worker"]
    if missing := [c for c in needed if c not in people]:
        raise ParameterError(f"truth has no column {', '.join(missing)}: give a table with {', '.join(needed)}")
    home, work = (geo.project(people[[f"{p}_lon", f"{p}_lat"]].to_numpy(), crs) for p in ("home", "work"))
    names = people["user_id"].to_numpy().astype(str)
    return Anchors(names, (home, np.ones(len(people), dtype=bool)), (work, people["worker"].to_numpy(dtype=bool)))


def best_places(evidence: Evidence, n: int, join_m: float, not_near: Places | None, apart_m: float) -> Places:
    """Of each of ``n`` groups the square of ``join_m`` metres that has most weight with its eight neighbours, as the weighted mean there.

    Evidence within ``apart_m`` of the known places ``not_near`` is left out. No place where no weight is left.
    """
    use = evidence.weight > 0
    if not_near is not None:
        known = not_near[1][evidence.group]
        use &= ~(known & (np.hypot(*(evidence.xy - not_near[0][evidence.group]).T) <= apart_m))
    group, xy, weight = (a[use] for a in evidence)
    steps = np.floor(xy / join_m).astype(np.int64)
    key, inverse = np.unique(np.column_stack([group, steps]), axis=0, return_inverse=True)
    inverse = inverse.ravel()
    w = np.bincount(inverse, weight, minlength=len(key))
    about = xy[0] if len(xy) else np.zeros(2)  # sums about a point that is near, so that no digits are lost
    sums = np.column_stack([np.bincount(inverse, weight * (xy[:, d] - about[d]), minlength=len(key)) for d in (0, 1)])
    starts = np.searchsorted(key[:, 0], np.arange(n + 1)) if len(key) else np.zeros(n + 1, dtype=np.int64)
    places, found = _best(key, w, np.ascontiguousarray(sums), starts)
    return places + about, found


@njit(cache=True)
def _best(key, weight, sums, starts):  # pragma: no cover - compiled
    n = len(starts) - 1
    out, found = np.zeros((n, 2)), np.zeros(n, dtype=np.bool_)
    for g in range(n):
        highest = 0.0
        for i in range(starts[g], starts[g + 1]):
            total, x, y = 0.0, 0.0, 0.0
            for j in range(starts[g], starts[g + 1]):
                if abs(key[i, 1] - key[j, 1]) <= 1 and abs(key[i, 2] - key[j, 2]) <= 1:
                    total += weight[j]
                    x += sums[j, 0]
                    y += sums[j, 1]
            if total > highest:
                highest = total
                out[g, 0], out[g, 1] = x / total, y / total
                found[g] = True
    return out, found
