"""Ends and habits of trips as counts: what `trajkit.classical.road_counts` looks at besides trips and density.

Each count is a pure function of trajectories and public things; its docstring says by how much one trajectory can change it in L1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from trajkit.classical.cleaning import norm_sub
from trajkit.classical.looks import Looks
from trajkit.classical.route_choice import SPEEDS, detours
from trajkit.grid import Grid
from trajkit.routing import Router
from trajkit.segment_index import polyline_lengths
from trajkit.trajectories import Trajectories

HOURS = 24
USUAL_MPS = 8.0
LAST_MS = 7_258_118_400_000  # the year 2200
OFF_MAP_M, OFF_MAP_SHARE = (
    25.0,
    0.2,
)  # a trajectory with more than this share of its points further than this from the map has left it


@dataclass(frozen=True)
class Habits:
    """Noisy histograms: ``detour`` by `DETOURS`, ``hour`` [24] of departure, ``speed`` by `SPEEDS` (both empty without times), and trajectories on and off the map [2]."""

    detour: np.ndarray
    hour: np.ndarray
    speed: np.ndarray
    on_off: np.ndarray

    @property
    def off_map_share(self) -> float:
        """Noisy share of trajectories that leave the map, between 0 and 1."""
        on, off = np.maximum(self.on_off, 0)
        return float(off / max(on + off, 1))


def look_at_habits(trajs: Trajectories, router: Router, looks: Looks, epsilon: Fraction, *, times: bool) -> Habits:
    """Two looks, four where ``times`` are to be released, of equal shares; each histogram has sensitivity 1."""
    raw = {"detours": detour_counts(trajs), "trajectories on and off the map": on_off_map(trajs, router)}
    if times:
        raw |= {"hours of departure": hour_counts(trajs), "speeds": speed_counts(trajs)}
    noisy = [looks.counts(what, counts, epsilon=epsilon / len(raw)) for what, counts in raw.items()]
    nothing = np.zeros(0, dtype=np.int64)
    hour, speed = noisy[2:] or (nothing, nothing)
    return Habits(noisy[0], hour, speed, noisy[1])


def ways_m(trajs: Trajectories) -> np.ndarray:
    """float64 [n]: metres of way of each trajectory."""
    return np.asarray(polyline_lengths(trajs.xy, trajs.offsets))


def crows_m(trajs: Trajectories) -> np.ndarray:
    """float64 [n]: metres from start to end of each trajectory as the crow flies."""
    return np.asarray(np.hypot(*(trajs.xy[trajs.starts] - trajs.xy[trajs.ends]).T))


def speeds_mps(trajs: Trajectories) -> np.ndarray:
    """float64 [n]: metres of way over seconds; 0 for trajectories without duration."""
    assert trajs.t is not None
    seconds = (trajs.t[trajs.ends].astype(np.float64) - trajs.t[trajs.starts]) / 1000
    return np.divide(ways_m(trajs), seconds, out=np.zeros(len(trajs)), where=seconds > 0)


def detour_counts(trajs: Trajectories) -> np.ndarray:
    """int64 [11]: see `route_choice.detours`. L1 sensitivity 1."""
    return detours(ways_m(trajs), crows_m(trajs))


def hours_of(trajs: Trajectories) -> np.ndarray | None:
    """float64 [n]: hour of departure, 0 … 24, in the data set's time zone; None without times."""
    if trajs.t is None:
        return None
    import pandas as pd

    start = np.clip(trajs.t[trajs.starts], 0, LAST_MS)  # so that no record can make this fail
    local = pd.to_datetime(start, unit="ms", utc=True).tz_convert(trajs.meta.tz)
    return np.asarray(local.hour + local.minute / 60 + local.second / 3600, dtype=np.float64)


def hour_counts(trajs: Trajectories) -> np.ndarray:
    """int64 [24]: trajectories by hour of departure. L1 sensitivity 1."""
    hours = hours_of(trajs)
    assert hours is not None
    return np.bincount(np.minimum(hours.astype(np.int64), HOURS - 1), minlength=HOURS)


def speed_counts(trajs: Trajectories) -> np.ndarray:
    """int64 [10]: trajectories by mean speed over `USUAL_MPS`, a public number; those without duration in the lowest. L1 sensitivity 1."""
    bins = np.clip(np.searchsorted(SPEEDS, speeds_mps(trajs) / USUAL_MPS, side="right") - 1, 0, len(SPEEDS) - 1)
    return np.bincount(bins, minlength=len(SPEEDS))


def on_off_map(trajs: Trajectories, router: Router) -> np.ndarray:
    """int64 [2]: trajectories of which at most `OFF_MAP_SHARE` of the points lie further than `OFF_MAP_M` from a street, and the others. L1
    sensitivity 1."""
    far = ~router.network.near(trajs.xy, OFF_MAP_M)
    share = np.bincount(trajs.traj_of_point, far, minlength=len(trajs)) / np.maximum(trajs.lengths, 1)
    return np.bincount((share > OFF_MAP_SHARE).astype(np.int64), minlength=2)


def end_counts(grid: Grid, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """int64 [2, cells]: trajectories by the cell of their first and of their last point. L1 sensitivity 2."""
    x0, y0, x1, y1 = grid.bounds
    cells = [grid.cell_of(np.clip(xy, [x0, y0], [x1, y1])) for xy in (starts, ends)]
    return np.stack([np.bincount(c, minlength=grid.n_cells) for c in cells])


def at_nodes(router: Router, grid: Grid, weights: np.ndarray) -> np.ndarray:
    """float64 [k]: what each junction gets of the ``weights`` [cells] of its cell, shared among the junctions there.

    A cell without a junction gives its weight to the junction nearest to its centre; junctions beyond the grid get nothing.
    """
    nodes = router.strong_nodes
    cells = grid.cell_of(router.network.node_xy[nodes])
    inside = cells >= 0
    number = np.bincount(cells[inside], minlength=grid.n_cells)
    out = np.zeros(len(router.network.node_xy))
    out[nodes[inside]] = weights[cells[inside]] / number[cells[inside]]
    lonely = np.flatnonzero(number == 0)
    np.add.at(out, router.nodes_near(grid.centres(lonely))[0], weights[lonely])
    return out


def drawn_nodes(router: Router, rectangles: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """int64 [n]: a junction in each of ``rectangles`` [n, 4] (metres), in proportion to ``weights`` [k] and a little evenly.

    Where a rectangle holds no junction: the one nearest to a uniform place in it.
    """
    unique, which = np.unique(rectangles, axis=0, return_inverse=True)
    xy = router.network.node_xy[router.strong_nodes]
    own = weights[router.strong_nodes] + 1e-3 * max(float(weights.mean()), 1e-12)
    by_x = np.argsort(xy[:, 0], kind="stable")
    begin = np.searchsorted(xy[by_x, 0], unique[:, 0])
    end = np.searchsorted(xy[by_x, 0], unique[:, 2], side="right")
    order = np.argsort(which, kind="stable")
    edges = np.searchsorted(which[order], np.arange(len(unique) + 1))
    draws, out = rng.random(len(rectangles)), np.full(len(rectangles), -1, dtype=np.int64)
    for r, (_, y0, _, y1) in enumerate(unique):
        column = by_x[begin[r] : end[r]]
        inside = column[(xy[column, 1] >= y0) & (xy[column, 1] <= y1)]
        if len(inside):
            trips = order[edges[r] : edges[r + 1]]
            rising = np.cumsum(own[inside])
            at = np.searchsorted(rising, draws[trips] * rising[-1], side="right")
            out[trips] = router.strong_nodes[inside[np.minimum(at, len(inside) - 1)]]
    lost = np.flatnonzero(out < 0)
    if len(lost):
        corner, size = rectangles[lost, :2], rectangles[lost, 2:] - rectangles[lost, :2]
        out[lost] = router.nodes_near(corner + rng.random((len(lost), 2)) * size)[0]
    return out


def departures_ms(
    hour: np.ndarray, band: np.ndarray, bands: int, day: str, tz: str, rng: np.random.Generator
) -> np.ndarray:
    """int64 [n]: departures on ``day`` (ISO) in the time zone ``tz``, ms UTC. An hour is drawn by the noisy histogram ``hour`` [24] within each
    trip's ``band`` (-1: the whole day), a moment uniformly within the hour."""
    import pandas as pd

    weights = norm_sub(hour)
    weights = weights + 1e-3 * max(float(weights.mean()), 1e-9)
    of_hour = np.minimum(np.arange(HOURS) * bands // HOURS, bands - 1)
    drawn = np.empty(len(band), dtype=np.int64)
    for b in np.unique(band):
        trips = np.flatnonzero(band == b)
        p = np.where((of_hour == b) | (b < 0), weights, 0.0)
        drawn[trips] = rng.choice(HOURS, size=len(trips), p=p / p.sum())
    midnight = pd.Timestamp(day, tz=tz).value // 1_000_000
    return midnight + ((drawn + rng.random(len(band))) * 3_600_000).astype(np.int64)


def drawn_speeds(speed: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """float64 [n], m/s: a bin of the noisy histogram ``speed`` [10], then a speed uniform in it."""
    weights = norm_sub(speed)
    weights = weights / weights.sum() if weights.sum() > 0 else np.full(len(speed), 1 / len(speed))
    bins = rng.choice(len(speed), size=n, p=weights)
    upper = np.append(SPEEDS[1:], SPEEDS[-1] * 1.2)
    return USUAL_MPS * (SPEEDS[bins] + rng.random(n) * (upper - SPEEDS)[bins])
