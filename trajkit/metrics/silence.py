"""Errors of a release that says nothing: trips by hour of the day, and places that it never visits.

The metrics of the suite compare places; a release without times, or with half of its trips suppressed, would win by silence.
"""

from __future__ import annotations

import numpy as np

from trajkit.geo import box_xy
from trajkit.grid import Grid
from trajkit.local_time import DAY_MS, local_ms
from trajkit.metrics.point import jensen_shannon
from trajkit.trajectories import Trajectories

OD_CELLS, BANDS = 6, 8
COVERAGE_CELLS = 32


def trips_by_hour(trajs: Trajectories) -> np.ndarray:
    """float64 [cells², bands]: share of trips by (start cell, end cell) on `OD_CELLS` x `OD_CELLS` cells and by `BANDS` bands of the local day.

    Where there are no times, the shares of each pair are spread evenly over the day: nothing is said about the hour.
    """
    grid = Grid(box_xy(trajs.meta.box, trajs.meta.crs), OD_CELLS, OD_CELLS)
    x0, y0, x1, y1 = grid.bounds
    start, end = (grid.cell_of(np.clip(trajs.xy[at], [x0, y0], [x1, y1])) for at in (trajs.starts, trajs.ends))
    pair = start * grid.n_cells + end
    if trajs.t is None:
        counts: np.ndarray = np.repeat(np.bincount(pair, minlength=grid.n_cells**2)[:, None] / BANDS, BANDS, axis=1)
    else:
        band = local_ms(trajs.t[trajs.starts], trajs.meta.tz) % DAY_MS * BANDS // DAY_MS
        counts = np.bincount(pair * BANDS + band, minlength=grid.n_cells**2 * BANDS).reshape(-1, BANDS)
    return np.asarray(counts / max(len(trajs), 1), dtype=np.float64)


def od_by_hour(real: Trajectories, released: Trajectories) -> float:
    """Jensen-Shannon divergence (bits) between the two sets' `trips_by_hour`; 1, the most there is, where nothing is released."""
    if not len(released):
        return 1.0
    return jensen_shannon(trips_by_hour(real).ravel(), trips_by_hour(released).ravel())


def uncovered(real: Trajectories, released: Trajectories) -> float:
    """Share of real points in cells (`COVERAGE_CELLS` x `COVERAGE_CELLS` over the public box) in which no released point lies."""
    grid = Grid(box_xy(real.meta.box, real.meta.crs), COVERAGE_CELLS, COVERAGE_CELLS)
    a, b = grid.counts(real.xy), grid.counts(released.xy)
    return float(a[b == 0].sum() / max(a.sum(), 1))
