"""What an assessment measures of the raw data, before any method. All of it is private; nothing is changed or drawn but attack samples."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from pyproj import CRS
from pyproj.exceptions import CRSError

from trajkit.anonymize.alignment import on_grid
from trajkit.anonymize.anonymizer import persons
from trajkit.anonymize.cloak_regions import Rung, people_in
from trajkit.anonymize.cloaking import CloakingConfig
from trajkit.anonymize.clock import compared_times
from trajkit.anonymize.escalation import EscalationConfig
from trajkit.anonymize.k_delta import KDeltaConfig
from trajkit.anonymize.lkc import LkcConfig
from trajkit.anonymize.search import KAnonymityConfig, search
from trajkit.anonymize.suppression import shares
from trajkit.geo import box_xy
from trajkit.grid import Grid
from trajkit.local_time import DAY_MS
from trajkit.study.unicity import ANTENNAS, unicity_of
from trajkit.trajectories import Trajectories

CELL_M = 1000.0
KNOWN = 4
HOUR_MINUTES = 60
WHOLE, PARTS, CLOAKED, LOCAL, TOGETHER = (
    "k-anonymity of whole trips", "k-anonymity of parts of trips", "cloaking", "LKC-privacy", "(k, delta)-anonymity at equal times",
)  # fmt: skip
ESCALATED = "escalation (replaced by made trips)"


@dataclass(frozen=True)
class Measures:
    """Figures that the rules of a recommendation ask for; shares in 0 to 1, None where the data cannot say.

    tolerance           share that may be lost to suppression, as the owner says
    trips_per_user      median and largest number of trajectories of a user
    own_user_each       whether every trajectory has a user of its own
    thin_points         share of points in cells of `CELL_M` m where fewer than k people ever were
    shared_hours        share of points at hours (of their day) in which at least k people are on the way
    unicity             share of people whom `KNOWN` points isolate at the resolution of antennas (1 km, 1 h; without times 1 km)
    suppressed          method -> share lost as predicted ("at least" for bounds from below, see `predicted`)
    """

    k: int
    tolerance: float
    trajectories: int
    users: int
    points: int
    trips_per_user: tuple[float, int]
    own_user_each: bool
    has_times: bool
    metric_crs: bool
    box_inside_crs: bool
    days: float | None
    thin_points: float
    shared_hours: float | None
    unicity: float | None
    suppressed: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Measured:
    """``measures`` with the tables behind them: ``unicity``, ``predicted``, people per cell ``density`` [ny, nx] of ``grid``."""

    measures: Measures
    unicity: pd.DataFrame
    predicted: pd.DataFrame
    grid: Grid
    density: np.ndarray


def measure(trajs: Trajectories, *, k: int, tolerance: float) -> Measured:
    """Measure. ``tolerance``: share of points or trajectories that may be lost. Raises what `Trajectories.check` raises."""
    trajs = trajs.check()
    who = persons(trajs, "user")
    each = np.bincount(np.unique(trajs.user, return_inverse=True)[1]) if len(trajs) else np.zeros(1, dtype=np.int64)
    grid, density, thin = people_per_cell(trajs, who, k)
    unicity = unicity_of(trajs) if len(trajs) else pd.DataFrame()
    predicted_ = predicted(trajs, who, k=k, budget=tolerance)
    metric, inside = crs_fits(trajs)
    measures = Measures(
        k=k, tolerance=tolerance, trajectories=len(trajs), users=len(np.unique(who)), points=trajs.n_points,
        trips_per_user=(float(np.median(each)), int(each.max())), own_user_each=len(trajs) > 1 and bool((each == 1).all()),
        has_times=trajs.t is not None, metric_crs=metric, box_inside_crs=inside,
        days=None if trajs.t is None or not trajs.n_points else float(trajs.t.max() - trajs.t.min()) / DAY_MS,
        thin_points=thin, shared_hours=_shared_hours(trajs, who, k), unicity=_isolated(unicity),
        suppressed=dict(zip(predicted_["method"], predicted_["lost"], strict=True)),
    )  # fmt: skip
    return Measured(measures, unicity, predicted_, grid, density)


def crs_fits(trajs: Trajectories) -> tuple[bool, bool]:
    """Whether the declared CRS is projected in metres, and whether the box lies in the area that it is made for."""
    try:
        crs = CRS.from_user_input(trajs.meta.crs)
    except CRSError:
        return False, False
    metric = crs.is_projected and all(axis.unit_name == "metre" for axis in crs.axis_info)
    area, box = crs.area_of_use, trajs.meta.box
    slack = 3.0  # degrees: half a UTM zone beyond its border distances are still right to 1 in 1000
    inside = area is None or (
        area.west - slack <= box.lon_min and box.lon_max <= area.east + slack
        and area.south - slack <= box.lat_min and box.lat_max <= area.north + slack
    )  # fmt: skip
    return metric, bool(inside)


def people_per_cell(trajs: Trajectories, who: np.ndarray, k: int) -> tuple[Grid, np.ndarray, float]:
    """(grid of about `CELL_M` m over the public box, distinct people in each cell [ny, nx], share of points where fewer than k were)."""
    x0, y0, x1, y1 = box_xy(trajs.meta.box, trajs.meta.crs)
    nx, ny = (max(1, round((b - a) / CELL_M)) for a, b in ((x0, x1), (y0, y1)))
    grid = Grid((x0, y0, x1, y1), nx, ny)
    cell = grid.cell_of(trajs.xy)
    pairs = np.unique(np.column_stack([cell, who[trajs.traj_of_point]]), axis=0)
    people = np.bincount(pairs[pairs[:, 0] >= 0, 0], minlength=grid.n_cells)
    thin = float((people[cell[cell >= 0]] < k).mean()) if (cell >= 0).any() else 0.0
    return grid, people.reshape(ny, nx), thin


def _shared_hours(trajs: Trajectories, who: np.ndarray, k: int) -> float | None:
    if trajs.t is None or not trajs.n_points:
        return None
    hour = trajs.t // (HOUR_MINUTES * 60_000)
    people = people_in(np.zeros(len(hour), dtype=np.int64), hour, who[trajs.traj_of_point])
    return float((people >= k).mean())


def _isolated(table: pd.DataFrame) -> float | None:
    """Share isolated by `KNOWN` points at the resolution of antennas, or without times where there are none."""
    if not len(table):
        return None
    metres, minutes = ANTENNAS
    at = table[(table["p"] == KNOWN) & (table["metres"] == metres)]
    timed = at[at["minutes"] == minutes]
    chosen = timed if len(timed) else at
    return float(chosen["unicity"].iloc[0]) if len(chosen) else None


def predicted(trajs: Trajectories, who: np.ndarray, *, k: int, budget: float) -> pd.DataFrame:
    """One row a method: what it would lose at k with its default settings (``lost``, of ``of``), whether that is exact or a bound from
    below (``how``), and the ``setting``. Cheap: signatures and counts, no method is run.
    """
    rows = [_by_search(trajs, k, budget, suppress) for suppress in ("trajectory", "segments")]
    rows.append(_escalated(trajs, k))
    rows += [_cloaked(trajs, who, k), _local(trajs, who, k)]
    rows += [_together(trajs, who, k)] if trajs.t is not None else []
    return pd.DataFrame(rows)


def _by_search(trajs: Trajectories, k: int, budget: float, suppress: Any) -> dict[str, Any]:
    return _searched(trajs, KAnonymityConfig(k=k, suppress=suppress, suppression_budget=budget))


def _searched(trajs: Trajectories, c: KAnonymityConfig) -> dict[str, Any]:
    found = search(trajs, c)
    of = "points" if c.suppress == "segments" else "trajectories"
    lost = shares(trajs, found.groups.released_points(len(trajs)))[of]
    setting = found.setting.named()
    time = "no times" if setting["minutes"] is None else f"bins of {setting['minutes']} min"
    name = PARTS if c.suppress == "segments" else WHOLE
    return {"method": name, "lost": lost, "of": of, "how": "exact", "setting": f"{setting['cells']}, {time}"}


def _escalated(trajs: Trajectories, k: int) -> dict[str, Any]:
    """Points that are not kept at the coarsest useful setting, so that made trajectories would have to stand for them."""
    c = EscalationConfig(k=k)
    coarsest = KAnonymityConfig(
        k=k, cells_m=(c.coarsest_useful_m,), minutes=(c.coarsest_useful_minutes,), suppress=c.suppress, suppression_budget=1.0
    )  # fmt: skip
    return _searched(trajs, coarsest) | {"method": ESCALATED}


def _cloaked(trajs: Trajectories, who: np.ndarray, k: int) -> dict[str, Any]:
    """Points in whose widest region fewer than k people ever were: they cannot be released at all."""
    c = CloakingConfig(k=k, minutes=60 if trajs.t is not None else None)
    widest = c.ladder()[-1]
    times = None if trajs.t is None else compared_times(trajs, c.of)
    people = people_in(*widest.regions(trajs.xy, times), who[trajs.traj_of_point])
    lost = float((people < k).mean()) if len(people) else 0.0
    return {
        "method": CLOAKED,
        "lost": lost,
        "of": "points",
        "how": "at least",
        "setting": f"regions up to {widest.side_m:g} m",
    }


def _local(trajs: Trajectories, who: np.ndarray, k: int) -> dict[str, Any]:
    """Points in a (cell, bin) of fewer than k people: each is known alone to isolate."""
    c = LkcConfig(k=k) if trajs.t is not None else LkcConfig(k=k, minutes=None)
    times = None if trajs.t is None else compared_times(trajs, c.of)
    people = people_in(*Rung(c.cells_m, c.minutes).regions(trajs.xy, times), who[trajs.traj_of_point])
    lost = float((people < k).mean()) if len(people) else 0.0
    time = "no times" if c.minutes is None else f"bins of {c.minutes} min"
    return {
        "method": LOCAL,
        "lost": lost,
        "of": "points",
        "how": "at least",
        "setting": f"square {c.cells_m:g} m, {time}",
    }


def _together(trajs: Trajectories, who: np.ndarray, k: int) -> dict[str, Any]:
    """Trajectories whose time span fewer than k people share: they can stand in no group."""
    c = KDeltaConfig(k=k)
    aligned = on_grid(trajs, interval_s=int(c.interval_s or 60), span_s=c.span_s, of=c.of)
    zero = np.zeros(len(aligned), dtype=np.int64)
    people = people_in(zero, aligned.span.astype(np.int64), who[aligned.kept])
    kept = int((people >= k).sum())
    lost = 1 - kept / max(len(trajs), 1)
    return {
        "method": TOGETHER,
        "lost": lost,
        "of": "trajectories",
        "how": "at least",
        "setting": f"spans of {c.span_s} s of the local day",
    }
